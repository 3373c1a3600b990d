// compiled with -ffast-math
// tests/core/finite.cpp — under -ffast-math, where std::isfinite is a constant, what decides on finite numbers still
// does.
#if defined(__clang__)
#if __has_warning("-Wnan-infinity-disabled")
#pragma clang diagnostic ignored "-Wnan-infinity-disabled"  // newer ones warn of each infinity in a header
#endif
#endif
#include "../temporary.hpp"
#include "support/catch.hpp"
#include "support/tiny.hpp"

#include <regimen/core/finite.hpp>
#include <regimen/data/rows.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

using namespace regimen;

#if !__FINITE_MATH_ONLY__
#error "this test checks nothing unless it is compiled with -ffast-math"
#endif

namespace {

/// A number that the compiler knows nothing of.
template <class T>
T hidden(T value) {
  volatile T kept = value;
  return kept;
}
float from_bits_of(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
const float quiet = from_bits_of(0x7FC0'0000u), infinity = from_bits_of(0x7F80'0000u);

/// Looks at bits, as nothing else may be trusted here.
bool all_finite(auto values) {
  for (const float value : values) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7F80'0000u) == 0x7F80'0000u) return false;
  }
  return true;
}

template <class Train>
void write_all(Train& trainer, const std::string& name, float value) {
  for (const auto& parameter : trainer.parameters())
    if (parameter.name == name) std::fill(parameter.values.begin(), parameter.values.end(), value);
  trainer.parameters_changed();
}

}  // namespace

TEST_CASE("is_finite and is_nan answer for what arithmetic made") {
  const float large = hidden(3e38f), zero = hidden(0.0f);
  const double huge = hidden(1e308), nothing = hidden(0.0);
  CHECK(is_finite(large));
  CHECK_FALSE(is_finite(large * large));
  CHECK_FALSE(is_nan(large * large));
  CHECK_FALSE(is_finite(hidden(large * large) * zero));
  CHECK(is_nan(hidden(large * large) * zero));
  CHECK(is_finite(huge));
  CHECK_FALSE(is_finite(huge * huge));
  CHECK(is_nan(hidden(huge * huge) * nothing));
  CHECK_FALSE(is_finite(fp16(large)));
  CHECK(is_finite(bf16(large)));
  CHECK(is_nan(bf16(quiet)));
  CHECK(is_nan(fp16(quiet)));
}

TEST_CASE("a dynamic loss scale backs off, and no infinite gradient reaches a weight") {
  struct Net : Model<Input<Vector<8>>, Linear<32>, Gelu, Linear<4>> {};
  Trainer<Net, Batch<8>, Precision<fp16, fp32>, LossScale<DynamicScale<(1ull << 40), 2000>>> trainer;
  std::vector<float> inputs(64);
  std::vector<std::int32_t> targets(8);
  for (std::size_t i = 0; i < 64; ++i) inputs[i] = static_cast<float>(i % 7) - 3;
  for (std::size_t i = 0; i < 8; ++i) targets[i] = static_cast<std::int32_t>(i % 4);
  int skipped = 0, applied = 0;
  for (int i = 0; i < 40; ++i) (trainer.step(inputs, targets).applied ? applied : skipped) += 1;
  CHECK(skipped > 0);
  CHECK(applied > 0);
  for (const auto& parameter : trainer.parameters()) CHECK(all_finite(parameter.values));
}

TEST_CASE("a step whose norm is not finite is skipped, in fp32 too") {
  struct Net : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};
  for (const float bad : {quiet, -quiet, infinity}) {
    Trainer<Net, Batch<2>> trainer;
    const StepResult result =
        trainer.step(std::vector<float>{1, 2, bad, 4, 1, 1, 1, 1}, std::vector<std::int32_t>{0, 1});
    CHECK_FALSE(result.applied);
    for (const auto& parameter : trainer.parameters()) CHECK(all_finite(parameter.values));
  }
}

TEST_CASE("a NaN reaches the output through every activation, normalisation and attention") {
  const auto check = [](auto trainer, auto input, const std::string& name) {
    write_all(*trainer, name, quiet);
    std::size_t wrong = 0;
    for (const float value : trainer->predict(input)) wrong += is_nan(value) ? 0 : 1;
    CHECK(wrong == 0);
  };
  const std::vector<float> input{1, -2, 3, -4};
  struct WithRelu : Model<Input<Vector<4>>, Linear<16>, Relu, Linear<3>> {};
  struct WithGelu : Model<Input<Vector<4>>, Linear<16>, Gelu, LayerNorm, Linear<3>> {};
  struct WithGeluTanh : Model<Input<Vector<4>>, Linear<16>, GeluTanh, RmsNorm, Linear<3>> {};
  struct WithSilu : Model<Input<Vector<4>>, Linear<16>, Silu, Linear<3>> {};
  check(std::make_unique<Trainer<WithRelu, Batch<2>>>(), input, "0.weight");
  check(std::make_unique<Trainer<WithGelu, Batch<2>>>(), input, "0.weight");
  check(std::make_unique<Trainer<WithGeluTanh, Batch<2>>>(), input, "0.weight");
  check(std::make_unique<Trainer<WithSilu, Batch<2>>>(), input, "0.weight");
  check(std::make_unique<Trainer<tiny::Gpt, Batch<2>>>(), tiny::tokens(1, 1), "2.0.0.1.qkv.weight");
}

TEST_CASE(
    "Debug<Anomaly> names the layer, generate refuses to draw, and patience counts a validation of NaN as no gain") {
  Trainer<tiny::Gpt, Batch<4>, Debug<Anomaly>> checked;
  write_all(checked, "2.1.1.1.weight", quiet);
  CHECK(::test::says(::test::error_of([&] { checked.step(tiny::tokens(4, 1), tiny::tokens(4, 2)); }),
                     "output of layer 2.1.1 (linear), iteration 1"));

  Trainer<tiny::Gpt, Batch<1>> blind;
  write_all(blind, "3.bias", quiet);
  CHECK(::test::says(::test::error_of([&] { blind.generate(std::vector<std::int32_t>{1}, 1); }), "finite logits"));

  struct Net : Model<Input<Vector<4>>, Linear<3>> {};
  Trainer<Net, Batch<2>> trainer;
  const Rows<float, std::int32_t> data(std::vector<float>(16, 1.0f), std::vector<std::int32_t>(4, 1), 4);
  const Rows<float, std::int32_t> broken(std::vector<float>(16, quiet), std::vector<std::int32_t>(4, 1), 4);
  const Fitted fitted = trainer.fit(data, broken, {.steps = 10, .validate_every = 1, .patience = 3});
  CHECK(fitted.stopped_early);
  CHECK(fitted.steps == 3);
}
// SPDX-License-Identifier: Apache-2.0
