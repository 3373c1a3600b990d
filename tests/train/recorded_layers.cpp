// An independent implementation: layers against what PyTorch computed.
#include "train/recorded.hpp"

using namespace regimen;
using namespace regimen::test;

TEST_CASE("layers agree with PyTorch") {
  check_layer<Linear<7>, 2, 3, 5>("linear", {"weight", "bias"});
  check_layer<LayerNorm, 2, 3, 16>("layer_norm", {"weight", "bias"});
  check_layer<RmsNorm, 2, 3, 16>("rms_norm", {"weight"});
}
TEST_CASE("layers with other options agree with PyTorch") {
  check_layer<Linear<7, NoBias>, 2, 3, 5>("linear_no_bias", {"weight"});
  check_layer<LayerNormWith<Epsilon<Ratio<1, 1'000'000>>>, 2, 3, 16>("layer_norm_epsilon", {"weight", "bias"});
  check_layer<LayerScale<>, 2, 3, 16>("layer_scale", {"weight"});
  check_layer<RmsNormWith<Epsilon<Ratio<1, 1'000'000>>>, 2, 3, 16>("rms_norm_epsilon", {"weight"});
}
TEST_CASE("layers between positions and one row agree with PyTorch") {
  check_layer<ClassToken, 2, 3, 5>("class_token", {"token"});
  check_layer<TakeFirst, 2, 3, 5>("take_first");
  check_layer<MeanPool, 2, 7, 5>("mean_pool");
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
}
