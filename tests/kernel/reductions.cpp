// tests/kernel/reductions.cpp — kernels that add: norms, cross-entropy, sums of squares; and updates.
#include "run.hpp"

#include <regimen/engine/cpu/loss.hpp>
#include <regimen/engine/cpu/norm.hpp>
#include <regimen/engine/cpu/reduce.hpp>
#include <regimen/engine/cpu/update.hpp>
#include <regimen/kernel/cross_entropy.hpp>
#include <regimen/kernel/normalize.hpp>
#include <regimen/kernel/update.hpp>
#include <regimen/optimizer/adamw.hpp>
#include <regimen/optimizer/sgd.hpp>

#include <cmath>
#include <limits>

using namespace regimen;
using namespace test;

namespace {

constexpr std::size_t room = std::size_t{1} << 21;

/// In fp64 both engines are right to some 1e-13, so what differs by more than 1e-12 of the largest number that goes in differs in its formula.
constexpr double agreement = 1e-12;

template <bool Centered>
void normalizes() {
  for (const std::size_t columns : Sizes{1, 3, 64, 200, 1031}) {
    const std::size_t rows = 9, count = rows * columns;
    INFO(columns << " columns");
    const auto forward = [&](Arena& arena) {
      op::Normalize<Centered, double> o{};
      o.x = arena.put<double>(values<double>(count, 5)), o.gain = arena.put<double>(values<double>(columns, 2, 2));
      if (Centered) o.bias = arena.put<double>(values<double>(columns, 2, 3)), o.mean = arena.room<double>(rows);
      o.rstd = arena.room<double>(rows), o.y = arena.room<double>(count), o.rows = rows, o.columns = columns, o.epsilon = 1e-2;
      return o;
    };
    Arena reference(room);
    const auto done = forward(reference);
    cpu::compute(done, reference.memory_for(done));
    const Values y = reference.get(done.y, count), rstd = reference.get(done.rstd, rows);
    // 1/√(variance + 0.01) is at most 10, so a number of 5 and a gain of 2 make at most 200.
    in_every_way(room, forward, [&](const Arena& arena, const auto& o) {
      CHECK(misses(arena.get(o.y, count), y, [](std::size_t) { return 200 * agreement; }) == 0);
      CHECK(misses(arena.get(o.rstd, rows), rstd, [](std::size_t) { return 10 * agreement; }) == 0);
    });
    for (const bool add : {false, true}) {
      const auto backward = [&](Arena& arena) {
        op::NormalizeBackward<Centered, double, double> o{};
        o.x = arena.put<double>(values<double>(count, 5)), o.gain = arena.put<double>(values<double>(columns, 2, 2));
        if (Centered) o.mean = arena.put<double>(reference.get(done.mean, rows)), o.d_bias = arena.put<double>(values<double>(columns, 1, 5));
        o.rstd = arena.put<double>(rstd), o.d_y = arena.put<double>(values<double>(count, 1, 4)), o.d_x = o.d_y;
        o.d_gain = arena.put<double>(values<double>(columns, 1, 6)), o.rows = rows, o.columns = columns, o.add = add;
        return o;
      };
      Arena expected(room);
      const auto wanted = backward(expected);
      cpu::compute(wanted, expected.memory_for(wanted));
      in_every_way(room, backward, [&](const Arena& arena, const auto& o) {
        CHECK(misses(arena.get(o.d_x, count), expected.get(wanted.d_x, count), [](std::size_t) { return 2000 * agreement; }) == 0);
        CHECK(misses(arena.get(o.d_gain, columns), expected.get(wanted.d_gain, columns), [](std::size_t) { return 2000 * agreement; }) == 0);
        if (Centered)
          CHECK(misses(arena.get(o.d_bias, columns), expected.get(wanted.d_bias, columns), [](std::size_t) { return 20 * agreement; }) == 0);
      });
    }
  }
}

}  // namespace

TEST_CASE("layer norm") { normalizes<true>(); }
TEST_CASE("RMS norm") { normalizes<false>(); }

TEST_CASE("cross-entropy") {
  for (const double smoothing : {0.0, 0.1}) {
    for (const std::size_t columns : Sizes{2, 33, 256, 1000}) {
      const std::size_t rows = 11;
      INFO(columns << " classes, smoothing " << smoothing);
      const auto make = [&](Arena& arena) {
        op::CrossEntropy<true, double> o{};
        o.logits = arena.put<double>(values<double>(rows * columns, 20));
        Values targets(rows);
        for (std::size_t i = 0; i < rows; ++i) targets[i] = double(i * 7 % columns);
        targets[3] = ignore_index;
        o.target = arena.put<std::int32_t>(targets);
        Scalars scalars;
        scalars.loss_scale = 4, scalars.loss_sum = 1.5, scalars.count = 2;
        o.scalars = arena.scalars(scalars), o.rows = rows, o.columns = columns, o.scale = 0.25, o.smoothing = smoothing;
        return o;
      };
      Arena reference(room);
      const auto done = make(reference);
      cpu::compute(done, reference.memory_for(done));
      const Scalars found = *reference.memory()(done.scalars);
      in_every_way(room, make, [&](Arena& arena, const auto& o) {
        const Scalars& own = *arena.memory()(o.scalars);
        CHECK(own.count == found.count);
        CHECK(own.loss_sum == Approx(found.loss_sum).epsilon(agreement * 100));
        CHECK(misses(arena.get(o.logits, rows * columns), reference.get(done.logits, rows * columns), [](std::size_t) { return 100 * agreement; }) ==
              0);
      });
    }
  }
}

TEST_CASE("a target that is no class makes its row NaN, and no other") {
  const auto make = [](Arena& arena) {
    op::CrossEntropy<true, float> o{};
    o.logits = arena.put<float>(values<float>(3 * 40)), o.target = arena.put<std::int32_t>({1, 40, 2});
    o.scalars = arena.scalars(), o.rows = 3, o.columns = 40;
    return o;
  };
  in_every_way(room, make, [](Arena& arena, const auto& o) {
    CHECK(std::isnan(arena.memory()(o.scalars)->loss_sum));
    const Values gradient = arena.get(o.logits, 120);
    for (std::size_t i = 0; i < 120; ++i) CHECK(std::isnan(gradient[i]) == (i / 40 == 1));
  });
}

TEST_CASE("sums of squares have the CPU engine's tree over chunks") {
  for (const std::size_t count : Sizes{1, 4095, 4096, 4097, 5 * 4096 + 3, 40000}) {
    INFO(count << " elements");
    const auto make = [&](Arena& arena) {
      Values integers(count);  // squares and sums that are exact: only a wrong or missing element differs
      for (std::size_t i = 0; i < count; ++i) integers[i] = double(i * 37 % 41) - 20;
      const auto gradient = arena.put<float>(integers);
      return op::SumOfSquares<float>{gradient, arena.put<double>({0.5}), count};
    };
    Arena reference(room);
    const auto done = make(reference);
    cpu::compute(done, reference.memory_for(done));
    in_every_way(room, make, [&](const Arena& arena, const auto& o) { CHECK(arena.get(o.sum, 1) == reference.get(done.sum, 1)); });
  }
}

TEST_CASE("updates") {
  const op::Segments segments{{{{0, 1, true}, {1, 20, false}, {21, 3000, true}, {3021, 992, false}, {4013, 600, true}}}, 5};
  constexpr std::size_t count = 4613;
  const auto make = [&](Arena& arena) {
    op::Update<AdamW, double, double, double> o{};
    o.master = arena.put<double>(values<double>(count)), o.state = arena.put<double>(Values(2 * count, 0.25));
    o.gradient = arena.put<double>(values<double>(count, 1, 2)), o.segments = segments, o.count = count, o.state_stride = count;
    Scalars s;
    s.apply = 1, s.factor = 0.3, s.learning_rate = 0.1, s.correction_first = 2, s.correction_second = 3;
    o.scalars = arena.scalars(s);
    return o;
  };
  Arena reference(room);
  const auto done = make(reference);
  cpu::compute(done, reference.memory_for(done));
  in_every_way(room, make, [&](const Arena& arena, const auto& o) {
    CHECK(misses(arena.get(o.master, count), reference.get(done.master, count), [](std::size_t) { return 10 * agreement; }) == 0);
    CHECK(misses(arena.get(o.state, 2 * count), reference.get(done.state, 2 * count), [](std::size_t) { return agreement; }) == 0);
  });
}
