// Rules of whole tensors where ranks keep slices: they gather a unit for its update, and have the bits of ranks that keep
// everything.
#include "train/shard.hpp"
#include "train/wire.hpp"

#include "temporary.hpp"

#include <regimen/optimizer/lamb.hpp>
#include <regimen/optimizer/muon.hpp>
#include <regimen/optimizer/split.hpp>

using namespace regimen;
using namespace regimen::test;

namespace {

/// A tied table, blocks that a plan skips, tensors that no slice ends with.
struct Net final : Model<Input<Tokens<8>>, Table, Repeat<3, Residual<LayerNorm, Linear<19>, Gelu, Linear<16>>>,
                         LayerNorm, TiedLinear<Table>> {};
template <class Stage, class... Policies>
using Sharded = Trainer<Net, Batch<2>, Communicator<Threads>, Shard<Stage>, Policies...>;

template <class... Policies>
void agrees(const char* what) {
  INFO(what);
  for (const std::size_t ranks : {2u, 4u}) {
    const Outcome replicated = train_on<Sharded<Replicated, Policies...>>(ranks);
    CHECK(train_on<Sharded<ZeRO1, Policies...>>(ranks, true) == replicated);
    CHECK(train_on<Sharded<ZeRO3, Policies...>>(ranks, true) == replicated);
  }
}

}  // namespace

TEST_CASE("Muon with a rounded copy of the weights") { agrees<Optimizer<Muon>, Precision<bf16, fp32>>("Muon"); }
TEST_CASE("LAMB on the weights themselves") {
  agrees<Optimizer<Lamb>, Clip<Norm<Ratio<1, 4>>>>("LAMB");
  const Outcome replicated = train_on<Sharded<Replicated, Optimizer<Lamb>, Accumulate<2, ReduceEach>>>(4);
  CHECK(train_on<Sharded<ZeRO2, Optimizer<Lamb>, Accumulate<2, ReduceEach>>>(4, true) == replicated);
  CHECK(train_on<Sharded<Hybrid<2>, Optimizer<Lamb>, Accumulate<2, ReduceEach>>>(4, true) == replicated);
}

TEST_CASE("groups of whole tensors and of elements in one unit") {
  using Groups = Optimizer<Split<OfLayer<Linear<19>, Lamb>, Matrices<Muon>, Rest<AdamW>>>;
  agrees<Groups>("fp32");
  agrees<Groups, Precision<bf16, fp32>>("bf16");
  CHECK(train_on<Sharded<Replicated, Groups>>(4) == train_on<Sharded<Hybrid<2>, Groups>>(4, true));
}
TEST_CASE("groups, saved by ranks with slices, go on alone") {
  using Groups = Optimizer<Split<Matrices<Muon>, Rest<AdamW>>>;
  const ::test::Directory folder;
  const std::string path = folder / "state";
  static const Fake data({.samples = 64, .classes = 11, .seed = 3});
  const auto train = [&](auto& trainer, std::uint64_t steps) {
    trainer.fit(data, {.steps = steps, .progress = false});
    return support::weights_of(trainer);
  };
  std::vector<float> together;
  launch(2, [&](comm::Threads& communicator) {
    Sharded<ZeRO3, Groups> trainer(communicator);
    train(trainer, 3);
    trainer.save_whole(path + ".whole");
    trainer.save(path);
    const auto weights = train(trainer, 6);
    if (communicator.rank() == 0) together = weights;
  });
  for (const std::string& file : {path, path + ".whole"}) {
    launch(2, [&](comm::Threads& communicator) {
      Sharded<ZeRO1, Groups> trainer(communicator);
      trainer.load(file);
      const auto weights = train(trainer, 6);
      if (communicator.rank() == 0 && weights != together) throw Error("resumed", "the same bits", "others");
    });
  }
}

TEST_CASE("what ranks gather for the update is planned, collective by collective") {
  // Gradient, two moments; the weights are whole already under ZeRO-1. Under ZeRO-3 they are gathered, too: in forward,
  // backward and update.
  const auto block = std::pair<std::string, std::uint64_t>{"1", 1};
  CHECK(wire_of<Sharded<ZeRO1, Optimizer<Lamb>>>(2)[block].gathers == 3);
  CHECK(wire_of<Sharded<ZeRO1, Optimizer<Muon>, Precision<bf16, fp32>>>(2)[block].gathers == 3);
  CHECK(wire_of<Sharded<ZeRO3, Optimizer<Lamb>>>(2)[block].gathers == 2 + 4);
  // Gradient, one moment, and the weights, whose biases have moved.
  using Groups = Optimizer<Split<Matrices<Muon>, Rest<AdamW>>>;
  CHECK(wire_of<Sharded<ZeRO1, Groups>>(2)[block].gathers == 3);
}
// SPDX-License-Identifier: Apache-2.0
