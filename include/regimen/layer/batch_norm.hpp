// regimen/layer/batch_norm.hpp — BatchNorm: normalise each channel over the batch.
#pragma once

#include <regimen/core/ratio.hpp>
#include <regimen/layer/in_order.hpp>
#include <regimen/layer/layer.hpp>
#include <regimen/layer/norm.hpp>

#include <type_traits>

namespace regimen {

/// The weight of a new batch in the running statistics, a Ratio above 0 and at most 1. (In Keras momentum is the weight
/// of the old statistics.)
template <class Value>
struct Momentum final {};
/// Each rank normalises each of its micro-batches by itself, if ranks or Accumulate<N> cut the batch.
struct PerMicroBatch final {};
/// The samples of all ranks are normalised together: ranks exchange statistics, forward and backward. (PyTorch calls it
/// SyncBatchNorm.)
struct OverRanks final {};
/// Allows a bias in the layer before, although it has no effect here: weights of other libraries may have a bias, and a
/// Shared layer may need it elsewhere.
struct AfterBias final {};

namespace detail {

template <class... Options>
struct batch_norm_options {
  using epsilon = Ratio<1, 100'000>;
  using momentum = Ratio<1, 10>;
  static constexpr bool per_micro_batch = false, over_ranks = false, after_bias = false;
};
template <class Value, class... Rest>
struct batch_norm_options<Epsilon<Value>, Rest...> : batch_norm_options<Rest...> {
  using epsilon = Value;
};
template <class Value, class... Rest>
struct batch_norm_options<Momentum<Value>, Rest...> : batch_norm_options<Rest...> {
  using momentum = Value;
};
template <class... Rest>
struct batch_norm_options<PerMicroBatch, Rest...> : batch_norm_options<Rest...> {
  static constexpr bool per_micro_batch = true;
};
template <class... Rest>
struct batch_norm_options<OverRanks, Rest...> : batch_norm_options<Rest...> {
  static constexpr bool over_ranks = true;
};
template <class... Rest>
struct batch_norm_options<AfterBias, Rest...> : batch_norm_options<Rest...> {
  static constexpr bool after_bias = true;
};

template <class Value>
inline constexpr OptionPlace option_place<Momentum<Value>>{1, std::is_same_v<Value, Ratio<1, 10>>};
template <>
inline constexpr OptionPlace option_place<PerMicroBatch>{2};
template <>
inline constexpr OptionPlace option_place<OverRanks>{3};
template <>
inline constexpr OptionPlace option_place<AfterBias>{4};

}  // namespace detail

namespace in_order {
/// regimen::BatchNorm, written in this order: Epsilon, Momentum, PerMicroBatch, OverRanks, AfterBias.
template <class... Options>
struct BatchNorm final {
  static constexpr const char* name = "batch_norm";
  static constexpr bool couples_samples = true;
  using Chosen = detail::batch_norm_options<Options...>;
  static constexpr bool takes_pieces = Chosen::per_micro_batch, joins_ranks = Chosen::over_ranks;

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using S = statistic_t<T>;
    using B = buffer_t<Roles>;
    using Element = T;
    using Output = X;
    static constexpr std::size_t columns = X::columns;
    static constexpr auto parameters = detail::gain_and_bias(columns);
    static constexpr std::array<Parameter, 2> buffers{
        detail::per_channel("running_mean", ParameterRole::buffer, columns, {InitialValue::Kind::constant, 0}),
        detail::per_channel("running_var", ParameterRole::buffer, columns, {InitialValue::Kind::constant, 1})};
    using Saved = Tensors<FixedTensor<S, columns>, FixedTensor<S, columns>>;  // mean, rstd
    static constexpr Reads backward_reads(bool) { return Reads::input; }
    static constexpr bool in_place = true;

    static constexpr void forward(auto& walk, const auto& call) {
      const std::size_t rows = walk.batch * X::rows;
      const op::BatchNorm<T, B> norm{.x = {call.x},
                                     .gain = {call.parameters[0]},
                                     .bias = {call.parameters[1]},
                                     .y = {call.y},
                                     .mean = {walk.training ? call.saved[0] : View<S>::absent},
                                     .rstd = {walk.training ? call.saved[1] : View<S>::absent},
                                     .running_mean = {call.buffers[0]},
                                     .running_variance = {call.buffers[1]},
                                     .rows = rows,
                                     .columns = columns,
                                     .epsilon = Chosen::epsilon::value,
                                     .momentum = Chosen::momentum::value,
                                     .moves = call.moves,
                                     .uses_running = call.uses_buffers};
      run(walk, norm, !call.uses_buffers, op::BatchMoments<T>{.x = norm.x, .y = {}, .rows = rows, .columns = columns});
    }
    static constexpr void backward(auto& walk, const auto& call) {
      const std::size_t rows = walk.batch * X::rows;
      const op::BatchNormBackward<T, typename Roles::reduce> norm{.x = {call.x},
                                                                  .gain = {call.parameters[0]},
                                                                  .d_y = {call.d_y},
                                                                  .d_x = {call.d_x},
                                                                  .mean = {call.saved[0]},
                                                                  .rstd = {call.saved[1]},
                                                                  .d_gain = {call.gradients[0]},
                                                                  .d_bias = {call.gradients[1]},
                                                                  .rows = rows,
                                                                  .columns = columns,
                                                                  .add = call.add,
                                                                  .uses_running = call.uses_buffers};
      run(walk, norm, call.wants_d_x() && !call.uses_buffers,
          op::BatchSums<T>{.x = norm.x,
                           .d_y = norm.d_y,
                           .mean = norm.mean,
                           .rstd = norm.rstd,
                           .y = {},
                           .rows = rows,
                           .columns = columns});
    }

   private:
    /// Normalises; if it `exchanges` statistics among several ranks, by the statistics of all ranks.
    ///   describe   the operation that writes this rank's statistics
    static constexpr void run(auto& walk, auto norm, [[maybe_unused]] bool exchanges, [[maybe_unused]] auto describe) {
      if constexpr (Chosen::over_ranks) {
        if (exchanges && walk.ranks > 1) {
          constexpr std::size_t bytes = op::described_by(columns) * sizeof(S);
          const std::size_t all =
              walk.arena.take(TensorArena::align(walk.ranks * bytes), MemoryKind::communication, walk.path);
          describe.y = {all + walk.rank * bytes};
          walk.run(describe);
          walk.await(walk.all_gather({.own = describe.y.offset, .all = all, .bytes = bytes, .path = walk.path}));
          norm.of_ranks = {all};
          norm.ranks = walk.ranks;
          if constexpr (requires { norm.rank; }) norm.rank = walk.rank;
          walk.run(norm);
          walk.arena.give(all);
          return;
        }
      }
      walk.run(norm);
    }
  };
};
}  // namespace in_order

/// y = (x − mean) · rstd · weight + bias, rstd = 1/√(variance + epsilon), for each channel over the batch and all
/// positions. A short last batch of an epoch is normalised by its own samples.
///
///   x, y (B,H,W,C), (B,T,C) or (B,C)   weight (C) one   bias (C) zero   mean, rstd (C) at least fp32, saved
///   running_mean (C) zero, running_var (C) one   state that does not train: evaluate, predict and Inference normalise
///       by it. It has the type of the master weights, and these names in saved files. It moves once for every
///       micro-batch that trains, also under recomputation: running += momentum · (batch − running), with the batch's
///       variance in Bessel's form. A batch of one row does not move the variance; values that are not finite move
///       neither mean nor variance.
///   options   Epsilon<Ratio<1, 100'000>>; Momentum<Ratio<1, 10>>; PerMicroBatch; OverRanks; AfterBias; in
///             any order
///
/// PerMicroBatch       if Accumulate<N> or ranks cut the batch: normalises each piece by itself
/// OverRanks           normalises the batch of all ranks: the result is that of one rank with all samples, except the
///                     order of sums. A rank without samples adds nothing. All ranks have the same running statistics
/// both                normalises the micro-batches of all ranks together
///
/// refuses   a Linear or a convolution with a bias directly before it, unless it has AfterBias. The two are neighbours
///           also if the bias ends a Sequential, Checkpointed, As, Shared, Repeat or each branch of a Fork<Add, ...>,
///           and if the BatchNorm begins one of these, or the next block of a Repeat. A bias at the end of a Residual,
///           whose sum has another term, compiles, but has no effect either
/// couples   the samples of a batch. If Accumulate<N> cuts the batch, only PerMicroBatch compiles; among ranks
///           PerMicroBatch or OverRanks. A step of several ranks ends with the mean of their running statistics; each
///           rank has the same weight; a rank without samples takes part with its old statistics; with OverRanks the
///           mean changes nothing. A step of SimulateWorld<N> ends with the mean of the statistics of its N
///           micro-batches; it refuses OverRanks, since it computes them one after the other
/// frozen    Freeze<BatchNorm<>> and Frozen<BatchNorm<>> keep weight and bias; the layer still normalises by the batch,
///           and moves the running statistics. In a Frozen<KeepStatistics, ...> it normalises by the running
///           statistics, which stay: d_x = gain · rstd · d_y
/// source    Ioffe, Szegedy 2015, algorithms 1 and 2; running statistics as in PyTorch
/// error     Mean and variance are sums in at least fp32. The rows of a batch are cut into chunks; a sum rounds once
///           for each row of a chunk, once for each chunk, and once for each rank. A chunk has up to 8 rows; more than
///           1024 rows are cut into 128 chunks (of more than 8192 channels: 2^20 / C). The number of rows has the type
///           of statistics; fp32 is exact up to 2^24
/// source    of OverRanks: Chan, Golub, LeVeque 1983, eq. 2.1, for means and squares, which avoids cancellation
/// cost      x three times and y; saves x and 2·C statistics. OverRanks: x once more, forward and backward; each rank
///           sends 2·C + 1 numbers to each other rank, forward and backward, and again if Checkpoint recomputes
///           forward; it waits for the slowest rank. It sends none in evaluation, on one rank, and if no gradient
///           leaves backward
template <class... Options>
using BatchNorm = boost::mp11::mp_apply<in_order::BatchNorm, typename detail::types_in_order<Options...>::type>;

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
