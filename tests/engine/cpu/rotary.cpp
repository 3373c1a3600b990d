// tests/engine/cpu/rotary.cpp — rotary position embeddings: their definition, in place, and turned back.
#include "../../kernel/rotary_definition.hpp"

#include <regimen/engine/cpu/execute.hpp>
#include <regimen/engine/cpu/rotary.hpp>
#include <regimen/layer/self_attention.hpp>

using regimen::bf16, regimen::fp16, regimen::Llama3Scaling, regimen::Ratio, regimen::Rotary;
namespace cpu = regimen::cpu;
using namespace test;

TEMPLATE_TEST_CASE("q and k are turned by their positions, v stays", "", float, double, bf16, fp16) {
  using T = TestType;
  for (const op::AttentionShape& shape : turned_shapes)
    for (const std::size_t first : Sizes{0, 5, 131'000})
      for (const bool inverse : {false, true})
        for (const bool in_place : {false, true}) {
          CAPTURE(shape.length, shape.heads, shape.width, first, inverse, in_place);
          Arena arena(room_of(shape));
          const auto o = rotate<T>(shape, first, inverse, in_place)(arena);
          const Turned expected(o, values<T>(elements_of(shape)));
          cpu::execute(o, arena.memory());
          CHECK(misses(arena.get(o.y, expected.y.size()), expected.y,
                       [&](std::size_t i) { return expected.template error<T>(i); }) == 0);
          CHECK(arena.guards_hold());
        }
}

/// The reference code of Llama 3.1 thinks in wavelengths, the positions of a whole turn.
TEST_CASE("Llama 3's scaling is the published formula") {
  const auto published = [](double frequency, double factor, double low, double high, double length) {
    const double wavelength = 2 * std::acos(-1.0) / frequency;
    if (wavelength < length / high) return frequency;
    if (wavelength > length / low) return frequency / factor;
    const double smooth = (length / wavelength - low) / (high - low);
    return (1 - smooth) * frequency / factor + smooth * frequency;
  };
  using Small = Rotary<Ratio<20>, Llama3Scaling<Ratio<5, 2>, Ratio<1, 2>, Ratio<3>, 16>>;
  std::size_t kept = 0, divided = 0, between = 0;
  const auto check = [&](const op::RotaryFrequencies& scaled, std::size_t width) {
    for (std::size_t i = 0; i < width / 2; ++i) {
      const double plain = std::pow(scaled.theta, -2 * double(i) / double(width)),
                   expected = published(plain, scaled.factor, scaled.low, scaled.high, scaled.original_length),
                   found = scaled(i, width);
      CHECK(std::fabs(found - expected) <= 16 * 0x1p-53 * expected);
      if (found == plain) ++kept;
      else if (found == plain / scaled.factor) ++divided;
      else ++between;
    }
  };
  check(Rotary<Ratio<500'000>, Llama3Scaling<>>::frequencies(), 128);
  CHECK((kept > 20 && divided > 20 && between > 3));  // in a head of Llama 3.1
  check(Small::frequencies(), 64);
  // Llama 3.1's numbers: low 1 and high 4 in 8192 positions of training, a factor of 8.
  const auto large = Rotary<Ratio<500'000>, Llama3Scaling<>>::frequencies();
  CHECK((large.factor == 8 && large.low == 1 && large.high == 4 && large.original_length == 8192));
}

TEST_CASE("products of turned q and k depend on distances alone, and what is turned back is as before") {
  const op::AttentionShape shape{1, 1, 1, 16, false};
  const Values x = values<double>(elements_of(shape));
  const auto turned = [&](std::size_t position, bool back) {
    Arena arena;
    auto o = rotate<double>(shape, position, false, true)(arena);
    cpu::execute(o, arena.memory());
    if (back) o.inverse = true, cpu::execute(o, arena.memory());
    return arena.get(o.y, x.size());
  };
  const auto product = [&](std::size_t query, std::size_t key) {
    const Values q = turned(query, false), k = turned(key, false);
    double sum = 0;
    for (std::size_t d = 0; d < shape.width; ++d) sum += q[d] * k[shape.width + d];
    return sum;
  };
  // Terms below 2, sixteen of them; angles up to 1007, each off by 2^-51 of that.
  const double error = 16 * 2 * (8 * 0x1p-53 + 4 * 1007 * 0x1p-51);
  CHECK(std::fabs(product(7, 3) - product(1007, 1003)) <= error);
  CHECK(std::fabs(product(7, 3) - product(7, 4)) > 1e-3);
  const Values back = turned(77, true);
  CHECK(misses(back, x, [](std::size_t) { return 16 * 0x1p-53; }) == 0);
}

TEST_CASE("no number of threads changes a bit of a rotation") {
  CHECK(same_for_any_threads(
      [](Arena& arena) { cpu::execute(rotate<bf16>({2, 300, 3, 34, false}, 0, false, true)(arena), arena.memory()); }));
}
// SPDX-License-Identifier: Apache-2.0
