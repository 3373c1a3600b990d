// regimen/core/operation/attention_bias.hpp — attention whose scores depend on distances: the operations.
#pragma once

#include <regimen/core/hd.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/operation/attention.hpp>
#include <regimen/core/operation/scalars.hpp>
#include <regimen/core/view.hpp>

#include <cmath>
#include <cstddef>

namespace regimen::op {

/// The slope of head h (from 0) of H, as its authors' program has it: 2^(−8 (h + 1) / N) for the first N heads, the
/// largest power of two of them; the others have every second slope of 2N heads.
REGIMEN_HD inline double alibi_slope(std::size_t h, std::size_t heads) {
  std::size_t power = 1;
  while (2 * power <= heads) power *= 2;
  const double of_power = h < power ? double(h + 1) : double(h - power) + 0.5;
  return std::exp2(-8 * of_power / double(power));
}

/// bias[h,i] = −slope(h) · |i − (T − 1)|: what a distance of i − (T − 1) adds to a score
///   bias (H,distances) S   length   T   distances   T if causal, else 2T − 1
///
/// error   slopes in fp64, one rounding to S
template <class S>
struct AlibiBias final {
  static constexpr const char* name = "alibi_bias";
  View<S> bias;
  std::size_t heads = 0, length = 0, distances = 0;

  REGIMEN_HD S operator()(std::size_t h, std::size_t i) const {
    const std::size_t distance = i < length ? length - 1 - i : i - (length - 1);
    return static_cast<S>(-alibi_slope(h, heads) * double(distance));
  }
  constexpr Cost cost() const {
    const double elements = double(heads * distances);
    return {2 * elements, elements * sizeof(S), 1};
  }
};

/// The bucket of a distance u − t. Causal: distances below count / 2 have a bucket each, farther ones share the others,
/// which grow as powers up to `most`; the last has all beyond. Else half of the buckets are of earlier positions and t
/// itself, half of later ones.
///
///   count   even, 4 or more    most   above count / 2
///
/// source   Raffel et al. 2020, section 2.1; the formula is that of their program
struct DistanceBuckets {
  std::size_t count = 32, most = 128;
  bool causal = false;

  /// Positions on one side: all of them if causal.
  REGIMEN_HD std::size_t of_side() const { return causal ? count : count / 2; }
  /// On its side, of a distance without its sign.
  REGIMEN_HD std::size_t of(std::size_t distance) const {
    const std::size_t exact = of_side() / 2;
    if (distance < exact) return distance;
    // A whole logarithm may come out just below itself; no other is as near to a whole number.
    const double powers =
        std::log(double(distance) / double(exact)) / std::log(double(most) / double(exact)) * double(of_side() - exact);
    const std::size_t bucket = exact + static_cast<std::size_t>(powers + 1e-9);
    return bucket < of_side() ? bucket : of_side() - 1;
  }
  /// Of the distance i − (length − 1).
  REGIMEN_HD std::size_t operator()(std::size_t i, std::size_t length) const {
    return i < length ? of(length - 1 - i) : of_side() + of(i - (length - 1));
  }
  /// The i of a bucket, of distances within `length`: they are neighbours.
  struct Range {
    std::size_t begin, end;
  };
  REGIMEN_HD Range range(std::size_t bucket, std::size_t length) const {
    const bool is_later = bucket >= of_side();
    const std::size_t on_side = bucket % of_side(), first = least(on_side, length);
    const std::size_t end = on_side + 1 < of_side() ? least(on_side + 1, length) : length;
    if (!is_later) return {length - end, length - first};
    return {length - 1 + (first == 0 ? 1 : first), length - 1 + (end == 0 ? 1 : end)};
  }

 private:
  /// The least distance whose bucket on its side is this or a farther one, at most `length`.
  REGIMEN_HD std::size_t least(std::size_t bucket, std::size_t length) const {
    std::size_t below = 0, above = length;
    while (below < above) {
      const std::size_t middle = (below + above) / 2;
      if (of(middle) < bucket) below = middle + 1;
      else above = middle;
    }
    return below;
  }
};

/// bias[h,i] = table[bucket(i − (T − 1)),h]
///   table (buckets,H)   bias (H,distances) S
template <class T>
struct BucketBias final {
  static constexpr const char* name = "bucket_bias";
  using S = statistic_t<T>;
  View<T> table;
  View<S> bias;
  std::size_t heads = 0, length = 0, distances = 0;
  DistanceBuckets buckets{};

  constexpr Cost cost() const {
    const double elements = double(heads * distances);
    return {elements, elements * (sizeof(T) + sizeof(S)), 1};
  }
};

/// d_table[bucket,h] = Σ_b Σ_i d_bias[b,h,i] over the distances of the bucket, in S, in this order
///   d_bias (B,H,distances) S   d_table (buckets,H) G
template <class S, class G>
struct BucketBiasBackward final {
  static constexpr const char* name = "bucket_bias_backward";
  View<S> d_bias;
  View<G> d_table;
  std::size_t batch = 0, heads = 0, length = 0, distances = 0;
  DistanceBuckets buckets{};
  bool add = false;

  constexpr Cost cost() const {
    const double elements = double(batch * heads * distances);
    return {elements, elements * sizeof(S) + double(buckets.count * heads) * sizeof(G), 1};
  }
};

/// Attention, windows too, with bias[h,u − t + T − 1] added to the scaled score of positions t and u. Operations of
/// their own, as WindowAttention; heads may share keys.
///   bias (H,distances) S
template <class T>
struct BiasedAttention final {
  static constexpr const char* name = Attention<T>::name;
  using S = statistic_t<T>;
  Attention<T> attention;
  View<S> bias;

  constexpr Cost cost() const {
    Cost all = attention.cost();
    all.bytes += double(attention.shape.heads * attention.shape.distances()) * sizeof(S);
    return all;
  }
};
/// d_bias (B,H,distances) S, absent if none is wanted: the sums over positions t, of each sample
template <class T>
struct BiasedAttentionBackward final {
  static constexpr const char* name = AttentionBackward<T>::name;
  using S = statistic_t<T>;
  AttentionBackward<T> backward;
  View<S> bias;
  View<S> d_bias{};

  constexpr Cost cost() const {
    const AttentionShape& s = backward.shape;
    const std::size_t samples = d_bias.is_absent() ? 0 : s.batch;
    Cost all = backward.cost();
    all.bytes += double((1 + samples) * s.heads * s.distances()) * sizeof(S);
    return all;
  }
};
/// AttendKept by causal attention: bias (H,window)
template <class T>
struct BiasedAttendKept final {
  static constexpr const char* name = AttendKept<T>::name;
  using S = statistic_t<T>;
  AttendKept<T> kept;
  View<S> bias;

  constexpr Cost cost() const {
    Cost all = kept.cost();
    all.bytes += double(kept.shape.heads * kept.seen) * sizeof(S);
    return all;
  }
};

}  // namespace regimen::op
// SPDX-License-Identifier: Apache-2.0
