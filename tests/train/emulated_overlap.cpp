// On devices, too, gathers run ahead of compute and reductions behind it: what a rank computes between the start of a
// collective and the wait for it. Measuring changes no bit.
#include <regimen/comm/tracing.hpp>
#include <regimen/engine/rank_trace.hpp>

#include "../../bench/delayed.hpp"
#include "support/on_runtime.hpp"
#include "train/collectives.hpp"
#include "train/deferred.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace regimen;
using namespace regimen::test;

namespace {

constexpr std::size_t ranks = 2, steps = 2, blocks = 4, units = 2 + blocks + 2;  // embeddings, blocks, norm, output

struct Record {
  OperationTimes times;
  std::vector<double> weights;

  std::vector<CollectiveTime> of(CollectiveTime::Kind kind, op::Phase phase) const {
    return collectives_of(times, kind, phase);
  }
};

template <class Who, class... More>
std::vector<Record> recorded() {
  std::vector<Record> found(ranks);
  emulated::Runtime::defaults = {.seed = 2, .memory = std::size_t{64} << 20};
  launch(ranks, [&](comm::Threads& threads) {
    Trainer<Gpt<blocks>, Batch<2>, Communicator<Who>, Shard<ZeRO3>, Device<Emulated>, More...> trainer(threads);
    if constexpr (sizeof...(More) > 0) trainer.profile().clear();
    trainer.fit(fake_data(), {.steps = steps, .progress = false});
    if constexpr (sizeof...(More) > 0) found[threads.rank()].times = trainer.profile();
    found[threads.rank()].weights = support::weights_of<double>(trainer);
  });
  emulated::Runtime::defaults = {};
  return found;
}

template <class Who>
void overlaps() {
  const std::vector<Record> all = recorded<Who, Debug<Profile>>();
  const Record& record = all[1];
  CHECK(record.weights == recorded<Who>()[1].weights);

  const auto forward = record.of(CollectiveTime::Kind::gather, op::Phase::forward);
  REQUIRE(forward.size() == steps * units);
  for (std::size_t i = 0; i < forward.size(); ++i) {
    INFO(forward[i].path.text());
    CHECK((i % units == 0) == (forward[i].operations_beside() == 0));  // before the first unit nothing computes
    CHECK(forward[i].ended >= forward[i].awaited);
  }
  const auto backward = record.of(CollectiveTime::Kind::gather, op::Phase::backward);
  REQUIRE(backward.size() == steps * (blocks + 1));
  for (const CollectiveTime& one : backward) CHECK(one.operations_beside() > 0);
  const auto reduced = record.of(CollectiveTime::Kind::reduce, op::Phase::backward);
  REQUIRE(reduced.size() == steps * units);
  for (std::size_t i = 0; i < reduced.size(); ++i)
    if (i % units != units - 1) CHECK(reduced[i].operations_beside() > 0);  // behind the last one no backward runs

  RankTrace trace;
  for (std::size_t rank = 0; rank < ranks; ++rank) trace.add(rank, all[rank].times);
  const auto json = nlohmann::json::parse(trace.text());
  std::map<std::string, std::size_t> lanes;
  double ended = 0;  // the events of a lane do not cross: Chrome's viewers draw no such ones
  for (const auto& event : json.at("traceEvents"))
    if (event.at("ph") == "X" && event.at("pid") == 1) {
      if (event.at("tid") == 2) {
        CHECK(event.at("ts").get<double>() >= ended - 0.01);  // rounded to nanoseconds
        ended = event.at("ts").get<double>() + event.at("dur").get<double>();
      }
      ++lanes[event.at("tid") == 1 ? "operations" : event.at("name").get<std::string>()];
    }
  CHECK(lanes["operations"] > 100);
  CHECK(lanes["gather 0 (embedding)"] == steps);
  CHECK(lanes["reduce 0 (embedding)"] == steps);
}

/// Counts kernels that are queued between a collective and the next wait for one.
struct Noting : emulated::Runtime {
  static inline thread_local std::size_t beside = 0;

  void collect(Connection& connection, const cuda::Collective& collective, const std::byte* own, std::byte* all,
               Stream stream) {
    Runtime::collect(connection, collective, own, all, stream);
    is_on_its_way_ = true;
  }
  void wait(Stream stream, Event event) {
    if (stream.index == 0) is_on_its_way_ = false;
    Runtime::wait(stream, event);
  }
  using Runtime::launch;
  template <class Kernel>
  void launch(const Kernel& kernel, cuda::Grid grid, Stream stream) {
    beside += is_on_its_way_;
    Runtime::launch(kernel, grid, stream);
  }

 private:
  bool is_on_its_way_ = false;
};

/// Kernels beside collectives, and the weights, of rank 1.
template <template <class> class Around>
std::pair<std::size_t, std::vector<double>> beside() {
  std::pair<std::size_t, std::vector<double>> found;
  emulated::Runtime::defaults = {.seed = 1, .memory = std::size_t{64} << 20};
  launch(ranks, [&](comm::Threads& threads) {
    Around<comm::Threads> communicator(threads);
    Trainer<Gpt<blocks>, Batch<2>, Communicator<Nccl>, Shard<ZeRO3>, Device<OnRuntime<Noting>>> trainer(communicator);
    Noting::beside = 0;
    trainer.fit(fake_data(), {.steps = steps, .progress = false});
    const std::size_t count = Noting::beside;
    const std::vector<double> weights = support::weights_of<double>(trainer);  // of all ranks
    if (threads.rank() == 1) found = {count, weights};
  });
  emulated::Runtime::defaults = {};
  return found;
}

}  // namespace

TEST_CASE("a communicator that waits where a collective starts lets nothing run beside it on devices, either") {
  const auto overlapping = beside<comm::Tracing>(), waiting = beside<bench::WaitedFor>();
  CHECK(overlapping.first > 100);
  CHECK(waiting.first == 0);
  CHECK(overlapping.second == waiting.second);
}

TEST_CASE("ranks with a device each gather ahead of compute and reduce behind it, and a profile shows it") {
  overlaps<Nccl>();
}

TEST_CASE("so do ranks that share a device") { overlaps<Threads>(); }
// SPDX-License-Identifier: Apache-2.0
