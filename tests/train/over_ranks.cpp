// BatchNorm that joins ranks: the same bits in every memory and over every connection, what ranks send is what the plan
// says, and evaluation sends nothing.
#include "train/processes.hpp"
#include "train/wire.hpp"

#include <regimen/comm/counting.hpp>
#include <regimen/engine/emulated/device.hpp>
#include <regimen/layer/batch_norm.hpp>
#include <regimen/layer/patches.hpp>

#include "support/rounding.hpp"

using namespace regimen;
using namespace regimen::test;

namespace {

using Joined = BatchNorm<OverRanks>;
template <class Norm>
struct With final : Model<Input<Image<4, 3, 2>>, Norm, Linear<6>, Repeat<3, Residual<Norm, Gelu, Linear<6>>>, Norm,
                          Flatten, Linear<11>> {};
using Normed = With<Joined>;
template <class... Policies>
using OnThreads = Trainer<Normed, Batch<2>, Communicator<Threads>, Policies...>;
/// The micro-batches of all ranks.
using Pieces = With<BatchNorm<PerMicroBatch, OverRanks>>;

}  // namespace

TEST_CASE("BatchNorm over ranks trains the same bits, whatever is computed again and wherever weights lie") {
  for (const std::size_t ranks : {2u, 3u}) {  // the mean of three equal running statistics is not what they sum to
    CAPTURE(ranks);
    const Outcome replicated = train_on<OnThreads<>>(ranks, true);
    CHECK(train_on<OnThreads<Shard<ZeRO3>, Checkpoint<Every<2>>>>(ranks, true) == replicated);
    CHECK(train_on<OnThreads<Shard<ZeRO2>, Checkpoint<Selective<Joined, Gelu>>>>(ranks, true) == replicated);
  }
  train_on<Trainer<Pieces, Batch<2>, Accumulate<2>, Communicator<Threads>, Shard<ZeRO3>, Checkpoint<Every<1>>>>(2,
                                                                                                                true);
}
TEST_CASE("BatchNorm over ranks that are processes trains the bits of threads") {
  processes_agree<Trainer<Normed, Batch<2>, Communicator<Tcp>, Shard<ZeRO1>, Checkpoint<Every<1>>>, OnThreads<>>(3,
                                                                                                                 true);
}
TEST_CASE("BatchNorm over emulated devices trains the same bits in graphs, and what ranks on the CPU train") {
  const Outcome here = train_on<OnThreads<Precision<fp64>>>(2),
                there = train_on<OnThreads<Precision<fp64>, Device<Emulated>>>(2, true);
  CHECK(train_on<Trainer<Normed, Batch<2>, Communicator<Nccl>, Precision<fp64>, Device<Emulated>, Shard<ZeRO3>,
                         Checkpoint<Every<2>>>>(2, true) == there);
  CHECK(support::distance(here.losses, there.losses) < support::of_order);
  CHECK(support::distance(here.norms, there.norms) < support::of_order);
  CHECK(support::distance(here.evaluations, there.evaluations) < support::of_order);
}
TEST_CASE("BatchNorm over ranks sends two numbers a channel and the number of rows, as planned") {
  using Apart = Trainer<With<BatchNorm<PerMicroBatch>>, Batch<2>, Communicator<Threads>>;
  for (const std::size_t ranks : {2u, 3u}) {
    wire_of<OnThreads<Checkpoint<Every<2>>>>(ranks);  // one by one what the plan says
    const std::size_t bytes = OnThreads<>::plan(2, ranks).wire() - Apart::plan(2, ranks).wire();
    // No gradient leaves the first, of 2 channels; forward and backward of four of 6.
    CHECK(bytes == (5 + 4 * 2 * 13) * sizeof(float) * (ranks - 1));
  }
}
TEST_CASE("BatchNorm over ranks exchanges nothing in evaluation, nor in the order of its loader's workers") {
  std::vector<std::vector<float>> weights;
  for (const std::size_t workers : {0u, 3u})
    launch(2, [&](comm::Threads& communicator) {
      comm::Counting<comm::Threads> counting(communicator);
      OnThreads<> trainer(counting);
      static const Fake data({.samples = 43, .classes = 11, .seed = 3});
      trainer.fit(data, {.steps = 8, .workers = workers, .progress = false});
      const auto before = counting.count(comm::CollectiveKind::AllGather);
      trainer.evaluate(data);
      const auto after = counting.count(comm::CollectiveKind::AllGather);
      if (communicator.rank() != 1) return;
      weights.push_back(support::weights_of(trainer));
      if (!(before == after) || before.calls == 0) throw std::logic_error("evaluation exchanges tensors");
    });
  CHECK(weights[0] == weights[1]);
}
// SPDX-License-Identifier: Apache-2.0
