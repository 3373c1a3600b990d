// regimen/engine/cpu/embedding.hpp — tables of vectors: looked up by token, added by position; sinusoidal positions.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/column_sum.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/simd.hpp>
#include <regimen/engine/cpu/sweep.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace regimen::cpu {

/// A token outside the vocabulary gives a row of NaN, which the loss shows; nothing outside the table is read.
template <class T>
void compute(const op::Embed<T>& o, const Memory& at) {
  const std::int32_t* const token = at(o.token);
  const T* const table = at(o.table);
  T* const y = at(o.y);
  for_rows(o.count, o.columns, [&](std::size_t i, std::size_t begin, std::size_t end) {
    T* const to = y + i * o.columns;
    const std::size_t row = static_cast<std::uint32_t>(token[i]);  // a negative token becomes a very large one
    if (row < o.vocabulary) {
      std::memcpy(to + begin, table + row * o.columns + begin, (end - begin) * sizeof(T));
    } else {
      for (std::size_t c = begin; c < end; ++c) to[c] = T(std::numeric_limits<statistic_t<T>>::quiet_NaN());
    }
  });
}

/// One chunk owns a block of the table, vocabulary rows by columns, sums it in S on its stack, and rounds
/// once. It reads all tokens in order and skips sixteen at a time that fall into other blocks. Tokens
/// outside the vocabulary add nothing, nor does the padding token.
template <class T, class G>
void compute(const op::EmbedBackward<T, G>& o, const Memory& at) {
  using S = statistic_t<T>;
  constexpr std::size_t room = 65536 / sizeof(S), narrow = 64, wide = 1024, most = room / narrow;
  const std::int32_t* const token = at(o.token);
  const T* const d_y = at(o.d_y);
  G* const d_table = at(o.d_table);
  // Large tables are cut into wide blocks, small ones into narrow blocks, because few tokens make up most of a text.
  const std::size_t width = o.vocabulary > 4 * most ? wide : narrow, height = room / width;
  const std::size_t strips = (o.columns + width - 1) / width, blocks = (o.vocabulary + height - 1) / height;

  for_chunks((o.count + o.vocabulary) * o.columns, strips * blocks, [&](std::size_t chunk) {
    const std::size_t first = chunk % blocks * height,
                      rows = o.vocabulary - first < height ? o.vocabulary - first : height;
    const std::size_t begin = chunk / blocks * width, columns = o.columns - begin < width ? o.columns - begin : width;
    S sums[room];
    bool named[most] = {};  // rows that a token names; the others have no sum
    const auto add = [&](std::size_t i) {
      const std::size_t row = static_cast<std::uint32_t>(token[i]) - first;
      if (row >= rows || token[i] == o.padding) return;
      S* const to = sums + row * width;
      const T* const from = d_y + i * o.columns + begin;
      const bool again = named[row];
      named[row] = true;
      for_each_vector<S>(0, columns, [&](std::size_t c, auto n) {
        const Vector<S> value = load<S>(from + c, n);
        store(again ? load<S>(to + c, n) + value : value, to + c, n);
      });
    };
    const std::uint32_t low = static_cast<std::uint32_t>(first), size = static_cast<std::uint32_t>(rows);
    std::size_t i = 0;
    for (; i + 16 <= o.count; i += 16) {
      std::uint32_t hits = 0;
      for (std::size_t k = 0; k < 16; ++k)
        hits |= static_cast<std::uint32_t>(static_cast<std::uint32_t>(token[i + k]) - low < size);
      if (hits == 0) continue;
      for (std::size_t k = 0; k < 16; ++k) add(i + k);
    }
    for (; i < o.count; ++i) add(i);
    for (std::size_t row = 0; row < rows; ++row) {
      const S* const from = sums + row * width;
      G* const to = d_table + (first + row) * o.columns + begin;
      if (!named[row] && !o.add) std::memset(static_cast<void*>(to), 0, columns * sizeof(G));
      if (!named[row]) continue;
      for_each_vector<S>(0, columns, [&](std::size_t c, auto n) {
        store(o.add ? load<S>(to + c, n) + load<S>(from + c, n) : load<S>(from + c, n), to + c, n);
      });
    }
  });
}

template <class T>
void compute(const op::AddTable<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  const T* const x = at(o.x);
  const T* const table = at(o.table);
  T* const y = at(o.y);
  sweep_rows<S>(o.samples, o.elements, o.elements, [&](std::size_t i, std::size_t place, auto n) {
    store(load<S>(x + place, n) + load<S>(table + i, n), y + place, n);
  });
}

template <class T, class G>
void compute(const op::AddTableBackward<T, G>& o, const Memory& at) {
  using S = statistic_t<T>;
  column_sums<S>(at(o.d_y), o.samples, o.elements, o.elements, at(o.d_table), o.add);
}

/// A sine and a cosine are computed once for each position, in fp64, for all samples.
template <class T>
void compute(const op::AddSinusoids<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  const T* const x = at(o.x);
  T* const y = at(o.y);
  const std::size_t sample = o.length * o.columns;
  for_each_of(o.length, o.samples * o.columns, [&](std::size_t t) {
    for (std::size_t pair = 0; pair < o.pairs(); ++pair) {
      const double angle = o.angle(t, pair);
      const S sine = static_cast<S>(std::sin(angle)), cosine = static_cast<S>(std::cos(angle));
      const std::size_t of_sine = o.sine(pair), of_cosine = o.cosine(pair);
      for (std::size_t row = t * o.columns; row < o.samples * sample; row += sample) {
        y[row + of_sine] = static_cast<T>(static_cast<S>(x[row + of_sine]) + sine);
        if (of_cosine < o.columns) y[row + of_cosine] = static_cast<T>(static_cast<S>(x[row + of_cosine]) + cosine);
      }
    }
  });
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
