// regimen/kernel/attention.hpp — softmax(q kᵀ / √D) v, for any head, without a (T,T) matrix.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/kernel/block.hpp>
#include <regimen/kernel/drop_factor.hpp>
#include <regimen/kernel/elementwise.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace regimen::kernel {

/// Whose keys there are: a head's own, those of several heads, those within a window, those of another text, or those
/// whose distance adds to the score, within a window if there is one; several heads may share the latter three.
enum class KeysOf { head, heads, window, other_text, distance };

namespace detail {

/// Whether each text ends at a length of its own.
template <class Operation>
inline constexpr bool has_lengths = false;
template <class Operation>
inline constexpr bool has_lengths<op::WithinLengths<Operation>> = true;
/// The operation on whole texts.
template <class Operation>
REGIMEN_HD constexpr const auto& whole_of(const Operation& o) {
  if constexpr (has_lengths<Operation>) return o.whole;
  else return o;
}
/// The attention, or the gradient of one, that an operation is or has.
template <class Operation>
REGIMEN_HD constexpr const auto& attention_of(const Operation& o) {
  if constexpr (has_lengths<Operation>) return attention_of(o.whole);
  else if constexpr (requires { o.attention; }) return o.attention;
  else if constexpr (requires { o.backward; }) return o.backward;
  else return o;
}

/// Rows of one head: row(t) begins `stride` elements behind row(t − 1).
template <class T>
struct HeadRows final {
  T* first;
  std::size_t stride;

  REGIMEN_HD T* operator()(std::size_t t) const { return first + t * stride; }
  REGIMEN_HD HeadRows from(std::size_t t) const { return {first + t * stride, stride}; }
  /// part 0, 1, 2 for what a head reads of q, k, v in (B,T,H+2K,D)
  ///   shares   false: no heads share keys
  template <bool shares = true>
  REGIMEN_HD static HeadRows of_qkv(T* qkv, const op::AttentionShape& s, std::size_t head, std::size_t part) {
    const std::size_t b = head / s.heads, h = head % s.heads;
    if constexpr (shares) {
      const std::size_t all = s.all_heads();
      return {qkv + (b * s.length * all + s.place(h, part)) * s.width, all * s.width};
    } else {
      return {qkv + ((b * s.length * 3 + part) * s.heads + h) * s.width, 3 * s.heads * s.width};
    }
  }
  /// part 1, 2 for what a head reads of k, v in (B,S,2K,D)
  REGIMEN_HD static HeadRows of_kv(T* kv, const op::AttentionShape& s, std::size_t head, std::size_t part) {
    const std::size_t b = head / s.heads, h = head % s.heads, all = 2 * s.of_keys();
    return {kv + (b * s.key_length * all + s.place(h, part) - s.heads) * s.width, all * s.width};
  }
  /// in (B,T,H,D)
  REGIMEN_HD static HeadRows of_y(T* y, const op::AttentionShape& s, std::size_t head) {
    const std::size_t b = head / s.heads, h = head % s.heads;
    return {y + (b * s.length * s.heads + h) * s.width, s.heads * s.width};
  }
};

/// What a head reads of q, k, v: part 0, 1, 2 of an operation of attention.
template <KeysOf keys_of, class T, class Operation>
REGIMEN_HD HeadRows<const T> part_of(const Operation& o, const Memory& at, std::size_t head, std::size_t part) {
  using Rows = HeadRows<const T>;
  if constexpr (keys_of == KeysOf::other_text)
    return part == 0 ? Rows::of_y(at(o.q), o.shape, head) : Rows::of_kv(at(o.kv), o.shape, head, part);
  else return Rows::template of_qkv<(keys_of != KeysOf::head)>(at(o.qkv), o.shape, head, part);
}

template <KeysOf keys_of, class S>
using DropFactorOf = std::conditional_t<keys_of == KeysOf::other_text, CrossDropFactor<S>, DropFactor<S>>;

/// e^x where x > −80, else exactly 0, as the CPU engine; NaN where x is.
template <class S>
REGIMEN_HD S exp_or_zero(S x) {
  return x <= S(-80) ? S(0) : std::exp(x);
}

/// a · b, rounded before anything is added to it, whatever a compiler contracts: what is compared with a sum of such
/// products must have their roundings.
template <class S>
REGIMEN_HD S rounded_product(S a, S b) {
  return std::fma(a, b, S(0));
}

/// Σ_d a[d] · b[d], in the order of d.
template <class S, class T>
REGIMEN_HD S dot(const T* a, const T* b, std::size_t width) {
  constexpr unsigned n = pack_of<T>;
  const std::size_t packed = are_aligned(a, b) ? width / n : 0;
  S sum = S(0);
  for (std::size_t i = 0; i < packed; ++i) {
    const auto x = read<n>(a + i * n), y = read<n>(b + i * n);
    for (unsigned k = 0; k < n; ++k) sum += static_cast<S>(x.at[k]) * static_cast<S>(y.at[k]);
  }
  for (std::size_t d = packed * n; d < width; ++d) sum += static_cast<S>(a[d]) * static_cast<S>(b[d]);
  return sum;
}

/// The plan of all blocks here: a tile of keys (or queries), a thread for each, gives one number each; then a thread
/// for each channel adds what the tile gives. Numbers of a tile lie in shared memory, sums over tiles beside them. The
/// order of sums is that of keys, tile by tile, whatever the number of threads.
template <class S>
struct AttentionTile final {
  static constexpr unsigned threads = 128, size = threads;
  static constexpr std::size_t largest_width = op::AttentionShape::largest_width;
  static constexpr unsigned masks = DropFactor<S>::masks_of(size);
  /// `sums` arrays of channels, `numbers` of the tile
  static constexpr std::size_t shared_bytes(unsigned sums, unsigned numbers) {
    return (sums * largest_width + numbers * size) * sizeof(S);
  }
  static constexpr std::size_t shared_bytes_with_masks(unsigned sums, unsigned numbers) {
    return shared_bytes(sums, numbers) + masks * sizeof(unsigned);
  }
};

/// The rows of a tile: `count` of them from `first` on.
template <class T>
struct TileRows final {
  HeadRows<T> all;
  std::size_t first, count;
};

/// sums[d] = sums[d] · before + Σ_j weight[j] · row(j)[d], for the rows of a tile; sums are new if `is_first`
REGIMEN_HD_UNCHECKED
template <class S, class Block, class Sums, class Weights, class T>
REGIMEN_HD void add_tile(const Block& block, const Sums& sums, const Weights& weight, const TileRows<T>& rows,
                         std::size_t width, bool is_first, S before = S(1)) {
  for (std::size_t d = block.thread(); d < width; d += block.threads()) {
    S sum = S(0);
    for (std::size_t j = 0; j < rows.count; ++j)
      sum += static_cast<S>(weight[j]) * static_cast<S>(rows.all(rows.first + j)[d]);
    sums[d] = is_first ? sum : static_cast<S>(sums[d]) * before + sum;
  }
}

/// The score of a query and a key, of their product: the product itself, by whose differences `rest` multiplies.
struct UnbiasedScore final {
  template <class S>
  REGIMEN_HD S score(S product, S) const {
    return product;
  }
  template <class S>
  REGIMEN_HD static S rest(S scale) {
    return scale;
  }
};
/// The score with a bias. By fma, so that backward has forward's bits, whatever else a compiler contracts.
template <class S>
struct BiasedScore final {
  S bias;
  REGIMEN_HD S score(S product, S scale) const { return std::fma(product, scale, bias); }
  REGIMEN_HD static S rest(S) { return S(1); }
};
/// Of every key.
struct NoBias final {
  REGIMEN_HD UnbiasedScore operator()(std::size_t) const { return {}; }
};

/// Of the keys that a query sees.
template <class S>
struct BiasOfKeys final {
  const S* of_keys;
  REGIMEN_HD BiasedScore<S> operator()(std::size_t j) const { return {of_keys[j]}; }
};

/// What a query reads and writes. softmax may be null.
template <class T>
struct QueryTensors final {
  const T* query;
  HeadRows<const T> keys, values;
  T* y;
  op::SoftmaxRow<statistic_t<T>>* softmax;
};

/// A query against `seen` keys, with a running maximum.   bias(j)   of the score of key j
REGIMEN_HD_UNCHECKED
template <class S, class Block, class T, class Bias>
REGIMEN_HD void attend(const Block& block, const op::AttentionShape& shape, const QueryTensors<T>& at,
                       std::size_t position, std::size_t seen, const DropFactor<S>& drop, const Bias& bias) {
  using Tile = AttentionTile<S>;
  const std::size_t width = shape.width;
  const auto sums = block.template shared<S>(0, Tile::largest_width);
  const auto p = block.template shared<S>(Tile::largest_width * sizeof(S), Tile::size),
             kept = block.template shared<S>((Tile::largest_width + Tile::size) * sizeof(S), Tile::size);
  const auto masks = block.template shared<unsigned>(Tile::shared_bytes(1, 2), Tile::masks);
  const S scale = shape.is_scaled ? S(1) / std::sqrt(static_cast<S>(width)) : S(1),  // outside it costs registers
      rest = decltype(bias(0))::rest(scale);
  const std::uint64_t row = drop.element(position, 0);
  S largest = -std::numeric_limits<S>::infinity(), total = S(0);
  for (std::size_t first = 0; first < seen; first += Tile::size) {
    const std::size_t count = seen - first < Tile::size ? seen - first : Tile::size;
    for (std::size_t j = block.thread(); j < count; j += block.threads())
      p[j] = bias(first + j).score(dot<S>(at.query, at.keys(first + j), width), scale);
    block.sync();
    S peak = largest;
    for (std::size_t j = 0; j < count; ++j) peak = static_cast<S>(p[j]) > peak ? static_cast<S>(p[j]) : peak;
    for (std::size_t j = block.thread(); j < count; j += block.threads())
      kept[j] = exp_or_zero((static_cast<S>(p[j]) - peak) * rest);
    block.sync();
    S sum = S(0);
    for (std::size_t j = 0; j < count; ++j) sum += static_cast<S>(kept[j]);
    const S before = first == 0 ? S(0) : exp_or_zero((largest - peak) * rest);
    total = total * before + sum;
    largest = peak;
    if (drop.threshold > 0) {
      drop.write_masks(block, row + first, count, masks);
      block.sync();
      const unsigned before_first = static_cast<unsigned>((row + first) % 8);
      for (std::size_t j = block.thread(); j < count; j += block.threads())
        p[j] = static_cast<S>(kept[j]) * drop.factor_in(masks, before_first + static_cast<unsigned>(j));
      block.sync();
    }
    add_tile<S>(block, sums, drop.threshold > 0 ? p : kept, TileRows<const T>{at.values, first, count}, width,
                first == 0, before);
    block.sync();
  }
  const S factor = S(1) / total;
  for (std::size_t d = block.thread(); d < width; d += block.threads())
    at.y[d] = static_cast<T>(static_cast<S>(sums[d]) * factor);
  if (at.softmax != nullptr && block.thread() == 0) *at.softmax = {largest, factor};
}

}  // namespace detail

/// A block for each query of each head. All arithmetic in S = statistic_t<T>; y is rounded once. Keys before a window,
/// and behind a text's length, are not read.
///   keys_of   what keys of another kind need is no part of the kernel: it would cost registers
///
/// error   that of exp and of sums over keys in tiles of 128; probabilities below e^-80 of the row's largest count as 0
/// cost    each query reads the keys and values that it sees, 2 · T · D elements (half of them if causal; 2 · S · D of
///         another text), from the second-level cache: this is the plain form, for any head, and the reference of
///         faster ones. With dropout one counter for eight keys, with a bias one more addition for each score
template <class Operation, class T, KeysOf keys_of>
struct AttentionLaunch {
  static constexpr bool has_ends = detail::has_lengths<Operation>, is_biased = keys_of == KeysOf::distance,
                        slides = keys_of == KeysOf::window || (is_biased && !has_ends);
  using S = statistic_t<T>;
  using Tile = detail::AttentionTile<S>;
  static constexpr unsigned threads = Tile::threads, resident = slides || has_ends ? 2 : 0;
  static constexpr std::size_t shared_bytes = Tile::shared_bytes_with_masks(1, 2);
  Operation o;
  Memory at;

  constexpr unsigned blocks() const {
    const op::AttentionShape& s = detail::attention_of(o).shape;
    return blocks_for(s.batch * s.heads * s.length, 1);
  }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const auto& a = detail::attention_of(o);
    const op::AttentionShape& s = a.shape;
    for (std::size_t row = block.index(); row < s.batch * s.heads * s.length; row += block.blocks()) {
      const std::size_t head = row / s.length, t = row % s.length, begin = slides ? s.begin(t) : 0;
      detail::DropFactorOf<keys_of, S> drop(a.drop, at, s, head);
      drop.first += begin;
      detail::attend<S>(block, s,
                        detail::QueryTensors<T>{.query = detail::part_of<keys_of, T>(a, at, head, 0)(t),
                                                .keys = detail::part_of<keys_of, T>(a, at, head, 1).from(begin),
                                                .values = detail::part_of<keys_of, T>(a, at, head, 2).from(begin),
                                                .y = detail::HeadRows<T>::of_y(at(a.y), s, head)(t),
                                                .softmax = at(a.softmax) + row},
                        t, seen(head, t) - begin, drop, bias_of_keys(head, t, begin));
    }
  }

 private:
  REGIMEN_HD constexpr std::size_t seen(std::size_t head, std::size_t t) const {
    const op::AttentionShape& s = detail::attention_of(o).shape;
    if constexpr (has_ends) return op::seen_keys(at(o.lengths)[head / s.heads], s.keys());
    else if constexpr (keys_of == KeysOf::other_text) return s.key_length;
    else return keys_of == KeysOf::window || s.causal ? t + 1 : s.length;
  }
  REGIMEN_HD auto bias_of_keys(std::size_t head, std::size_t t, std::size_t begin) const {
    if constexpr (is_biased) {
      const op::AttentionShape& s = detail::attention_of(o).shape;
      const S* const bias = at(detail::whole_of(o).bias) + head % s.heads * s.distances();
      return detail::BiasOfKeys<S>{bias + s.length - 1 + begin - t};
    } else {
      return detail::NoBias{};
    }
  }
};

template <class T>
struct Kernel<op::Attention<T>> final : AttentionLaunch<op::Attention<T>, T, KeysOf::heads> {};
template <class T>
struct Kernel<op::WindowAttention<T>> final : AttentionLaunch<op::WindowAttention<T>, T, KeysOf::window> {};
template <class T>
struct Kernel<op::CrossAttention<T>> final : AttentionLaunch<op::CrossAttention<T>, T, KeysOf::other_text> {};

/// A block for each head: one query, so few blocks. All arithmetic in S; y is rounded once.
///
/// error   that of op::Attention
/// cost    reads the cached keys and values once, on as many blocks as there are heads
template <class Operation, class T>
struct AttendKeptLaunch {
  using S = statistic_t<T>;
  using Tile = detail::AttentionTile<S>;
  static constexpr unsigned threads = Tile::threads;
  static constexpr std::size_t shared_bytes = Tile::shared_bytes_with_masks(1, 2);
  Operation o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(kept().shape.batch * kept().shape.heads, 1); }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    using Rows = detail::HeadRows<const T>;
    const op::AttendKept<T>& k = kept();
    const op::AttentionShape& s = k.shape;
    for (std::size_t head = block.index(); head < s.batch * s.heads; head += block.blocks()) {
      const std::size_t first = head / s.group() * k.window * s.width;
      detail::attend<S>(block, s,
                        detail::QueryTensors<T>{.query = Rows::of_qkv(at(k.qkv), s, head, 0)(0),
                                                .keys = {at(k.keys) + first, s.width},
                                                .values = {at(k.values) + first, s.width},
                                                .y = detail::HeadRows<T>::of_y(at(k.y), s, head)(0),
                                                .softmax = nullptr},
                        0, k.seen, detail::DropFactor<S>({}, at, s, head), bias_of_keys(head));
    }
  }

 private:
  static constexpr bool is_biased = std::is_same_v<Operation, op::BiasedAttendKept<T>>;
  REGIMEN_HD constexpr const op::AttendKept<T>& kept() const {
    if constexpr (is_biased) return o.kept;
    else return o;
  }
  REGIMEN_HD auto bias_of_keys([[maybe_unused]] std::size_t head) const {
    if constexpr (is_biased)
      return detail::BiasOfKeys<S>{at(o.bias) + (head % o.kept.shape.heads + 1) * o.kept.window - o.kept.seen};
    else return detail::NoBias{};
  }
};
template <class T>
struct Kernel<op::AttendKept<T>> final : AttendKeptLaunch<op::AttendKept<T>, T> {};

/// The new rows of keys and values, copied.
template <class T>
struct Kernel<op::KeepKeys<T>> final {
  static constexpr unsigned threads = detail::flat_threads, width = pack_of<T>;
  op::KeepKeys<T> o;
  Memory at;

  constexpr unsigned blocks() const {
    return blocks_for(2 * o.shape.batch * o.shape.of_keys() * o.shape.length * o.shape.width / width + 1, threads);
  }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    if (o.shape.width % width == 0 && are_aligned(at(o.qkv), at(o.keys), at(o.values))) copy<width>(block);
    else copy<1>(block);
  }

 private:
  REGIMEN_HD_UNCHECKED
  template <unsigned n, class Block>
  REGIMEN_HD void copy(const Block& block) const {
    const op::AttentionShape& s = o.shape;
    const std::size_t packs = s.width / n, rows = s.batch * s.of_keys() * s.length;
    for_pieces(block, 2 * rows * packs, [&](std::size_t piece) {
      const std::size_t part = piece / (rows * packs), row = piece / packs % rows, d = piece % packs * n,
                        head = row / s.length, t = row % s.length;
      const T* const from = detail::HeadRows<const T>::of_qkv(at(o.qkv), s, head * s.group(), 1 + part)(t) + d;
      detail::write(detail::read<n>(from),
                    at(part == 0 ? o.keys : o.values) + (head * o.window + o.first + t) * s.width + d);
    });
  }
};

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
