// tests/support/exact_products.hpp — products of small whole numbers beside a loop over integers: exact in every type,
// in any order of sums. For every engine, in any test: a GPU's are without Catch2.
#pragma once

#include <regimen/core/activation.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/engine/engine.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace support {

/// A matrix as it is stored: row by row, `leading` elements from row to row, the first one `shift` elements behind a
/// multiple of 256 bytes.
struct Stored {
  std::size_t rows = 0, columns = 0, leading = 0, shift = 0;
};

/// Tensors of an arena, on the host. Where no tensor lies, all bytes are 0xFF: a NaN in every type.
class Image {
 public:
  template <class T, class F>
  regimen::View<T> put(const Stored& s, const F& number) {
    const std::size_t at = (bytes.size() + 255) / 256 * 256 + s.shift * sizeof(T);
    bytes.resize(at + s.rows * s.leading * sizeof(T), std::byte{0xFF});
    for (std::size_t i = 0; i < s.rows; ++i)
      for (std::size_t j = 0; j < s.columns; ++j) {
        const T value = number_as<T>(number(i, j));
        std::memcpy(bytes.data() + at + (i * s.leading + j) * sizeof(T), &value, sizeof(T));
      }
    return {at};
  }
  template <class T>
  static T number_as(std::int64_t number) {
    if constexpr (std::is_same_v<T, double>) return static_cast<double>(number);
    else return T(static_cast<float>(number));
  }

  std::vector<std::byte> bytes;
};

/// What a product is tried with, besides its extents.
///   a_gap, c_gap   elements between two rows
///   shift          of all matrices; parameters, such as a bias, begin at multiples of 16 bytes
struct Tried {
  bool transpose_a = false, transpose_b = false, add = false;
  std::size_t a_gap = 0, c_gap = 0, shift = 0;
};

/// The products of an engine: each is run, and every byte of the arena is looked at.
template <class Engine>
class ExactProducts {
 public:
  static constexpr std::size_t workspace = Engine::Traits::scratch(regimen::op::Product<float, float, float>{}),
                               room = (std::size_t{2} << 20) + workspace;

  std::size_t tried = 0;
  std::vector<std::string> mistakes;

  /// In all transpositions, dense; with gaps between rows and with unaligned matrices, where the engine has those.
  template <class A, class B, class C>
  void products(const char* types) {
    for_each([&](Extents e, const Tried& t) {
      Image image;
      regimen::op::Product<A, B, C> o = put<A, B, C>(image, e, t);
      run(types, e, t, image, o, o,
          [&](std::size_t i, std::size_t j) { return sum(e, i, j) + (t.add ? small(3, i, j, added) : 0); });
    });
  }
  /// c = a · b + bias
  template <class A, class B, class C>
  void biases(const char* types) {
    for_each([&](Extents e, const Tried& t) {
      if (t.add || e.k == 0) return;
      Image image;
      regimen::op::ProductEpilogue<A, B, C> o{.product = put<A, B, C>(image, e, t)};
      o.bias = put_bias<C>(image, e);
      run(types, e, t, image, o, o.product,
          [&](std::size_t i, std::size_t j) { return sum(e, i, j) + small(4, 0, j, added); });
    });
  }
  /// c = a · b + onto, or + bias; the library has no epilogue in fp64
  template <class A, class B, class C>
  void sums(const char* types) {
    for (const bool with_bias : {false, true}) {
      if (with_bias && std::is_same_v<C, regimen::fp64>) continue;
      for_each([&](Extents e, const Tried& t) {
        if (t.add || e.k == 0) return;
        Image image;
        regimen::op::ProductSum<A, B, C> o{.product = put<A, B, C>(image, e, t), .onto = {}};
        const std::size_t leading = e.n + t.c_gap;
        o.onto = image.put<C>({e.m, e.n, leading, t.shift},
                              [&](std::size_t i, std::size_t j) { return small(5, i, j, added); });
        if (with_bias) o.bias = put_bias<C>(image, e);
        run(types, e, t, image, o, o.product, [&](std::size_t i, std::size_t j) {
          return sum(e, i, j) + small(5, i, j, added) + (with_bias ? small(4, 0, j, added) : 0);
        });
      });
    }
  }
  /// c = (a · b) gelu'(x) at -16, 0 and 16, where it is 0, a half and 1 in fp32; the sums are even.
  template <class A, class B, class C>
  void derivatives(const char* types) {
    for_each([&](Extents e, Tried t) {
      if (t.add || e.k == 0 || e.n % 8 != 0 || t.c_gap > 0) return;
      t.shift = 0;  // the library takes x at multiples of 16 bytes
      Image image;
      regimen::op::ProductEpilogue<A, B, C, regimen::activation::GeluTanh, true> o{.product =
                                                                                       put<A, B, C>(image, e, t, 2)};
      o.x = image.put<C>({e.m, e.n, e.n, 0}, [](std::size_t i, std::size_t j) { return 16 * small(6, i, j, 1); });
      run(types, e, t, image, o, o.product,
          [&](std::size_t i, std::size_t j) { return sum(e, i, j, 2) / 2 * (1 + small(6, i, j, 1)); });
    });
  }
  /// Several products at once: matrices one behind the other, or side by side.
  template <class Many, class A, class B, class C>
  void many(const char* types) {
    constexpr std::size_t count = 3;
    for (const bool beside : {false, true})
      for_each([&](Extents e, const Tried& t) {
        if (t.add || e.k == 0) return;
        e.factor = largest_factor<C>(e.k, 1);
        Image image;
        Many o{};
        const auto stored = [&](std::size_t rows, std::size_t columns, std::size_t gap) {
          const std::size_t leading = beside ? count * columns + gap : columns + gap;
          decltype(o.a_rows) r{};
          r.rows = rows, r.columns = columns, r.leading = leading;
          r.count = count, r.stride = beside ? columns : rows * leading;
          return r;
        };
        const auto whole = [&](const auto& r) {
          return beside ? Stored{r.rows, count * r.columns, r.leading, t.shift}
                        : Stored{count * r.rows, r.columns, r.leading, t.shift};
        };
        // The number of a matrix and the place in it, of a place in all.
        const auto place = [&](const auto& r, std::size_t i, std::size_t j, const auto& f) {
          return beside ? f(j / r.columns, i, j % r.columns) : f(i / r.rows, i % r.rows, j);
        };
        o.transpose_a = t.transpose_a, o.transpose_b = t.transpose_b;
        o.a_rows = t.transpose_a ? stored(e.k, e.m, t.a_gap) : stored(e.m, e.k, t.a_gap);
        o.b_rows = t.transpose_b ? stored(e.n, e.k, 0) : stored(e.k, e.n, 0);
        o.c_rows = stored(e.m, e.n, t.c_gap);
        o.a = image.put<A>(whole(o.a_rows), [&](std::size_t i, std::size_t j) {
          return place(o.a_rows, i, j, [&](std::size_t x, std::size_t r, std::size_t c) {
            return t.transpose_a ? a_at(e, c, r, x) : a_at(e, r, c, x);
          });
        });
        o.b = image.put<B>(whole(o.b_rows), [&](std::size_t i, std::size_t j) {
          return place(o.b_rows, i, j, [&](std::size_t x, std::size_t r, std::size_t c) {
            return t.transpose_b ? b_at(e, c, r, x) : b_at(e, r, c, x);
          });
        });
        const Stored c = whole(o.c_rows);
        o.c = image.put<C>({c.rows, 0, c.leading, c.shift}, [](std::size_t, std::size_t) { return 0; });
        execute(types, e, t, image, o, workspace, o.c, c, [&](std::size_t i, std::size_t j) {
          return place(o.c_rows, i, j, [&](std::size_t x, std::size_t r, std::size_t q) {
            std::int64_t all = 0;
            for (std::size_t l = 0; l < e.k; ++l) all += a_at(e, r, l, x) * b_at(e, l, q, x);
            return all;
          });
        });
      });
  }

 private:
  struct Extents {
    std::size_t m, n, k;
    std::int64_t factor = 0;  // the largest number of a and b
  };
  static constexpr std::int64_t added = 8;  // the largest number of what is added

  /// Whole numbers in [-largest, largest], a function of the place.
  static constexpr std::int64_t small(std::uint64_t which, std::size_t i, std::size_t j, std::int64_t largest) {
    const std::uint64_t mixed = (which * 1000003 + i * 7919 + j * 104729 + i * j * 31) * 0x9E3779B97F4A7C15u >> 33;
    return static_cast<std::int64_t>(mixed % static_cast<std::uint64_t>(2 * largest + 1)) - largest;
  }
  static constexpr std::int64_t a_at(const Extents& e, std::size_t i, std::size_t l, std::size_t matrix = 0) {
    return small(10 + matrix, i, l, e.factor);
  }
  static constexpr std::int64_t b_at(const Extents& e, std::size_t l, std::size_t j, std::size_t matrix = 0) {
    return small(20 + matrix, l, j, e.factor);
  }
  /// scale: of a
  static constexpr std::int64_t sum(const Extents& e, std::size_t i, std::size_t j, std::int64_t scale = 1) {
    std::int64_t all = 0;
    for (std::size_t l = 0; l < e.k; ++l) all += scale * a_at(e, i, l) * b_at(e, l, j);
    return all;
  }

  template <class F>
  static void for_each(const F& f) {
    constexpr bool has_gaps = Engine::Traits::row_alignment > 1;
    for (const Extents e : {Extents{1, 1, 1}, Extents{5, 7, 3}, Extents{16, 24, 32}, Extents{33, 17, 37},
                            Extents{64, 80, 129}, Extents{72, 8, 200}, Extents{6, 5, 0}})
      for (const bool transpose_a : {false, true})
        for (const bool transpose_b : {false, true})
          for (const bool add : {false, true}) {
            f(e, Tried{transpose_a, transpose_b, add});
            if (!has_gaps || e.k == 0) continue;
            f(e, Tried{transpose_a, transpose_b, add, 8, 16});
            f(e, Tried{transpose_a, transpose_b, add, 3, 5});
            f(e, Tried{transpose_a, transpose_b, add, 1, 0, 1});
          }
  }

  /// Every integer up to this one is a number of T.
  template <class T>
  static constexpr std::int64_t exact_up_to = std::is_same_v<T, regimen::bf16>   ? 256
                                              : std::is_same_v<T, regimen::fp16> ? 2048
                                                                                 : std::int64_t{1} << 24;
  /// Decides how large the factors are, and puts the matrices of a product; what it does not read is a NaN.
  template <class A, class B, class C>
  static regimen::op::Product<A, B, C> put(Image& image, Extents& e, const Tried& t, std::int64_t scale = 1) {
    e.factor = largest_factor<C>(e.k, scale);
    const auto k = e.k;
    regimen::op::Product<A, B, C> o{};
    o.m = e.m, o.n = e.n, o.k = k, o.transpose_a = t.transpose_a, o.transpose_b = t.transpose_b, o.add = t.add;
    const std::size_t a_columns = t.transpose_a ? e.m : k, a_rows = t.transpose_a ? k : e.m;
    if (t.a_gap > 0) o.a_leading = a_columns + t.a_gap;
    if (t.c_gap > 0) o.c_leading = e.n + t.c_gap;
    o.a = image.put<A>({a_rows, a_columns, a_columns + t.a_gap, t.shift}, [&](std::size_t i, std::size_t j) {
      return scale * (t.transpose_a ? a_at(e, j, i) : a_at(e, i, j));
    });
    const std::size_t b_columns = t.transpose_b ? k : e.n;
    o.b = image.put<B>({t.transpose_b ? e.n : k, b_columns, b_columns, t.shift},
                       [&](std::size_t i, std::size_t j) { return t.transpose_b ? b_at(e, j, i) : b_at(e, i, j); });
    o.c = image.put<C>({e.m, t.add ? e.n : 0, e.n + t.c_gap, t.shift},
                       [&](std::size_t i, std::size_t j) { return small(3, i, j, added); });
    return o;
  }
  template <class C>
  static std::int64_t largest_factor(std::size_t k, std::int64_t scale) {
    const std::int64_t terms = static_cast<std::int64_t>(k > 0 ? k : 1) * scale;
    std::int64_t factor = 1;
    while (factor < 5 && (factor + 1) * (factor + 1) * terms + 3 * added <= exact_up_to<C>) ++factor;
    return factor;
  }
  template <class C>
  static regimen::View<C> put_bias(Image& image, const Extents& e) {
    return image.put<C>({1, e.n, e.n, 0}, [](std::size_t, std::size_t j) { return small(4, 0, j, added); });
  }

  template <class Operation, class A, class B, class C, class Expected>
  void run(const char* types, const Extents& e, const Tried& t, const Image& image, const Operation& o,
           const regimen::op::Product<A, B, C>& product, const Expected& expected) {
    execute(types, e, t, image, o, Engine::Traits::scratch(o), product.c, {e.m, e.n, product.row_of_c(), 0}, expected);
  }
  /// Runs the operation on an arena with these bytes. Of those below the scratch only c's elements may change.
  template <class Operation, class C, class Expected>
  void execute(const char* types, const Extents& e, const Tried& t, const Image& image, const Operation& o,
               std::size_t scratch_bytes, regimen::View<C> c, const Stored& stored, const Expected& expected) {
    ++tried;
    const auto mistake = [&](const std::string& what) {
      if (mistakes.size() < 20)
        mistakes.push_back(std::string(Operation::name) + " " + types + ", " + std::to_string(e.m) + " x " +
                           std::to_string(e.n) + " x " + std::to_string(e.k) + (t.transpose_a ? " T" : " N") +
                           (t.transpose_b ? "T" : "N") + (t.add ? " +=" : "") + ", gaps " + std::to_string(t.a_gap) +
                           " and " + std::to_string(t.c_gap) + ", shift " + std::to_string(t.shift) + ": " + what);
    };
    const std::size_t scratch = (image.bytes.size() + 255) / 256 * 256;
    if (scratch + scratch_bytes > room) return mistake("more memory than there is");
    engine_.upload(0, image.bytes).wait();
    try {
      engine_.run(o, scratch);
    } catch (const regimen::Error& error) { return mistake(error.what()); }
    std::vector<std::byte> after(image.bytes.size());
    engine_.download(0, after).wait();
    std::vector<bool> is_result(after.size());
    for (std::size_t i = 0; i < stored.rows; ++i)
      for (std::size_t j = 0; j < stored.columns; ++j) {
        const std::size_t at = c.offset + (i * stored.leading + j) * sizeof(C);
        C found;
        std::memcpy(&found, after.data() + at, sizeof(C));
        for (std::size_t byte = 0; byte < sizeof(C); ++byte) is_result[at + byte] = true;
        const std::int64_t right = expected(i, j);
        if (static_cast<double>(found) != static_cast<double>(right))
          return mistake("row " + std::to_string(i) + ", column " + std::to_string(j) + " is " +
                         std::to_string(static_cast<double>(found)) + " in place of " + std::to_string(right));
      }
    for (std::size_t at = 0; at < after.size(); ++at)
      if (!is_result[at] && after[at] != image.bytes[at])
        return mistake("byte " + std::to_string(at) + " has changed; c begins at " + std::to_string(c.offset));
  }

  Engine engine_{regimen::engines::Resources<typename Engine::Ranks>{.bytes = room, .captures = false}};
};

/// Every type that an engine multiplies in. ManyOf<A, B, C>: several products at once.
template <class Engine>
void exact_products_of_all_types(ExactProducts<Engine>& exact) {
  using namespace regimen;
  exact.template products<fp64, fp64, fp64>("fp64");
  exact.template products<fp32, fp32, fp32>("fp32");
  exact.template products<tf32, tf32, fp32>("tf32");
  exact.template products<bf16, bf16, bf16>("bf16");
  exact.template products<bf16, bf16, fp32>("bf16 to fp32");
  exact.template products<fp16, fp16, fp16>("fp16");
  exact.template products<fp16, fp16, fp32>("fp16 to fp32");
  exact.template products<fp32, bf16, bf16>("fp32 by bf16 to bf16");
  exact.template products<fp32, bf16, fp32>("fp32 by bf16 to fp32");
  exact.template products<fp32, fp16, fp16>("fp32 by fp16 to fp16");
}
/// What products of a GPU do besides.
template <class Engine, template <class, class, class> class Many>
void exact_products_of_library(ExactProducts<Engine>& exact) {
  using namespace regimen;
  exact.template products<bf16, fp32, fp32>("bf16 by fp32 to fp32");
  exact.template biases<fp32, fp32, fp32>("fp32");
  exact.template biases<tf32, tf32, fp32>("tf32");
  exact.template biases<bf16, bf16, bf16>("bf16");
  exact.template biases<fp16, fp16, fp16>("fp16");
  exact.template sums<fp64, fp64, fp64>("fp64");
  exact.template sums<fp32, fp32, fp32>("fp32");
  exact.template sums<bf16, bf16, bf16>("bf16");
  exact.template sums<fp32, bf16, bf16>("fp32 by bf16 to bf16");
  exact.template sums<fp16, fp16, fp16>("fp16");
  exact.template derivatives<fp32, fp32, fp32>("fp32");
  exact.template derivatives<bf16, bf16, bf16>("bf16");
  exact.template derivatives<fp16, fp16, fp16>("fp16");
  exact.template many<Many<fp32, fp32, fp32>, fp32, fp32, fp32>("fp32");
  exact.template many<Many<bf16, bf16, fp32>, bf16, bf16, fp32>("bf16 to fp32");
  exact.template many<Many<bf16, bf16, bf16>, bf16, bf16, bf16>("bf16");
  exact.template many<Many<fp16, fp16, fp16>, fp16, fp16, fp16>("fp16");
}

}  // namespace support
// SPDX-License-Identifier: Apache-2.0
