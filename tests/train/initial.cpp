// Weights before the first step, and what else is drawn: distributions, and that nothing is drawn twice.
#include <regimen/engine/cpu/device.hpp>
#include <regimen/layer/activation.hpp>
#include <regimen/layer/batch_norm.hpp>
#include <regimen/layer/conv.hpp>
#include <regimen/layer/conv_transpose.hpp>
#include <regimen/layer/cross_attention.hpp>
#include <regimen/layer/dropout.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/group_norm.hpp>
#include <regimen/layer/join.hpp>
#include <regimen/layer/layer_scale.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/named.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/patches.hpp>
#include <regimen/layer/pool.hpp>
#include <regimen/layer/recurrent.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/loss/mean_squared_error.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

using namespace regimen;

namespace {

using Values = std::vector<double>;

/// How numbers are drawn: all the same (0, 1, ...), uniform in ±scale, or normal with a deviation of scale.
struct Law {
  enum Kind { same, uniform, normal } kind = same;
  double scale = 0;
};
Law even(double bound) { return {Law::uniform, bound}; }
Law around(double deviation) { return {Law::normal, deviation}; }
Law by_fan_in(double inputs) { return even(1 / std::sqrt(inputs)); }
Law glorot(double inputs, double outputs) { return even(std::sqrt(6 / (inputs + outputs))); }
constexpr Law zero{}, one{Law::same, 1};

/// Of n independent numbers of a law the mean, the mean square and the mean fourth power are within six of their standard
/// deviations of what they are expected to be: two in a thousand million are not, each.
///   uniform   moments of x / σ: 2: 1, 4: 9/5, 8: 9; the largest of n is below a (1 − 20 / n) in one case of e^20
///   normal    2: 1, 4: 3, 8: 105; none is beyond √(2 · 54 · ln 2), as 54 bits are drawn
bool follows(const Values& values, Law law) {
  const double n = double(values.size());
  if (law.kind == Law::same) return std::all_of(values.begin(), values.end(), [&](double x) { return x == law.scale; });
  const bool is_uniform = law.kind == Law::uniform;
  const double sigma = is_uniform ? law.scale / std::sqrt(3) : law.scale, fourth = is_uniform ? 1.8 : 3,
               eighth = is_uniform ? 9 : 105, most = is_uniform ? law.scale : law.scale * std::sqrt(108 * std::log(2));
  double first = 0, second = 0, power = 0, largest = 0;
  for (const double x : values) {
    const double z = x / sigma;
    first += z / n, second += z * z / n, power += z * z * z * z / n;
    largest = std::max(largest, std::abs(x));
  }
  INFO(n << " numbers of scale " << law.scale << ": mean " << first << ", square " << second << ", fourth " << power
         << ", largest " << largest);
  const bool holds = std::abs(first) <= 6 / std::sqrt(n) && std::abs(second - 1) <= 6 * std::sqrt((fourth - 1) / n) &&
                     std::abs(power - fourth) <= 6 * std::sqrt((eighth - fourth * fourth) / n) &&
                     largest <= most * (1 + 0x1p-23) && (!is_uniform || largest >= most * (1 - 20 / n));
  CHECK(holds);
  return holds;
}
/// Whether two draws of a law are independent as far as their products say.
bool are_apart(const Values& a, const Values& b) {
  double product = 0, left = 0, right = 0;
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) product += a[i] * b[i], left += a[i] * a[i], right += b[i] * b[i];
  return std::abs(product) <= 6 * std::sqrt(left * right / double(a.size()));
}

template <class Network, class... Policies>
std::map<std::string, Values> drawn(std::uint64_t seed = 0) {
  Trainer<Network, Batch<1>, Policies...> trainer({.seed = seed});
  std::map<std::string, Values> all;
  for (const auto& parameter : trainer.parameters())
    all[parameter.name] = Values(parameter.values.begin(), parameter.values.end());
  return all;
}
void follow(const std::map<std::string, Values>& found, const std::map<std::string, Law>& laws) {
  for (const auto& [name, values] : found) {
    INFO(name);
    REQUIRE(laws.contains(name));
    CHECK(follows(values, laws.at(name)));
  }
  CHECK(found.size() == laws.size());
}

struct Wide : NamedValue<Shape<12, 64>> {};
struct Narrow : NamedValue<Shape<12, 40>> {};
using Feed = Residual<LayerNorm, Linear<96>, Gelu, Linear<64>>;
struct Text final : Model<Input<Tokens<12>>, Embedding<Vocabulary<200>, 64>, PositionEmbedding,
                          Residual<LayerNorm, SelfAttention<Heads<4>, Causal>>, Keep<Wide>, Linear<40, NoBias>,
                          Keep<Narrow>, Linear<64>, CrossAttention<Wide, Heads<4>>, CrossAttention<Narrow, Heads<4>>,
                          Repeat<2, Feed>, Feed, Lstm<48>, RmsNorm, Gru<32>, Linear<200>> {};
struct Pictures final
    : Model<Input<Image<8, 8, 6>>, Conv2d<32, 3, Padding<1>>, Relu, Conv2d<64, 3, NoBias>, BatchNorm<>,
            ConvTranspose2d<24, 4>, GroupNorm<4>, LayerScale<Ratio<1, 2>>, Flatten, Linear<150>, Silu, Linear<5>> {};
struct Patched final : Model<Input<Image<8, 8, 3>>, Patches<2>, Linear<96>, ClassToken,
                             SelfAttention<Heads<6>, RelativeBias<32, 64>, QueryKeyNorm<>, WithoutProjectionBias>,
                             LayerScale<Ratio<1, 4>>, TakeFirst, Linear<5>> {};
template <class... Policies>
std::map<std::string, Values> text() {
  return drawn<Text, Policies...>();
}

}  // namespace

TEST_CASE("Init<PyTorch> draws what torch.nn draws") {
  const Law feed = by_fan_in(64), back = by_fan_in(96), cell = by_fan_in(48), unit = by_fan_in(32);
  std::map<std::string, Law> laws{{"0.weight", around(1)},
                                  {"1.weight", around(1)},
                                  {"2.0.weight", one},
                                  {"2.0.bias", zero},
                                  {"2.1.qkv.weight", glorot(64, 3 * 64)},
                                  {"2.1.qkv.bias", zero},
                                  {"2.1.projection.weight", feed},
                                  {"2.1.projection.bias", zero},
                                  {"4.weight", feed},
                                  {"6.weight", by_fan_in(40)},
                                  {"6.bias", by_fan_in(40)},
                                  {"7.q.weight", glorot(64, 3 * 64)},
                                  {"7.q.bias", zero},
                                  {"7.kv.weight", glorot(64, 3 * 64)},
                                  {"7.kv.bias", zero},
                                  {"7.projection.weight", feed},
                                  {"7.projection.bias", zero},
                                  {"8.q.weight", glorot(64, 64)},
                                  {"8.q.bias", zero},
                                  {"8.kv.weight", glorot(40, 64)},
                                  {"8.kv.bias", zero},
                                  {"8.projection.weight", feed},
                                  {"8.projection.bias", zero},
                                  {"12.weight", one},
                                  {"14.weight", unit},
                                  {"14.bias", unit}};
  for (const std::string block : {"9.0.0.", "9.1.0.", "10."}) {
    laws[block + "0.weight"] = one, laws[block + "0.bias"] = zero;
    laws[block + "1.weight"] = laws[block + "1.bias"] = feed;
    laws[block + "3.weight"] = laws[block + "3.bias"] = back;
  }
  for (const std::string name : {"weight_ih", "weight_hh", "bias_ih", "bias_hh"})
    laws["11." + name] = cell, laws["13." + name] = unit;
  follow(text<Init<PyTorch>>(), laws);
  follow(text<Init<PyTorch>, Fusion<Unfused>>(), laws);
  follow(drawn<Pictures, Init<PyTorch>>(), {{"0.weight", by_fan_in(9 * 6)},
                                            {"0.bias", by_fan_in(9 * 6)},
                                            {"2.weight", by_fan_in(9 * 32)},
                                            {"3.weight", one},
                                            {"3.bias", zero},
                                            {"3.running_mean", zero},
                                            {"3.running_var", one},
                                            {"4.weight", by_fan_in(16 * 24)},
                                            {"4.bias", by_fan_in(16 * 24)},
                                            {"5.weight", one},
                                            {"5.bias", zero},
                                            {"6.weight", Law{Law::same, 0.5}},
                                            {"8.weight", by_fan_in(9 * 9 * 24)},
                                            {"8.bias", by_fan_in(9 * 9 * 24)},
                                            {"10.weight", by_fan_in(150)},
                                            {"10.bias", by_fan_in(150)}});
}

TEST_CASE("Init<Default> draws what each layer says, and Init<Gpt2> divides what ends a branch") {
  const Law feed = by_fan_in(64), back = by_fan_in(96), cell = by_fan_in(48), unit = by_fan_in(32);
  std::map<std::string, Law> laws{{"0.weight", around(0.02)},  {"1.weight", around(0.02)},     {"4.weight", feed},
                                  {"6.weight", by_fan_in(40)}, {"8.kv.weight", by_fan_in(40)}, {"12.weight", one},
                                  {"14.weight", unit}};
  for (const std::string name : {"2.0.", "9.0.0.0.", "9.1.0.0.", "10.0."}) laws[name + "weight"] = one;
  for (const std::string name : {"2.1.qkv.", "2.1.projection.", "7.q.", "7.kv.", "7.projection.", "8.q.",
                                 "8.projection.", "9.0.0.1.", "9.1.0.1.", "10.1."})
    laws[name + "weight"] = feed;
  for (const std::string name : {"9.0.0.3.", "9.1.0.3.", "10.3."}) laws[name + "weight"] = back;
  for (const std::string name : {"weight_ih", "weight_hh", "bias_ih", "bias_hh"})
    laws["11." + name] = cell, laws["13." + name] = unit;
  const auto usual = text<>();
  for (const auto& [name, values] : usual)
    if (name.ends_with(".bias")) laws[name] = zero;
  follow(usual, laws);
  // Four branches end: attention, two iterations, and one more. The last matrix of each is of 0.02 / √4.
  for (auto& [name, law] : laws) {
    const bool ends = name == "2.1.projection.weight" || name == "9.0.0.3.weight" || name == "9.1.0.3.weight" ||
                      name == "10.3.weight";
    if (name.find("bias") != std::string::npos) law = zero;
    else if (law.kind != Law::same) law = around(ends ? 0.01 : 0.02);
  }
  follow(text<Init<Gpt2>>(), laws);
}

namespace {
/// A branch whose last product leaves its bias to the activation behind it, where they are fused.
struct EndsActivated final : Model<Input<Vector<8>>, Residual<Linear<16>, Gelu, Linear<8>, Relu>,
                                   Fork<Add, Identity, Sequential<Linear<8>, Gelu>>> {};
}  // namespace

TEST_CASE("Init<Gpt2> divides the last product of a branch, fused with an activation or not") {
  const auto weights = []<class... Policies>(boost::mp11::mp_list<Policies...>) {
    Trainer<EndsActivated, Loss<MeanSquaredError>, Init<Gpt2>, Policies...> trainer;
    std::vector<Values> all;
    for (const auto& parameter : trainer.parameters())
      all.emplace_back(parameter.values.begin(), parameter.values.end());
    return all;
  };
  const auto fused = weights(boost::mp11::mp_list<>{}), unfused = weights(boost::mp11::mp_list<Fusion<Unfused>>{});
  CHECK(fused == unfused);
  CHECK(follows(fused.at(0), around(0.02)));
  CHECK(follows(fused.at(2), around(0.02 / std::sqrt(2))));
}

TEST_CASE("what torch.nn has no counterpart of begins under Init<PyTorch> as under Init<Default>") {
  std::map<std::string, Law> laws{{"1.weight", by_fan_in(12)},
                                  {"1.bias", zero},
                                  {"2.token", around(0.02)},
                                  {"3.qkv.weight", by_fan_in(96)},
                                  {"3.qkv.bias", zero},
                                  {"3.norm.query", one},
                                  {"3.norm.key", one},
                                  {"3.attend.table", around(1 / std::sqrt(96.0))},
                                  {"3.projection.weight", by_fan_in(96)},
                                  {"4.weight", Law{Law::same, 0.25}},
                                  {"6.weight", by_fan_in(96)},
                                  {"6.bias", zero}};
  follow(drawn<Patched>(), laws);
  laws["1.bias"] = by_fan_in(12), laws["6.bias"] = by_fan_in(96), laws["3.qkv.weight"] = glorot(96, 3 * 96);
  follow(drawn<Patched, Init<PyTorch>>(), laws);
}

TEST_CASE("no two layers, iterations or seeds draw the same weights") {
  const auto all = text<>(), other = drawn<Text>(7);
  const std::vector<std::string> like{"9.0.0.1.weight", "9.1.0.1.weight", "10.1.weight"},
      back{"9.0.0.3.weight", "9.1.0.3.weight", "10.3.weight"},
      square{"2.1.projection.weight", "7.q.weight", "8.q.weight", "7.projection.weight", "8.projection.weight"};
  for (const auto& names : {like, back, square})
    for (std::size_t i = 0; i < names.size(); ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        INFO(names[i] << " and " << names[j]);
        if (i != j) CHECK(are_apart(all.at(names[i]), all.at(names[j])));
        CHECK(are_apart(all.at(names[i]), other.at(names[j])));
      }
  // Neither do two numbers of one tensor, at distances of a row, and of one.
  const Values& table = all.at("0.weight");
  for (const std::size_t away : {std::size_t{1}, std::size_t{2}, std::size_t{64}})
    CHECK(are_apart(Values(table.begin(), table.end() - std::ptrdiff_t(away)),
                    Values(table.begin() + std::ptrdiff_t(away), table.end())));
}

namespace {

constexpr std::size_t wide = 4096;
using Half = Dropout<Ratio<1, 2>>;
/// 1 + m is 1 or 3, so that y of two of these is 1, 3 or 9: 3 where the masks m differ.
using Step = Residual<Half>;
struct WrittenOut final : Model<Input<Vector<wide>>, Step, Step, Linear<1, NoBias>> {};
struct Repeated final : Model<Input<Vector<wide>>, Repeat<2, Step>, Linear<1, NoBias>> {};
struct Side final : Model<Input<Vector<wide>>, Fork<Add, Half, Half>, Linear<1, NoBias>> {};  // 0, 2, 4

/// What comes before the Linear, in steps of one sample, each all ones: its weight's gradient is a multiple of that.
template <class Network>
std::vector<Values> masks(std::size_t steps) {
  Trainer<Network, Batch<1>, Precision<fp64>, Loss<MeanSquaredError>, Optimizer<Sgd>> trainer(
      {.optimizer = {.learning_rate = 0}});
  std::vector<Values> all;
  for (std::size_t s = 0; s < steps; ++s) {
    auto found = trainer.backward(trainer.forward(Values(wide, 1.0), Values(1, 100.0)));
    const auto gradient = trainer.gradients()[0].values;
    Values own(gradient.begin(), gradient.end());
    double unit = 0;  // the least that is not 0, in size
    for (const double g : own)
      if (g != 0 && (unit == 0 || std::abs(g) < std::abs(unit))) unit = g;
    for (double& g : own) g = std::round(g / unit);
    all.push_back(std::move(own));
    trainer.apply(found);
  }
  return all;
}
double share(const Values& values, double of) {
  return double(std::count(values.begin(), values.end(), of)) / double(values.size());
}
/// Six standard deviations of a share of a half, and of a quarter: below that.
constexpr double off = 6 * 0.5 / 64;

}  // namespace

TEST_CASE("two dropouts of a model, two iterations, two branches and two steps draw masks of their own") {
  const auto check = [](const Values& y, double none, double one_of_two, double both) {
    CHECK(std::abs(share(y, none) - 0.25) <= off);
    CHECK(std::abs(share(y, one_of_two) - 0.5) <= off);
    CHECK(std::abs(share(y, both) - 0.25) <= off);
  };
  const auto written = masks<WrittenOut>(2), repeated = masks<Repeated>(2), branches = masks<Side>(2);
  for (const auto* all : {&written, &repeated}) {
    check((*all)[0], 1, 3, 9);
    check((*all)[1], 1, 3, 9);
    double same = 0;  // of two independent draws of 1, 3, 9: 1/16 + 1/4 + 1/16
    for (std::size_t i = 0; i < wide; ++i) same += (*all)[0][i] == (*all)[1][i] ? 1 : 0;
    CHECK(std::abs(same / wide - 0.375) <= off);
  }
  check(branches[0], 0, 1, 2);
}
// SPDX-License-Identifier: Apache-2.0
