// Ranks whose engines are emulated devices: the bits do not depend on the sharding, and are the CPU's but for the order
// of sums.
#include "train/deferred.hpp"

#include "support/rounding.hpp"

#include <regimen/engine/emulated/device.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

using namespace regimen;
using namespace regimen::test;

namespace {

/// Losses, then weights, of every rank.
template <class Who, class... Policies>
std::vector<std::vector<double>> on_ranks(std::size_t ranks, std::uint64_t seed = 1) {
  const ::test::Directory folder;
  emulated::Runtime::defaults = {.seed = seed};
  std::vector<std::vector<double>> found(ranks);
  launch(ranks, [&](comm::Threads& communicator) {
    Trainer<Gpt<3>, Batch<2>, Communicator<Who>, Policies...> trainer(communicator);
    trainer.poison_dead_memory();
    trainer.fit(fake_data(), {.steps = 4, .progress = false});
    trainer.save(folder / "state");
    const double loss = trainer.evaluate(fake_data()).loss;
    trainer.load(folder / "state");
    const double last = trainer.fit(fake_data(), {.steps = 8, .progress = false}).loss;
    std::vector<double>& own = found[communicator.rank()];
    own = support::weights_of<double>(trainer);
    own.insert(own.end(), {loss, last});
    if (trainer.used().peak != trainer.planned().peak) throw std::logic_error("used is not what was planned");
  });
  emulated::Runtime::defaults = {};
  return found;
}

/// Samples of which one rank cannot read all.
struct Fails {
  std::size_t rank;
  std::string name() const { return "Fails"; }
  std::size_t size(const SampleShape& shape) const { return fake_data().size(shape); }
  template <class Sample>
  void read(std::size_t index, Sample sample) const {
    if (rank == 1 && index == 14) throw Error("Fails", "a sample", "none");
    fake_data().read(index, sample);
  }
};

}  // namespace

TEST_CASE("ranks on emulated devices end together when one of them fails in the middle of a run") {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    emulated::Runtime::defaults = {.seed = seed};
    const std::string error = ::test::error_of([] {
      launch(2, [](comm::Threads& communicator) {
        Trainer<Gpt<2>, Batch<2>, Accumulate<2>, Communicator<Threads>, Shard<ZeRO3>, Device<Emulated>> trainer(
            communicator);
        trainer.fit(Fails{communicator.rank()}, {.steps = 9, .order = Order::Sequential, .progress = false});
      });
    });
    INFO(error);
    CHECK(::test::says(error, "Fails: expected a sample"));
  }
  emulated::Runtime::defaults = {};
}

TEST_CASE("ranks on emulated devices train the same bits under every sharding, by graphs or not") {
  using There = Device<Emulated>;
  const auto replicated = on_ranks<Threads, There, Shard<Replicated>, Checkpoint<Every<2>>>(2);
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    CAPTURE(seed);
    CHECK(on_ranks<Nccl, There, Shard<ZeRO1>, Steps<2>>(2, seed) == replicated);
    CHECK(on_ranks<Threads, There, Shard<ZeRO3>, Checkpoint<Every<2>>>(2, seed) == replicated);
  }
  CHECK(on_ranks<Threads, There, Shard<ZeRO2>>(2) == replicated);
  CHECK(on_ranks<Nccl, There, Shard<ZeRO3>>(2) == replicated);
  CHECK(on_ranks<Nccl, There, Shard<ZeRO3>, Graph<Off>>(2) == replicated);
  CHECK(on_ranks<Threads, There, Shard<Hybrid<2>>>(4) == on_ranks<Threads, There>(4));
}

TEST_CASE("ranks on emulated devices train what ranks on the CPU train") {
  const auto here = on_ranks<Threads, Shard<ZeRO3>, Precision<fp64>, Clip<Norm<Ratio<1>>>>(2);
  const auto there = on_ranks<Threads, Shard<ZeRO3>, Precision<fp64>, Clip<Norm<Ratio<1>>>, Device<Emulated>>(2);
  for (std::size_t rank = 0; rank < 2; ++rank) CHECK(support::distance(here[rank], there[rank]) < support::of_order);
}
