// tests/kernel/padded_rows.cpp — operations on the output of a model whose rows lie apart: what lies between two rows is
// neither read nor written, and the bits are those of dense rows that begin at the same places.
#include "against_cpu.hpp"

#include <regimen/engine/cpu/activation.hpp>
#include <regimen/engine/cpu/loss.hpp>
#include <regimen/engine/cpu/step.hpp>
#include <regimen/kernel/column_sum.hpp>
#include <regimen/kernel/cross_entropy.hpp>
#include <regimen/kernel/elementwise.hpp>
#include <regimen/kernel/library.hpp>
#include <regimen/kernel/step.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

using namespace regimen;
using namespace test;

namespace {

constexpr std::size_t room = std::size_t{1} << 19;
/// Above all values: whoever reads it finds another largest one, another sum.
constexpr double between = 1e4;

template <class T>
View<T> put_rows(Arena& arena, const Values& dense, std::size_t columns, std::size_t leading, double filler = between) {
  Values stored(dense.size() / columns * leading, filler);
  for (std::size_t i = 0; i < dense.size(); ++i) stored[i / columns * leading + i % columns] = dense[i];
  arena.begin_past(0);
  return arena.put<T>(stored);
}
/// Rows without what lies between them, which has to be as it was.
template <class T>
Values get_rows(const Arena& arena, View<T> view, std::size_t rows, std::size_t columns, std::size_t leading,
                double filler = between) {
  const Values stored = arena.get(view, rows * leading);
  Values dense;
  std::size_t touched = 0;
  for (std::size_t i = 0; i < stored.size(); ++i)
    if (i % leading < columns) dense.push_back(stored[i]);
    else touched += stored[i] == number(rounded<T>(filler)) ? 0 : 1;
  CHECK(touched == 0);
  return dense;
}

Scalars scalars_of(const Arena& arena, const auto& o) {
  Scalars s;
  std::memcpy(static_cast<void*>(&s), arena.bytes().data() + o.scalars.offset, sizeof s);
  return s;
}

/// Rows of multiples of 16 bytes, and rows that begin at the same places of 16 bytes as dense ones.
template <class T>
struct Widths {
  static constexpr std::size_t line = 16 / sizeof(T);
  static constexpr std::size_t aligned(std::size_t columns) { return (columns + line - 1) / line * line; }
  static constexpr std::size_t congruent(std::size_t columns) { return columns + 2 * line; }
};
constexpr Sizes widths{1, 2, 5, 33, 53, 257, 1030};

std::vector<std::int32_t> targets_of(std::size_t rows, std::size_t columns) {
  std::vector<std::int32_t> targets(rows);
  for (std::size_t i = 0; i < rows; ++i) targets[i] = static_cast<std::int32_t>(i * 7 % columns);
  if (rows > 3) targets[3] = ignore_index;
  return targets;
}

template <bool WithGradient, class S>
op::CrossEntropy<WithGradient, S> loss_of(Arena& arena, const Values& logits, const std::vector<std::int32_t>& targets,
                                          std::size_t columns, std::size_t leading, double smoothing) {
  op::CrossEntropy<WithGradient, S> o{};
  o.logits = put_rows<S>(arena, logits, columns, leading == 0 ? columns : leading);
  o.target = put_integers(arena, targets);
  Scalars scalars;
  scalars.loss_scale = 4, scalars.loss_sum = 1.5, scalars.count = 2;
  o.scalars = arena.scalars(scalars), o.rows = targets.size(), o.columns = columns, o.scale = 0.25;
  o.smoothing = smoothing, o.leading = leading;
  return o;
}

template <bool WithGradient, class S>
void cross_entropy(double smoothing, std::size_t columns) {
  constexpr std::size_t rows = 7;
  CAPTURE(WithGradient, name_of<S>, smoothing, columns);
  const Values logits = values<S>(rows * columns, 20);
  const auto targets = targets_of(rows, columns);
  const auto results = [&](const Arena& arena, const auto& o) {
    Values all = get_rows(arena, o.logits, rows, columns, o.row());
    all.push_back(scalars_of(arena, o).loss_sum), all.push_back(scalars_of(arena, o).count);
    return all;
  };
  const std::size_t aligned = Widths<S>::aligned(columns), congruent = Widths<S>::congruent(columns);
  for (const Way& way : ways) {
    INFO(way.name);
    const auto run_here = [&](std::size_t leading) {
      Arena arena(room);
      const auto o = loss_of<WithGradient, S>(arena, logits, targets, columns, leading, smoothing);
      run(o, arena, way);
      CHECK(arena.guards_hold());
      return results(arena, o);
    };
    CHECK(run_here(congruent) == run_here(0));
    // Each row by itself begins at a multiple of 16 bytes, too. Losses are added in the order of rows, or in a tree.
    const Values found = run_here(aligned);
    double sum = 1.5;
    for (std::size_t row = 0; row < rows; ++row) {
      const auto first = static_cast<std::ptrdiff_t>(row * columns),
                 last = first + static_cast<std::ptrdiff_t>(columns);
      Arena arena(room);
      const auto o = loss_of<WithGradient, S>(arena, Values(logits.begin() + first, logits.begin() + last),
                                              {targets[row]}, columns, 0, smoothing);
      run(o, arena, way);
      CHECK(get_rows(arena, o.logits, 1, columns, columns) == Values(found.begin() + first, found.begin() + last));
      sum += scalars_of(arena, o).loss_sum - 1.5;
    }
    CHECK(found[rows * columns] == Approx(sum).epsilon(double(3 * rows) * 0x1p-53));
    CHECK(found[rows * columns + 1] == 2 + 6);
  }
  // The CPU engine's rows are added in lanes, wherever they begin.
  const auto there = [&](std::size_t leading) {
    Arena arena(room);
    const auto o = loss_of<WithGradient, S>(arena, logits, targets, columns, leading, smoothing);
    cpu::execute(o, arena.memory_for(o));
    return results(arena, o);
  };
  CHECK(there(aligned) == there(0));
  CHECK(there(congruent) == there(0));
}

/// Targets stay dense. Rows `aligned` begin at multiples of 16 bytes, their targets elsewhere.
template <bool WithGradient, class S>
void soft_cross_entropy(std::size_t columns) {
  constexpr std::size_t rows = 7;
  CAPTURE(WithGradient, name_of<S>, columns);
  const Values logits = values<S>(rows * columns, 20), targets = values<S>(rows * columns, 1, 2);
  const auto make = [&](Arena& arena, std::size_t first, std::size_t last, std::size_t leading) {
    const auto part = [&](const Values& all) {
      return Values(all.begin() + std::ptrdiff_t(first * columns), all.begin() + std::ptrdiff_t(last * columns));
    };
    op::SoftCrossEntropy<WithGradient, S> o{};
    o.logits = put_rows<S>(arena, part(logits), columns, leading == 0 ? columns : leading);
    arena.begin_past(0);
    o.target = arena.put<S>(part(targets));
    Scalars scalars;
    scalars.loss_scale = 4, scalars.loss_sum = 1.5, scalars.count = 2;
    o.scalars = arena.scalars(scalars), o.rows = last - first, o.columns = columns, o.scale = 0.25, o.leading = leading;
    return o;
  };
  const auto results = [&](const Arena& arena, const auto& o) {
    Values all = get_rows(arena, o.logits, o.rows, columns, o.row());
    all.push_back(scalars_of(arena, o).loss_sum), all.push_back(scalars_of(arena, o).count);
    return all;
  };
  const std::size_t aligned = Widths<S>::aligned(columns), congruent = Widths<S>::congruent(columns);
  for (const Way& way : ways) {
    INFO(way.name);
    const auto run_here = [&](std::size_t first, std::size_t last, std::size_t leading) {
      Arena arena(room);
      const auto o = make(arena, first, last, leading);
      run(o, arena, way);
      CHECK(arena.guards_hold());
      return results(arena, o);
    };
    CHECK(run_here(0, rows, congruent) == run_here(0, rows, 0));
    const Values found = run_here(0, rows, aligned);
    for (std::size_t row = 0; row < rows; ++row) {
      const Values one = run_here(row, row + 1, 0);
      const auto first = found.begin() + static_cast<std::ptrdiff_t>(row * columns);
      CHECK(std::equal(one.begin(), one.end() - 2, first));
    }
    CHECK(found.back() == 2 + rows);
  }
  const auto there = [&](std::size_t leading) {
    Arena arena(room);
    const auto o = make(arena, 0, rows, leading);
    cpu::execute(o, arena.memory_for(o));
    return results(arena, o);
  };
  CHECK(there(aligned) == there(0));
  CHECK(there(congruent) == there(0));
}

/// The gradient in a narrower type: that of type float, rounded once; it takes the first part of each row, whose rest may have
/// anything. A row of two chunks (of 1,024 threads, 8 numbers each) and of a part of one is among the columns.
template <class D, class Make>
void narrows(std::size_t rows, std::size_t columns, const Make& make) {
  CAPTURE(name_of<D>, columns);
  const std::size_t leading = Widths<float>::aligned(columns), narrow_leading = leading * sizeof(float) / sizeof(D);
  for (const Way& way : ways) {
    INFO(way.name);
    Arena wide(room), narrow(room);
    const auto exact = make.template operator()<float>(wide, leading);
    const auto o = make.template operator()<D>(narrow, leading);
    run(exact, wide, way), run(o, narrow, way);
    CHECK(narrow.guards_hold());
    const Values expected = get_rows(wide, exact.logits, rows, columns, leading),
                 found = narrow.get(View<D>{o.logits.offset}, rows * narrow_leading);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double is = found[i / columns * narrow_leading + i % columns], should = number(rounded<D>(expected[i]));
      wrong += is == should || (std::isnan(is) && std::isnan(should)) ? 0 : 1;
    }
    CHECK(wrong == 0);
    CHECK(scalars_of(narrow, o).loss_sum == scalars_of(wide, exact).loss_sum);
  }
}

/// make(leading) with rows apart has the numbers of make(0), whose rows are dense: on the CPU, and in every order.
template <class Make, class Get>
void has_the_dense_bits(const Make& make, std::size_t leading, const Get& get) {
  Arena dense(room);
  const auto o = make(0)(dense);
  cpu::execute(o, dense.memory_for(o));
  is_the_cpu(room, make(leading), get);
  in_every_way(room, make(leading),
               [&](const Arena& arena, const auto& done) { CHECK(get(arena, done) == get(dense, o)); });
}

template <class Activation, class T, class B>
void adds_biases(std::size_t columns, std::size_t leading, bool with_bias) {
  constexpr std::size_t rows = 9;
  CAPTURE(name_of<T>, name_of<B>, columns, leading, with_bias);
  const auto make = [&](std::size_t row) {
    return [=](Arena& arena) {
      op::BiasActivation<Activation, T, B> o{};
      o.y = o.x = put_rows<T>(arena, values<T>(rows * columns), columns, row == 0 ? columns : row);
      if (with_bias) o.bias = arena.put<B>(values<B>(columns, 3, 2));
      o.rows = rows, o.columns = columns, o.leading = row;
      return o;
    };
  };
  const auto get = [&](const Arena& arena, const auto& o) { return get_rows(arena, o.y, rows, columns, o.row()); };
  has_the_dense_bits(make, leading, get);
}

template <class Activation, class T, class G>
void sums_biases(std::size_t rows, std::size_t columns, std::size_t leading, bool add) {
  CAPTURE(name_of<T>, name_of<G>, rows, columns, leading, add);
  const auto make = [&](std::size_t row) {
    return [=](Arena& arena) {
      const std::size_t stored = row == 0 ? columns : row;
      op::BiasBackward<Activation, T, G> o{};
      o.d_x = o.d_y = put_rows<T>(arena, integers<T>(rows * columns, 2), columns, stored);
      if (!std::is_same_v<Activation, activation::Identity>)
        o.x = put_rows<T>(arena, values<T>(rows * columns, 3), columns, stored);
      o.d_bias = arena.put<G>(integers<G>(columns, 4));
      o.rows = rows, o.columns = columns, o.add = add, o.leading = row;
      return o;
    };
  };
  const auto get = [&](const Arena& arena, const auto& o) {
    Values all = get_rows(arena, o.d_x, rows, columns, o.row());
    for (const double sum : arena.get(o.d_bias, columns)) all.push_back(sum);
    return all;
  };
  has_the_dense_bits(make, leading, get);
}

}  // namespace

TEMPLATE_TEST_CASE("cross-entropy of rows that lie apart", "", float, double) {
  for (const std::size_t columns : widths)
    for (const double smoothing : {0.0, 0.1}) {
      cross_entropy<true, TestType>(smoothing, columns);
      cross_entropy<false, TestType>(smoothing, columns);
    }
}

TEMPLATE_TEST_CASE("cross-entropy with distributions of rows that lie apart", "", float, double) {
  for (const std::size_t columns : widths) {
    soft_cross_entropy<true, TestType>(columns);
    soft_cross_entropy<false, TestType>(columns);
  }
}

TEMPLATE_TEST_CASE("gradients of losses in a narrower type, which overwrite the logits", "", bf16, fp16) {
  for (const std::size_t columns : Sizes{1, 5, 8, 53, 257, 8192, 8200, 17003}) {
    constexpr std::size_t rows = 3;
    const Values logits = values<float>(rows * columns, 20);
    for (const double smoothing : {0.0, 0.1})
      narrows<TestType>(rows, columns, [&]<class D>(Arena& arena, std::size_t leading) {
        const auto o = loss_of<true, float>(arena, logits, {0, ignore_index, std::int32_t(columns - 1)}, columns,
                                            leading, smoothing);
        return op::CrossEntropy<true, float, D>{o.logits,  o.target, o.scalars,   o.rows,
                                                o.columns, o.scale,  o.smoothing, o.leading};
      });
    narrows<TestType>(rows, columns, [&]<class D>(Arena& arena, std::size_t leading) {
      op::SoftCrossEntropy<true, float, D> o{};
      o.logits = put_rows<float>(arena, logits, columns, leading);
      arena.begin_past(0);
      Values targets = values<float>(rows * columns, 1, 2);
      targets[columns] = std::numeric_limits<double>::quiet_NaN();
      o.target = arena.put<float>(targets);
      o.scalars = arena.scalars(), o.rows = rows, o.columns = columns, o.leading = leading, o.masked = true;
      return o;
    });
  }
}

TEST_CASE("a target that is no class fills its row with NaN, and nothing behind it") {
  for (const std::size_t leading : Sizes{56, 61}) {
    const auto make = [&](Arena& arena) {
      return loss_of<true, float>(arena, values<float>(3 * 53), {1, 53, 2}, 53, leading, 0);
    };
    in_every_way(room, make, [&](const Arena& arena, const auto& o) {
      const Values gradient = get_rows(arena, o.logits, 3, 53, leading);
      for (std::size_t i = 0; i < gradient.size(); ++i) CHECK(std::isnan(gradient[i]) == (i / 53 == 1));
    });
  }
}

TEMPLATE_TEST_CASE("correct rows among rows that lie apart", "", float, double) {
  using S = TestType;
  constexpr std::size_t rows = 20;
  for (const std::size_t columns : widths)
    for (const std::size_t leading : {Widths<S>::aligned(columns), Widths<S>::congruent(columns)}) {
      CAPTURE(columns, leading);
      const auto targets = targets_of(rows, columns);
      Values logits = integers<S>(rows * columns);
      for (std::size_t row = 0; row < rows; row += 2)
        if (targets[row] >= 0) logits[row * columns + static_cast<std::size_t>(targets[row])] = 9;
      const auto make = [&](std::size_t row) {
        return [&, row](Arena& arena) {
          op::CountCorrect<S> o{};
          o.logits = put_rows<S>(arena, logits, columns, row == 0 ? columns : row),
          o.target = put_integers(arena, targets), o.scalars = arena.scalars(), o.rows = rows, o.columns = columns,
          o.leading = row;
          return o;
        };
      };
      const auto get = [](const Arena& arena, const auto& o) { return Values{scalars_of(arena, o).correct}; };
      Arena dense(room);
      const auto o = make(0)(dense);
      cpu::execute(o, dense.memory_for(o));
      CHECK(get(dense, o)[0] >= 10);
      is_the_cpu(room, make(leading), get);
      in_every_way(room, make(leading),
                   [&](const Arena& arena, const auto& done) { CHECK(get(arena, done) == get(dense, o)); });
    }
}

TEMPLATE_TEST_CASE("what is not finite is found in rows that lie apart, not between them", "", float, double) {
  using T = TestType;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr std::size_t rows = 40, columns = 53;
  for (const std::size_t leading : {Widths<T>::aligned(columns), Widths<T>::congruent(columns)})
    for (const std::size_t bad : Sizes{rows * columns, 0, 52, 53, 1000, rows * columns - 1}) {
      CAPTURE(leading, bad);
      const auto make = [&](Arena& arena) {
        Values x = values<T>(rows * columns);
        if (bad < x.size()) x[bad] = nan;
        op::CheckFinite<T> o{};
        o.x = put_rows<T>(arena, x, columns, leading, nan), o.scalars = arena.scalars(), o.count = rows * columns;
        o.columns = columns, o.leading = leading;
        return o;
      };
      const auto check = [&](const Arena& arena, const auto& o) {
        const op::Anomaly anomaly = scalars_of(arena, o).anomaly;
        CHECK(anomaly.found == (bad < rows * columns));
        if (anomaly.found) CHECK((anomaly.element == bad && anomaly.is_nan));
      };
      in_every_way(room, make, check);
      Arena there(room);
      const auto o = make(there);
      cpu::execute(o, there.memory_for(o));
      check(there, o);
    }
}

TEST_CASE("biases of rows that lie apart, and their gradients") {
  for (const std::size_t columns : widths) {
    for (const bool with_bias : {true, false}) {
      adds_biases<activation::Identity, float, bf16>(columns, Widths<float>::aligned(columns), with_bias);
      adds_biases<activation::Relu, float, float>(columns, Widths<float>::congruent(columns), with_bias);
      adds_biases<activation::Relu, double, double>(columns, Widths<double>::aligned(columns), with_bias);
    }
    for (const std::size_t rows : Sizes{1, 9, 70})
      for (const bool add : {true, false}) {
        if (rows * columns > 20'000) continue;
        sums_biases<activation::Identity, float, float>(rows, columns, Widths<float>::aligned(columns), add);
        sums_biases<activation::Identity, float, bf16>(rows, columns, Widths<float>::congruent(columns), add);
        sums_biases<activation::Relu, double, double>(rows, columns, Widths<double>::aligned(columns), add);
      }
  }
}

TEST_CASE("rows that lie apart are copied in another type") {
  constexpr std::size_t rows = 5;
  for (const std::size_t columns : widths)
    for (const std::size_t from : {Widths<float>::aligned(columns), Widths<float>::congruent(columns)}) {
      CAPTURE(columns, from);
      const std::size_t leading = Widths<bf16>::aligned(columns);
      const Values x = values<float>(rows * columns, 7);
      Values wanted;
      for (const double value : x) wanted.push_back(number(rounded<bf16>(value)));
      for (const Way& way : ways) {
        INFO(way.name);
        Arena arena(room);
        const auto source = put_rows<float>(arena, x, columns, from);
        const auto to = put_rows<bf16>(arena, Values(rows * columns), columns, leading);
        run(kernel::PadRows<float, bf16>{source, to, rows, columns, leading, from}, arena, way);
        CHECK(arena.guards_hold());
        CHECK(get_rows(arena, to, rows, columns, leading) == wanted);
      }
    }
}

/// A kernel that takes columns for the distance between rows.
TEST_CASE("another distance between rows is told") {
  const Values logits = values<float>(7 * 53, 20);
  const auto gradient = [&](bool wrong) {
    Arena arena(room);
    auto o = loss_of<true, float>(arena, logits, targets_of(7, 53), 53, 56, 0);
    if (wrong) o.leading = 0;
    run(o, arena, ways[0]);
    return arena.get(o.logits, 7 * 56);
  };
  CHECK(gradient(false) != gradient(true));
}
// SPDX-License-Identifier: Apache-2.0
