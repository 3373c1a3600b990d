// tests/kernel/column_sum.cpp — gradients of biases and tables beside the CPU engine and their definition.
#include "against_cpu.hpp"

#include <regimen/engine/cpu/activation.hpp>
#include <regimen/engine/cpu/embedding.hpp>
#include <regimen/kernel/column_sum.hpp>
#include <regimen/kernel/elementwise.hpp>

#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

using namespace regimen;
using namespace test;

namespace {

constexpr std::size_t room_of(std::size_t count) { return 3 * count * sizeof(double) + (std::size_t{1} << 16); }

struct Form {
  bool with_bias, with_d_bias, add, in_place;
};
constexpr Form forms[] = {
    {true, true, false, true}, {true, true, true, false}, {false, true, false, false}, {true, false, false, true}};

template <class Activation, class T, class G>
auto backward(std::size_t rows, std::size_t columns, const Form& form, bool whole) {
  return [=](Arena& arena) {
    const std::size_t count = rows * columns;
    op::BiasBackward<Activation, T, G> o{};
    o.d_y = arena.put<T>(whole ? integers<T>(count, 2) : values<T>(count, 1, 2)), o.d_x = o.d_y;
    if (!std::is_same_v<Activation, activation::Identity>) {
      o.x = arena.put<T>(values<T>(count, 3));
      if (!form.in_place) o.d_x = arena.room<T>(count);
      if (form.with_bias) o.bias = arena.put<T>(values<T>(columns, 2, 3));
    }
    if (form.with_d_bias) o.d_bias = arena.put<G>(whole ? integers<G>(columns, 4) : values<G>(columns, 1, 4));
    o.rows = rows, o.columns = columns, o.add = form.add;
    return o;
  };
}

/// A row is 5 + 64 · 8: two chunks are no power of two, and columns of 8 bf16 are 16 bytes.
constexpr Sizes heights{1, 37, 64, 200, 517}, widths{1, 5, 64, 129};

template <class Activation, class T, class G>
void is_exact() {
  for (const std::size_t rows : heights)
    for (const std::size_t columns : widths)
      for (const Form& form : forms) {
        CAPTURE(rows, columns, form.with_bias, form.with_d_bias, form.add, name_of<T>, name_of<G>);
        const auto results = [&](const Arena& arena, const auto& o) {
          Values all = arena.get(o.d_x, rows * columns);
          if (form.with_d_bias)
            for (const double sum : arena.get(o.d_bias, columns)) all.push_back(sum);
          return all;
        };
        is_the_cpu(room_of(rows * columns), backward<Activation, T, G>(rows, columns, form, true), results);
        // As many rows as the kernel adds at a time, and as the CPU adds on one core: the same additions, whatever the
        // numbers.
        if (rows <= 64)
          is_the_cpu(room_of(rows * columns), backward<Activation, T, G>(rows, columns, form, false), results);
      }
}

/// Against the definition in fp64.
///   d_x      64 u from the activation's formula: 1 − tanh² has an error of 6 u, and the factor of it is at most 9 for
///            |x| <= 5; in fp64 as much of its own u. Then its rounding to T
///   d_bias   as much for each term, and roundings of the sum as ColumnSum says: fewer than 80
template <class Activation, class T, class G>
void is_its_definition() {
  constexpr double u = epsilon_of<statistic_t<T>> / 2;
  for (const std::size_t rows : heights)
    for (const std::size_t columns : widths)
      for (const Form& form : forms) {
        CAPTURE(rows, columns, form.with_bias, form.with_d_bias, form.add, name_of<T>, name_of<G>);
        const auto make = backward<Activation, T, G>(rows, columns, form, false);
        Arena before(room_of(rows * columns));
        const auto given = make(before);
        const std::size_t count = rows * columns;
        const Values x = before.get(given.x, count), d_y = before.get(given.d_y, count);
        const Values bias = form.with_bias ? before.get(given.bias, columns) : Values(columns, 0.0);
        Values d_x(count), d_bias(columns, 0.0), sizes(columns, 0.0);
        if (form.with_d_bias && form.add) d_bias = before.get(given.d_bias, columns);
        for (std::size_t i = 0; i < count; ++i) {
          d_x[i] = d_y[i] * Activation::template derivative<double>(x[i] + bias[i % columns]);
          d_bias[i % columns] += d_x[i];
          sizes[i % columns] += std::fabs(d_y[i]) * 2;
        }
        const auto judge = [&](const Arena& arena, const auto& o, const Arena&) {
          CHECK(misses(arena.get(o.d_x, count), d_x, [&](std::size_t i) {
                  return 64 * u * std::fabs(d_y[i]) + rounding_of<T>(d_x[i]) * 1.001;
                }) == 0);
          if (!form.with_d_bias) return;
          CHECK(misses(arena.get(o.d_bias, columns), d_bias, [&](std::size_t i) {
                  return (64 + 80) * u * (sizes[i] + 1) + rounding_of<G>(d_bias[i]) * 1.001;
                }) == 0);
        };
        beside_the_cpu(room_of(count), make, judge);
      }
}

using Types = std::tuple<std::pair<float, float>, std::pair<double, double>, std::pair<bf16, float>,
                         std::pair<bf16, bf16>, std::pair<fp16, fp16>>;

/// Bytes and flops of an element, as the plan counts them.
template <class Operation>
constexpr double bytes_of = Operation{.rows = 5, .columns = 7}.cost().bytes / 35;
template <class Operation>
constexpr double flops_of = Operation{.rows = 5, .columns = 7}.cost().flops / 35;
// A bias gradient alone reads d_y; behind an activation x, too, and d_x is written.
static_assert(bytes_of<op::BiasBackward<activation::Identity, bf16, float>> == sizeof(bf16));
static_assert(bytes_of<op::BiasBackward<activation::Relu, bf16, float>> == 3 * sizeof(bf16));
// One addition.
static_assert(flops_of<op::BiasBackward<activation::Identity, float, float>> == 1);
static_assert(flops_of<op::BiasActivation<activation::Identity, float, float>> == 1);

}  // namespace

TEMPLATE_LIST_TEST_CASE("bias gradients: the CPU engine's numbers where sums are exact", "", Types) {
  using T = typename TestType::first_type;
  using G = typename TestType::second_type;
  is_exact<activation::Identity, T, G>();
  is_exact<activation::Relu, T, G>();
}

// Where squares and cubes of x overflow, in fp64, too; the derivative of an infinity may be NaN, but then in both.
TEMPLATE_LIST_TEST_CASE("activations and their gradients far from zero are the CPU engine's, also of infinities", "",
                        Types) {
  using T = typename TestType::first_type;
  using G = typename TestType::second_type;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto agree = []<class Activation>(Activation, const char* what, const Values& x) {
    INFO(what << " in " << name_of<T>);
    const std::size_t count = x.size();
    const auto forward = [&](Arena& arena) {
      return op::BiasActivation<Activation, T, T>{
          .x = arena.put<T>(x), .y = arena.room<T>(count), .rows = 1, .columns = count};
    };
    is_the_cpu(room_of(count), forward, [&](const Arena& arena, const auto& o) { return arena.get(o.y, count); });
    if constexpr (!std::is_same_v<Activation, activation::Identity>) {
      const auto backward = [&](Arena& arena) {
        return op::BiasBackward<Activation, T, G>{.x = arena.put<T>(x),
                                                  .d_y = arena.put<T>(Values(count, 1.0)),
                                                  .d_x = arena.room<T>(count),
                                                  .rows = 1,
                                                  .columns = count};
      };
      is_the_cpu(room_of(count), backward, [&](const Arena& arena, const auto& o) {
        const Values d_x = arena.get(o.d_x, count);
        for (std::size_t i = 0; i < count; ++i)
          if (std::isfinite(x[i]) && std::isfinite(number(rounded<T>(x[i])))) CHECK(d_x[i] == (x[i] > 0 ? 1 : 0));
        return d_x;
      });
    }
  };
  Values far{infinity, -infinity};
  for (const double x : {1e3, 6e4, 1e19, 2e19, 1e20, 3e38, 1e103, 1e155, 1e308}) far.push_back(x), far.push_back(-x);
  agree(activation::Identity{}, "identity", far), agree(activation::Relu{}, "relu", far),
      agree(activation::Silu{}, "silu", far), agree(activation::GeluErf{}, "gelu", far),
      agree(activation::GeluTanh{}, "gelu_tanh", far);
}

TEMPLATE_LIST_TEST_CASE("gradients of activations and biases are their definition", "", Types) {
  using T = typename TestType::first_type;
  using G = typename TestType::second_type;
  is_its_definition<activation::Silu, T, G>();
  is_its_definition<activation::GeluErf, T, G>();
  is_its_definition<activation::GeluTanh, T, G>();
}

TEST_CASE("Relu reads NaN as the CPU engine does, in x and in d_y") {
  const auto make = [](Arena& arena) {
    op::BiasBackward<activation::Relu, float, float> o{};
    Values x = values<float>(6 * 9), d_y = values<float>(6 * 9, 1, 2);
    x[10] = d_y[31] = std::nan("");
    o.x = arena.put<float>(x), o.d_y = arena.put<float>(d_y), o.d_x = o.d_y, o.d_bias = arena.room<float>(9),
    o.rows = 6, o.columns = 9;
    return o;
  };
  is_the_cpu(room_of(54), make, [](const Arena& arena, const auto& o) { return arena.get(o.d_bias, 9); });
  is_the_cpu(room_of(54), make, [](const Arena& arena, const auto& o) { return arena.get(o.d_x, 54); });
}

TEST_CASE("an identity without a bias launches nothing; no rows give a gradient of 0") {
  const op::BiasBackward<activation::Identity, float, float> nothing{{}, {}, {0}, {0}, {}, 5, 7};
  CHECK(kernel::Kernel<op::BiasBackward<activation::Identity, float, float>, 0>{nothing, {}}.blocks() == 0);
  CHECK(kernel::Kernel<op::BiasBackward<activation::Identity, float, float>, 1>{nothing, {}}.blocks() == 0);
  const auto make = [](Arena& arena) {
    op::BiasBackward<activation::Identity, float, float> o{};
    o.d_y = arena.room<float>(1), o.d_x = o.d_y, o.d_bias = arena.put<float>({1, 2, 3}), o.columns = 3;
    return o;
  };
  is_the_cpu(room_of(54), make, [](const Arena& arena, const auto& o) { return arena.get(o.d_bias, 3); });
}

TEMPLATE_LIST_TEST_CASE("gradients of a table that is added to every sample", "", Types) {
  using T = typename TestType::first_type;
  using G = typename TestType::second_type;
  for (const std::size_t samples : heights)
    for (const std::size_t elements : widths)
      for (const bool add : {false, true}) {
        CAPTURE(samples, elements, add);
        const auto make = [&](Arena& arena) {
          op::AddTableBackward<T, G> o{};
          o.d_y = arena.put<T>(integers<T>(samples * elements)), o.d_table = arena.put<G>(integers<G>(elements, 2));
          o.samples = samples, o.elements = elements, o.add = add;
          return o;
        };
        is_the_cpu(room_of(samples * elements), make,
                   [&](const Arena& arena, const auto& o) { return arena.get(o.d_table, elements); });
      }
}

TEST_CASE("a missing barrier and a missing thread are told") {
  const auto make = backward<activation::Relu, float, float>(200, 37, forms[0], true);
  const auto results = [](const Arena& arena, const auto& o) { return arena.get(o.d_bias, 37); };
  for (const std::string& text : told<WithoutBarriers>(room_of(200 * 37), make, results)) {
    INFO(text);
    CHECK((text.find("shared memory that was written") != std::string::npos ||
           text.find("a barrier between two threads") != std::string::npos));
  }
  for (const std::string& text : told<WithoutAThread>(room_of(200 * 37), make, results))
    CHECK_THAT(text, Catch::Contains("has left the kernel"));
}
// SPDX-License-Identifier: Apache-2.0
