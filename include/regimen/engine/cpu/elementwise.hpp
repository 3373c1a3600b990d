// regimen/engine/cpu/elementwise.hpp — sums, cast, dropout.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/core/philox.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/random.hpp>
#include <regimen/engine/cpu/simd.hpp>
#include <regimen/engine/cpu/sweep.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace regimen::cpu {

template <class T>
void compute(const op::Add<T>& o, const Memory& at) {
  combine(o.count, at(o.y), at(o.x), at(o.y), [](auto y, auto x) { return y + x; });
}

template <class T>
void compute(const op::Multiply<T>& o, const Memory& at) {
  combine(o.count, at(o.a), at(o.b), at(o.y), [](auto a, auto b) { return a * b; });
}

/// Rows of bytes: nothing is converted, so a NaN keeps its payload.
template <class T>
void compute(const op::CopyColumns<T>& o, const Memory& at) {
  const T* const x = at(o.x);
  T* const y = at(o.y);
  for_each_of(o.rows, o.columns, [&](std::size_t row) {
    if (o.columns > 0) std::memcpy(y + o.to(row), x + o.from(row), o.columns * sizeof(T));
  });
}

namespace detail {

/// body(sample, column, count) for registers of columns of every sample.
template <class S, class Body>
void for_columns(std::size_t samples, std::size_t rows, std::size_t columns, const Body& body) {
  for_each_of(samples, rows * columns, [&](std::size_t sample) {
    for_each_vector<S>(0, columns, [&](std::size_t i, auto n) { body(sample, i, n); });
  });
}
/// The largest of the rows from x on, NaN if one is.
template <class S, class T, class Count>
Vector<S> largest_row(const T* x, std::size_t rows, std::size_t columns, Count n) {
  Vector<S> largest = load<S>(x, n);
  for (std::size_t row = 1; row < rows; ++row) {
    const Vector<S> value = load<S>(x + row * columns, n);
    largest = select(is_larger(value, largest), value, largest);
  }
  return largest;
}

}  // namespace detail

/// A register of columns of a sample goes down all rows, and adds them from the first to the last: one order for any
/// number of threads and any width of registers.
template <class T>
void compute(const op::MeanRows<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  const T* const x = at(o.x);
  T* const y = at(o.y);
  const S rows = static_cast<S>(o.rows);
  detail::for_columns<S>(o.samples, o.rows, o.columns, [&](std::size_t sample, std::size_t i, auto n) {
    const T* const from = x + sample * o.rows * o.columns + i;
    Vector<S> sum = S(0);
    for (std::size_t row = 0; row < o.rows; ++row) sum += load<S>(from + row * o.columns, n);
    store(sum / rows, y + sample * o.columns + i, n);
  });
}
template <class T>
void compute(const op::MeanRowsBackward<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  const S rows = static_cast<S>(o.rows);
  for_rows(o.samples * o.rows, o.columns, [&](std::size_t row, std::size_t begin, std::size_t end) {
    const T* const d_y = at(o.d_y) + row / o.rows * o.columns;
    T* const d_x = at(o.d_x) + row * o.columns;
    for_each_vector<S>(begin, end, [&](std::size_t i, auto n) { store(load<S>(d_y + i, n) / rows, d_x + i, n); });
  });
}

template <class T>
void compute(const op::MaxRows<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  const T* const x = at(o.x);
  T* const y = at(o.y);
  detail::for_columns<S>(o.samples, o.rows, o.columns, [&](std::size_t sample, std::size_t i, auto n) {
    store(detail::largest_row<S>(x + sample * o.rows * o.columns + i, o.rows, o.columns, n), y + sample * o.columns + i,
          n);
  });
}
/// A row gets the gradient where it has the column's largest number, or a NaN, and the gradient is not given away yet:
/// so of equal numbers the first one gets it, and of several NaNs the first.
template <class T>
void compute(const op::MaxRowsBackward<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  using V = Vector<S>;
  const T *const x = at(o.x), *const d_y = at(o.d_y);
  T* const d_x = at(o.d_x);
  detail::for_columns<S>(o.samples, o.rows, o.columns, [&](std::size_t sample, std::size_t i, auto n) {
    const std::size_t first = sample * o.rows * o.columns + i;
    const V largest = detail::largest_row<S>(x + first, o.rows, o.columns, n), zero = S(0);
    V gradient = load<S>(d_y + sample * o.columns + i, n);  // until it is given away
    for (std::size_t row = 0; row < o.rows; ++row) {
      const V value = load<S>(x + first + row * o.columns, n);
      const Mask<S> found = (value == largest) | where_nan(value);
      store(select(found, gradient, zero), d_x + first + row * o.columns, n);
      gradient = select(found, zero, gradient);
    }
  });
}

/// y = a · x + b · y. Where b is the constant 0, y is not read: it may be memory that nobody has written.
template <class X, class Y>
void compute(const op::ScaledSum<X, Y>& o, const Memory& at) {
  using S = statistic_t<Y>;
  static_assert(std::is_same_v<statistic_t<X>, S>, "regimen: a scaled sum mixes no fp64 with other types; cast first");
  if (!o.scalars.is_absent() && at(o.scalars)->apply == 0) return;
  const Vector<S> a = static_cast<S>(o.a.value(at)), b = static_cast<S>(o.b.value(at));
  const X* const x = at(o.x);
  Y* const y = at(o.y);
  if (o.reads_y()) {
    sweep<S>(o.count, [&](std::size_t i, auto n) {
      store(multiply_add(load<S>(x + i, n), a, load<S>(y + i, n) * b), y + i, n);
    });
  } else {
    sweep<S>(o.count, [&](std::size_t i, auto n) { store(load<S>(x + i, n) * a, y + i, n); });
  }
}

/// There is no cast from fp64 to 16 bits: by way of fp32 it would round twice.
template <class From, class To>
void compute(const op::Cast<From, To>& o, const Memory& at) {
  constexpr bool to_half = sizeof(To) == 2, from_half = sizeof(From) == 2;
  static_assert(!(to_half && std::is_same_v<From, double>), "regimen: fp64 has no cast to 16 bits; cast to fp32 first");
  const From* const x = at(o.x);
  To* const y = at(o.y);
  if constexpr (std::is_same_v<From, To>) {  // bytes: a NaN keeps its payload
    const std::size_t chunks = chunks_of(o.count);
    parallel_for(chunks, [&](std::size_t chunk) {
      const std::size_t begin = part_begin(o.count, chunks, chunk), end = part_begin(o.count, chunks, chunk + 1);
      if (begin < end) std::memmove(y + begin, x + begin, (end - begin) * sizeof(To));
    });
  } else if constexpr (from_half && std::is_same_v<To, double>) {
    sweep<float>(o.count, [&](std::size_t i, auto n) {
      float exact[lanes<float>];
      store(load<float>(x + i, n), exact);
      for_each_vector<double>(0, lanes_used<float>(n),
                              [&](std::size_t j, auto m) { store(load<double>(exact + j, m), y + i + j, m); });
    });
  } else {
    using S = std::conditional_t<std::is_same_v<From, double> || std::is_same_v<To, double>, double, float>;
    sweep<S>(o.count, [&](std::size_t i, auto n) { store(load<S>(x + i, n), y + i, n); });
  }
}

/// y = x · factor where the element's 16 random bits reach the threshold, else 0. Bits are drawn for blocks of 128
/// elements that begin at multiples of 128 in a sample, so they do not depend on where a thread's part begins.
template <class T>
void compute(const op::Dropout<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  const T* const x = at(o.x);
  T* const y = at(o.y);
  const Vector<S> factor = S(o.drop.keep_factor());
  const op::Random random = random_of(o.drop, at);
  const std::uint64_t key = random_key(random, o.drop.stream);
  for_rows(o.samples, o.elements, [&](std::size_t sample, std::size_t begin, std::size_t end) {
    const std::size_t base = sample * o.elements;
    for (std::size_t block = begin / random_block * random_block; block < end; block += random_block) {
      std::uint16_t bits[random_block];
      draw_block(key, block, random.first_sample + sample, bits);
      const std::size_t first = (std::max)(block, begin), last = (std::min)(end, block + random_block);
      for_each_vector<S>(first, last, [&](std::size_t e, auto n) {
        const Mask<S> dropped = below<S>(bits + (e - block), o.drop.threshold, n);
        store(select(dropped, Vector<S>(S(0)), load<S>(x + base + e, n) * factor), y + base + e, n);
      });
    }
  });
}

/// One draw for a whole sample, by its place in the batch: the same for all parts of it that threads take.
template <class T>
void compute(const op::DropSamples<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  const Vector<S> factor = S(o.drop.keep_factor());
  const op::Random random = random_of(o.drop, at);
  const std::uint64_t key = random_key(random, o.drop.stream);
  for_rows(o.samples, o.elements, [&](std::size_t sample, std::size_t begin, std::size_t end) {
    const bool dropped = (Philox::draw(key, 0, random.first_sample + sample).word[0] & 0xFFFFu) < o.drop.threshold;
    const T* const x = at(o.x) + sample * o.elements;
    T* const y = at(o.y) + sample * o.elements;
    for_each_vector<S>(begin, end, [&](std::size_t i, auto n) {
      store(dropped ? Vector<S>(S(0)) : load<S>(x + i, n) * factor, y + i, n);
    });
  });
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
