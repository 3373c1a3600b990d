// regimen/core/operation/attention.hpp — the operations of attention.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/core/operation/layer.hpp>
#include <regimen/core/operation/scalars.hpp>
#include <regimen/core/view.hpp>

#include <cstddef>

namespace regimen::op {

struct AttentionShape {
  static constexpr std::size_t largest_width = 2048;  // of a head
  std::size_t batch = 0, length = 0, heads = 0, width = 0;
  bool causal = false;

  constexpr double score_flops() const {  // of one T x T x D product over all heads; the causal half of it
    return (causal ? 1.0 : 2.0) * double(batch * heads * width) * double(length) * double(length);
  }
};

/// y = softmax(q kᵀ / √D) v per head; causal: position t sees 0..t
///   qkv (B,T,3,H,D): q, k, v side by side per position; y (B,T,H,D); log_sum (B,H,T) S: log Σ exp of the scaled scores
///   drop.threshold > 0 drops probabilities after normalisation: for query t and key u, element
///   (h·T + t)·T + u of the sample
///   Never stores (T,T): works on tiles with a running maximum                       Dao et al. 2022, algorithm 1
template <class T>
struct Attention final {
  static constexpr const char* name = "attention";
  using S = statistic_t<T>;
  View<T> qkv, y;
  View<S> log_sum;
  AttentionShape shape;
  Drop drop{};

  constexpr Cost cost() const {
    const double tokens = double(shape.batch * shape.length), channels = double(shape.heads * shape.width);
    return {2 * shape.score_flops(), 4 * tokens * channels * sizeof(T), 1};
  }
};

/// d_qkv from d_y; probabilities are computed again from qkv and log_sum.   row_dot (B,H,T) S: scratch for Σ_D y · d_y
template <class T>
struct AttentionBackward final {
  static constexpr const char* name = "attention_backward";
  using S = statistic_t<T>;
  View<T> qkv, y, d_y, d_qkv;
  View<S> log_sum, row_dot;
  AttentionShape shape;
  Drop drop{};

  constexpr Cost cost() const {
    const double tokens = double(shape.batch * shape.length), channels = double(shape.heads * shape.width);
    return {5 * shape.score_flops(), 8 * tokens * channels * sizeof(T), 1};
  }
};

/// keys[b,h,first + t,:] = k[b,t,h,:], and values likewise, for `length` new positions; earlier positions stay
///   qkv (B,T,3,H,D); keys, values (B,H,window,D)
template <class T>
struct KeepKeys final {
  static constexpr const char* name = "keep_keys";
  View<T> qkv, keys, values;
  AttentionShape shape;
  std::size_t first = 0, window = 0;

  constexpr Cost cost() const {
    return {0, 4 * double(shape.batch * shape.length * shape.heads * shape.width) * sizeof(T), 1};
  }
};

/// y = softmax(q kᵀ / √D) v per head, for one new position against the first `seen` positions of the cache
///   qkv (B,1,3,H,D), of which q is read; keys, values (B,H,window,D); y (B,1,H,D)
///   Works on tiles of keys with a running maximum, as Attention does
template <class T>
struct AttendKept final {
  static constexpr const char* name = "attend_kept";
  View<T> qkv, keys, values, y;
  AttentionShape shape;
  std::size_t seen = 0, window = 0;

  constexpr Cost cost() const {
    const double kept = double(shape.batch * shape.heads * shape.width) * double(seen);
    return {4 * kept, 2 * kept * sizeof(T), 1};
  }
};

}  // namespace regimen::op
// SPDX-License-Identifier: Apache-2.0
