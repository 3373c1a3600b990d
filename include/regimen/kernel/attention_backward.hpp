// regimen/kernel/attention_backward.hpp — the gradients of attention, for any head, without a (T,T) matrix.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/kernel/attention.hpp>
#include <regimen/kernel/block.hpp>
#include <regimen/kernel/drop_factor.hpp>
#include <regimen/kernel/elementwise.hpp>

#include <cstddef>
#include <cstdint>

namespace regimen::kernel {

/// What a query and a key give to the gradients of each other.
template <class T>
struct AttentionPair final {
  using S = statistic_t<T>;
  struct Query {
    const T *x, *d_y;
    const op::SoftmaxRow<S>& softmax;
  };
  S p, kept, d_p;  // p, p ∘ f, f ∘ d_y vᵀ

  template <class Bias>
  REGIMEN_HD AttentionPair(const Query& query, const T* key, const T* value, S scale, S factor, std::size_t width,
                           const Bias& bias) {
    const S score = bias.score(detail::dot<S>(query.x, key, width), scale);
    p = detail::exp_or_zero((score - query.softmax.largest) * Bias::rest(scale)) * query.softmax.factor;
    kept = p * factor;
    d_p = detail::rounded_product(detail::dot<S>(query.d_y, value, width), factor);
  }
  REGIMEN_HD static S d_score(S p, S d_p, S row_dot, S scale) { return p * (d_p - row_dot) * scale; }
};

/// With p as op::SoftmaxRow has it, f the dropout factors and δ = row_dot:
///   d_v = (p ∘ f)ᵀ d_y,   d_s = p ∘ (f ∘ d_y vᵀ − δ) / √D,   d_q = d_s k,   d_k = d_sᵀ q.
/// Three launches: δ, a thread a row; d_q, a block for each query; d_k and d_v, a block for each key, which adds over
/// the heads that share it. All arithmetic in S, d_qkv is rounded once.
///
/// error   as forward; δ is taken from the stored, rounded y, where a query sees more than 128 keys and none of its
///         probabilities is above 1 − 2⁻¹⁰
/// cost    scores and d_y vᵀ are computed twice: 7 products instead of 5, from the second-level cache as forward; of a
///         row of more keys in which one probability is above that, three times. With
///         dropout one counter for eight keys, and one for each query, whose weights of one key are rows apart
///   keys_of     what keys of another kind need is no part of the kernel: it would cost registers
template <class Operation, class T, unsigned pass, KeysOf keys_of>
struct AttentionBackwardLaunch {
  static constexpr bool shares = keys_of != KeysOf::head, crosses = keys_of == KeysOf::other_text,
                        is_biased = keys_of == KeysOf::distance, slides = keys_of == KeysOf::window || is_biased,
                        has_ends = detail::has_lengths<Operation>;
  using S = statistic_t<T>;
  using Tile = detail::AttentionTile<S>;
  using Rows = detail::HeadRows<const T>;
  static constexpr unsigned passes = 3, threads = Tile::threads;
  // Left to itself, the compiler spills for more blocks.
  static constexpr unsigned resident = shares && pass > 0 ? 2 : 0;
  static constexpr std::size_t shared_bytes = pass == 0   ? 0
                                              : pass == 1 ? Tile::shared_bytes_with_masks(1, 2)
                                                          : Tile::shared_bytes(2, 2);
  Operation o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(rows(), pass == 0 ? threads : 1); }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const auto& b = detail::attention_of(o);
    const op::AttentionShape& s = b.shape;
    if constexpr (pass == 0) {
      for_pieces(block, rows(), [&](std::size_t row) {
        const std::size_t head = row / s.length, t = row % s.length;
        at(b.row_dot)[row] =
            detail::dot<S>(Rows::of_y(at(b.y), s, head)(t), Rows::of_y(at(b.d_y), s, head)(t), s.width);
      });
    } else {
      const S scale = s.template scale<S>();
      for (std::size_t row = block.index(); row < rows(); row += block.blocks()) {
        const std::size_t of_head = pass == 1 ? s.length : key_count(), head = row / of_head, t = row % of_head;
        const detail::DropFactorOf<keys_of, S> drop(b.drop, at, s, head * (pass == 1 ? 1 : group()));
        if constexpr (pass == 1) of_query(block, head, t, scale, drop);
        else of_key(block, head * group(), t, scale, drop);
      }
    }
  }

 private:
  REGIMEN_HD constexpr const auto& backward() const { return detail::attention_of(o); }
  REGIMEN_HD constexpr const op::AttentionShape& shape() const { return backward().shape; }
  REGIMEN_HD constexpr std::size_t group() const { return shares ? shape().group() : 1; }
  REGIMEN_HD constexpr std::size_t rows() const {
    return shape().batch * (pass < 2 || !shares ? shape().heads : shape().of_keys()) *
           (pass < 2 ? shape().length : key_count());
  }
  REGIMEN_HD constexpr std::size_t key_count() const { return crosses ? shape().key_length : shape().length; }
  REGIMEN_HD constexpr std::size_t end_of_keys(std::size_t head) const {
    if constexpr (has_ends) return static_cast<std::size_t>(at(o.lengths)[head / shape().heads]);
    else return key_count();
  }
  REGIMEN_HD Rows part(std::size_t head, std::size_t of_three) const {
    return detail::part_of<keys_of, T>(backward(), at, head, of_three);
  }
  REGIMEN_HD detail::HeadRows<T> gradient_of(std::size_t head, std::size_t of_three) const {
    using Gradients = detail::HeadRows<T>;
    if constexpr (crosses)
      return of_three == 0 ? Gradients::of_y(at(backward().d_q), shape(), head)
                           : Gradients::of_kv(at(backward().d_kv), shape(), head, of_three);
    else return Gradients::template of_qkv<shares>(at(backward().d_qkv), shape(), head, of_three);
  }
  /// Of the score of a pair.
  REGIMEN_HD auto bias_of(std::size_t head, std::size_t t, std::size_t u) const {
    if constexpr (is_biased) {
      const op::AttentionShape& s = shape();
      return detail::BiasedScore<S>{
          at(detail::whole_of(o).bias)[head % s.heads * s.distances() + s.length - 1 + u - t]};
    } else {
      return detail::UnbiasedScore{};
    }
  }
  struct Zeros {
    REGIMEN_HD S operator[](std::size_t) const { return S(0); }
  };
  /// The gradient = sums, rounded.
  REGIMEN_HD_UNCHECKED
  template <class Block, class Sums>
  REGIMEN_HD void write(const Block& block, std::size_t head, std::size_t of_three, std::size_t t,
                        const Sums& sums) const {
    T* const gradient = gradient_of(head, of_three)(t);
    for (std::size_t d = block.thread(); d < shape().width; d += block.threads())
      gradient[d] = static_cast<T>(static_cast<S>(sums[d]));
  }

  /// Where a tile has all keys of the query, or one p is nearly 1, δ is taken from these very d_p and written for the
  /// next launches: so it has their roundings, and where one p is nearly 1 nothing else is left of their difference.
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void of_query(const Block& block, std::size_t head, std::size_t t, S scale,
                           const detail::DropFactor<S>& drop) const {
    const op::AttentionShape& s = shape();
    const auto d_q = block.template shared<S>(0, Tile::largest_width),
               d_scores = block.template shared<S>(Tile::largest_width * sizeof(S), Tile::size),
               p = block.template shared<S>((Tile::largest_width + Tile::size) * sizeof(S), Tile::size);
    const auto masks = block.template shared<unsigned>(Tile::shared_bytes(1, 2), Tile::masks);
    const Rows keys = part(head, 1), values = part(head, 2);
    const T *const query = part(head, 0)(t), *const d_y = Rows::of_y(at(backward().d_y), s, head)(t);
    const std::size_t row = head * s.length + t, seen = s.causal ? t + 1 : end_of_keys(head);
    const op::SoftmaxRow<S> softmax = at(backward().softmax)[row];
    const std::uint64_t row_element = drop.element(t, 0);
    const std::size_t begin = slides ? s.begin(t) : 0;
    const bool is_one_tile = seen - begin <= Tile::size, is_sharp = !is_one_tile && op::is_sharp(softmax);
    S row_dot = is_one_tile || is_sharp ? S(0) : at(backward().row_dot)[row];
    const auto write_pairs = [&](std::size_t first, std::size_t count) {
      if (drop.threshold > 0) {
        drop.write_masks(block, row_element + first, count, masks);
        block.sync();
      }
      const unsigned before_first = static_cast<unsigned>((row_element + first) % 8);
      for (std::size_t j = block.thread(); j < count; j += block.threads()) {
        const S factor = drop.threshold > 0 ? drop.factor_in(masks, before_first + static_cast<unsigned>(j)) : S(1);
        const AttentionPair<T> pair({query, d_y, softmax}, keys(first + j), values(first + j), scale, factor, s.width,
                                    bias_of(head, t, first + j));
        p[j] = pair.p;
        d_scores[j] = pair.d_p;
      }
    };
    const auto add_to_mean = [&](std::size_t count) {
      block.sync();
      for (std::size_t j = 0; j < count; ++j) row_dot += static_cast<S>(p[j]) * static_cast<S>(d_scores[j]);
      block.sync();
    };
    if (is_sharp)
      for (std::size_t first = begin; first < seen; first += Tile::size) {
        const std::size_t count = seen - first < Tile::size ? seen - first : Tile::size;
        write_pairs(first, count);
        add_to_mean(count);
      }
    for (std::size_t first = begin; first < seen; first += Tile::size) {
      const std::size_t count = seen - first < Tile::size ? seen - first : Tile::size;
      write_pairs(first, count);
      if (is_one_tile) add_to_mean(count);
      for (std::size_t j = block.thread(); j < count; j += block.threads())
        d_scores[j] = AttentionPair<T>::d_score(static_cast<S>(p[j]), static_cast<S>(d_scores[j]), row_dot, scale);
      block.sync();
      detail::add_tile<S>(block, d_q, d_scores, detail::TileRows<const T>{keys, first, count}, s.width, first == begin);
      block.sync();
    }
    if ((is_one_tile || is_sharp) && block.thread() == 0) at(backward().row_dot)[row] = row_dot;
    write(block, head, 0, t, d_q);
  }

  /// d_k and d_v of position u, from all queries of the heads that share the key: a head is added behind another, in
  /// the block's memory, and rounded once. A key behind the text's length gets zeros: no query saw it.
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void of_key(const Block& block, std::size_t head, std::size_t u, S scale,
                         const detail::DropFactor<S>& drop) const {
    const auto d_k = block.template shared<S>(0, Tile::largest_width),
               d_v = block.template shared<S>(Tile::largest_width * sizeof(S), Tile::largest_width);
    if constexpr (has_ends)
      if (u >= end_of_keys(head)) {
        write(block, head, 1, u, Zeros{});
        write(block, head, 2, u, Zeros{});
        return;
      }
    add_head(block, head, u, scale, drop, true);
    if constexpr (shares)
      for (std::size_t other = head + 1; other < head + shape().group(); ++other)
        add_head(block, other, u, scale, detail::DropFactorOf<keys_of, S>(backward().drop, at, shape(), other), false);
    write(block, head, 1, u, d_k);
    write(block, head, 2, u, d_v);
  }
  /// What a head gives to d_k and d_v of position u.   begins   whether it is the first
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void add_head(const Block& block, std::size_t head, std::size_t u, S scale,
                           const detail::DropFactor<S>& drop, bool begins) const {
    const op::AttentionShape& s = shape();
    constexpr std::size_t width = Tile::largest_width, numbers = 2 * width * sizeof(S);
    const auto d_k = block.template shared<S>(0, width), d_v = block.template shared<S>(width * sizeof(S), width);
    const auto d_scores = block.template shared<S>(numbers, Tile::size),
               kept = block.template shared<S>(numbers + Tile::size * sizeof(S), Tile::size);
    const Rows queries = part(head, 0), gradients = Rows::of_y(at(backward().d_y), s, head);
    const T *const key = part(head, 1)(u), *const value = part(head, 2)(u);
    const op::SoftmaxRow<S>* const softmax = at(backward().softmax) + head * s.length;
    const S* const row_dot = at(backward().row_dot) + head * s.length;
    const std::size_t begin = s.causal ? u : 0;           // the first query that sees key u
    const bool ends = is_biased ? s.window > 0 : slides;  // before the last query
    const std::size_t end = ends && u + s.window < s.length ? u + s.window : s.length;
    for (std::size_t first = begin; first < end; first += Tile::size) {
      const std::size_t count = end - first < Tile::size ? end - first : Tile::size;
      for (std::size_t j = block.thread(); j < count; j += block.threads()) {
        const std::size_t t = first + j;
        const AttentionPair<T> pair({queries(t), gradients(t), softmax[t]}, key, value, scale, drop(t, u), s.width,
                                    bias_of(head, t, u));
        d_scores[j] = pair.d_score(pair.p, pair.d_p, row_dot[t], scale);
        kept[j] = pair.kept;
      }
      block.sync();
      detail::add_tile<S>(block, d_k, d_scores, detail::TileRows<const T>{queries, first, count}, s.width,
                          begins && first == begin);
      detail::add_tile<S>(block, d_v, kept, detail::TileRows<const T>{gradients, first, count}, s.width,
                          begins && first == begin);
      block.sync();
    }
  }
};

template <class T, unsigned pass>
struct Kernel<op::AttentionBackward<T>, pass> final
    : AttentionBackwardLaunch<op::AttentionBackward<T>, T, pass, KeysOf::head> {};
template <class T, unsigned pass>
struct Kernel<op::SharedAttentionBackward<T>, pass> final
    : AttentionBackwardLaunch<op::SharedAttentionBackward<T>, T, pass, KeysOf::heads> {};
template <class T, unsigned pass>
struct Kernel<op::WindowAttentionBackward<T>, pass> final
    : AttentionBackwardLaunch<op::WindowAttentionBackward<T>, T, pass, KeysOf::window> {};
template <class T, unsigned pass>
struct Kernel<op::CrossAttentionBackward<T>, pass> final
    : AttentionBackwardLaunch<op::CrossAttentionBackward<T>, T, pass, KeysOf::other_text> {};

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
