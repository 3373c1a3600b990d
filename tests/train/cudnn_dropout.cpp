// Dropout that cuDNN draws, on the emulated device: it repeats its bits wherever a program must.
#include "train/deferred.hpp"

#include <regimen/engine/emulated/device.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>

using namespace regimen;
using regimen::test::DeferredOutcome;
using regimen::test::fake_data;

namespace {

using DroppingBlock = Sequential<Residual<LayerNorm, SelfAttention<Heads<2>, Causal, Dropout<Ratio<1, 4>>>>,
                                 Residual<LayerNorm, Linear<64>, Gelu, Linear<16>>>;
struct DroppingGpt final : Model<Input<Tokens<8>>, regimen::test::Table, PositionEmbedding, Repeat<3, DroppingBlock>,
                                 LayerNorm, Linear<11>> {};

template <class Train>
DeferredOutcome trained_with_dropout(bool listens = true) {
  const ::test::Directory folder;
  Train trainer;
  return regimen::test::train(trainer, folder / "state", listens);
}

}  // namespace

TEST_CASE(
    "cuDNN's dropout repeats its bits: by graphs and without, several steps a launch, computed again, and resumed") {
  const auto dropped = []<class... More>(boost::mp11::mp_list<More...>, bool listens = true) {
    return trained_with_dropout<
        Trainer<DroppingGpt, Batch<4>, Precision<bf16, fp32>, Attention<Cudnn>, Device<Emulated>, More...>>(listens);
  };
  const DeferredOutcome first = dropped(boost::mp11::mp_list<>{});  // saved after five steps, and resumed
  CHECK(dropped(boost::mp11::mp_list<>{}) == first);
  CHECK(dropped(boost::mp11::mp_list<Graph<Off>>{}) == first);
  CHECK(dropped(boost::mp11::mp_list<Steps<4>>{}) == first);
  CHECK(dropped(boost::mp11::mp_list<Checkpoint<Every<1>>>{}) == first);
  CHECK(dropped(boost::mp11::mp_list<Checkpoint<Every<2>>>{}) == first);
  CHECK(dropped(boost::mp11::mp_list<>{}, false).weights == first.weights);
  CHECK(dropped(boost::mp11::mp_list<Seed<9>>{}) != first);
  CHECK(first.weights !=
        trained_with_dropout<Trainer<DroppingGpt, Batch<4>, Precision<bf16, fp32>, Device<Emulated>>>().weights);
  using Train =
      Trainer<DroppingGpt, Batch<4>, Accumulate<2>, Precision<bf16, fp32>, Attention<Cudnn>, Device<Emulated>>;
  const DeferredOutcome accumulated = dropped(boost::mp11::mp_list<Accumulate<2>>{});
  CHECK(dropped(boost::mp11::mp_list<Accumulate<2>, Checkpoint<Every<2>>>{}) == accumulated);
  Train trainer;
  const std::size_t before = trainer.used().operations;
  trainer.fit(fake_data(), {.steps = 4, .progress = false});
  CHECK(trainer.used().operations - before == 4 * Train::plan().operations());
  CHECK(trainer.used().peak == Train::plan().peak);
}

TEST_CASE("a rank without samples in the last batch attends to nothing") {
  launch(3, [](comm::Threads& communicator) {
    Trainer<DroppingGpt, Batch<4>, Precision<bf16, fp32>, Attention<Cudnn>, Communicator<Threads>, Device<Emulated>>
        trainer(communicator);
    const Fake fake({.samples = 13, .classes = 5, .seed = 3});  // 12 of them in one batch; one rank has the last
    const double loss = trainer.fit(fake, {.steps = 4, .progress = false}).loss;
    if (!(loss < 4)) throw std::logic_error("the loss is " + std::to_string(loss));
  });
}
// SPDX-License-Identifier: Apache-2.0
