// Every Shard by ranks on emulated devices, which are connected by their hosts or by the emulated NCCL: the same bits,
// and calls and bytes as planned.
#include "support/on_runtime.hpp"
#include "train/shard.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

using namespace regimen;
using namespace regimen::test;

namespace {

struct Sent {
  std::atomic<std::size_t> calls{0}, bytes{0};
};

/// Counts the tensors that a rank sends, without the few numbers of AllGatherSmall. Those in graphs count when they
/// run.
class Counted : public emulated::Runtime {
 public:
  static inline Sent sent[16];  // by devices

  void collect(Connection& connection, const cuda::Collective& collective, const std::byte* own, std::byte* all,
               Stream stream) {
    Runtime::collect(connection, collective, own, all, stream);
    if (collective.kind == comm::CollectiveKind::AllGatherSmall) return;
    enqueue(stream, [bytes = collective.bytes * (connection.size() - 1), device = current] {
      ++sent[device].calls;
      sent[device].bytes += bytes;
    });
  }
};

/// Counts what a rank reads of the others that share its device, when it is read; and the graphs that it launches.
class Shared : public emulated::Runtime {
 public:
  static inline thread_local std::size_t rank = 0;
  static inline std::atomic<std::size_t> read[16], graphs[16];  // by ranks

  std::byte* allocate(std::size_t bytes, const char* name) {
    own_ = Runtime::allocate(bytes, name);
    own_end_ = own_ + bytes;
    return own_;
  }
  /// Few numbers, such as those of AllGatherSmall, are not planned.
  void copy(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) {
    const bool is_own = from >= own_ && from < own_end_;
    Runtime::copy(to, from, bytes, stream);
    if (!is_own && bytes > sizeof(Scalars)) count(bytes, stream);
  }
  template <class Kernel>
  void launch(const Kernel& kernel, cuda::Grid grid, Stream stream) {
    Runtime::launch(kernel, grid, stream);
  }
  template <class T>
  void launch(const kernel::SumOfRanks<T>& sum, cuda::Grid grid, Stream stream) {
    Runtime::launch(sum, grid, stream);
    count((sum.ranks - 1) * sum.count * sizeof(T), stream);
  }
  void launch(Graph graph, Stream stream) {
    Runtime::launch(graph, stream);
    ++graphs[rank];
  }

 private:
  void count(std::size_t bytes, Stream stream) {
    enqueue(stream, [bytes, own = rank] { read[own] += bytes; });
  }

  std::byte *own_ = nullptr, *own_end_ = nullptr;
};

constexpr std::uint64_t steps = 12;   // more than an epoch of one rank
constexpr std::uint64_t counted = 3;  // all alike

/// The network with dropout and a tied table, in micro-batches that are reduced one by one, clipped and checkpointed.
template <class Stage, class Who, class Where, class... More>
using Train = Trainer<Tied<2>, Batch<2>, Accumulate<2, ReduceEach>, Clip<Norm<Ratio<1>>>, Checkpoint<Every<1>>,
                      Communicator<Who>, Shard<Stage>, Device<Where>, More...>;

template <class Stage, class Who, class Where, class... More>
Outcome outcome(std::size_t ranks, std::uint64_t seed = 1) {
  emulated::Runtime::defaults = {.seed = seed, .memory = std::size_t{64} << 20};
  for (Sent& sent : Counted::sent) sent.calls = sent.bytes = 0;
  const Outcome found = train_on<Train<Stage, Who, Where, More...>>(ranks, true, steps);
  emulated::Runtime::defaults = {};
  return found;
}

/// Calls and bytes of full steps; those of the evaluation, whose gathers a step has, too, are not planned.
template <class Stage>
void sends_as_planned(std::size_t ranks) {
  using Run = Train<Stage, Nccl, OnRuntime<Counted>>;
  emulated::Runtime::defaults = {.memory = std::size_t{64} << 20};
  static const Fake data({.samples = 640, .classes = 11, .seed = 3});
  launch(ranks, [&](comm::Threads& threads) {
    Run trainer(threads);
    trainer.fit(data, {.steps = 2, .progress = false});
    (void)trainer.on_all_ranks(true);
    Sent& sent = Counted::sent[threads.rank()];
    sent.calls = sent.bytes = 0;
    trainer.fit(data, {.steps = 2 + counted, .progress = false});
    (void)trainer.on_all_ranks(true);
  });
  planning::WireLog log;
  Run::Recipe::walk_step(Run::batch, true, nullptr, ranks, &log);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    CAPTURE(rank);
    CHECK(Counted::sent[rank].bytes == counted * Run::plan(Run::batch, ranks).wire());
    CHECK(Counted::sent[rank].calls == counted * log.count);
  }
  emulated::Runtime::defaults = {};
}

/// The same of ranks that share a device; and each uses the memory that is planned. Rank 0 launches the graphs of all.
template <class Stage, class... More>
void reads_as_planned(std::size_t ranks) {
  using Run = Train<Stage, Threads, OnRuntime<Shared>, More...>;
  emulated::Runtime::defaults = {.memory = std::size_t{64} << 20};
  static const Fake data({.samples = 640, .classes = 11, .seed = 3});
  for (std::size_t rank = 0; rank < ranks; ++rank) Shared::graphs[rank] = 0;
  std::vector<std::size_t> used(ranks);
  launch(ranks, [&](comm::Threads& threads) {
    Shared::rank = threads.rank();
    Run trainer(threads);
    trainer.fit(data, {.steps = 2, .progress = false});
    (void)trainer.on_all_ranks(true);
    Shared::read[threads.rank()] = 0;
    trainer.fit(data, {.steps = 2 + counted, .progress = false});
    used[threads.rank()] = trainer.used().peak;
  });
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    CAPTURE(rank);
    CHECK(Shared::read[rank] == counted * Run::plan(Run::batch, ranks).wire());
    CHECK((Shared::graphs[rank] >= counted) == (rank == 0 && Run::Configuration::graph::captures));
  }
  CHECK(used == std::vector<std::size_t>(ranks, Run::plan(Run::batch, ranks).peak));
  emulated::Runtime::defaults = {};
}

}  // namespace

TEST_CASE("twelve steps on emulated devices are the same bits under every Shard, by hosts and by NCCL") {
  for (const std::size_t ranks : {1u, 2u, 3u, 4u}) {
    CAPTURE(ranks);
    const Outcome replicated = outcome<Replicated, Threads, Emulated>(ranks);
    CHECK(replicated.losses.size() == steps);
    CHECK(outcome<ZeRO1, Threads, Emulated>(ranks, 2) == replicated);
    CHECK(outcome<ZeRO2, Threads, Emulated>(ranks, 3) == replicated);
    CHECK(outcome<ZeRO3, Threads, Emulated>(ranks, 4) == replicated);
    CHECK(outcome<ZeRO3, Threads, Emulated, Graph<Off>>(ranks, 4) == replicated);
    CHECK(outcome<Replicated, Nccl, OnRuntime<Counted>>(ranks, 5) == replicated);
    CHECK(outcome<ZeRO1, Nccl, OnRuntime<Counted>>(ranks, 6) == replicated);
    CHECK(outcome<ZeRO2, Nccl, OnRuntime<Counted>>(ranks, 7) == replicated);
    for (std::uint64_t seed = 0; seed < 2; ++seed)
      CHECK(outcome<ZeRO3, Nccl, OnRuntime<Counted>>(ranks, seed) == replicated);
    CHECK(outcome<ZeRO3, Nccl, OnRuntime<Counted>, Graph<Off>>(ranks) == replicated);
    if (ranks % 2 == 0) {
      CHECK(outcome<Hybrid<2>, Threads, Emulated>(ranks, 8) == replicated);
      CHECK(outcome<Hybrid<2>, Nccl, OnRuntime<Counted>>(ranks, 9) == replicated);
    }
  }
}

TEST_CASE("ranks that NCCL connects send what the plan says") {
  for (const std::size_t ranks : {1u, 2u, 3u, 4u}) {
    CAPTURE(ranks);
    sends_as_planned<Replicated>(ranks);
    sends_as_planned<ZeRO1>(ranks);
    sends_as_planned<ZeRO2>(ranks);
    sends_as_planned<ZeRO3>(ranks);
    if (ranks % 2 == 0) sends_as_planned<Hybrid<2>>(ranks);
  }
}

TEST_CASE("ranks that share a device read what the plan says, in the memory that it says") {
  for (const std::size_t ranks : {2u, 3u, 4u}) {
    CAPTURE(ranks);
    reads_as_planned<Replicated>(ranks);
    reads_as_planned<ZeRO1>(ranks);
    reads_as_planned<ZeRO2>(ranks);
    reads_as_planned<ZeRO3>(ranks);
    reads_as_planned<ZeRO3, Graph<Off>>(ranks);
    if (ranks % 2 == 0) reads_as_planned<Hybrid<2>>(ranks);
  }
}

TEST_CASE("ranks that NCCL connects may give step different numbers of samples") {
  constexpr std::size_t ranks = 3, count = 8;
  const auto losses = [&]<class Run>(std::type_identity<Run>) {
    std::vector<double> found;
    launch(ranks, [&](comm::Threads& threads) {
      Run trainer(threads);
      for (std::size_t step = 0; step < 12; ++step) {
        const std::size_t samples = (step + threads.rank()) % 4 == 0 ? 3 : 4;
        std::vector<std::int32_t> inputs(samples * count), targets(samples * count);
        for (std::size_t i = 0; i < inputs.size(); ++i)
          inputs[i] = targets[i] = static_cast<std::int32_t>((i + step + threads.rank()) % 11);
        const double loss = trainer.step(inputs, targets).loss;
        if (threads.rank() == 0) found.push_back(loss);
      }
    });
    return found;
  };
  emulated::Runtime::defaults = {.seed = 2, .memory = std::size_t{64} << 20};
  const auto by_threads = losses(std::type_identity<Trainer<Gpt<1>, Batch<2>, Accumulate<2, ReduceEach>,
                                                            Communicator<Threads>, Shard<ZeRO2>, Device<Emulated>>>{});
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    CAPTURE(seed);
    emulated::Runtime::defaults.seed = seed;
    CHECK(losses(std::type_identity<Trainer<Gpt<1>, Batch<2>, Accumulate<2, ReduceEach>, Communicator<Nccl>,
                                            Shard<ZeRO3>, Device<Emulated>>>{}) == by_threads);
  }
  emulated::Runtime::defaults = {};
}
