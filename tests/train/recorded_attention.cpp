// An independent implementation: attention against what PyTorch computed.
#include "train/recorded.hpp"

using namespace regimen;
using namespace regimen::test;

namespace {
const std::vector<std::string> parameters{"qkv.weight", "qkv.bias", "projection.weight", "projection.bias"};
}

TEST_CASE("attention agrees with PyTorch") {
  check_layer<SelfAttention<Heads<3>, Causal>, 2, 7, 12>("self_attention_causal", parameters);
  check_layer<SelfAttention<Heads<2>>, 2, 7, 12>("self_attention_full", parameters);
}
TEST_CASE("attention with rotary positions agrees with PyTorch") {
  check_layer<SelfAttention<Heads<3>, Causal, Rotary<Ratio<100>>>, 2, 7, 12>("self_attention_rotary", parameters);
}
TEST_CASE("also within a window") {
  check_layer<SelfAttention<Heads<3>, SlidingWindow<4>, Causal>, 2, 9, 12>("self_attention_window", parameters);
}
TEST_CASE("also in heads that share keys") {
  using Shared = SelfAttention<Heads<4>, KeyHeads<2>, HeadWidth<6>, Causal, Rotary<Ratio<100>>, WithoutBias>;
  check_layer<Shared, 2, 7, 12>("self_attention_shared", {"qkv.weight", "projection.weight"});
}
TEST_CASE("also with normalised q and k") {
  using Normalised =
      SelfAttention<Heads<4>, KeyHeads<2>, HeadWidth<6>, Causal, QueryKeyNorm<>, Rotary<Ratio<100>>, WithoutBias>;
  check_layer<Normalised, 2, 7, 12>("self_attention_normalised",
                                    {"qkv.weight", "norm.query", "norm.key", "projection.weight"});
}
TEST_CASE("also with scores that fall with the distance") {
  check_layer<SelfAttention<Heads<3>, Alibi, Causal>, 2, 9, 12>("self_attention_alibi", parameters);
}
TEST_CASE("also with a table of distances, as T5 has it") {
  check_layer<SelfAttention<Heads<2>, RelativeBias<8, 16>, WithoutScale, WithoutBias>, 2, 21, 6>(
      "self_attention_relative", {"qkv.weight", "attend.table", "projection.weight"});
  check_layer<SelfAttention<Heads<2>, Causal, RelativeBias<8, 16>>, 1, 21, 6>(
      "self_attention_relative_causal",
      {"qkv.weight", "qkv.bias", "attend.table", "projection.weight", "projection.bias"});
}
TEST_CASE("also over more than a tile") {
  check_layer<SelfAttention<Heads<2>, Causal>, 1, 131, 4>("self_attention_causal_long", parameters);
  check_layer<SelfAttention<Heads<1>>, 1, 67, 4>("self_attention_full_long", parameters);
}
