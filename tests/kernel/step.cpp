// tests/kernel/step.cpp — a step's sums and decisions on a device: the CPU engine's numbers.
#include "against_cpu.hpp"

#include <regimen/core/ratio.hpp>
#include <regimen/engine/cpu/loss.hpp>
#include <regimen/engine/cpu/step.hpp>
#include <regimen/kernel/step.hpp>
#include <regimen/optimizer/adamw.hpp>
#include <regimen/optimizer/sgd.hpp>

#include <cmath>
#include <limits>

using namespace regimen;
using namespace test;

namespace {

constexpr std::size_t room = std::size_t{1} << 19;
constexpr double infinity = std::numeric_limits<double>::infinity(),
                 not_a_number = std::numeric_limits<double>::quiet_NaN();

Values members(const Scalars& s) {
  return {s.loss_sum,
          s.count,
          s.correct,
          s.square_sum,
          s.loss,
          s.gradient_norm,
          s.factor,
          s.correction_first,
          s.correction_second,
          s.loss_scale,
          double(s.finite_streak),
          double(s.updates),
          double(s.skipped),
          double(s.apply),
          double(s.anomaly.found),
          double(s.anomaly.is_nan),
          double(s.anomaly.element),
          double(s.anomaly.phase),
          double(s.anomaly.path.digits),
          double(s.anomaly.path.iteration)};
}
const auto all_scalars = [](const Arena& arena, const auto& o) {
  Scalars s;
  std::memcpy(static_cast<void*>(&s), arena.bytes().data() + o.scalars.offset, sizeof s);
  return members(s);
};

Scalars some_scalars() {
  Scalars s;
  s.random = {3, 4, 5}, s.learning_rate = 0.1, s.loss_sum = 12.5, s.count = 7, s.correct = 3, s.square_sum = 96.5,
  s.loss_scale = 1024;
  s.finite_streak = 4, s.updates = 9, s.skipped = 2;
  return s;
}

template <class UpdateRule>
void finishes() {
  for (const double square_sum : {0.0, 96.5, 1e40, infinity, not_a_number})
    for (const double count : {7.0, 0.0})
      for (const double clip : {0.0, 1e-3, 1e9})
        for (const std::uint64_t interval : {std::uint64_t{0}, std::uint64_t{5}, std::uint64_t{6}})
          for (const double loss_scale : {1.0, 1024.0, double(std::numeric_limits<float>::max())})
            for (const bool found : {false, true}) {
              CAPTURE(square_sum, count, clip, interval, loss_scale, found);
              const auto make = [&](Arena& arena) {
                Scalars s = some_scalars();
                s.square_sum = square_sum, s.count = count, s.loss_scale = loss_scale;
                op::Finish<UpdateRule> o{};
                o.scalars = arena.scalars(s), o.scale = 0.25, o.clip = clip, o.loss_scaling = {1024, interval};
                o.sums = interval == 6;
                arena.memory()(o.scalars)->anomaly.found = found;
                return o;
              };
              is_the_cpu(1024, make, all_scalars);
            }
}

/// [first, last) is split at the largest power of two below its length.
template <class Value>
double tree(std::size_t first, std::size_t last, const Value& value) {
  if (last - first == 1) return value(first);
  std::size_t half = 1;
  while (2 * half < last - first) half *= 2;
  return tree(first, first + half, value) + tree(first + half, last, value);
}

std::vector<std::int32_t> some_targets(std::size_t rows, std::size_t columns) {
  std::vector<std::int32_t> targets(rows);
  for (std::size_t i = 0; i < rows; ++i)
    targets[i] = i % 5 == 3 ? ignore_index : static_cast<std::int32_t>(Philox::draw(3, i, 0).word[0] % columns);
  if (rows > 4) targets[4] = static_cast<std::int32_t>(columns), targets[0] = -1;
  return targets;
}

}  // namespace

TEST_CASE("the decisions of a step are the CPU engine's") {
  finishes<AdamW>();
  finishes<Sgd>();
}

TEST_CASE("a group's scalars are the step's, with its own rate and corrections if the step counts") {
  for (const std::uint32_t apply : {0u, 1u}) {
    const auto make = [&](Arena& arena) {
      Scalars s = some_scalars();
      s.apply = apply, s.correction_first = s.correction_second = 1, s.factor = 0.5;
      return op::ScalarsOfGroup<AdamW>{arena.scalars(s), arena.scalars({}), {.learning_rate = 0.25, .beta1 = 0.5}};
    };
    const auto group = [](const Arena& arena, const auto& o) { return all_scalars(arena, op::Begin{o.to}); };
    is_the_cpu(room, make, group);
    Scalars expected = some_scalars();
    expected.apply = apply, expected.factor = 0.5, expected.learning_rate = 0.1 * 0.25;
    expected.correction_first = expected.correction_second = 1;
    if (apply != 0)
      expected.correction_first = 1 / (1 - std::pow(0.5, 9)), expected.correction_second = 1 / (1 - std::pow(0.999, 9));
    in_every_way(room, make, [&](const Arena& arena, const auto& o) { CHECK(group(arena, o) == members(expected)); });
  }
}

TEST_CASE("a function calculates with numbers of the device and the step's scalars, once") {
  struct Ratio final {
    double share;
    void operator()(double* n, const Scalars& s) const { n[1] = share * s.learning_rate * n[0], n[0] += 1; }
  };
  const auto make = [](Arena& arena) {
    return op::Calculate<Ratio>{arena.put<double>({3, 5, 7}), arena.scalars(some_scalars()), 3, {0.5}};
  };
  const auto numbers = [](const Arena& arena, const auto& o) { return arena.get(o.numbers, 3); };
  is_the_cpu(room, make, numbers);
  in_every_way(room, make,
               [&](const Arena& arena, const auto& o) { CHECK(numbers(arena, o) == Values{4, 0.5 * 0.1 * 3, 7}); });
}

TEST_CASE("a step begins with empty sums and no anomaly") {
  const auto make = [](Arena& arena) {
    const op::Begin o{arena.scalars(some_scalars())};
    arena.memory()(o.scalars)->anomaly = {LayerPath{"a layer", 5, 6, true}, 7, true, true, op::Phase::backward};
    return o;
  };
  is_the_cpu(room, make, all_scalars);
  Arena arena(room);
  const op::Begin o = make(arena);
  run(o, arena, ways[1]);
  CHECK(arena.memory()(o.scalars)->anomaly.path.name == std::string("model"));  // memory of the host
}

TEST_CASE("losses of a sum begin at zero, and are added with their weights") {
  const auto begin = [](Arena& arena) {
    const op::BeginLosses o{arena.scalars(some_scalars()), arena.room<Scalars>(3), 3};
    return o;
  };
  const auto own = [](const Arena& arena, const auto& o) {
    Values all;
    for (std::size_t i = 0; i < o.count; ++i)
      for (const double value : all_scalars(arena, op::Begin{o.losses + i})) all.push_back(value);
    return all;
  };
  is_the_cpu(room, begin, own);
  in_every_way(room, begin, [&](const Arena& arena, const auto& o) {
    Scalars zero = some_scalars();
    zero.loss_sum = zero.count = zero.correct = 0;
    const Values found = own(arena, o), expected = members(zero);
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == expected[i % expected.size()]);
  });
  const auto sum = [](Arena& arena) {
    const op::SumLosses o{.scalars = arena.scalars(some_scalars()),
                          .losses = arena.room<Scalars>(2),
                          .count = 2,
                          .samples = 5,
                          .correct = 0.5,
                          .weights = {2, 0.25}};
    for (std::size_t i = 0; i < 2; ++i) {
      Scalars one{};
      one.loss_sum = 3 + double(i), one.count = 100, one.correct = 4;
      arena.memory()(o.losses)[i] = one;
    }
    return o;
  };
  is_the_cpu(room, sum, all_scalars);
  in_every_way(room, sum, [](const Arena& arena, const auto& o) {
    const Values found = all_scalars(arena, o);
    CHECK(found[0] == 12.5 + 2 * 3 + 0.25 * 4);
    CHECK(found[1] == 7 + 5);
    CHECK(found[2] == 3 + 0.5 * 8);
  });
}

TEST_CASE("ranks share their sums, and add them as trees") {
  const auto share = [](Arena& arena) {
    return op::ShareSums{arena.scalars(some_scalars()), {arena.put<double>(values<double>(4)).offset}};
  };
  is_the_cpu(room, share, [](const Arena& arena, const auto& o) { return arena.get(View<double>{o.sums.offset}, 4); });
  for (const std::size_t ranks : Sizes{1, 2, 3, 5, 8, 24, 33})
    for (const std::size_t group : Sizes{0, 1, 2, 3, 4, 8}) {
      if (group > 0 && ranks % group != 0) continue;
      CAPTURE(ranks, group);
      Values sums = values<double>(4 * ranks, 1e3);
      for (double& sum : sums) sum = std::sin(sum);  // all 53 bits, so that another order is another sum
      const auto make = [&](Arena& arena) {
        return op::CombineSums{arena.scalars(some_scalars()), {arena.put<double>(sums).offset}, ranks, group};
      };
      is_the_cpu(room, make, all_scalars);
      Arena arena(room);
      const op::CombineSums o = make(arena);
      run(o, arena, ways[2]);
      const Scalars& s = *arena.memory()(o.scalars);
      const std::size_t in_group = group == 0 ? ranks : group;
      CHECK(s.loss_sum == tree(0, ranks, [&](std::size_t r) { return sums[4 * r]; }));
      CHECK(s.count == tree(0, ranks, [&](std::size_t r) { return sums[4 * r + 1]; }));
      CHECK(s.correct == tree(0, ranks, [&](std::size_t r) { return sums[4 * r + 2]; }));
      Values parts(ranks);
      for (std::size_t r = 0; r < ranks; ++r) parts[r % in_group * (ranks / in_group) + r / in_group] = sums[4 * r + 3];
      CHECK(s.square_sum == tree(0, ranks, [&](std::size_t part) { return parts[part]; }));
    }
}

TEMPLATE_TEST_CASE("the first element that is not finite", "", float, double, bf16, fp16) {
  using T = TestType;
  struct Found {
    std::size_t at;
    double what;
  };
  for (const std::size_t count : Sizes{0, 1, 9, 1000, 5003, 40001})
    for (const std::vector<Found>& bad : {std::vector<Found>{},
                                          {{0, not_a_number}},
                                          {{7, infinity}, {8, not_a_number}},
                                          {{4999, -infinity}, {901, not_a_number}},
                                          {{5002, not_a_number}},
                                          {{16384, not_a_number}, {39999, infinity}}})
      for (const bool before : {false, true}) {
        CAPTURE(count, bad.size(), before);
        const auto make = [&](Arena& arena) {
          Values x = values<T>(count, 100);
          for (const Found& found : bad)
            if (found.at < count) x[found.at] = found.what;
          op::CheckFinite<T> o{};
          o.x = arena.put<T>(x), o.scalars = arena.scalars(some_scalars()), o.count = count,
          o.path = {"here", 77, 3, true};
          o.phase = op::Phase::backward;
          if (before) arena.memory()(o.scalars)->anomaly = {LayerPath{"there", 1}, 2, true, false, op::Phase::forward};
          return o;
        };
        is_the_cpu(room, make, all_scalars);
      }
}

/// 0, ±1/2, ±1, ±3/2: sums of them are exact.
Values some_weights(std::size_t count) {
  Values weights(count);
  for (std::size_t i = 0; i < count; ++i) weights[i] = double(i * 7 % 4) / (i % 3 == 1 ? -2 : 2);
  return weights;
}

TEMPLATE_TEST_CASE("rows whose largest output is the target's", "", float, double) {
  using S = TestType;
  for (const std::size_t columns : Sizes{1, 2, 33, 700})
    for (const std::size_t rows : Sizes{0, 1, 7, 40}) {
      CAPTURE(rows, columns);
      const auto make_with = [&](Arena& arena, bool weighted) {
        const std::vector<std::int32_t> targets = some_targets(rows, columns);
        Values logits = integers<S>(rows * columns);  // many are equal
        for (std::size_t row = 0; row < rows; ++row) {
          const std::size_t first = row * columns, target = static_cast<std::uint32_t>(targets[row]);
          if (target < columns && row % 3 != 0) logits[first + target] = 9;  // above all
          if (row % 7 == 5 && target > 0) logits[first] = 9;                 // an equal one stands before it
          if (row % 7 == 6) logits[first + columns - 1] = target + 1 < columns ? 9 : 8;  // ... or behind it
          if (row == 11) logits[first + columns / 2] = not_a_number;
          if (row == 12)
            for (std::size_t i = 0; i < columns; ++i) logits[first + i] = -infinity;
        }
        op::CountCorrect<S> o{};
        o.logits = arena.put<S>(logits), o.target = put_integers(arena, targets),
        o.scalars = arena.scalars(some_scalars());
        o.rows = rows, o.columns = columns;
        if (weighted) o.weight = arena.put<float>(some_weights(rows));
        return o;
      };
      const auto make = [&](Arena& arena) { return make_with(arena, false); };
      is_the_cpu(room, make, all_scalars);
      is_the_cpu(room, [&](Arena& arena) { return make_with(arena, true); }, all_scalars);
      Arena arena(room);
      const auto o = make(arena);
      run(o, arena, ways[3]);
      if (rows == 40) CHECK(arena.memory()(o.scalars)->correct > 10);  // 3 are there before
    }
}

TEMPLATE_TEST_CASE("squared errors", "", float, double) {
  using S = TestType;
  for (const std::size_t count : Sizes{0, 1, 7, 4095, 4096, 4097, 13000}) {
    CAPTURE(count);
    const auto make = [&](bool whole) {
      return [=](Arena& arena) {
        op::SquaredError<true, S> o{};
        o.output = arena.put<S>(whole ? integers<S>(count) : values<S>(count, 3)),
        o.target = arena.put<S>(whole ? integers<S>(count, 2) : values<S>(count, 3, 2));
        Scalars s = some_scalars();
        s.loss_sum = 2;
        o.scalars = arena.scalars(s), o.count = count, o.scale = 0.3;
        return o;
      };
    };
    is_the_cpu(room, make(true), all_scalars);
    is_the_cpu(room, make(false), [&](const Arena& arena, const auto& o) { return arena.get(o.output, count); });
    beside_the_cpu(room, make(false), [&](const Arena& arena, const auto& o, const Arena& expected) {
      // Squares are positive, so each of the two sums has the relative error of its roundings: here fewer than 60,
      // there fewer than 4096.
      CHECK(all_scalars(arena, o)[0] == Approx(all_scalars(expected, o)[0]).epsilon(4156 * 0x1p-53));
    });
    const auto leaves = [&](Arena& arena) {
      const auto with = make(true)(arena);
      return op::SquaredError<false, S>{with.output, with.target, with.scalars, count, 0.3};
    };
    is_the_cpu(room, leaves, all_scalars);
    is_the_cpu(room, leaves, [&](const Arena& arena, const auto& o) { return arena.get(o.output, count); });
  }
}

TEMPLATE_TEST_CASE("other losses of single elements", "", float, double) {
  using S = TestType;
  const auto check = []<class Function>(Function, bool weighted = false) {
    for (const std::size_t count : Sizes{0, 1, 7, 4097, 13000}) {
      CAPTURE(count, weighted);
      const auto make = [=](Arena& arena) {
        op::PointwiseLoss<Function, true, S> o{};
        o.output = arena.put<S>(values<S>(count, 3)), o.target = arena.put<S>(values<S>(count, 1, 2));
        if constexpr (pointwise::Counts<Function>)
          for (std::size_t i = 0; i < count; i += 3) arena.memory()(o.target)[i] = no_target<S>;
        o.scalars = arena.scalars(some_scalars()), o.count = count, o.scale = 0.3;
        if (weighted) o.weight = arena.put<float>(some_weights(count));
        return o;
      };
      beside_the_cpu(room, make, [&](const Arena& arena, const auto& o, const Arena& expected) {
        // Either may contract a product and a sum. Terms are below 8, with few roundings each.
        CHECK(all_scalars(arena, o)[0] ==
              Approx(all_scalars(expected, o)[0]).margin(double(count) * 8 * 4156 * 0x1p-53));
        CHECK(all_scalars(arena, o)[1] == all_scalars(expected, o)[1]);  // how many elements count
        const double largest = 4 * epsilon_of<S> * 4 * std::fabs(some_scalars().loss_scale);
        CHECK(misses(arena.get(o.output, count), expected.get(o.output, count), [&](std::size_t) { return largest; }) ==
              0);
      });
    }
  };
  check(pointwise::Huber<Ratio<1, 2>>{});
  check(pointwise::BinaryCrossEntropy{});
  check(pointwise::Masked<pointwise::Squared>{});
  check(pointwise::Squared{}, true);
  check(pointwise::Masked<pointwise::Squared>{}, true);
}

TEMPLATE_TEST_CASE("squared errors have the same bits wherever the output and the target begin", "", float, double) {
  using S = TestType;
  for (const std::size_t count : Sizes{1, 9, 4097, 9001})
    for (const Way& way : ways) {
      CAPTURE(count, way.name);
      const auto at = [&](std::size_t of_output, std::size_t of_target) {
        Arena arena(room);
        op::SquaredError<true, S> o{};
        o.output = put_behind<S>(arena, of_output, values<S>(count, 3)),
        o.target = put_behind<S>(arena, of_target, values<S>(count, 3, 2));
        o.scalars = arena.scalars(some_scalars()), o.count = count, o.scale = 0.3;
        run(o, arena, way);
        CHECK(arena.guards_hold());
        Values all = get_around(arena, o.output, count);
        for (double& value : all)
          if (std::isnan(value)) value = 99;  // around the output
        all.push_back(arena.memory()(o.scalars)->loss_sum);
        return all;
      };
      const Values aligned = at(0, 0);
      CHECK(at(1, 0) == aligned);
      CHECK(at(0, 1) == aligned);
      CHECK(at(1, 1) == aligned);
    }
}

TEST_CASE("a missing barrier and a missing thread are told") {
  const auto make = [](Arena& arena) {
    op::CountCorrect<float> o{};
    o.logits = arena.put<float>(integers<float>(40 * 33)), o.target = put_integers(arena, some_targets(40, 33)),
    o.scalars = arena.scalars();
    o.rows = 40, o.columns = 33;
    return o;
  };
  for (const std::string& text : told<WithoutBarriers>(room, make, all_scalars)) {
    INFO(text);
    CHECK((text.find("shared memory that was written") != std::string::npos ||
           text.find("a barrier between two threads") != std::string::npos));
  }
  for (const std::string& text : told<WithoutAThread>(room, make, all_scalars))
    CHECK_THAT(text, Catch::Contains("has left the kernel"));
}
// SPDX-License-Identifier: Apache-2.0
