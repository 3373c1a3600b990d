// An independent implementation: attention against what PyTorch computed.
#include "train/recorded.hpp"

#include <regimen/optimizer/sgd.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

using namespace regimen;
using namespace regimen::test;

namespace {
const std::vector<std::string> parameters{"qkv.weight", "qkv.bias", "projection.weight", "projection.bias"};

struct Attends : Model<Input<Series<9, 3>>, Linear<4>, SelfAttention<Heads<2>>> {};

/// Of all parameters, with weights of this size.
template <class P, class Number>
std::vector<std::vector<double>> gradients(double size) {
  Trainer<Attends, Batch<2>, Loss<MeanSquaredError>, Optimizer<Sgd>, Precision<P>> trainer;
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  for (auto parameter : trainer.parameters())
    for (auto& w : parameter.values) w = static_cast<Number>(static_cast<float>(normal(random) * size));
  trainer.parameters_changed();
  std::vector<Number> x(2 * 27), y(2 * 36);
  for (auto& value : x) value = static_cast<Number>(static_cast<float>(normal(random)));
  for (auto& value : y) value = static_cast<Number>(static_cast<float>(normal(random)));
  trainer.backward(trainer.forward(x, y));
  std::vector<std::vector<double>> all;
  for (auto parameter : trainer.gradients()) all.emplace_back(parameter.values.begin(), parameter.values.end());
  return all;
}
}  // namespace

/// Scores of 6e4 to 1e8, so that one weight of each row is 1. PyTorch has errors of up to 3e-7 here: a gradient is a sum of
/// some ten products of two or three factors each, 32 roundings of 2^-24 at most.
TEST_CASE("gradients of attention are right whatever the size of scores") {
  for (const double size : {10., 18., 32.}) {
    CAPTURE(size);
    const auto found = gradients<fp32, float>(size), right = gradients<fp64, double>(size);
    for (std::size_t i = 0; i < 4; ++i) {  // the layer in front, and q, k and v
      double most = 0, largest = 0;
      for (std::size_t k = 0; k < right[i].size(); ++k) {
        most = std::max(most, std::abs(found[i][k] - right[i][k]));
        largest = std::max(largest, std::abs(right[i][k]));
      }
      CAPTURE(i);
      CHECK(most <= 32 * 0x1p-24 * largest);
    }
  }
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
