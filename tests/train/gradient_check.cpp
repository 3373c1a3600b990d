// Calculus: every layer alone, and a layer that is wrong.
#include <regimen/engine/cpu/device.hpp>
#include <regimen/layer/activation.hpp>
#include <regimen/layer/cast.hpp>
#include <regimen/layer/conv.hpp>
#include <regimen/layer/conv1d.hpp>
#include <regimen/layer/conv3d.hpp>
#include <regimen/layer/dropout.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/group_norm.hpp>
#include <regimen/layer/join.hpp>
#include <regimen/layer/layer_scale.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/patches.hpp>
#include <regimen/layer/pool.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/layer/softmax.hpp>
#include <regimen/loss/soft_cross_entropy.hpp>
#include <regimen/trainers/gradient_check.hpp>

#include "support/catch.hpp"
#include "temporary.hpp"

#include <limits>

using namespace regimen;

namespace {

// Differences of fourth order with h = 1e-3 have errors near 1e-10 of the largest gradient; a wrong term shows as 1e-3
// and more.
constexpr double tolerance = 1e-8;
constexpr GradientCheckOptions kinked{12, 1e-5, 1};  // rounding grows as 1/h
constexpr double kinked_tolerance = 1e-7;

template <class Layer, class SampleShape, class... Policies>
void holds(double most = tolerance, const GradientCheckOptions& options = {}) {
  const GradientCheck found = gradient_check_layer<Layer, SampleShape, Policies...>(options);
  INFO(Layer::name << ": " << found.tensor << "[" << found.element << "], " << found.checked << " checked, worst "
                   << found.worst);
  CHECK(found.checked > 0);
  CHECK(found.worst < most);
}

/// Gelu with the derivative of its approximation: an error near 1e-3.
struct WrongSlope final {
  static constexpr const char* name = "wrong_slope";
  static constexpr bool couples_samples = false;
  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using Output = X;
    static constexpr Reads backward_reads(bool) { return Reads::input; }
    static constexpr bool in_place = true, always_writes_d_x = true;
    static constexpr void forward(auto& walk, const auto& call) {
      walk.run(op::BiasActivation<activation::GeluErf, T>{
          .x = {call.x}, .y = {call.y}, .rows = walk.batch * X::rows, .columns = X::columns});
    }
    static constexpr void backward(auto& walk, const auto& call) {
      walk.run(op::BiasBackward<activation::GeluTanh, T, T>{
          .x = {call.x}, .d_y = {call.d_y}, .d_x = {call.d_x}, .rows = walk.batch * X::rows, .columns = X::columns});
    }
  };
};

/// Adds a bias, and forgets that a further micro-batch adds to its gradient.
struct Forgetful final {
  static constexpr const char* name = "forgetful";
  static constexpr bool couples_samples = false;
  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using Element = T;
    using Output = X;
    static constexpr std::array<Parameter, 1> parameters{
        Parameter{"bias", ParameterRole::bias, 1, {X::columns, 1, 1, 1}, {}}};
    static constexpr void forward(auto& walk, const auto& call) {
      walk.run(op::BiasActivation<activation::Identity, T>{.x = {call.x},
                                                           .bias = {call.parameters},
                                                           .y = {call.y},
                                                           .rows = walk.batch * X::rows,
                                                           .columns = X::columns});
    }
    static constexpr void backward(auto& walk, const auto& call) {
      walk.run(op::BiasBackward<activation::Identity, T, typename Roles::reduce>{.d_y = {call.d_y},
                                                                                 .d_x = {call.d_y},
                                                                                 .d_bias = {call.gradients},
                                                                                 .rows = walk.batch * X::rows,
                                                                                 .columns = X::columns});
      if (call.wants_d_x()) walk.run(op::Copy<T>{{call.d_y}, {call.d_x}, walk.batch * X::size});
    }
  };
};

struct Ends final : NamedLength<9> {};
using PaddedTable = Embedding<Vocabulary<7>, 4, PaddedWith<2>>;
/// A lookup of padding that has a gradient, or loses one of another row, where it may not.
template <bool counts_padding, bool loses_neighbour>
struct WrongTable final {
  static constexpr const char* name = "wrong_table";
  static constexpr bool couples_samples = false, couples_positions = false;
  template <class>
  using rules = boost::mp11::mp_list<>;  // it reads tokens
  template <class X, class Roles>
  struct Bound : PaddedTable::Bound<X, Roles> {
    using G = typename Roles::reduce;
    static constexpr void backward(auto& walk, const auto& call) {
      walk.run(op::EmbedBackward<typename Roles::compute, G>{.token = {call.x},
                                                             .d_y = {call.d_y},
                                                             .d_table = {call.gradients},
                                                             .count = walk.batch * X::size,
                                                             .vocabulary = 7,
                                                             .columns = 4,
                                                             .add = call.add,
                                                             .padding = counts_padding    ? -1
                                                                        : loses_neighbour ? 3
                                                                                          : 2});
    }
  };
};

/// Writes its output over its input, which its backward would have needed, without saying that it reads it.
struct ReadsNothing final {
  static constexpr const char* name = "reads_nothing";
  static constexpr bool couples_samples = false;
  template <class X, class Roles>
  struct Bound : WrongSlope::Bound<X, Roles> {
    using T = typename X::Element;
    static constexpr Reads backward_reads(bool) { return Reads::output; }
    static constexpr void backward(auto& walk, const auto& call) {  // reads y where x is meant
      walk.run(op::BiasBackward<activation::GeluErf, T, T>{
          .x = {call.y}, .d_y = {call.d_y}, .d_x = {call.d_x}, .rows = walk.batch * X::rows, .columns = X::columns});
    }
  };
};

}  // namespace

TEST_CASE("layers have the gradients of their functions") {
  holds<Linear<5>, Shape<4, 3>>();
  holds<LayerNorm, Shape<5, 9>>();
  holds<RmsNorm, Shape<5, 9>>();
  holds<Dropout<Ratio<1, 3>>, Shape<20>>();
  holds<Flatten, Shape<3, 4, 2>>();
  holds<PositionEmbedding, Shape<3, 5>>();
  holds<Linear<5, NoBias>, Shape<4, 3>>();
  holds<LayerNormWith<Epsilon<Ratio<1, 10>>>, Shape<5, 9>>();
  holds<RmsNormWith<Epsilon<Ratio<1, 10>>>, Shape<5, 9>>();
  holds<GroupNorm<3, Epsilon<Ratio<1, 10>>>, Shape<2, 3, 6>>();
  holds<GroupNorm<1>, Shape<5, 4>, Accumulate<3>>();
  holds<GroupNorm<2>, Shape<6>>();
  holds<Softmax, Shape<4, 7>>();
  holds<Softmax, Shape<9>>();
  holds<Identity, Shape<3, 5>>();
  holds<DropPath<Ratio<1, 3>>, Shape<20>>();
  holds<LayerScale<Ratio<1, 2>>, Shape<4, 5>>();
  holds<LayerScale<Ratio<1, 2>>, Shape<4, 5>, Accumulate<3>>();
}

TEST_CASE("layers between images and positions have the gradients of their functions") {
  holds<Patches<2>, Shape<4, 6, 3>>();
  holds<Patches<3>, Shape<3, 3, 2>>();
  holds<Patches<1>, Shape<2, 3, 2>>();
  holds<AveragePool<2>, Shape<4, 6, 3>>();
  holds<AveragePool<3>, Shape<3, 6, 2>>();
  holds<MaxPool<2>, Shape<4, 6, 3>>(kinked_tolerance, kinked);
  holds<MaxPool<3>, Shape<3, 6, 2>>(kinked_tolerance, kinked);
  holds<AveragePool<3, Stride<2>, Padding<1>>, Shape<5, 6, 2>>();
  holds<MaxPool<3, Stride<2>, Padding<1>>, Shape<6, 5, 2>>(kinked_tolerance, kinked);
  holds<GlobalMaxPool, Shape<2, 3, 4>>(kinked_tolerance, kinked);
  holds<GlobalMaxPool, Shape<5, 3>>(kinked_tolerance, kinked);
  holds<Upsample<2>, Shape<2, 3, 3>>();
  holds<Upsample<3>, Shape<1, 2, 2>>();
  holds<Upsample<2, Bilinear>, Shape<3, 2, 3>>();
  holds<Upsample<3, Bilinear>, Shape<2, 1, 2>>();
  holds<Downsample<3>, Shape<3, 6, 2>>();
  holds<Downsample<2, Bilinear>, Shape<4, 2, 3>>();
  holds<Downsample<3, Bilinear>, Shape<3, 6, 2>>();
  holds<ClassToken, Shape<3, 5>>();
  holds<ClassToken, Shape<3, 5>, Accumulate<3>>();
  holds<TakeFirst, Shape<3, 5>>();
  holds<MeanPool, Shape<3, 5>>();
  holds<GlobalAveragePool, Shape<2, 3, 5>>();
}

TEST_CASE("convolutions have the gradients of their functions") {
  holds<Conv2d<5, 3>, Shape<4, 5, 2>>();
  holds<Conv2d<3, KernelSize<2, 3>, NoBias, Padding<1>, Stride<2>>, Shape<5, 4, 2>, Accumulate<3>>();
  holds<Conv2d<4, KernelSize<3, 1>, Groups<2>, Stride<3>, Padding<2>, Dilation<2>>, Shape<6, 5, 6>>();
  holds<Conv2d<6, 3, Padding<1>, Groups<6>>, Shape<3, 4, 6>, Accumulate<2>>();
  holds<Conv2d<6, 3, Dilation<2>, Groups<6>, Stride<2>, Padding<2>, NoBias>, Shape<5, 4, 6>>();
  holds<Conv2d<7, 1>, Shape<2, 3, 4>>();
  holds<Conv2d<7, 1, Stride<2>>, Shape<4, 3, 4>>();
  holds<ConvTranspose2d<4, KernelSize<2, 3>, Stride<2>, Padding<1>, OutputPadding<1>, Groups<2>>, Shape<3, 2, 6>,
        Accumulate<2>>();
  holds<ConvTranspose2d<3, 1>, Shape<2, 3, 4>>();
  holds<ConvTranspose2d<6, 3, Dilation<2>, Groups<6>, NoBias>, Shape<2, 3, 6>>();
}

TEST_CASE("convolutions of positions and volumes have the gradients of their functions") {
  holds<Conv1d<5, 3>, Shape<7, 2>>();
  holds<Conv1d<4, 3, CausalPadding, Dilation<2>, Groups<2>>, Shape<6, 6>, Accumulate<2>>();
  holds<Conv1d<6, 3, Padding<1>, Groups<6>, NoBias, Stride<2>>, Shape<6, 6>>();
  holds<Conv1d<5, 1, Padding<1>>, Shape<4, 3>>();
  holds<Conv3d<4, KernelSize<3, 2, 1>, Padding<1>, Stride<2>, Groups<2>, NoBias>, Shape<3, 3, 4, 6>, Accumulate<2>>();
  holds<Conv3d<3, KernelSize<3, 1, 1>, Dilation<2>>, Shape<6, 2, 2, 3>>();
  holds<Conv3d<3, KernelSize<1, 2, 2>>, Shape<2, 3, 3, 2>>();
}

TEST_CASE("activations have the gradients of their functions, with and without the bias of their neighbour") {
  holds<Gelu, Shape<3, 7>>();
  holds<GeluTanh, Shape<3, 7>>();
  holds<Silu, Shape<3, 7>>();
  holds<Sigmoid, Shape<3, 7>>();
  holds<Tanh, Shape<3, 7>>();
  holds<HardSwish, Shape<3, 7>>(kinked_tolerance, kinked);
  holds<Relu, Shape<3, 7>>(kinked_tolerance, kinked);
  holds<Sigmoid, Shape<3, 7>, Fusion<Unfused>>();
  holds<Tanh, Shape<3, 7>, Fusion<Unfused>>();
  holds<HardSwish, Shape<3, 7>, Fusion<Unfused>>(kinked_tolerance, kinked);
  holds<Gelu, Shape<3, 7>, Fusion<Unfused>>();
  holds<GeluTanh, Shape<3, 7>, Fusion<Unfused>>();
  holds<Silu, Shape<3, 7>, Fusion<Unfused>>();
  holds<Relu, Shape<3, 7>, Fusion<Unfused>>(kinked_tolerance, kinked);
}

TEST_CASE("attention has the gradients of its function") {
  holds<SelfAttention<Heads<2>>, Shape<5, 8>>();
  holds<SelfAttention<Heads<2>, Causal>, Shape<5, 8>>();
  holds<SelfAttention<Heads<2>, Causal, Dropout<Ratio<1, 4>>>, Shape<5, 8>>();
  holds<SelfAttention<Heads<1>, Dropout<Ratio<1, 4>>>, Shape<67, 4>>();
  holds<SelfAttention<Heads<2>, Causal, Rotary<Ratio<10>>, WithoutBias>, Shape<5, 8>>();
  holds<SelfAttention<Heads<2>, WithoutProjectionBias>, Shape<5, 8>>();
  holds<SelfAttention<Heads<1>, Rotary<Ratio<10>, Llama3Scaling<Ratio<2>, Ratio<1>, Ratio<4>, 20>>>, Shape<5, 8>>();
}

TEST_CASE("heads that share keys, of any width, have the gradients of their function") {
  holds<SelfAttention<Heads<4>, KeyHeads<2>>, Shape<5, 8>>();
  holds<SelfAttention<Heads<3>, KeyHeads<1>, HeadWidth<4>, Causal, Dropout<Ratio<1, 4>>>, Shape<5, 8>>();
  holds<SelfAttention<Heads<4>, HeadWidth<6>, KeyHeads<2>, Rotary<>, WithoutBias>, Shape<5, 3>>();
}

TEST_CASE("attention whose q and k are normalised has the gradients of its function") {
  holds<SelfAttention<Heads<2>, QueryKeyNorm<>, Rotary<>>, Shape<5, 8>>();
  holds<SelfAttention<Heads<4>, KeyHeads<2>, QueryKeyNorm<Epsilon<Ratio<1, 10>>>, Causal>, Shape<5, 12>,
        Accumulate<2>>();
}

TEST_CASE("a further micro-batch adds to the gradients") { holds<LayerNorm, Shape<5, 9>, Accumulate<3>>(); }

TEST_CASE("cross-entropy with distributions has the gradient of its definition") {
  holds<Linear<5>, Shape<4, 3>, Loss<SoftCrossEntropy>, Accumulate<2>>();
}

TEST_CASE("a padded row is checked as it is defined: its lookups have no gradient, and all else that reads it has") {
  const auto holds_in = []<class Net>(Net*, std::size_t elements) {  // all are checked, or 28 of a tensor
    const GradientCheck found = gradient_check<Net>({.samples = 28});
    INFO(found.tensor << "[" << found.element << "], worst " << found.worst);
    CHECK(found.worst < tolerance);
    CHECK(found.checked == elements);
  };
  using Text = Input<Tokens<9>>;
  holds_in((Model<Text, PaddedTable, Linear<7>>*)nullptr, 63);
  holds_in((Model<Text, PaddedTable, LayerNorm, TiedLinear<PaddedTable>>*)nullptr, 36);
  // A length is what it was, and so is every other table of the same tokens.
  holds_in((Model<Text, KeepLength<Ends, PaddedWith<2>>, PaddedTable, PositionEmbedding,
                  SelfAttention<Heads<2>, Within<Ends>>, LayerNorm, TiedLinear<PaddedTable>>*)nullptr,
           124);
  holds_in((Model<Text, Fork<Add, PaddedTable, Embedding<Vocabulary<7>, 4, PaddedWith<0>>>, Linear<7>>*)nullptr, 91);
  holds_in((Model<Input<Bundle<Tokens<3>, Tokens<4>>>,
                  Fork<ConcatAlong<0>, Sequential<Part<0>, PaddedTable>,
                       Sequential<Part<1>, Embedding<Vocabulary<5>, 4, PaddedWith<4>>>>,
                  Linear<3>>*)nullptr,
           63);
}

TEST_CASE("a wrong gradient of a padded row is found, and so is one beside it") {
  // (Whatever the model's tokens are below, an Embedding says.)
  using Beside = Embedding<Vocabulary<7>, 4>;
  using Counts = Model<Input<Tokens<9>>, Fork<Add, WrongTable<true, false>, Beside>, Linear<7>>;
  using Neighbour = Model<Input<Tokens<9>>, Fork<Add, WrongTable<false, true>, Beside>, Linear<7>>;
  using Right = Model<Input<Tokens<9>>, Fork<Add, WrongTable<false, false>, Beside>, Linear<7>>;
  CHECK(gradient_check<Counts>({.samples = 28}).worst > 1e-3);
  CHECK(gradient_check<Neighbour>({.samples = 28}).worst > 1e-3);
  CHECK(gradient_check<Right>({.samples = 28}).worst < tolerance);
}

TEST_CASE("a check that would check nothing is refused") {
  const auto refused = [](const GradientCheckOptions& options) {
    return ::test::error_of([&] { gradient_check_layer<LayerNorm, Shape<5, 9>, Accumulate<3>>(options); });
  };
  CHECK(refused({.samples = 1}).empty());
  CHECK(refused({.samples = 0}) ==
        "gradient_check, samples: expected at least 1 element of each tensor to check, found 0");
  for (const double distance :
       {0.0, -1e-3, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    CHECK(::test::says(refused({.distance = distance}), "gradient_check, distance: expected a finite number above 0"));
}

TEST_CASE("a wrong layer is found, and named") {
  const GradientCheck slope = gradient_check_layer<WrongSlope, Shape<3, 7>>();
  CHECK(slope.worst > 1e-5);
  CHECK((slope.tensor == "0.weight" || slope.tensor == "0.bias"));
  const GradientCheck forgetful = gradient_check_layer<Forgetful, Shape<3, 7>, Accumulate<2>>();
  CHECK(forgetful.worst > 1e-2);
  CHECK(forgetful.tensor == "1.bias");
  CHECK(gradient_check_layer<Forgetful, Shape<3, 7>>().worst < tolerance);  // right while there is one micro-batch
  CHECK(gradient_check_layer<ReadsNothing, Shape<3, 7>>().worst > 1e-3);
}
