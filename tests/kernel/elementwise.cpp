// tests/kernel/elementwise.cpp — kernels of single elements: the very bits of the CPU engine, in every order of
// threads.
#include "against_cpu.hpp"

#include <regimen/engine/cpu/activation.hpp>
#include <regimen/engine/cpu/elementwise.hpp>
#include <regimen/engine/cpu/embedding.hpp>
#include <regimen/engine/cpu/update.hpp>
#include <regimen/kernel/elementwise.hpp>
#include <regimen/kernel/library.hpp>
#include <regimen/kernel/positions.hpp>

#include <cmath>

using namespace regimen;
using namespace test;

namespace {

constexpr std::size_t bytes = std::size_t{1} << 19;

constexpr Sizes sizes{1, 7, 8, 31, 256, 1000, 4096, 9001};

template <class T>
void in_type() {
  for (const std::size_t count : sizes) {
    INFO(count << " elements");
    const auto y_of = [&](const Arena& arena, const auto& o) { return arena.get(o.y, count); };
    if constexpr (sizeof(T) >= 4)
      is_the_cpu(bytes, [&](Arena& arena) { return op::Zero<T>{arena.put<T>(values<T>(count)), count}; }, y_of);
    is_the_cpu(
        bytes,
        [&](Arena& arena) {
          const auto x = arena.put<T>(values<T>(count));
          return op::Add<T>{x, arena.put<T>(values<T>(count, 3, 2)), count};
        },
        y_of);
    is_the_cpu(
        bytes,
        [&](Arena& arena) {
          const auto a = arena.put<T>(values<T>(count)), b = arena.put<T>(values<T>(count, 3, 2));
          return op::Multiply<T>{a, b, arena.room<T>(count), count};
        },
        y_of);
    is_the_cpu(
        bytes,
        [&](Arena& arena) {
          const auto a = arena.put<T>(values<T>(count)), b = arena.put<T>(values<T>(count, 3, 2));
          return op::Gate<activation::Relu, T>{a, b, arena.room<T>(count), count};
        },
        y_of);
    for (const bool all : {true, false})  // both gradients, or one in the place of d_y
      is_the_cpu(
          bytes,
          [&](Arena& arena) {
            const auto a = arena.put<T>(values<T>(count)), b = arena.put<T>(values<T>(count, 3, 2)),
                       d_y = arena.put<T>(values<T>(count, 2, 3));
            return op::GateBackward<activation::Relu, T>{a, b, d_y, all ? arena.room<T>(count) : View<T>{}, d_y, count};
          },
          [&](const Arena& arena, const auto& o) {
            auto both = arena.get(o.d_b, count);
            if (!all) return both;
            const auto others = arena.get(o.d_a, count);
            both.insert(both.end(), others.begin(), others.end());
            return both;
          });
  }
  for (const std::size_t columns : Sizes{1, 8, 33}) {
    const std::size_t samples = 5, rows = rows_for(columns, 7);
    INFO(columns << " columns");
    is_the_cpu(
        bytes,
        [&](Arena& arena) {
          const auto x = arena.put<T>(values<T>(samples * rows * columns));
          return op::MeanRows<T>{x, arena.room<T>(samples * columns), samples, rows, columns};
        },
        [&](const Arena& arena, const auto& o) { return arena.get(o.y, samples * columns); });
    is_the_cpu(
        bytes,
        [&](Arena& arena) {
          const auto d_y = arena.put<T>(values<T>(samples * columns));
          return op::MeanRowsBackward<T>{d_y, arena.room<T>(samples * rows * columns), samples, rows, columns};
        },
        [&](const Arena& arena, const auto& o) { return arena.get(o.d_x, samples * rows * columns); });
    Values some = integers<T>(samples * rows * columns);  // some are equal, two are NaN
    some[columns] = some[3 * columns] = std::nan("");
    is_the_cpu(
        bytes,
        [&](Arena& arena) {
          const auto x = arena.put<T>(some);
          return op::MaxRows<T>{x, arena.room<T>(samples * columns), samples, rows, columns};
        },
        [&](const Arena& arena, const auto& o) { return arena.get(o.y, samples * columns); });
    is_the_cpu(
        bytes,
        [&](Arena& arena) {
          const auto x = arena.put<T>(some), d_y = arena.put<T>(values<T>(samples * columns));
          return op::MaxRowsBackward<T>{x, d_y, arena.room<T>(samples * rows * columns), samples, rows, columns};
        },
        [&](const Arena& arena, const auto& o) { return arena.get(o.d_x, samples * rows * columns); });
    is_the_cpu(
        bytes,
        [&](Arena& arena) {
          const auto x = arena.put<T>(values<T>(rows * columns)), gain = arena.put<T>(values<T>(columns, 1, 2));
          return op::Scale<T>{x, gain, arena.room<T>(rows * columns), rows, columns};
        },
        [&](const Arena& arena, const auto& o) { return arena.get(o.y, rows * columns); });
    for (const std::uint32_t threshold : {0u, 6554u, 40000u})
      is_the_cpu(
          bytes,
          [&](Arena& arena) {
            const auto x = arena.put<T>(values<T>(samples * rows * columns));
            const auto y = arena.room<T>(samples * rows * columns);
            return op::DropSamples<T>{x, y, samples, rows * columns, arena.drop(threshold, 5, {7, 11, 3})};
          },
          [&](const Arena& arena, const auto& o) { return arena.get(o.y, samples * rows * columns); });
    for (const std::size_t from_row : {std::size_t{0}, columns})  // one row, and rows of groups
      is_the_cpu(
          bytes,
          [&](Arena& arena) {
            return op::CopyColumns<T>{.x = arena.put<T>(values<T>(samples * rows * columns)),
                                      .y = arena.put<T>(values<T>(samples * rows * (columns + 8), 3, 2)),
                                      .rows = samples * 3,
                                      .columns = columns,
                                      .from_row = from_row,
                                      .to_row = columns + 8,
                                      .group = 3,
                                      .from_group = rows * columns,
                                      .to_group = rows * (columns + 8)};
          },
          [&](const Arena& arena, const auto& o) { return arena.get(o.y, samples * rows * (columns + 8)); });
  }
  for (const std::size_t columns : Sizes{1, 5, 8, 12, 64, 129, 700}) {
    const std::size_t rows = rows_for(columns, 37), count = rows * columns;
    INFO(columns << " columns");
    const auto y_of = [&](const Arena& arena, const auto& o) { return arena.get(o.y, count); };
    for (const std::size_t more : {0u, 8u, 3u}) {  // rows at multiples of 16 bytes, and elsewhere
      CAPTURE(more);
      is_the_cpu(
          bytes,
          [&](Arena& arena) {
            const auto x = arena.put<T>(values<T>(rows * (columns + more)));
            return op::CopyColumns<T>{.x = x + more,
                                      .y = arena.put<T>(values<T>(rows * (columns + 8), 3, 2)),
                                      .rows = rows,
                                      .columns = columns,
                                      .from_row = columns + more,
                                      .to_row = columns + 8};
          },
          [&](const Arena& arena, const auto& o) { return arena.get(o.y, rows * (columns + 8)); });
    }
    is_the_cpu(
        bytes,
        [&](Arena& arena) {
          const auto x = arena.put<T>(values<T>(count));
          const auto table = arena.put<T>(values<T>(columns, 3, 2));
          return op::AddTable<T>{
              .x = x, .table = table, .y = arena.room<T>(count), .samples = rows, .elements = columns};
        },
        y_of);
    is_the_cpu(
        bytes,
        [&](Arena& arena) {
          const auto x = arena.put<T>(values<T>(count));
          const auto bias = arena.put<T>(values<T>(columns, 3, 2));
          return op::BiasActivation<activation::Relu, T, T>{
              .x = x, .bias = bias, .y = arena.room<T>(count), .rows = rows, .columns = columns};
        },
        y_of);
    is_the_cpu(
        bytes,
        [&](Arena& arena) {
          const auto x = arena.put<T>(values<T>(count));
          return op::BiasActivation<activation::Relu, T, T>{
              .x = x, .y = arena.room<T>(count), .rows = rows, .columns = columns};
        },
        y_of);
    for (const std::uint32_t threshold : {0u, 6554u, 65535u}) {
      is_the_cpu(
          bytes,
          [&](Arena& arena) {
            const auto x = arena.put<T>(values<T>(count));
            const auto y = arena.room<T>(count);
            return op::Dropout<T>{.x = x,
                                  .y = y,
                                  .samples = rows,
                                  .elements = columns,
                                  .drop = arena.drop(threshold, 5, {7, 11, 4'000'000'000u})};
          },
          y_of);
    }
  }
}

template <class From, class To>
void casts() {
  for (const std::size_t count : sizes) {
    INFO(count << " elements");
    is_the_cpu(
        bytes,
        [&](Arena& arena) {
          const auto x = arena.put<From>(values<From>(count, 7));
          return op::Cast<From, To>{x, arena.room<To>(count), count};
        },
        [&](const Arena& arena, const auto& o) { return arena.get(o.y, count); });
  }
}

}  // namespace

namespace {

/// Rows of x begin anywhere, and their packs hold elements of their neighbours.   behind   of x, in elements
template <class From, class To>
void pads_rows(std::size_t rows, std::size_t columns, std::size_t leading, std::size_t behind = 0) {
  CAPTURE(rows, columns, leading, behind);
  const test::Values from = values<From>(rows * columns, 7);
  for (const test::Way& way : test::ways) {
    INFO(way.name);
    test::Arena arena(1 << 18);
    const auto x = test::put_behind<From>(arena, behind, from);
    const auto y = test::put_behind<To>(arena, 0, test::Values(rows * leading, 77.0));
    const test::Values around = test::get_around(arena, y, rows * leading);
    test::run(kernel::PadRows<From, To>{x, y, rows, columns, leading}, arena, way);
    CHECK(arena.guards_hold());
    test::Values wanted = around;
    for (std::size_t i = 0; i < rows * leading; ++i)
      if (i % leading < columns)
        wanted[16 / sizeof(To) + i] = number(rounded<To>(from[i / leading * columns + i % leading]));
    const test::Values found = test::get_around(arena, y, rows * leading);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < found.size(); ++i)
      wrong += found[i] == wanted[i] || (std::isnan(found[i]) && std::isnan(wanted[i])) ? 0 : 1;
    CHECK(wrong == 0);
  }
}

}  // namespace

TEST_CASE("rows in another type, farther apart, and nothing between them") {
  for (const std::size_t columns : Sizes{1, 7, 8, 9, 10, 11, 12, 16, 37, 2051, 4099}) {
    pads_rows<float, bf16>(5, columns, (columns + 7) / 8 * 8);
    pads_rows<float, fp16>(1, columns, (columns + 15) / 8 * 8);
  }
  pads_rows<float, bf16>(5, 37, 41);     // rows of y that begin at no multiples of 16 bytes
  pads_rows<float, bf16>(5, 37, 40, 1);  // nor x
  pads_rows<double, float>(4, 37, 40);
}

namespace {

/// Three roundings in S, in which the engines may differ, and the one to Y.
template <class X, class Y>
void scaled_sums() {
  using S = statistic_t<Y>;
  for (const std::size_t count : sizes)
    for (const double b : {0.0, -0.75})
      for (const int counts : {-1, 0, 1}) {  // without scalars; a step that does not count; one that does
        CAPTURE(count, b, counts);
        const auto from = values<X>(count, 2), to = b == 0 ? test::Values(count, std::nan("")) : values<Y>(count, 3, 2);
        const auto make = [&](Arena& arena) {
          op::ScaledSum<X, Y> o{.x = arena.put<X>(from), .y = arena.put<Y>(to), .count = count};
          o.a = {-1.25, arena.put<double>({0.7})}, o.b = {b, arena.put<double>({1.3})};
          Scalars s{};
          s.apply = counts == 1 ? 1 : 0;
          if (counts >= 0) o.scalars = arena.scalars(s);
          return o;
        };
        beside_the_cpu(bytes, make, [&](const Arena& arena, const auto& o, const Arena& expected) {
          const test::Values own = arena.get(o.y, count), other = expected.get(o.y, count);
          bool right = true;
          for (std::size_t i = 0; i < count; ++i) {
            const double a = -1.25 * 0.7 * from[i], old = b == 0 ? 0 : b * 1.3 * to[i], exact = a + old;
            const double may = 3 * epsilon_of<S> * (std::fabs(a) + std::fabs(old)) + 1.001 * rounding_of<Y>(exact);
            for (const double found : {own[i], other[i]})
              right = right && (counts == 0 ? found == to[i] || std::isnan(to[i]) == std::isnan(found)
                                            : std::fabs(found - exact) <= may);
            right = right && (counts != 0 || std::isnan(to[i]) || own[i] == to[i]);
          }
          CHECK(right);
        });
      }
}

}  // namespace

TEST_CASE("scaled sums: with factors that lie in memory, and only in steps that count") {
  scaled_sums<float, float>();
  scaled_sums<double, double>();
  scaled_sums<bf16, float>();
  scaled_sums<float, bf16>();
  // x may be y.
  for (const test::Way& way : test::ways) {
    INFO(way.name);
    test::Arena arena(1 << 12);
    const auto x = arena.put<float>({1, 2, 4, -8, 0.5});
    test::run(op::ScaledSum<float, float>{.x = x, .y = x, .count = 5, .a = {0.5}}, arena, way);
    CHECK(arena.get(x, 5) == test::Values{0.5, 1, 2, -4, 0.25});
  }
}

namespace {

/// y = onto + dropout(x), beside the CPU engine in fp64: a rounding of the product and one of the sum in S, and one to T.
/// x, y and onto begin so many elements behind multiples of 16 bytes.
template <class T>
void dropout_sums(std::size_t x, std::size_t y, std::size_t sum) {
  CAPTURE(x, y, sum);
  using S = statistic_t<T>;
  const op::Random random{7, 11, 3};
  for (const std::uint32_t threshold : {0u, 20'000u})
    for (const std::size_t columns : Sizes{8, 12, 13, 32}) {
      CAPTURE(columns, threshold);
      const std::size_t rows = test::rows_for(columns, 5), count = rows * columns;
      const test::Values from = values<T>(count), onto = values<T>(count, 3, 2);
      test::Arena wide(bytes);
      const auto y_wide = wide.room<double>(count);
      cpu::execute(op::Dropout<double>{wide.put<double>(from), y_wide, rows, columns, wide.drop(threshold, 5, random)},
                   wide.memory());
      const test::Values dropped = wide.get(y_wide, count);
      in_every_way(
          bytes,
          [&](Arena& arena) {
            const auto x_view = put_behind<T>(arena, x, from);
            const auto y_view = put_behind<T>(arena, y, test::Values(count));
            return op::DropoutSum<T>{.dropout = {x_view, y_view, rows, columns, arena.drop(threshold, 5, random)},
                                     .onto = put_behind<T>(arena, sum, onto)};
          },
          [&](const Arena& arena, const auto& o) {
            const test::Values found = arena.get(o.dropout.y, count);
            for (std::size_t i = 0; i < count; ++i) {
              const double exact = dropped[i] + onto[i];
              CHECK(std::fabs(found[i] - exact) <=
                    2 * epsilon_of<S> * (std::fabs(dropped[i]) + std::fabs(onto[i])) + 1.001 * rounding_of<T>(exact));
            }
          });
    }
}

}  // namespace

TEST_CASE("a dropout adds the sum of its branch before it rounds") {
  for (const std::size_t behind : Sizes{0, 1}) {
    dropout_sums<double>(behind, 0, 0), dropout_sums<float>(0, behind, 0), dropout_sums<bf16>(0, 0, behind);
    dropout_sums<fp16>(behind, behind, behind), dropout_sums<float>(0, 0, behind);
  }
}

namespace {

/// Tensors that begin `x`, `y` and `table` elements behind multiples of 16 bytes. What lies around y stays.
template <class T>
void at_offsets(std::size_t x, std::size_t y, std::size_t table) {
  CAPTURE(x, y, table);
  for (const std::size_t columns : Sizes{8, 12, 13, 32}) {
    CAPTURE(columns);
    const std::size_t rows = test::rows_for(columns, 5), count = rows * columns;
    const test::Values from = values<T>(count), to = values<T>(count, 3, 2), of_table = values<T>(columns, 3, 3);
    const auto is = [&](const auto& operation) {
      is_the_cpu(
          bytes,
          [&](Arena& arena) {
            const auto x_view = put_behind<T>(arena, x, from), y_view = put_behind<T>(arena, y, to);
            return operation(arena, x_view, y_view, put_behind<T>(arena, table, of_table));
          },
          [&](const Arena& arena, const auto& o) { return get_around(arena, o.y, count); });
    };
    using V = View<T>;
    is([&](Arena&, V a, V b, V) { return op::Add<T>{a, b, count}; });
    is([&](Arena&, V a, V b, V) { return op::Copy<T>{a, b, count}; });
    is([&](Arena&, V a, V b, V) { return op::Multiply<T>{a, b, b, count}; });
    is([&](Arena&, V a, V b, V) { return op::CopyColumns<T>{a, b, rows, columns, columns, columns}; });
    is([&](Arena&, V a, V b, V c) { return op::AddTable<T>{a, c, b, rows, columns}; });
    is([&](Arena&, V a, V b, V c) { return op::BiasActivation<activation::Relu, T, T>{a, c, b, rows, columns}; });
    is([&](Arena& arena, V a, V b, V) {
      return op::Dropout<T>{a, b, rows, columns, arena.drop(20'000, 5, {7, 11, 3})};
    });
  }
}

template <class T>
void at_offsets() {
  at_offsets<T>(0, 0, 0);
  at_offsets<T>(1, 0, 0);
  at_offsets<T>(0, 1, 0);
  at_offsets<T>(0, 0, 1);
  at_offsets<T>(1, 1, 1);
}

}  // namespace

TEST_CASE("tensors that begin at multiples of 16 bytes, or elsewhere") {
  at_offsets<float>();
  at_offsets<double>();
  at_offsets<bf16>();
}

TEST_CASE("zero, sums, tables, biases, dropout") {
  in_type<float>();
  in_type<double>();
  in_type<bf16>();
  in_type<fp16>();
}

TEST_CASE("activations are the CPU engine's, in fp64 to within the roundings of their formulas") {
  const auto in_fp64 = []<class Activation>(Activation) {
    constexpr std::size_t rows = 7, columns = 33, count = rows * columns;
    const auto make = [&](Arena& arena) {
      const auto x = arena.put<double>(values<double>(count, 6));
      const auto bias = arena.put<double>(values<double>(columns, 1, 2));
      return op::BiasActivation<Activation, double, double>{x, bias, arena.room<double>(count), rows, columns};
    };
    beside_the_cpu(bytes, make, [&](const Arena& arena, const auto& o, const Arena& expected) {
      CHECK(misses(arena.get(o.y, count), expected.get(o.y, count), [](std::size_t) { return 1e-13; }) == 0);
    });
  };
  in_fp64(activation::Identity{}), in_fp64(activation::Silu{}), in_fp64(activation::Sigmoid{}),
      in_fp64(activation::Tanh{}), in_fp64(activation::HardSwish{}), in_fp64(activation::GeluErf{}),
      in_fp64(activation::GeluTanh{});
}

namespace {

struct Visits final {
  static constexpr unsigned threads = 64;
  int* visits;
  std::size_t pieces;
  unsigned count;

  unsigned blocks() const { return count; }
  template <class Block>
  void operator()(const Block& block) const {
    kernel::for_pieces(block, pieces, [&](std::size_t i) { ++visits[i]; });
  }
};

}  // namespace

TEST_CASE("the threads of any number of blocks take every piece once") {
  for (const Way& way : ways)
    for (const unsigned blocks : {1u, 3u})
      for (const std::size_t pieces : Sizes{0, 1, 63, 64, 192, 193, 1000}) {
        INFO(way.name << ", " << blocks << " blocks, " << pieces << " pieces");
        std::vector<int> visits(pieces + 1);
        run_kernel(Visits{visits.data(), pieces, blocks}, way);
        std::vector<int> once(pieces, 1);
        once.push_back(0);
        CHECK(visits == once);
      }
}

TEST_CASE("casts") {
  casts<float, bf16>();
  casts<float, fp16>();
  casts<bf16, float>();
  casts<fp16, float>();
  casts<bf16, double>();
  casts<float, double>();
  casts<double, float>();
  casts<bf16, bf16>();
}
