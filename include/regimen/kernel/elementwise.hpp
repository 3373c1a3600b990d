// regimen/kernel/elementwise.hpp — elementwise operations: zero, sums, casts, tables, activations, dropout.
//
// A thread takes packs of elements, of which the narrowest tensor has 16 bytes, where all tensors begin at multiples of
// 16 bytes; else one element at a time. Neighbouring threads take neighbouring packs, so that a warp reads and writes
// whole lines. S, in which a kernel computes, is the type of statistics: fp32 for 16 bits. No element depends on
// another, so the bits are the same for any number of blocks and threads, and with packs as without.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/philox.hpp>
#include <regimen/kernel/block.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace regimen::kernel {

namespace detail {

inline constexpr unsigned flat_threads = 256;

/// body<1>(i) for 0 ... count − 1; where everything lies at multiples of 16 bytes, body<width>(i) for
/// runs of `width` elements instead.
REGIMEN_HD_UNCHECKED
template <unsigned width, class Block, class Body>
REGIMEN_HD void for_elements(const Block& block, std::size_t count, bool aligned, const Body& body) {
  const std::size_t packed = aligned ? count / width : 0;
  for_pieces(block, packed, [&](std::size_t i) { body.template operator()<width>(i * width); });
  for_pieces(block, count - packed * width, [&](std::size_t i) { body.template operator()<1>(packed * width + i); });
}

#if !defined(__CUDACC__)
[[noreturn, gnu::cold]] inline void refuse_unaligned(std::size_t bytes, std::size_t past) {
  throw Error("a pack of " + std::to_string(bytes) + " bytes in a kernel", "an address that is a multiple of them",
              std::to_string(past) + " bytes past one", "read element by element where a row is not whole packs");
}
#endif
/// A device faults on a pack at another address than a multiple of its bytes; a host would read it in silence.
template <class Pack>
REGIMEN_HD void expect_aligned([[maybe_unused]] const void* at) {
#if !defined(__CUDACC__)
  if (const auto past = reinterpret_cast<std::uintptr_t>(at) % alignof(Pack); past != 0)
    refuse_unaligned(sizeof(Pack), past);
#endif
}
template <unsigned width, class T>
REGIMEN_HD Pack<T, width> read(const T* from) {
  expect_aligned<Pack<T, width>>(from);
  return *reinterpret_cast<const Pack<T, width>*>(from);
}
template <unsigned width, class T>
REGIMEN_HD void write(const Pack<T, width>& pack, T* to) {
  expect_aligned<Pack<T, width>>(to);
  *reinterpret_cast<Pack<T, width>*>(to) = pack;
}

}  // namespace detail

/// y = 0, of any length: writes of 16 bytes, then the rest one by one.
///
/// cost   y is written once
template <class T>
struct Kernel<op::Zero<T>> final {
  static constexpr unsigned threads = detail::flat_threads, width = pack_of<T>;
  op::Zero<T> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.count / width + 1, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    T* const y = at(o.y);
    detail::for_elements<width>(block, o.count, are_aligned(y),
                                [&]<unsigned n>(std::size_t i) { detail::write(Pack<T, n>{}, y + i); });
  }
};

namespace detail {

/// y = f(a, b), element by element, computed in the type of statistics and rounded once to y's type. y may be a or b.
REGIMEN_HD_UNCHECKED
template <unsigned width, class Block, class A, class B, class F>
REGIMEN_HD void combine_elements(const Block& block, std::size_t count, const A* a, const B* b, A* y, const F& f) {
  using S = statistic_t<A>;
  for_elements<width>(block, count, are_aligned(a, b, y), [&]<unsigned n>(std::size_t i) {
    auto values = read<n>(a + i);
    const auto others = read<n>(b + i);
    for (unsigned k = 0; k < n; ++k)
      values.at[k] = static_cast<A>(f(static_cast<S>(values.at[k]), static_cast<S>(others.at[k])));
    write(values, y + i);
  });
}
/// y += x, rounded once to y's type.
REGIMEN_HD_UNCHECKED
template <unsigned width, class Block, class From, class To>
REGIMEN_HD void add_elements(const Block& block, std::size_t count, const From* x, To* y) {
  combine_elements<width>(block, count, y, x, y, [](auto a, auto b) { return a + b; });
}

}  // namespace detail

/// y += x, added in S and rounded once.
///
/// cost   x and y are read once, y is written once: the least
template <class T>
struct Kernel<op::Add<T>> final {
  static constexpr unsigned threads = detail::flat_threads, width = pack_of<T>;
  op::Add<T> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.count / width + 1, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    detail::add_elements<width>(block, o.count, at(o.x), at(o.y));
  }
};

/// y = a · b, element by element, multiplied in S and rounded once.
///
/// cost   a and b are read once, y is written once: the least
template <class T>
struct Kernel<op::Multiply<T>> final {
  static constexpr unsigned threads = detail::flat_threads, width = pack_of<T>;
  using S = statistic_t<T>;
  op::Multiply<T> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.count / width + 1, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    detail::combine_elements<width>(block, o.count, at(o.a), at(o.b), at(o.y), [](S a, S b) { return a * b; });
  }
};

/// y = f(a) · b, f the activation, in S; rounded once, so that f(a) is never stored.
///
/// cost   a and b are read once, y is written once: the least
template <class Activation, class T>
struct Kernel<op::Gate<Activation, T>> final {
  static constexpr unsigned threads = detail::flat_threads, width = pack_of<T>;
  using S = statistic_t<T>;
  op::Gate<Activation, T> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.count / width + 1, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    detail::combine_elements<width>(block, o.count, at(o.a), at(o.b), at(o.y),
                                    [](S a, S b) { return Activation::template value<S>(a) * b; });
  }
};

/// d_a = d_y · b · f′(a),   d_b = d_y · f(a): both of one pass, f(a) is computed again. Either may be absent. A thread
/// has read all of its elements before it writes, so the gradients may lie where a, b or d_y do.
///
/// cost   a, b and d_y are read once, d_a and d_b are written once: the least
template <class Activation, class T>
struct Kernel<op::GateBackward<Activation, T>> final {
  static constexpr unsigned threads = detail::flat_threads, width = pack_of<T>;
  using S = statistic_t<T>;
  op::GateBackward<Activation, T> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.count / width + 1, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const T *const a = at(o.a), *const b = at(o.b), *const d_y = at(o.d_y);
    T *const d_a = at.optional(o.d_a), *const d_b = at.optional(o.d_b);
    // An absent tensor is aligned.
    detail::for_elements<width>(block, o.count, are_aligned(a, b, d_y, d_a, d_b), [&]<unsigned n>(std::size_t i) {
      auto x = detail::read<n>(a + i), d = detail::read<n>(d_y + i);
      auto d_x = detail::read<n>(b + i);
      for (unsigned k = 0; k < n; ++k) {
        const S value = static_cast<S>(x.at[k]), gradient = static_cast<S>(d.at[k]);
        d_x.at[k] = static_cast<T>(gradient * static_cast<S>(d_x.at[k]) * Activation::template derivative<S>(value));
        d.at[k] = static_cast<T>(gradient * Activation::template value<S>(value));
      }
      if (d_a != nullptr) detail::write(d_x, d_a + i);
      if (d_b != nullptr) detail::write(d, d_b + i);
    });
  }
};

/// y = a · x + b · y, a and b numbers, in S; rounded once. A constant b of 0 means that y is not read: what lies there
/// may be NaN. With scalars, nothing is written in a step that is skipped.
///
/// cost   x once, y read once unless b is 0, and written once: the least
template <class X, class Y>
struct Kernel<op::ScaledSum<X, Y>> final {
  static constexpr unsigned threads = detail::flat_threads, width = pack_of<X, Y>;
  using S = statistic_t<Y>;
  static_assert(std::is_same_v<statistic_t<X>, S>, "regimen: a scaled sum mixes no fp64 with other types; cast first");
  op::ScaledSum<X, Y> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.count / width + 1, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const Scalars* const scalars = at.optional(o.scalars);
    if (scalars != nullptr && scalars->apply == 0) return;
    const X* const x = at(o.x);
    Y* const y = at(o.y);
    const S a = static_cast<S>(o.a.value(at)), b = static_cast<S>(o.b.value(at));
    const bool reads_y = o.b.constant != 0;
    detail::for_elements<width>(block, o.count, are_aligned(x, y), [&]<unsigned n>(std::size_t i) {
      const auto terms = detail::read<n>(x + i);
      Pack<Y, n> sums{};
      if (reads_y) sums = detail::read<n>(y + i);
      for (unsigned k = 0; k < n; ++k) {
        S sum = static_cast<S>(terms.at[k]) * a;
        if (reads_y) sum += static_cast<S>(sums.at[k]) * b;
        sums.at[k] = static_cast<Y>(sum);
      }
      detail::write(sums, y + i);
    });
  }
};

/// y = x in another type, rounded once. A pack has as many elements of both as fill 16 bytes of the narrower one.
///
/// cost   x is read once, y is written once: the least
template <class From, class To>
struct Kernel<op::Cast<From, To>> final {
  static constexpr unsigned threads = detail::flat_threads, width = pack_of<From, To>;
  op::Cast<From, To> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.count / width + 1, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const From* const x = at(o.x);
    To* const y = at(o.y);
    detail::for_elements<width>(block, o.count, are_aligned(x, y), [&]<unsigned n>(std::size_t i) {
      const auto a = detail::read<n>(x + i);
      Pack<To, n> b;
      for (unsigned k = 0; k < n; ++k) b.at[k] = converted<To>(a.at[k]);
      detail::write(b, y + i);
    });
  }
};

/// y = x + table, the same table (elements) for each sample of x (samples,elements); in S, rounded once. By packs only
/// if whole ones make a sample: then the table's elements stand at the same place of a pack in every sample.
///
/// cost   x once, y once; the table from the caches
template <class T>
struct Kernel<op::AddTable<T>> final {
  static constexpr unsigned threads = detail::flat_threads, width = pack_of<T>;
  using S = statistic_t<T>;
  op::AddTable<T> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.samples * o.elements / width + 1, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const T *const x = at(o.x), *const table = at(o.table);
    T* const y = at(o.y);
    const bool aligned = o.elements % width == 0 && are_aligned(x, table, y);
    detail::for_elements<width>(block, o.samples * o.elements, aligned, [&]<unsigned n>(std::size_t i) {
      const auto a = detail::read<n>(x + i), b = detail::read<n>(table + i % o.elements);
      Pack<T, n> c;
      for (unsigned k = 0; k < n; ++k) c.at[k] = static_cast<T>(static_cast<S>(a.at[k]) + static_cast<S>(b.at[k]));
      detail::write(c, y + i);
    });
  }
};

/// y = f(x + bias) by rows, f the activation, in S; rounded once. The bias (columns) may be absent. Rows of x and y are
/// row() elements apart: if these are more than the columns, element by element, and what lies between stays.
///
/// cost   x once, y once; the bias from the caches
template <class Activation, class T, class B>
struct Kernel<op::BiasActivation<Activation, T, B>> final {
  static constexpr unsigned threads = detail::flat_threads, width = pack_of<T, B>;
  using S = statistic_t<T>;
  op::BiasActivation<Activation, T, B> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.rows * o.columns / width + 1, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const T* const x = at(o.x);
    const B* const bias = at.optional(o.bias);
    T* const y = at(o.y);
    const bool is_dense = o.row() == o.columns,
               aligned =
                   is_dense && are_aligned(x, y) && (bias == nullptr || (o.columns % width == 0 && are_aligned(bias)));
    detail::for_elements<width>(block, o.rows * o.columns, aligned, [&]<unsigned n>(std::size_t element) {
      const std::size_t i = is_dense ? element : element / o.columns * o.row() + element % o.columns;
      auto a = detail::read<n>(x + i);
      if (bias == nullptr) {
        for (unsigned k = 0; k < n; ++k)
          a.at[k] = static_cast<T>(Activation::template value<S>(static_cast<S>(a.at[k])));
      } else {
        const auto b = detail::read<n>(bias + element % o.columns);
        for (unsigned k = 0; k < n; ++k)
          a.at[k] = static_cast<T>(Activation::template value<S>(static_cast<S>(a.at[k]) + static_cast<S>(b.at[k])));
      }
      detail::write(a, y + i);
    });
  }
};

/// y = x / (1 − p) where an element is kept, else 0; p = threshold / 2^16. The very bits of the CPU engine: a counter
/// of Philox has 128 bits, 16 for each of eight elements of a sample; an element is dropped if its bits are less than
/// the threshold. So a thread takes eight elements, whatever their type.
template <class T>
struct Kernel<op::Dropout<T>> final {
  static constexpr unsigned threads = detail::flat_threads, width = 8;
  using S = statistic_t<T>;
  op::Dropout<T> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.samples * counters(), threads); }
  REGIMEN_HD constexpr std::size_t counters() const { return (o.elements + width - 1) / width; }  // of a sample

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    run<false>(block, nullptr);
  }
  /// onto   what is added to y, if it `sums`
  REGIMEN_HD_UNCHECKED
  template <bool sums, class Block>
  REGIMEN_HD void run(const Block& block, const T* onto) const {
    const T* const x = at(o.x);
    T* const y = at(o.y);
    const bool drops = o.drop.threshold > 0;
    const op::Random random = drops ? *at(o.drop.random) : op::Random{};
    const std::uint64_t key = Philox::mix(Philox::mix(random.seed, random.step), o.drop.stream);
    const S factor = static_cast<S>(65536.0 / (65536.0 - static_cast<double>(o.drop.threshold)));
    const std::size_t of_sample = counters();
    const bool aligned = o.elements * sizeof(T) % 16 == 0 && are_aligned(x, y, onto);  // and so every sample
    for_pieces(block, o.samples * of_sample, [&](std::size_t piece) {
      const std::size_t sample = piece / of_sample, first = piece % of_sample * width, left = o.elements - first,
                        i = sample * o.elements + first;
      const Philox::Words words = Philox::draw(key, first / width, random.first_sample + sample);
      const auto dropped = [&](T value, unsigned k) {
        const std::uint32_t bits = (words.word[k / 2] >> (16 * (k % 2))) & 0xFFFFu;
        return drops && bits < o.drop.threshold ? S(0) : static_cast<S>(value) * factor;
      };
      if (aligned && left >= width) {
        auto values = detail::read<width>(x + i);
        [[maybe_unused]] Pack<T, width> sum;
        if constexpr (sums) sum = detail::read<width>(onto + i);
        for (unsigned k = 0; k < width; ++k) {
          S value = dropped(values.at[k], k);
          if constexpr (sums) value += static_cast<S>(sum.at[k]);
          values.at[k] = static_cast<T>(value);
        }
        detail::write(values, y + i);
      } else {
        for (unsigned k = 0; k < width && k < left; ++k) {
          S value = dropped(x[i + k], k);
          if constexpr (sums) value += static_cast<S>(onto[i + k]);
          y[i + k] = static_cast<T>(value);
        }
      }
    });
  }
};

/// y = dropout(x) + onto, added in S before the one rounding.
template <class T>
struct Kernel<op::DropoutSum<T>> final {
  using Alone = Kernel<op::Dropout<T>>;
  static constexpr unsigned threads = Alone::threads;
  op::DropoutSum<T> o;
  Memory at;

  constexpr unsigned blocks() const { return Alone{o.dropout, at}.blocks(); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    Alone{o.dropout, at}.template run<true>(block, at(o.onto));
  }
};

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
