// regimen/core/operation/attention.hpp — the operations of attention.
#pragma once

#include <regimen/core/hd.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/operation/layer.hpp>
#include <regimen/core/operation/scalars.hpp>
#include <regimen/core/operation/softmax_row.hpp>
#include <regimen/core/view.hpp>

#include <cmath>
#include <cstddef>

namespace regimen::op {

/// Neighbouring heads may share keys and values: then there are fewer key heads, whose number divides that of heads.
/// Below H is `heads`, K is of_keys(): q, k and v lie side by side per position, (B,T,H+2K,D), and head h attends to
/// key head h / (H/K). Attention to another text has key_length S > 0: q (B,T,H,D), and k and v side by side,
/// (B,S,2K,D).
struct AttentionShape {
  static constexpr std::size_t largest_width = 2048;  // of a head
  std::size_t batch = 0, length = 0, heads = 0, width = 0;
  bool causal = false;
  std::size_t key_heads = 0;   // 0: as many as heads
  std::size_t key_length = 0;  // 0: k and v stand beside q
  std::size_t window = 0;      // causal: how many positions one sees, its own among them; 0: all before it
  bool is_scaled = true;       // scores are q kᵀ / √D; false: q kᵀ

  REGIMEN_HD constexpr std::size_t of_keys() const { return key_heads == 0 ? heads : key_heads; }
  /// How many heads share a key head.
  REGIMEN_HD constexpr std::size_t group() const { return key_heads == 0 ? 1 : heads / key_heads; }
  REGIMEN_HD constexpr bool crosses() const { return key_length > 0; }
  /// The first position that position t sees.
  REGIMEN_HD constexpr std::size_t begin(std::size_t t) const { return window == 0 || t < window ? 0 : t + 1 - window; }
  /// What q kᵀ is multiplied by.
  template <class S>
  REGIMEN_HD S scale() const {
    return is_scaled ? S(1) / std::sqrt(static_cast<S>(width)) : S(1);
  }
  /// How many distances u − t there are between a position t and the positions u that it sees, were there no window:
  /// from −(T − 1) on, to 0 if causal, else to T − 1.
  REGIMEN_HD constexpr std::size_t distances() const { return causal ? length : 2 * length - 1; }
  /// How many keys there are.
  REGIMEN_HD constexpr std::size_t keys() const { return crosses() ? key_length : length; }
  /// Heads of q, k and v: those of a position.
  REGIMEN_HD constexpr std::size_t all_heads() const { return heads + 2 * of_keys(); }
  /// Where q, k or v (part 0, 1, 2) that head h reads stands among them.
  REGIMEN_HD constexpr std::size_t place(std::size_t h, std::size_t part) const {
    return part == 0 ? h : heads + (part - 1) * of_keys() + h / group();
  }

  constexpr double score_flops()
      const {  // of one T x S x D product over all heads, of what causality and the window leave
    const double pairs = window > 0 && window < length ? double(window) * (2 * double(length) - double(window))
                         : causal                      ? double(length) * double(length)
                                                       : 2 * double(length) * double(keys());
    return double(batch * heads * width) * pairs;
  }
};

/// y = softmax(q kᵀ / √D) v per head; causal: position t sees 0..t
///   qkv (B,T,H+2K,D): q, k, v side by side per position; y (B,T,H,D)
///   softmax (B,H,T): the score is q kᵀ, its scale 1 / √D; with a bias the score is q kᵀ / √D + bias, its scale 1. A
///   form may leave it unwritten, or keep something else there
///   drop.threshold > 0 drops probabilities after normalisation: for query t and key u, element
///   (h·T + t)·T + u of the sample
///   Never stores (T,T): works on tiles with a running maximum                       Dao et al. 2022, algorithm 1
template <class T>
struct Attention final {
  static constexpr const char* name = "attention";
  using S = statistic_t<T>;
  View<T> qkv, y;
  View<SoftmaxRow<S>> softmax;
  AttentionShape shape;
  Drop drop{};

  constexpr Cost cost() const {
    const double tokens = double(shape.batch * shape.length), width = double(shape.width);
    return {2 * shape.score_flops(), double(shape.all_heads() + shape.heads) * tokens * width * sizeof(T), 1};
  }
};

/// d_qkv from d_y; probabilities are computed again from qkv and softmax. The gradient of a key head is the sum over
/// the heads that share it, in their order, rounded once.   row_dot (B,H,T) S: scratch for Σ_D y · d_y
template <class T>
struct AttentionBackward final {
  static constexpr const char* name = "attention_backward";
  using S = statistic_t<T>;
  View<T> qkv, y, d_y, d_qkv;
  View<SoftmaxRow<S>> softmax;
  View<S> row_dot;
  AttentionShape shape;
  Drop drop{};

  constexpr Cost cost() const {
    const double tokens = double(shape.batch * shape.length), width = double(shape.width);
    return {5 * shape.score_flops(), 2 * double(shape.all_heads() + shape.heads) * tokens * width * sizeof(T), 1};
  }
};

/// AttentionBackward where heads share key heads. An operation of its own, since its kernels hold more in registers.
template <class T>
struct SharedAttentionBackward final {
  static constexpr const char* name = AttentionBackward<T>::name;
  AttentionBackward<T> backward;

  constexpr Cost cost() const { return backward.cost(); }
};

/// Attention and AttentionBackward with shape.window. Operations of their own, as SharedAttentionBackward; heads may
/// share keys.
template <class T>
struct WindowAttention final {
  static constexpr const char* name = Attention<T>::name;
  Attention<T> attention;

  constexpr Cost cost() const { return attention.cost(); }
};
template <class T>
struct WindowAttentionBackward final {
  static constexpr const char* name = AttentionBackward<T>::name;
  AttentionBackward<T> backward;

  constexpr Cost cost() const { return backward.cost(); }
};

/// y = softmax(q kᵀ / √D) v per head: every position sees all of another text
///   q, y (B,T,H,D); kv (B,S,2K,D): k, v side by side per position; softmax (B,H,T); shape.key_length = S
///   drop as in Attention, by element (h·T + t)·S + u
template <class T>
struct CrossAttention final {
  static constexpr const char* name = "cross_attention";
  using S = statistic_t<T>;
  View<T> q, kv, y;
  View<SoftmaxRow<S>> softmax;
  AttentionShape shape;
  Drop drop{};

  constexpr Cost cost() const {
    const double elements = double(2 * shape.length * shape.heads + 2 * shape.keys() * shape.of_keys());
    return {2 * shape.score_flops(), double(shape.batch * shape.width) * elements * sizeof(T), 1};
  }
};

/// d_q and d_kv from d_y, as AttentionBackward.   row_dot (B,H,T) S: scratch for Σ_D y · d_y
template <class T>
struct CrossAttentionBackward final {
  static constexpr const char* name = "cross_attention_backward";
  using S = statistic_t<T>;
  View<T> q, kv, y, d_y, d_q, d_kv;
  View<SoftmaxRow<S>> softmax;
  View<S> row_dot;
  AttentionShape shape;
  Drop drop{};

  constexpr Cost cost() const {
    const double elements = double(2 * shape.length * shape.heads + 2 * shape.keys() * shape.of_keys());
    return {5 * shape.score_flops(), 2 * double(shape.batch * shape.width) * elements * sizeof(T), 1};
  }
};

/// keys[b,h,first + t,:] = k[b,t,h,:], and values likewise, for `length` new positions; earlier positions stay
///   qkv (B,T,H+2K,D); keys, values (B,K,window,D)
template <class T>
struct KeepKeys final {
  static constexpr const char* name = "keep_keys";
  View<T> qkv, keys, values;
  AttentionShape shape;
  std::size_t first = 0, window = 0;

  constexpr Cost cost() const {
    return {0, 4 * double(shape.batch * shape.length * shape.of_keys() * shape.width) * sizeof(T), 1};
  }
};

/// y = softmax(q kᵀ / √D) v per head, for one new position against the first `seen` positions of the cache
///   qkv (B,1,H+2K,D), of which q is read; keys, values (B,K,window,D); y (B,1,H,D)
///   Works on tiles of keys with a running maximum, as Attention does
template <class T>
struct AttendKept final {
  static constexpr const char* name = "attend_kept";
  View<T> qkv, keys, values, y;
  AttentionShape shape;
  std::size_t seen = 0, window = 0;

  constexpr Cost cost() const {
    const double seen_by_a_head = double(shape.batch * shape.width) * double(seen);
    return {4 * double(shape.heads) * seen_by_a_head, 2 * double(shape.of_keys()) * seen_by_a_head * sizeof(T), 1};
  }
};

}  // namespace regimen::op
// SPDX-License-Identifier: Apache-2.0
