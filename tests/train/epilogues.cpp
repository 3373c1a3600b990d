// Products that apply the activation behind them, and multiply gradients by its derivative, train what kernels train.
#include "support/rounding.hpp"
#include "train/deferred.hpp"

#include <regimen/engine/emulated/device.hpp>
#include <regimen/layer/dropout.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/trainers/inference.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <vector>

using namespace regimen;
using namespace regimen::test;
using support::as_far_as;
using support::distance;
using support::of_order;

namespace {

using Words = Embedding<Vocabulary<11>, 16>;
/// A dropout behind the pair shows that random numbers are the same; a tied table, that its memory has its place.
using GeluBlock = Sequential<Residual<LayerNorm, SelfAttention<Heads<2>, Causal>>,
                             Residual<LayerNorm, Linear<64>, GeluTanh, Linear<16>, Dropout<Ratio<1, 8>>>>;
struct GeluGpt final
    : Model<Input<Tokens<8>>, Words, PositionEmbedding, Repeat<2, GeluBlock>, LayerNorm, TiedLinear<Words>> {};
/// Its branches end with a norm, so that no product adds a sum and then the bias: in another order than kernels.
using NormedBlock = Sequential<Residual<SelfAttention<Heads<2>, Causal>, LayerNorm>,
                               Residual<Linear<64>, GeluTanh, Linear<16>, Dropout<Ratio<1, 8>>, LayerNorm>>;
struct NormedGpt final : Model<Input<Tokens<8>>, Words, PositionEmbedding, Repeat<2, NormedBlock>, TiedLinear<Words>> {
};
/// A Linear behind the activation that is followed by another; one whose input needs no gradient; one behind which none
/// comes; a branch that ends with one, so that the gradient of its output is needed once more; one of odd width.
struct GeluMlp final : Model<Input<Vector<8>>, Linear<24>, GeluTanh, Linear<16>, GeluTanh, Linear<16>, Relu, Linear<8>,
                             GeluTanh, LayerNorm, Residual<Linear<8>, GeluTanh>, Linear<12>, GeluTanh, Linear<5>> {};
/// Its last Linear rounds to the wider type of the output.
struct GeluEnd final : Model<Input<Vector<8>>, Linear<16>, GeluTanh, Linear<5>> {};
/// A Linear without a bias multiplies no gradient by a derivative, the last one included.
struct GeluBare final : Model<Input<Vector<8>>, Linear<16>, GeluTanh, Linear<5, NoBias>> {};

template <class Network, class... Policies>
using There = Trainer<Network, Batch<4>, Policies..., Device<Emulated>>;

/// Operations of a forward pass that there are not.
template <class Network, class... Policies>
double saved_operations() {
  return double(There<Network, Policies..., Epilogue<Separate>>::plan().forward.operations) -
         double(There<Network, Policies...>::plan().forward.operations);
}

/// In fp32 no number is rounded between the product and the activation, so the bits are those of kernels. The norm of
/// the gradients is a sum in fp64 over units, and what is fused is one unit: some dozen additions of 2^-53.
template <class Network, class... Policies>
void has_the_bits_of_kernels(const char* what) {
  INFO(what);
  using Together = There<Network, Policies...>;
  using Apart = There<Network, Policies..., Epilogue<Separate>>;
  const DeferredOutcome together = trained_as_planned<Together>(), apart = trained_as_planned<Apart>();
  CHECK(together.weights == apart.weights);
  CHECK(distance(together.numbers, apart.numbers) < 0x1p-46);
  CHECK(Together::plan().operations() < Apart::plan().operations());
  CHECK(Together::plan().bytes_moved() < Apart::plan().bytes_moved());
  CHECK(Together::plan().peak <= Apart::plan().peak);
}

/// In 16 bits the activation is applied to the sum before that is rounded: no farther from fp64 than the CPU engine.
template <class Network, class... Format>
void rounds_less(const char* what) {
  INFO(what);
  const std::vector<double> exact = trained_as_planned<Trainer<Network, Batch<4>, Precision<fp64>>>().numbers,
                            here = trained_as_planned<Trainer<Network, Batch<4>, Format...>>().numbers,
                            together = trained_as_planned<There<Network, Format...>>().numbers,
                            apart = trained_as_planned<There<Network, Format..., Epilogue<Separate>>>().numbers;
  CHECK(together != apart);
  CHECK(distance(exact, together) < as_far_as(distance(exact, here)));
}

/// Recomputation has no other bits, whichever of the fused layers it names.
template <class Network, class Up, class... Format>
void is_recomputed(const char* what) {
  INFO(what);
  const DeferredOutcome kept = trained_as_planned<There<Network, Format...>>();
  CHECK(kept == trained_as_planned<There<Network, Format..., Checkpoint<Selective<GeluTanh>>>>());
  CHECK(kept == trained_as_planned<There<Network, Format..., Checkpoint<Selective<Up>>>>());
  CHECK(kept == trained_as_planned<There<Network, Format..., Checkpoint<Selective<Up, GeluTanh, LayerNorm>>>>());
  CHECK(There<Network, Format..., Checkpoint<Selective<GeluTanh>>>::plan().forward.operations ==
        There<Network, Format...>::plan().forward.operations);
  CHECK(There<Network, Format..., Checkpoint<Selective<Up>>>::plan().backward.operations >
        There<Network, Format...>::plan().backward.operations);
}

/// Losses and weights of ranks on devices. The layers of an MLP are units, or groups that begin with the first Linear.
template <class... Policies>
std::vector<double> on_ranks() {
  std::vector<double> found;
  launch(2, [&](comm::Threads& communicator) {
    Trainer<GeluMlp, Batch<2>, Communicator<Threads>, Device<Emulated>, Policies...> trainer(communicator);
    trainer.poison_dead_memory();
    const double loss = trainer.fit(fake_data(), {.steps = 4, .progress = false}).loss;
    std::vector<double> own = support::weights_of<double>(trainer);
    own.push_back(loss);
    if (trainer.used().peak != trainer.planned().peak) throw std::logic_error("used is not what was planned");
    if (communicator.rank() == 0) found = own;
  });
  return found;
}
template <class Layer>
struct is_first : std::is_same<Layer, Linear<24>> {};

}  // namespace

TEST_CASE("products that apply an activation train the bits of kernels in fp32 and tf32") {
  has_the_bits_of_kernels<NormedGpt, Accumulate<2>, Checkpoint<Every<1>>>("gradients added, blocks recomputed");
  has_the_bits_of_kernels<NormedGpt, Freeze<Linear<64>>, Precision<tf32>>("the first Linear of a block frozen, tf32");
  has_the_bits_of_kernels<NormedGpt, Freeze<Linear<16>>>("the second frozen");
  has_the_bits_of_kernels<GeluMlp, Optimizer<Sgd>>("an MLP");
  has_the_bits_of_kernels<GeluMlp, Freeze<Linear<24>>, Precision<tf32>>("an MLP whose first layer is frozen, tf32");
}

TEST_CASE("products that apply an activation round less than kernels behind them") {
  rounds_less<GeluGpt, Precision<bf16, fp32>>("a GPT in bf16");
  rounds_less<GeluMlp, Precision<bf16, fp32>>("an MLP in bf16");
  rounds_less<GeluEnd, Precision<bf16, fp32>>("bf16, an output in fp32 behind the activation");
  rounds_less<GeluBare, Precision<bf16, fp32>>("the same, without a bias");
  rounds_less<GeluGpt, Precision<fp16, fp32>, LossScale<Static<64>>>("a GPT in fp16");
}

TEST_CASE("what is recomputed has the bits of what is kept, also where a product applies the activation") {
  is_recomputed<GeluGpt, Linear<64>, Precision<bf16, fp32>>("a GPT in bf16");
  is_recomputed<GeluMlp, Linear<24>, Precision<bf16, fp32>>("an MLP in bf16");
  is_recomputed<GeluGpt, Linear<64>, Precision<fp32>>("a GPT in fp32");
  CHECK(trained_as_planned<There<GeluGpt, Precision<bf16, fp32>>>() ==
        trained_as_planned<There<GeluGpt, Precision<bf16, fp32>, Checkpoint<Every<1>>>>());
}

TEST_CASE("ranks train the same bits under every sharding, where the derivative is another unit's product, too") {
  const std::vector<double> expected = on_ranks<Accumulate<2, ReduceEach>, Epilogue<Separate>>();
  CHECK(on_ranks<Accumulate<2, ReduceEach>>() == expected);
  CHECK(on_ranks<Accumulate<2, ReduceEach>, Shard<ZeRO3>>() == expected);
  CHECK(on_ranks<Accumulate<2, ReduceEach>, Shard<ZeRO3, WrapIf<is_first>>, Checkpoint<Selective<GeluTanh>>>() ==
        expected);
}

TEST_CASE("each pair is one operation; what the library does not promise stays two") {
  // Activations of an MLP: three of GeluTanh and one in a branch; Relu and the one of 12 columns stay. The last bias.
  CHECK(saved_operations<GeluMlp>() == 4 + 1);
  CHECK(saved_operations<GeluMlp, Precision<bf16, fp32>>() == 4);  // the output is fp32
  CHECK(saved_operations<GeluMlp, Precision<fp64>>() == 0);
  CHECK(saved_operations<GeluBare, Precision<bf16, fp32>>() == 1);
  // Of a block: the pair, the biases of three other Linears, and two sums.
  CHECK(saved_operations<GeluGpt>() == 2 * (4 + 2));
  CHECK(saved_operations<NormedGpt>() == 2 * 4);
  // Backward has the same operations, where a derivative is the product's, but for two sums of a block.
  CHECK(There<GeluGpt>::plan().backward.operations + 2 * 2 ==
        There<GeluGpt, Epilogue<Separate>>::plan().backward.operations);
}

TEST_CASE("names of parameters do not depend on epilogues, and Inference predicts the same") {
  using Together = There<NormedGpt>;
  using Apart = There<NormedGpt, Epilogue<Separate>>;
  const ::test::Directory folder;
  Together trainer;
  trainer.fit(fake_data(), {.steps = 3, .progress = false});
  trainer.save(folder / "state");
  Apart other;
  other.load(folder / "state");
  CHECK(support::weights_of<double>(trainer) == support::weights_of<double>(other));
  const auto predicted = [&]<class Form>(std::type_identity<Form>) {
    Inference<NormedGpt, Batch<2>, Form, Device<Emulated>> model(folder / "state");
    return model.predict(std::vector<std::int32_t>(16, 3));
  };
  CHECK(predicted(std::type_identity<Epilogue<Fused>>{}) == predicted(std::type_identity<Epilogue<Separate>>{}));
}
// SPDX-License-Identifier: Apache-2.0
