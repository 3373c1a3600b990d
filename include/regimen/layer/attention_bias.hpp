// regimen/layer/attention_bias.hpp — options of SelfAttention: a bias of scores by distance, in place of positions.
#pragma once

#include <regimen/layer/attention_parts.hpp>
#include <regimen/layer/children.hpp>
#include <regimen/layer/layer.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>

#include <array>
#include <cstddef>
#include <type_traits>

namespace regimen {

/// Adds −slope · |t − u| to the score of positions t and u. Each head has a slope: 2^(−8 h / H) for head h = 1, ..., H,
/// if H is a power of two. Otherwise N is the power of two below H: the first N heads have the slopes of N heads, and
/// the others have every second slope of 2N heads. The slopes do not train. Without Causal earlier and later positions
/// at the same distance have the same bias.
///
/// source   Press et al. 2022, "Train Short, Test Long"; for both sides Portes et al. 2023 (MosaicBERT)
struct Alibi final {};

/// Adds a number of a table (Buckets, H) to the score of positions t and u: the row is the bucket of u − t, the column
/// the head, as in T5. Each near distance has a bucket; farther distances share buckets, whose sizes grow as powers up
/// to MaxDistance; the last bucket has all distances beyond. With Causal all buckets belong to earlier positions;
/// without it half of them belong to later positions.
///
///   Buckets, MaxDistance   an even number, 4 or more; above Buckets / 2
///   Table                  a type of the program: all attention layers that name it share one table, as all blocks of
///                          T5's encoder do, and have equal heads, Causal and Dropout; by default each layer has its
///                          own table
///   attend.table (Buckets,H)   normal(0, 1/√C); weight decay treats it as a table
///
/// source   Raffel et al. 2020, section 2.1
template <std::size_t Buckets = 32, std::size_t MaxDistance = 128, class Table = void>
struct RelativeBias final {
  static constexpr std::size_t buckets = Buckets, most = MaxDistance;
};

namespace detail {

/// Writes each distance's bias to a scratch tensor (H,distances), before attention.
template <class Option>
struct distance_bias {};
template <>
struct distance_bias<Alibi> {
  static constexpr bool is_trained = false;
  template <std::size_t heads, class X>
  static constexpr std::array<Parameter, 0> parameters{};
  template <class T, std::size_t heads>
  static constexpr void write(auto& walk, const auto&, View<statistic_t<T>> bias, std::size_t length, bool causal) {
    walk.run(op::AlibiBias<statistic_t<T>>{
        .bias = bias, .heads = heads, .length = length, .distances = causal ? length : 2 * length - 1});
  }
};
template <std::size_t Buckets, std::size_t MaxDistance, class Table>
struct distance_bias<RelativeBias<Buckets, MaxDistance, Table>> {
  static constexpr bool is_trained = true;
  static constexpr op::DistanceBuckets buckets(bool causal) {
    return {.count = Buckets, .most = MaxDistance, .causal = causal};
  }
  template <std::size_t heads, class X>
  static constexpr std::array<Parameter, 1> parameters{
      in_rows("table", ParameterRole::table, Buckets, heads,
              {InitialValue::Kind::normal, inverse_square_root(double(X::channels))})};
  template <class T, std::size_t heads>
  static constexpr void write(auto& walk, const auto& call, View<statistic_t<T>> bias, std::size_t length,
                              bool causal) {
    walk.run(op::BucketBias<T>{.table = {call.parameters[0]},
                               .bias = bias,
                               .heads = heads,
                               .length = length,
                               .distances = causal ? length : 2 * length - 1,
                               .buckets = buckets(causal)});
  }
};

/// Attend with an option of this file. The bias is written again for backward: it is small, and nothing is saved.
template <class Layout, bool causal, class Rate, class Option>
struct AttendByDistance final {
  static constexpr const char* name = "attend";
  static constexpr bool couples_samples = false, is_part = true;

  template <class X, class Roles>
  struct Bound : Attend<Layout, causal, Rate>::template Bound<X, Roles> {
    using Base = typename Attend<Layout, causal, Rate>::template Bound<X, Roles>;
    using typename Base::S;
    using typename Base::T;
    using Bias = distance_bias<Option>;
    using Element = std::conditional_t<Bias::is_trained, T, void>;
    static constexpr auto parameters = Bias::template parameters<Layout::heads, X>;
    static constexpr std::size_t distances = Layout::template shape<X>(1, causal).distances();
    using OfRows = PerSample<S, Layout::heads * X::rows>;
    using OfDistances = FixedTensor<S, Layout::heads * distances>;
    using ForwardScratch = Tensors<OfDistances>;
    /// y · d_y, the bias, and each sample's bias gradient.
    using BackwardScratch =
        std::conditional_t<Bias::is_trained, Tensors<OfRows, OfDistances, PerSample<S, Layout::heads * distances>>,
                           Tensors<OfRows, OfDistances>>;

    static constexpr void forward(auto& walk, const auto& call) {
      Bias::template write<T, Layout::heads>(walk, call, {call.scratch[0]}, X::rows, causal);
      walk.run(op::BiasedAttention<T>{.attention = Base::attention(walk, call), .bias = {call.scratch[0]}});
    }
    static constexpr void backward(auto& walk, const auto& call) {
      Bias::template write<T, Layout::heads>(walk, call, {call.scratch[1]}, X::rows, causal);
      View<S> d_bias{};
      if constexpr (Bias::is_trained)
        if (call.trains()) d_bias = {call.scratch[2]};
      walk.run(op::BiasedAttentionBackward<T>{
          .backward = Base::gradients(walk, call), .bias = {call.scratch[1]}, .d_bias = d_bias});
      if constexpr (Bias::is_trained)
        if (call.trains())
          walk.run(op::BucketBiasBackward<S, typename Roles::reduce>{.d_bias = d_bias,
                                                                     .d_table = {call.gradients[0]},
                                                                     .batch = walk.batch,
                                                                     .heads = Layout::heads,
                                                                     .length = X::rows,
                                                                     .distances = distances,
                                                                     .buckets = Bias::buckets(causal),
                                                                     .add = call.add});
    }
    /// d_x may have no place: if all layers before are frozen, and the table is not.
    static constexpr bool always_writes_d_x = true;
  };
};

/// Attend; with a table that has a name, inside its Shared.
template <class Option, class Attend>
struct with_table {
  using type = Attend;
};
template <std::size_t Buckets, std::size_t MaxDistance, class Table, class Attend>
  requires(!std::is_void_v<Table>)
struct with_table<RelativeBias<Buckets, MaxDistance, Table>, Attend> {
  using type = Shared<Table, Attend>;
};

}  // namespace detail

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
