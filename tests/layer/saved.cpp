// What forward keeps for backward, to the byte: what each layer reads, and nothing that another tensor can stand for.
#include <regimen/layer/activation.hpp>
#include <regimen/layer/cast.hpp>
#include <regimen/layer/conv.hpp>
#include <regimen/layer/dropout.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/loss/mean_squared_error.hpp>
#include <regimen/programs/recipe.hpp>
#include <regimen/rule/compose.hpp>

#include "support/catch.hpp"

using namespace regimen;

namespace {

constexpr std::size_t batch = 16, width = 64, tensor = batch * width * sizeof(float);  // whole lines of 256 bytes

/// Bytes on the saved stack at the end of forward, the output and its gradient among them.
template <class Network, class... Policies>
constexpr std::size_t saved = [] {
  using Recipe = programs::Recipe<Network, ConfigurationOf<Loss<MeanSquaredError>, Batch<batch>, Policies...>>;
  return Recipe::Bound::Body::footprint(typename Recipe::PlanWalk(batch, 1, 0), walk::Place::saved);
}();
template <class... Layers>
using Mlp = Model<Input<Vector<width>>, Linear<width>, Layers..., Linear<width>>;
using Drop = Dropout<Ratio<1, 8>>;

}  // namespace

TEST_CASE(
    "an activation whose derivative follows from its output keeps that alone, which the next layer reads anyhow") {
  CHECK(saved<Mlp<Relu>> == 2 * tensor);
  CHECK(saved<Mlp<Relu>, Fusion<Unfused>> == 2 * tensor);
  CHECK(saved<Mlp<Relu, Linear<width>, Relu>> == 3 * tensor);
  CHECK(saved<Mlp<Relu>, Checkpoint<Selective<Relu>>> == 2 * tensor);  // its input, from which the output comes again
  CHECK(saved<Mlp<Relu, Drop>> == 3 * tensor);                         // its output, and Linear's input
}
TEST_CASE("the other activations keep their input, beside what the next layer reads") {
  CHECK(saved<Mlp<Gelu>> == 3 * tensor);
  CHECK(saved<Mlp<GeluTanh>> == 3 * tensor);
  CHECK(saved<Mlp<Silu>> == 3 * tensor);
  CHECK(saved<Mlp<Gelu>, Fusion<Unfused>> == 3 * tensor);
  CHECK(saved<Mlp<Gelu>, Checkpoint<Selective<Gelu>>> == 2 * tensor);
}
TEST_CASE("activations that read their output keep that alone") {
  CHECK(saved<Mlp<Sigmoid>> == 2 * tensor);
  CHECK(saved<Mlp<Tanh>> == 2 * tensor);
  CHECK(saved<Mlp<Tanh>, Fusion<Unfused>> == 2 * tensor);
  CHECK(saved<Mlp<HardSwish>> == 3 * tensor);
}
TEST_CASE("convolutions keep their input, and no windows") {
  using Image4 = Input<Image<4, 4, 4>>;
  using Conv = Conv2d<4, 3, Padding<1>>;
  CHECK(saved<Model<Image4, Conv, Conv>> == 2 * tensor);
  CHECK(saved<Model<Image4, Conv, Conv2d<4, 1>>> == 2 * tensor);
  CHECK(saved<Model<Image4, Conv, Conv2d<4, 3, Padding<1>, Stride<2>>>> == tensor + tensor / 4);
  CHECK(saved<Model<Image4, Conv, Gelu, Conv>> == 3 * tensor);
  CHECK(saved<Model<Image4, Conv, Relu, Conv>> == 2 * tensor);
}
TEST_CASE("forks keep what their branches and their join read") {
  CHECK(saved<Mlp<Fork<Add, Identity, Linear<width>>>> == 3 * tensor);
  CHECK(saved<Mlp<Fork<Add, Linear<width>, Linear<width>>>> == 3 * tensor);
  CHECK(saved<Mlp<Fork<Multiply, Linear<width>, Linear<width>>>> == 5 * tensor);
  CHECK(saved<Mlp<Fork<Multiply, Identity, Linear<width>>>> == 4 * tensor);
  using Gate = Mlp<Fork<Multiply, Sequential<Linear<width>, Silu>, Linear<width>>>;
  CHECK(saved<Gate> == 5 * tensor);  // the activated branch comes again
  CHECK(saved<Gate, Fusion<Unfused>> == 6 * tensor);
  CHECK(saved<Mlp<Fork<Concat, Identity, Linear<width>>>> ==
        4 * tensor);  // what the last Linear reads is twice as wide
}
TEST_CASE("layers that read nothing keep nothing") {
  CHECK(saved<Mlp<Drop>> == 2 * tensor);
  CHECK(saved<Mlp<Drop, Drop>> == 2 * tensor);
  CHECK(saved<Mlp<Flatten>> == 2 * tensor);
  CHECK(saved<Mlp<>> == 2 * tensor);
  CHECK(saved<Mlp<>, Freeze<Linear<width>>> == 1 * tensor);
}
TEST_CASE("norms keep their input and statistics") {
  constexpr std::size_t statistic = TensorArena::align(batch * sizeof(float));
  CHECK(saved<Mlp<LayerNorm>> == 3 * tensor + 2 * statistic);
  CHECK(saved<Mlp<RmsNorm>> == 3 * tensor + statistic);
}
TEST_CASE("a sum keeps what its branch keeps") {
  CHECK(saved<Mlp<Residual<Linear<width>>>> == 3 * tensor);
  CHECK(saved<Mlp<Residual<Linear<width>, Relu>>> == 4 * tensor);  // Relu's output, and the sum
}
