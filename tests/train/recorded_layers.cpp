// An independent implementation: layers against what PyTorch computed.
#include "train/recorded.hpp"

#include <regimen/layer/pool.hpp>

using namespace regimen;
using namespace regimen::test;

namespace {

/// Positions as an image, row by row, or as a volume, frame by frame.
template <std::size_t... Extents>
struct AsImage final {
  static constexpr const char* name = "as_image";
  static constexpr bool couples_samples = false;
  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using Output = Value<T, Shape<Extents..., X::columns>>;
    static constexpr void forward(auto& walk, const auto& call) {
      walk.run(op::Copy<T>{{call.x}, {call.y}, walk.batch * X::size});
    }
    static constexpr void backward(auto& walk, const auto& call) {
      if (call.wants_d_x()) walk.run(op::Copy<T>{{call.d_y}, {call.d_x}, walk.batch * X::size});
    }
  };
};

}  // namespace

TEST_CASE("layers agree with PyTorch") {
  check_layer<Linear<7>, 2, 3, 5>("linear", {"weight", "bias"});
  check_layer<LayerNorm, 2, 3, 16>("layer_norm", {"weight", "bias"});
  check_layer<RmsNorm, 2, 3, 16>("rms_norm", {"weight"});
}
TEST_CASE("layers with other options agree with PyTorch") {
  check_layer<Linear<7, NoBias>, 2, 3, 5>("linear_no_bias", {"weight"});
  check_layer<LayerNormWith<Epsilon<Ratio<1, 1'000'000>>>, 2, 3, 16>("layer_norm_epsilon", {"weight", "bias"});
  check_layer<LayerScale<>, 2, 3, 16>("layer_scale", {"weight"});
  check_layer<GroupNorm<4, Epsilon<Ratio<1, 1000>>>, 3, 6, 16>("group_norm", {"weight", "bias"});
  check_layer<RmsNormWith<Epsilon<Ratio<1, 1'000'000>>>, 2, 3, 16>("rms_norm_epsilon", {"weight"});
}
TEST_CASE("layers between positions and one row agree with PyTorch") {
  check_layer<ClassToken, 2, 3, 5>("class_token", {"token"});
  check_layer<TakeFirst, 2, 3, 5>("take_first");
  check_layer<MeanPool, 2, 7, 5>("mean_pool");
  check_layer<GlobalMaxPool, 2, 7, 5>("global_max_pool");
}
TEST_CASE("recurrent layers agree with PyTorch") {
  const std::vector<std::string> all{"weight_ih", "weight_hh", "bias_ih", "bias_hh"}, weights{"weight_ih", "weight_hh"};
  check_layer<Lstm<4>, 2, 7, 5>("lstm", all);
  check_layer<Gru<4>, 2, 7, 5>("gru", all);
  check_layer<Lstm<4, NoBias>, 2, 7, 5>("lstm_no_bias", weights);
  check_layer<Gru<4, NoBias>, 2, 7, 5>("gru_no_bias", weights);
}
TEMPLATE_TEST_CASE("BatchNorm agrees with PyTorch", "", fp32, fp64) {
  using T = TestType;
  using Norm = BatchNorm<Momentum<Ratio<1, 5>>, Epsilon<Ratio<1, 1000>>>;
  const Recorded from("batch_norm");
  Trainer<Alone<3, 5, 16, Norm>, Precision<T>, Batch<3>, Loss<Upstream>> trainer;
  trainer.poison_dead_memory();
  const auto own = trainer.parameters();
  REQUIRE(own.size() == 5);
  from.fill(own[0], "input");
  const std::vector<std::string> names{"", "weight", "bias", "running_mean", "running_var"};
  for (std::size_t i = 1; i < 5; ++i) {
    CHECK(own[i].name == "1." + names[i]);
    from.fill(own[i], "parameter." + names[i]);
  }
  trainer.parameters_changed();
  std::vector<std::int32_t> rows(15);
  std::iota(rows.begin(), rows.end(), 0);
  const std::vector<float> upstream = from.values<float>("upstream");
  trainer.backward(trainer.forward(rows, std::vector<T>(upstream.begin(), upstream.end())));
  const auto gradients = trainer.gradients();
  REQUIRE(gradients.size() == 3);
  compare<T>(from, "gradient.input", gradients[0].values);
  compare<T>(from, "gradient.weight", gradients[1].values);
  compare<T>(from, "gradient.bias", gradients[2].values);
  compare<T>(from, "running_mean", own[3].values);
  compare<T>(from, "running_var", own[4].values);
  trainer.abandon();
  compare<T>(from, "output", trainer.predict(rows));
}
TEST_CASE("convolutions agree with PyTorch") {
  check_layer<Sequential<AsImage<5, 4>, Conv2d<6, 3, Stride<2>, Padding<1>>>, 2, 20, 3>("conv2d", {"weight", "bias"});
  check_layer<Sequential<AsImage<6, 5>, Conv2d<6, KernelSize<2, 3>, Padding<2>, Dilation<2>, Groups<2>>>, 2, 30, 4>(
      "conv2d_groups", {"weight", "bias"});
  check_layer<Sequential<AsImage<4, 5>, Conv2d<6, 3, Padding<1>, Groups<6>, NoBias>>, 2, 20, 6>("conv2d_depthwise",
                                                                                                {"weight"});
  check_layer<Sequential<AsImage<3, 2>, Conv2d<7, 1>>, 2, 6, 5>("conv2d_pixels", {"weight", "bias"});
  check_layer<Sequential<AsImage<3, 2>,
                         ConvTranspose2d<4, KernelSize<3, 2>, Stride<2>, Padding<1>, OutputPadding<1>, Groups<2>>>,
              2, 6, 4>("conv_transpose2d", {"weight", "bias"});
}
TEST_CASE("convolutions of positions and volumes agree with PyTorch") {
  check_layer<Conv1d<6, 3, Stride<2>, Padding<1>, Groups<2>>, 2, 9, 4>("conv1d", {"weight", "bias"});
  check_layer<Conv1d<4, 3, CausalPadding, Dilation<2>, NoBias>, 2, 7, 3>("conv1d_causal", {"weight"});
  check_layer<Sequential<AsImage<3, 4, 3>, Conv3d<6, KernelSize<2, 3, 2>, Stride<2>, Padding<1>, Groups<2>>>, 2, 36, 4>(
      "conv3d", {"weight", "bias"});
}
TEST_CASE("pools with windows that overlap, and images between pixels, agree with PyTorch") {
  check_layer<Sequential<AsImage<7, 6>, MaxPool<3, Stride<2>, Padding<1>>>, 2, 42, 3>("max_pool");
  check_layer<Sequential<AsImage<7, 6>, AveragePool<3, Stride<2>, Padding<1>>>, 2, 42, 3>("average_pool");
  check_layer<Sequential<AsImage<3, 4>, Upsample<2, Bilinear>>, 2, 12, 3>("upsample_bilinear");
  check_layer<Sequential<AsImage<2, 3>, Upsample<3, Bilinear>>, 2, 6, 3>("upsample_bilinear_3");
  check_layer<Sequential<AsImage<6, 9>, Downsample<3>>, 2, 54, 3>("downsample");
  check_layer<Sequential<AsImage<6, 9>, Downsample<3, Bilinear>>, 2, 54, 3>("downsample_bilinear_3");
  check_layer<Sequential<AsImage<4, 8>, Downsample<4, Bilinear>>, 2, 32, 3>("downsample_bilinear_4");
}
TEST_CASE("forks agree with PyTorch") {
  check_layer<Fork<Multiply, Sequential<Linear<7, NoBias>, Silu>, Linear<7, NoBias>>, 2, 3, 5>("gate",
                                                                                               {"first", "second"});
  check_layer<Fork<Concat, Identity, Linear<7>>, 2, 3, 5>("concatenation", {"weight", "bias"});
}
TEST_CASE("activations agree with PyTorch") {
  check_layer<Gelu, 2, 5, 6>("gelu_erf");
  check_layer<GeluTanh, 2, 5, 6>("gelu_tanh");
  check_layer<Relu, 2, 5, 6>("relu");
  check_layer<Silu, 2, 5, 6>("silu");
  check_layer<Sigmoid, 2, 5, 6>("sigmoid");
  check_layer<Tanh, 2, 5, 6>("tanh");
  check_layer<HardSwish, 2, 5, 6>("hard_swish");
  check_layer<Softmax, 2, 5, 6>("softmax");
}
