// An independent implementation: layers against what PyTorch computed.
#include "train/recorded.hpp"

using namespace regimen;
using namespace regimen::test;

TEST_CASE("layers agree with PyTorch") {
  check_layer<Linear<7>, 2, 3, 5>("linear", {"weight", "bias"});
  check_layer<LayerNorm, 2, 3, 16>("layer_norm", {"weight", "bias"});
  check_layer<RmsNorm, 2, 3, 16>("rms_norm", {"weight"});
}
TEST_CASE("activations agree with PyTorch") {
  check_layer<Gelu, 2, 5, 6>("gelu_erf");
  check_layer<GeluTanh, 2, 5, 6>("gelu_tanh");
  check_layer<Relu, 2, 5, 6>("relu");
  check_layer<Silu, 2, 5, 6>("silu");
}
