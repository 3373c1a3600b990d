// tests/engine/cpu/loss.cpp — cross-entropy and squared error against fp64 and finite differences.
#include "arena.hpp"

#include <regimen/core/ratio.hpp>
#include <regimen/engine/cpu/execute.hpp>
#include <regimen/engine/cpu/loss.hpp>

#include <limits>

using namespace regimen;
using namespace test;

namespace {

View<std::int32_t> put_targets(Arena& arena, const std::vector<std::int32_t>& targets) {
  const auto view = arena.room<std::int32_t>(targets.size());
  std::copy(targets.begin(), targets.end(), arena.memory()(view));
  return view;
}

std::vector<std::int32_t> some_targets(std::size_t rows, std::size_t columns) {
  std::vector<std::int32_t> targets(rows);
  for (std::size_t i = 0; i < rows; ++i)
    targets[i] = i % 5 == 3 ? ignore_index : static_cast<std::int32_t>(Philox::draw(3, i, 0).word[0] % columns);
  return targets;
}

struct Reference {
  double loss = 0, count = 0;
  Values gradient;
};
Reference cross_entropy(const Values& z, const std::vector<std::int32_t>& targets, std::size_t columns,
                        double smoothing, double factor) {
  Reference r;
  r.gradient.assign(z.size(), 0.0);
  for (std::size_t row = 0; row < targets.size(); ++row) {
    if (targets[row] == ignore_index) continue;
    double most = z[row * columns], total = 0;
    for (std::size_t k = 0; k < columns; ++k) most = std::max(most, z[row * columns + k]);
    for (std::size_t k = 0; k < columns; ++k) total += std::exp(z[row * columns + k] - most);
    for (std::size_t k = 0; k < columns; ++k) {
      const double q = (std::size_t(targets[row]) == k ? 1 - smoothing : 0) + smoothing / double(columns);
      const double log_p = z[row * columns + k] - most - std::log(total);
      r.loss -= q * log_p;
      r.gradient[row * columns + k] = (std::exp(log_p) - q) * factor;
    }
    r.count += 1;
  }
  return r;
}

template <class S>
double depth_of(std::size_t columns) {
  return double(columns / (4 * cpu::lanes<S>)) + 12;
}

template <class S>
void cross_entropy_is_its_definition(std::size_t rows, std::size_t columns, double smoothing, double size) {
  const Values z = values<S>(rows * columns, size);
  const auto targets = some_targets(rows, columns);
  const Reference r = cross_entropy(z, targets, columns, smoothing, 0.5 * 1024);
  Scalars before;
  before.loss_sum = 7, before.count = 3, before.loss_scale = 1024;
  Arena arena(std::size_t{1} << 22);
  const auto at = [&]<bool WithGradient>(std::bool_constant<WithGradient>) {
    op::CrossEntropy<WithGradient, S> o{};
    o.logits = arena.put<S>(z), o.target = put_targets(arena, targets), o.scalars = arena.scalars(before);
    o.rows = rows, o.columns = columns, o.smoothing = smoothing, o.scale = 0.5;
    cpu::execute(o, arena.memory());
    const Scalars after = *arena.memory()(o.scalars);
    // A shifted logit is off by u |z − max| <= 2 u size, and so is each exponential (and 1 ulp): their sum, relatively,
    // by d additions more.
    const double u = epsilon_of<S>, d = depth_of<S>(columns);
    const double each = u * (4 * size + d + 4) + (smoothing > 0 ? d * u * 2 * size : 0);
    CHECK(std::fabs(after.loss_sum - 7 - r.loss) <= r.count * each);
    CHECK(after.count == 3 + r.count);
    if (WithGradient) {
      CHECK(misses(arena.get(o.logits, z.size()), r.gradient, [&](std::size_t i) {
              return targets[i / columns] == ignore_index ? 0.0 : 512 * u * (2 * size + d + 8);
            }) == 0);
    } else {
      CHECK(arena.get(o.logits, z.size()) == z);
    }
  };
  at(std::true_type{}), at(std::false_type{});
  CHECK(arena.guards_hold());
}

/// Rows of every kind: one class, nothing, a distribution, no distribution.
template <class S>
Values some_distributions(std::size_t rows, std::size_t columns) {
  Values p(rows * columns);
  for (std::size_t row = 0; row < rows; ++row) {
    const Values drawn = values<S>(columns, 1, row);
    double mass = 0;
    for (const double value : drawn) mass += std::fabs(value);
    for (std::size_t k = 0; k < columns; ++k)
      p[row * columns + k] = row % 4 == 0   ? k == row * 7 % columns
                             : row % 4 == 1 ? 0
                             : row % 4 == 2 ? number(rounded<S>(std::fabs(drawn[k]) / mass))
                                            : drawn[k];
  }
  return p;
}

/// In more digits than either type has; `most` has the sum of all |target| of each row.
struct SoftReference {
  double loss = 0;
  Values gradient, most;
};
SoftReference soft_cross_entropy(const Values& z, const Values& p, std::size_t columns, double factor) {
  SoftReference r;
  long double loss = 0;
  for (std::size_t first = 0; first < z.size(); first += columns) {
    long double largest = z[first], total = 0, mass = 0, most = 0;
    for (std::size_t k = 0; k < columns; ++k) largest = std::max<long double>(largest, z[first + k]);
    for (std::size_t k = 0; k < columns; ++k) {
      total += std::exp(z[first + k] - largest);
      mass += p[first + k];
      most += std::fabs(p[first + k]);
    }
    for (std::size_t k = 0; k < columns; ++k) {
      const long double log_p = z[first + k] - largest - std::log(total);
      loss -= p[first + k] * log_p;
      r.gradient.push_back(static_cast<double>((std::exp(log_p) * mass - p[first + k]) * factor));
    }
    r.most.push_back(static_cast<double>(most));
  }
  r.loss = static_cast<double>(loss);
  return r;
}

template <class S>
void soft_cross_entropy_is_its_definition(std::size_t rows, std::size_t columns, double size) {
  CAPTURE(rows, columns, size);
  const Values z = values<S>(rows * columns, size), p = some_distributions<S>(rows, columns);
  const SoftReference r = soft_cross_entropy(z, p, columns, 0.5 * 1024);
  Scalars before;
  before.loss_sum = 7, before.count = 3, before.loss_scale = 1024;
  Arena arena(std::size_t{1} << 22);
  const auto at = [&]<bool WithGradient>(std::bool_constant<WithGradient>) {
    op::SoftCrossEntropy<WithGradient, S> o{};
    o.logits = arena.put<S>(z), o.target = arena.put<S>(p), o.scalars = arena.scalars(before);
    o.rows = rows, o.columns = columns, o.scale = 0.5;
    cpu::execute(o, arena.memory());
    const Scalars after = *arena.memory()(o.scalars);
    // Relatively, an exponential is off by u (2 size + 1) as above, a sum of n terms by d u more, and log(sum), at most
    // log n, by as much absolutely. The sum of targets is off by d u of all |target|, and that of their products with
    // shifted logits, at most 2 size each, by (d + 2) u; loss_sum adds a rounding of fp64 for each row.
    const double u = epsilon_of<S>, d = depth_of<S>(columns), log_n = std::log(double(columns));
    double each = 0, sum = 7;
    for (const double most : r.most) {
      each += most * u * ((2 * size + d + 4) + (d + 2) * log_n + (d + 3) * 2 * size);
      sum += most * (log_n + 2 * size);
    }
    CHECK(std::fabs(after.loss_sum - 7 - r.loss) <= each + double(rows + 3) * 0x1p-52 * sum);
    CHECK(after.count == 3 + double(rows));
    if (WithGradient) {
      CHECK(misses(arena.get(o.logits, z.size()), r.gradient, [&](std::size_t i) {
              return 512 * u * r.most[i / columns] * (2 * size + 2 * d + 8);  // 0 in a row of zeros
            }) == 0);
    } else {
      CHECK(arena.get(o.logits, z.size()) == z);
    }
    CHECK(arena.get(o.target, p.size()) == p);
  };
  at(std::true_type{}), at(std::false_type{});
  CHECK(arena.guards_hold());
}

}  // namespace

TEMPLATE_TEST_CASE("cross-entropy and its gradient are their definitions", "", float, double) {
  for (const double smoothing : {0.0, 0.1, 1.0}) {
    cross_entropy_is_its_definition<TestType>(1, 1, smoothing, 3);
    cross_entropy_is_its_definition<TestType>(7, 2, smoothing, 30);
    cross_entropy_is_its_definition<TestType>(64, 10, smoothing, 5);
    cross_entropy_is_its_definition<TestType>(33, 257, smoothing, 5);
    cross_entropy_is_its_definition<TestType>(5, 20000, smoothing, 10);
  }
}

TEST_CASE("an ignored row adds nothing, even full of NaN; a target outside the row is seen") {
  for (const std::int32_t target : {ignore_index, 3, -1, std::numeric_limits<std::int32_t>::max()}) {
    Arena arena;
    op::CrossEntropy<true, float> o{};
    o.logits = arena.room<float>(3), o.target = put_targets(arena, {target}), o.scalars = arena.scalars(), o.rows = 1,
    o.columns = 3;
    if (target != ignore_index) std::fill_n(arena.memory()(o.logits), 3, 1.0f);
    cpu::execute(o, arena.memory());
    const Scalars after = *arena.memory()(o.scalars);
    const Values gradient = arena.get(o.logits, 3);
    if (target == ignore_index) {
      CHECK(after.loss_sum == 0);
      CHECK(after.count == 0);
      CHECK(gradient == Values(3, 0.0));
    } else {
      CHECK(std::isnan(after.loss_sum));
      for (const double g : gradient) CHECK(std::isnan(g));
    }
    CHECK(arena.guards_hold());
  }
}

TEST_CASE("a NaN or an infinite logit makes the loss NaN; minus infinity is a probability of 0") {
  const auto loss = [](const Values& logits) {
    Arena arena;
    op::CrossEntropy<false, float> o{};
    o.logits = arena.put<float>(logits), o.target = put_targets(arena, {0}), o.scalars = arena.scalars(), o.rows = 1,
    o.columns = logits.size();
    cpu::execute(o, arena.memory());
    return arena.memory()(o.scalars)->loss_sum;
  };
  const double infinity = std::numeric_limits<double>::infinity();
  for (std::size_t at = 0; at < 40; ++at) {
    Values logits(40, 1.0);
    logits[at] = std::nan("");
    CHECK(std::isnan(loss(logits)));
    logits[at] = infinity;
    CHECK(std::isnan(loss(logits)));
  }
  CHECK(std::fabs(loss({1, 1, -infinity}) - std::log(2)) < 1e-6);
  CHECK(loss({-infinity, 1}) == infinity);
  CHECK(std::fabs(loss({3e38, 3e38, -3e38}) - std::log(2)) < 1e-6);
}

TEST_CASE("the gradient of cross-entropy is what finite differences say") {
  const std::size_t rows = 4, columns = 6;
  const Values z = values<double>(rows * columns, 2);
  const auto run = [&](const Values& logits, Values* gradient) {
    Arena arena;
    op::CrossEntropy<true, double> o{};
    o.logits = arena.put<double>(logits), o.target = put_targets(arena, {0, 5, ignore_index, 2}),
    o.scalars = arena.scalars();
    o.rows = rows, o.columns = columns, o.smoothing = 0.2;
    cpu::execute(o, arena.memory());
    if (gradient != nullptr) *gradient = arena.get(o.logits, logits.size());
    return arena.memory()(o.scalars)->loss_sum;
  };
  Values gradient, expected(z.size());
  run(z, &gradient);
  for (std::size_t i = 0; i < z.size(); ++i) {
    Values up = z, down = z;
    up[i] += 1e-6, down[i] -= 1e-6;
    expected[i] = (run(up, nullptr) - run(down, nullptr)) / 2e-6;
  }
  CHECK(misses(gradient, expected, [](std::size_t) { return 1e-8; }) == 0);  // 2^-52 · 10 / h
}

TEMPLATE_TEST_CASE("cross-entropy with distributions and its gradient are their definitions", "", float, double) {
  soft_cross_entropy_is_its_definition<TestType>(1, 1, 3);
  soft_cross_entropy_is_its_definition<TestType>(7, 2, 30);
  soft_cross_entropy_is_its_definition<TestType>(64, 10, 5);
  soft_cross_entropy_is_its_definition<TestType>(33, 257, 5);
  soft_cross_entropy_is_its_definition<TestType>(5, 20000, 10);
}

TEMPLATE_TEST_CASE("a distribution with one class is that class", "", float, double) {
  for (const std::size_t columns : Sizes{2, 10, 257, 5003}) {
    constexpr std::size_t rows = 9;
    const double size = 5, u = epsilon_of<TestType>, d = depth_of<TestType>(columns);
    const Values z = values<TestType>(rows * columns, size);
    std::vector<std::int32_t> classes;
    Values p(rows * columns);
    for (std::size_t row = 0; row < rows; ++row) {
      classes.push_back(static_cast<std::int32_t>(row * 7 % columns));
      p[row * columns + row * 7 % columns] = 1;
    }
    Arena arena(std::size_t{1} << 22);
    op::CrossEntropy<true, TestType> hard{};
    hard.logits = arena.put<TestType>(z), hard.target = put_targets(arena, classes), hard.scalars = arena.scalars();
    hard.rows = rows, hard.columns = columns, hard.scale = 0.5;
    cpu::execute(hard, arena.memory());
    op::SoftCrossEntropy<true, TestType> soft{};
    soft.logits = arena.put<TestType>(z), soft.target = arena.put<TestType>(p), soft.scalars = arena.scalars();
    soft.rows = rows, soft.columns = columns, soft.scale = 0.5;
    cpu::execute(soft, arena.memory());
    // The sums of targets and of products are exact, with one term that is not 0. The two sums of exponentials are each
    // off by u (2 size + d + 4), relatively; gradients, at most 1/2, have four roundings more each.
    const double exponentials = 2 * u * (2 * size + d + 4);
    CHECK(arena.memory()(soft.scalars)->loss_sum ==
          Approx(arena.memory()(hard.scalars)->loss_sum).margin(double(rows) * (exponentials + 2 * u)));
    CHECK(arena.memory()(soft.scalars)->count == arena.memory()(hard.scalars)->count);
    CHECK(misses(arena.get(soft.logits, z.size()), arena.get(hard.logits, z.size()),
                 [&](std::size_t) { return 0.5 * (exponentials + 8 * u); }) == 0);
  }
}

TEST_CASE("where no target is, minus infinity is a probability of 0; a NaN is seen, in logits and in targets") {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto loss = [](const Values& logits, const Values& target, bool finite_gradient) {
    Arena arena;
    op::SoftCrossEntropy<true, float> o{};
    o.logits = arena.put<float>(logits), o.target = arena.put<float>(target), o.scalars = arena.scalars(), o.rows = 1,
    o.columns = logits.size();
    cpu::execute(o, arena.memory());
    for (const double g : arena.get(o.logits, logits.size())) CHECK((std::isfinite(g) || !finite_gradient));
    CHECK(arena.memory()(o.scalars)->count == 1);
    return arena.memory()(o.scalars)->loss_sum;
  };
  CHECK(std::fabs(loss({1, 1, -infinity}, {0.5, 0.5, 0}, true) - std::log(2)) < 1e-6);
  CHECK(loss({1, 1, -infinity}, {0, 0, 0}, true) == 0);
  CHECK(loss({-infinity, 1}, {0.5, 0.5}, true) == infinity);
  CHECK(std::fabs(loss({3e38, 3e38, -3e38}, {1, 0, 0}, true) - std::log(2)) < 1e-6);
  for (std::size_t at = 0; at < 40; ++at) {
    Values logits(40, 1.0), target(40, 0.0);
    logits[at] = std::nan("");
    CHECK(std::isnan(loss(logits, target, false)));
    logits[at] = 1, target[at] = std::nan("");
    CHECK(std::isnan(loss(logits, target, false)));
  }
}

TEMPLATE_TEST_CASE("squared error and its gradient are their definitions", "", float, double) {
  for (const std::size_t count : Sizes{1, 17, 1000, 40001}) {
    Arena arena(std::size_t{1} << 22);
    const Values output = values<TestType>(count, 3, 1), target = values<TestType>(count, 3, 2);
    Scalars before;
    before.loss_sum = 1, before.count = 2, before.loss_scale = 8;
    double loss = 1;
    Values gradient(count);
    for (std::size_t i = 0; i < count; ++i) {
      loss += (output[i] - target[i]) * (output[i] - target[i]);
      gradient[i] = 2 * (output[i] - target[i]) * 0.25 * 8;
    }
    op::SquaredError<false, TestType> plain{};
    plain.output = arena.put<TestType>(output), plain.target = arena.put<TestType>(target),
    plain.scalars = arena.scalars(before), plain.count = count;
    cpu::execute(plain, arena.memory());
    CHECK(std::fabs(arena.memory()(plain.scalars)->loss_sum - loss) <=
          1e-12 * loss);  // fp64: below count · 2^-53 relative
    CHECK(arena.memory()(plain.scalars)->count == 2 + double(count));
    CHECK(arena.get(plain.output, count) == output);
    op::SquaredError<true, TestType> o{};
    o.output = plain.output, o.target = plain.target, o.scalars = arena.scalars(before), o.count = count,
    o.scale = 0.25;
    cpu::execute(o, arena.memory());
    CHECK(arena.memory()(o.scalars)->loss_sum == arena.memory()(plain.scalars)->loss_sum);
    CHECK(misses(arena.get(o.output, count), gradient,
                 [&](std::size_t i) { return 2 * epsilon_of<TestType> * std::fabs(gradient[i]); }) == 0);
    CHECK(arena.guards_hold());
  }
}

TEMPLATE_TEST_CASE("other losses of single elements and their gradients are their definitions", "", float, double) {
  const auto check = []<class Function>(Function) {
    for (const std::size_t count : Sizes{1, 17, 1000, 40001}) {
      Arena arena(std::size_t{1} << 22);
      const Values output = values<TestType>(count, 3, 1), target = values<TestType>(count, 1, 2);
      double loss = 1, size = 1;
      Values gradient(count);
      for (std::size_t i = 0; i < count; ++i) {
        loss += Function::value(output[i], target[i]);
        size += std::fabs(output[i] * target[i]) + std::fabs(output[i]) + 1;  // of the terms
        gradient[i] = Function::derivative(output[i], target[i]) * 0.25 * 8;
      }
      Scalars before;
      before.loss_sum = 1, before.count = 2, before.loss_scale = 8;
      op::PointwiseLoss<Function, true, TestType> o{};
      o.output = arena.put<TestType>(output), o.target = arena.put<TestType>(target), o.scalars = arena.scalars(before),
      o.count = count, o.scale = 0.25;
      cpu::execute(o, arena.memory());
      CHECK(std::fabs(arena.memory()(o.scalars)->loss_sum - loss) <= double(count) * 0x1p-53 * size);
      CHECK(arena.memory()(o.scalars)->count == 2 + double(count));
      CHECK(misses(arena.get(o.output, count), gradient,
                   [&](std::size_t i) { return 2 * epsilon_of<TestType> * (2 + std::fabs(gradient[i])); }) == 0);
      CHECK(arena.guards_hold());
    }
  };
  check(pointwise::Huber<Ratio<1>>{});
  check(pointwise::Huber<Ratio<1, 3>>{});
  check(pointwise::BinaryCrossEntropy{});
}

TEMPLATE_TEST_CASE("a masked loss is the loss of the elements that have a target", "", float, double) {
  const auto check = []<class Function>(Function) {
    for (const std::size_t count : Sizes{1, 17, 1000, 40001})
      for (const std::size_t every : Sizes{1, 3, 40002}) {  // no target, some, almost all
        CAPTURE(count, every);
        Arena arena(std::size_t{1} << 22);
        Values output = values<TestType>(count, 3, 1), target = values<TestType>(count, 1, 2), x, t;
        std::vector<std::size_t> kept;
        for (std::size_t i = 0; i < count; ++i)
          if (i % every == 0) output[i] = target[i] = std::nan("");  // what lies there is not read
          else x.push_back(output[i]), t.push_back(target[i]), kept.push_back(i);
        const auto run = [&]<class Any>(Any, const Values& from, const Values& wanted, Values& gradient) {
          Scalars before;
          before.loss_scale = 8;
          op::PointwiseLoss<Any, true, TestType> o{};
          o.output = arena.put<TestType>(from), o.target = arena.put<TestType>(wanted),
          o.scalars = arena.scalars(before), o.count = from.size(), o.scale = 0.25;
          cpu::execute(o, arena.memory());
          gradient = arena.get(o.output, from.size());
          return *arena.memory()(o.scalars);
        };
        Values all, alone;
        const Scalars masked = run(pointwise::Masked<Function>{}, output, target, all),
                      plain = run(Function{}, x, t, alone);
        CHECK(masked.count == double(kept.size()));
        // The same terms, at most 8, in other partial sums.
        CHECK(std::fabs(masked.loss_sum - plain.loss_sum) <= double(count) * double(count) * 8 * 0x1p-53);
        for (std::size_t i = 0, next = 0; i < count; ++i) {
          const bool counts = i % every != 0;
          if (std::fabs(all[i] - (counts ? alone[next] : 0)) > 4 * epsilon_of<TestType> * 8) FAIL_CHECK(i);
          next += counts ? 1 : 0;
        }
        CHECK(arena.guards_hold());
      }
  };
  check(pointwise::Squared{});
  check(pointwise::Huber<Ratio<1, 3>>{});
  check(pointwise::BinaryCrossEntropy{});
}

TEMPLATE_TEST_CASE("a row without a distribution adds nothing, even full of NaN, if the loss is masked", "", float,
                   double) {
  const std::size_t rows = 67, columns = 19;
  Values z = values<TestType>(rows * columns, 3), p = some_distributions<TestType>(rows, columns);
  for (std::size_t row = 0; row < rows; row += 3) {
    z[row * columns + 2] = std::nan("");
    for (std::size_t k = 0; k < columns; ++k) p[row * columns + k] = std::nan("");
  }
  Values kept_z, kept_p;
  for (std::size_t i = 0; i < rows * columns; ++i)
    if (i / columns % 3 != 0) kept_z.push_back(z[i]), kept_p.push_back(p[i]);
  Arena arena(std::size_t{1} << 20);
  const auto run = [&](const Values& from, const Values& wanted, bool masked, Values& gradient) {
    op::SoftCrossEntropy<true, TestType> o{};
    o.logits = arena.put<TestType>(from), o.target = arena.put<TestType>(wanted), o.scalars = arena.scalars({});
    o.rows = from.size() / columns, o.columns = columns, o.scale = 0.25, o.masked = masked;
    cpu::execute(o, arena.memory());
    gradient = arena.get(o.logits, from.size());
    return *arena.memory()(o.scalars);
  };
  Values all, alone;
  const Scalars masked = run(z, p, true, all), plain = run(kept_z, kept_p, false, alone);
  CHECK(masked.count == plain.count);
  CHECK(masked.count == double(rows - 23));
  CHECK(masked.loss_sum == plain.loss_sum);  // few rows: one sum, in the same order
  for (std::size_t i = 0, next = 0; i < all.size(); ++i)
    if (all[i] != (i / columns % 3 != 0 ? alone[next++] : 0)) FAIL_CHECK(i);
}

TEST_CASE("binary cross-entropy stays finite where logits are far from zero") {
  for (const double x : {1e4, -1e4, 800.0, -800.0, 0.0})
    for (const double t : {0.0, 1.0, 0.25}) {
      CHECK(std::isfinite(pointwise::BinaryCrossEntropy::value(x, t)));
      CHECK(std::fabs(pointwise::BinaryCrossEntropy::derivative(x, t)) <= 1);
    }
  CHECK(pointwise::BinaryCrossEntropy::value(800, 1) == 0);
  CHECK(pointwise::BinaryCrossEntropy::value(-800, 1) == 800);
}

TEST_CASE("the number of threads changes no bit of a loss or its gradient") {
  CHECK(same_for_any_threads([](Arena& arena) {
    const std::size_t rows = 401, columns = 300;
    op::CrossEntropy<true, float> o{};
    o.logits = arena.put<float>(values<float>(rows * columns, 5)),
    o.target = put_targets(arena, some_targets(rows, columns)), o.scalars = arena.scalars();
    o.rows = rows, o.columns = columns, o.smoothing = 0.1;
    cpu::execute(o, arena.memory());
    op::SquaredError<true, float> square{};
    square.output = o.logits, square.target = arena.put<float>(values<float>(rows * columns)),
    square.scalars = o.scalars, square.count = rows * columns;
    cpu::execute(square, arena.memory());
    op::SoftCrossEntropy<true, float> soft{};
    soft.logits = arena.put<float>(values<float>(rows * columns, 5)), soft.target = square.target,
    soft.scalars = arena.scalars(), soft.rows = rows, soft.columns = columns;
    cpu::execute(soft, arena.memory());
  }));
}
// SPDX-License-Identifier: Apache-2.0
