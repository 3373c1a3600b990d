// regimen/layer/recurrent.hpp — Lstm and Gru: layers with a state that passes from position to position.
#pragma once

#include <regimen/layer/layer.hpp>
#include <regimen/layer/linear.hpp>

#include <array>
#include <cstddef>
#include <type_traits>

namespace regimen {

namespace detail {

/// The part that Lstm and Gru share: parameters, and the products of all positions at once and of one position.
///   Parts   rows of the weights, in units of Width
template <std::size_t Width, std::size_t Parts, bool has_bias, class X, class Roles>
struct RecurrentBound : LayerDefaults {
  using T = typename X::Element;
  using S = statistic_t<T>;
  using G = typename Roles::reduce;
  using F = typename Roles::template factor<T>;
  using Element = T;
  using Output = Value<T, typename with_columns<typename X::Shape, Width>::type>;
  static constexpr std::size_t in = X::columns, length = X::rows, wide = Parts * Width;
  /// The product of x, a Linear without bias.
  using OfInput = LinearBound<wide, X, WithoutEpilogues<Roles>, T, BiasIs::absent>;
  static constexpr InitialValue fill{InitialValue::Kind::uniform, inverse_square_root(double(Width))};
  static constexpr auto parameters = [] {
    constexpr Parameter of_input = in_rows("weight_ih", ParameterRole::matrix, wide, in, fill),
                        of_state = in_rows("weight_hh", ParameterRole::matrix, wide, Width, fill);
    if constexpr (has_bias)
      return std::array<Parameter, 4>{of_input, of_state, per_channel("bias_ih", ParameterRole::bias, wide, fill),
                                      per_channel("bias_hh", ParameterRole::bias, wide, fill)};
    else return std::array<Parameter, 2>{of_input, of_state};
  }();

 protected:
  template <std::size_t which>
  static constexpr View<T> bias(const auto& call) {
    if constexpr (has_bias) return {call.parameters[2 + which]};
    else return {};
  }
  /// A position, with the members of op::LstmCell or op::GruCell that are the same for all.
  static constexpr void run_cell(auto& walk, const auto& call, auto cell) {
    cell.bias_ih = bias<0>(call);
    cell.bias_hh = bias<1>(call);
    cell.rows = walk.batch;
    cell.columns = Width;
    cell.length = length;
    walk.run(cell);
  }
  /// gates = x · W_ihᵀ, for all positions.
  static constexpr void run_input(auto& walk, const auto& call, View<T> gates) {
    auto product = call;
    product.y = gates.offset;
    OfInput::forward(walk, product);
  }
  /// gates = x · W_ihᵀ; then cell(t, is_first) of every position, which reads hidden of the position before.
  static constexpr void run_positions(auto& walk, const auto& call, View<T> h, View<S> hidden, auto&& cell) {
    run_input(walk, call, {call.saved[0]});
    cell(0, true);
    walk.repeat(length - 1, [&](std::size_t i) {
      run_hidden(walk, call, h, hidden);
      cell(i + 1, false);
    });
  }
  /// cell(t, is_last) of every position, the last first; then d_x, and the gradient of W_ih.
  ///   adds   whether hidden products add to d_h, or write it
  static constexpr void run_positions_backward(auto& walk, const auto& call, View<T> d_gates, View<S> d_h, bool adds,
                                               auto&& cell) {
    const auto step = [&](std::size_t t) {
      run_hidden_backward(walk, call, d_gates, d_h, adds);
      cell(t, false);
    };
    cell(length - 1, true);
    if constexpr (length > 1) {
      walk.repeat(length - 2, [&](std::size_t i) { step(length - 2 - i); });
      step(0);  // apart, as it has no position before
    }
    auto product = call;
    product.d_y = call.saved[0];
    OfInput::backward(walk, product);
  }
  /// hidden = h · W_hhᵀ, for one position.
  static constexpr void run_hidden(auto& walk, const auto& call, View<T> h, View<S> hidden) {
    walk.run(op::Product<F, F, S>{.a = {h.offset},
                                  .b = {call.parameters[1]},
                                  .c = hidden,
                                  .m = walk.batch,
                                  .n = wide,
                                  .k = Width,
                                  .transpose_b = true,
                                  .in_series = true});
  }
  /// d_h = d_gates · W_hh, or d_h += if `add`, for one position.
  static constexpr void run_hidden_backward(auto& walk, const auto& call, View<T> d_gates, View<S> d_h, bool add) {
    walk.run(op::Product<F, F, S>{.a = {d_gates.offset},
                                  .b = {call.parameters[1]},
                                  .c = d_h,
                                  .m = walk.batch,
                                  .n = Width,
                                  .k = wide,
                                  .add = add,
                                  .in_series = true});
  }
  template <std::size_t which>
  static constexpr void run_bias_backward(auto& walk, const auto& call, View<T> d_gates) {
    if constexpr (has_bias)
      walk.run(sum_of_rows<T, G>(d_gates, {call.gradients[2 + which]}, walk.batch * length, wide, call.add));
  }
  /// The gradient of W_hh: d_gates of every position except a sample's first, times y of the position before. One
  /// product has all rows except the last; first positions get 0, since the row before belongs to another sample.
  ///   zeros   (rows,wide), overwritten
  static constexpr void run_weight_hh_backward(auto& walk, const auto& call, View<T> d_gates, View<T> zeros) {
    const std::size_t rows = walk.batch * length;
    walk.run(op::Zero<T>{.y = zeros, .count = wide});
    walk.run(copy_of_rows<T>({zeros.offset, 0}, {d_gates.offset, length * wide}, walk.batch, wide));
    walk.run(op::Product<F, F, G>{.a = {(d_gates + wide).offset},
                                  .b = {call.y},
                                  .c = {call.gradients[1]},
                                  .m = wide,
                                  .n = Width,
                                  .k = rows > 0 ? rows - 1 : 0,
                                  .transpose_a = true,
                                  .add = call.add});
  }
};

// For incremental decoding (layer/decoding.hpp), LstmBound and GruBound have
//   ScratchOfOne                   scratch of one position: first hidden, then gates
//   keeps_state                    whether a state is kept besides h
//   run_one, copy_state            one position; the state after each position, after forward

template <std::size_t Width, bool has_bias, class X, class Roles>
struct LstmBound : RecurrentBound<Width, 4, has_bias, X, Roles> {
  using Base = RecurrentBound<Width, 4, has_bias, X, Roles>;
  using Base::length, Base::wide;
  using typename Base::G;
  using typename Base::S;
  using typename Base::T;
  using Saved = Tensors<PerSample<T, length * wide>, PerSample<S, length * Width>>;  // gates, c
  using ForwardScratch = Tensors<PerSample<S, wide>, PerSample<T, Width>>;           // the state's product, h
  using BackwardScratch = Tensors<PerSample<T, wide>, PerSample<S, Width>, PerSample<S, Width>>;  // of gates, h, c
  using ScratchOfOne = Tensors<PerSample<S, wide>, PerSample<T, wide>>;                           // hidden, gates
  static constexpr bool keeps_state = true;
  static constexpr Reads backward_reads(bool trains) { return trains ? Reads::input_and_output : Reads::nothing; }

  static constexpr void run_one(auto& walk, const auto& call, View<S> c_before, View<S> c, View<T> h) {
    Base::run_cell(walk, call,
                   op::LstmCell<T>{.gates = {call.scratch[1]},
                                   .hidden = {call.scratch[0]},
                                   .c_before = c_before,
                                   .c = c,
                                   .y = {call.y},
                                   .h = h});
  }
  static constexpr void copy_state(auto& walk, const auto& call, View<S> c) {
    walk.run(op::Copy<S>{.x = {call.saved[1]}, .y = c, .count = length * Width});
  }

  static constexpr void forward(auto& walk, const auto& call) {
    const View<T> gates{call.saved[0]}, h{call.scratch[1]};
    const View<S> c{call.saved[1]}, hidden{call.scratch[0]};
    const auto cell = [&](std::size_t t, bool first) {
      Base::run_cell(walk, call,
                     op::LstmCell<T>{.gates = gates + t * wide,
                                     .hidden = first ? View<S>{} : hidden,
                                     .c_before = first ? View<S>{} : c + (t - 1) * Width,
                                     .c = c + t * Width,
                                     .y = View<T>{call.y} + t * Width,
                                     .h = h});
    };
    Base::run_positions(walk, call, h, hidden, cell);
  }
  static constexpr void backward(auto& walk, const auto& call) {
    const View<T> gates{call.saved[0]}, d_gates{call.scratch[0]};
    const View<S> c{call.saved[1]}, d_hidden{call.scratch[1]}, d_c{call.scratch[2]};
    const auto cell = [&](std::size_t t, bool last) {
      walk.run(op::LstmCellBackward<T>{.gates = gates + t * wide,
                                       .c = c + t * Width,
                                       .c_before = t == 0 ? View<S>{} : c + (t - 1) * Width,
                                       .d_y = View<T>{call.d_y} + t * Width,
                                       .d_hidden = last ? View<S>{} : d_hidden,
                                       .d_c = d_c,
                                       .d_gates = d_gates,
                                       .rows = walk.batch,
                                       .columns = Width,
                                       .length = length});
    };
    Base::run_positions_backward(walk, call, d_gates, d_hidden, false, cell);
    if (!call.trains()) return;
    Base::template run_bias_backward<0>(walk, call, gates);
    if constexpr (has_bias)  // both biases have the same gradient
      walk.run(op::Copy<G>{.x = {call.gradients[2]}, .y = {call.gradients[3]}, .count = wide});
    Base::run_weight_hh_backward(walk, call, gates, d_gates);
  }
};

template <std::size_t Width, bool has_bias, class X, class Roles>
struct GruBound : RecurrentBound<Width, 3, has_bias, X, Roles> {
  using Base = RecurrentBound<Width, 3, has_bias, X, Roles>;
  using Base::length, Base::wide;
  using typename Base::S;
  using typename Base::T;
  using Saved = Tensors<PerSample<T, length * wide>, PerSample<T, length * Width>>;  // gates, the inner product
  using ForwardScratch =
      Tensors<PerSample<S, wide>, PerSample<T, Width>, PerSample<S, Width>>;  // the state's product, h, the state
  using BackwardScratch = Tensors<PerSample<T, wide>, PerSample<S, Width>>;   // of gates, the state
  using ScratchOfOne = Tensors<PerSample<S, wide>, PerSample<T, wide>, PerSample<T, Width>>;  // hidden, gates, inner
  static constexpr bool keeps_state = !std::is_same_v<T, S>;
  static constexpr Reads backward_reads(bool trains) { return trains ? Reads::input_and_output : Reads::output; }

  static constexpr void run_one(auto& walk, const auto& call, View<S> state_before, View<S> state, View<T> h) {
    Base::run_cell(walk, call,
                   op::GruCell<T>{.gates = {call.scratch[1]},
                                  .hidden = {call.scratch[0]},
                                  .inner = {call.scratch[2]},
                                  .state_before = state_before,
                                  .state = state,
                                  .y = {call.y},
                                  .h = h});
  }
  /// After a whole window the state is h, rounded.
  static constexpr void copy_state(auto& walk, const auto& call, View<S> state) {
    walk.run(op::Cast<T, S>{.x = {call.y}, .y = state, .count = length * Width});
  }

  static constexpr void forward(auto& walk, const auto& call) {
    const View<T> gates{call.saved[0]}, inner{call.saved[1]}, h{call.scratch[1]};
    const View<S> hidden{call.scratch[0]}, state{call.scratch[2]};
    const auto cell = [&](std::size_t t, bool first) {
      Base::run_cell(walk, call,
                     op::GruCell<T>{.gates = gates + t * wide,
                                    .hidden = first ? View<S>{} : hidden,
                                    .inner = inner + t * Width,
                                    .state_before = first ? View<S>{} : state,
                                    .state = state,
                                    .y = View<T>{call.y} + t * Width,
                                    .h = h});
    };
    Base::run_positions(walk, call, h, hidden, cell);
  }
  static constexpr void backward(auto& walk, const auto& call) {
    const View<T> gates{call.saved[0]}, inner{call.saved[1]}, d_gates{call.scratch[0]};
    const View<S> d_state{call.scratch[1]};
    const auto cell = [&](std::size_t t, bool last) {
      walk.run(op::GruCellBackward<T>{.gates = gates + t * wide,
                                      .inner = inner + t * Width,
                                      .y_before = t == 0 ? View<T>{} : View<T>{call.y} + (t - 1) * Width,
                                      .d_y = View<T>{call.d_y} + t * Width,
                                      .d_state = d_state,
                                      .d_gates = d_gates,
                                      .rows = walk.batch,
                                      .columns = Width,
                                      .length = length,
                                      .is_last = last});
    };
    Base::run_positions_backward(walk, call, d_gates, d_state, true, cell);
    if (!call.trains()) return;
    Base::template run_bias_backward<0>(walk, call, gates);
    // The gradients of both products differ only in the last part.
    walk.run(copy_of_rows<T>({inner.offset, Width}, {(gates + 2 * Width).offset, wide}, walk.batch * length, Width));
    Base::template run_bias_backward<1>(walk, call, gates);
    Base::run_weight_hh_backward(walk, call, gates, d_gates);
  }
};

/// Whether `More` is nothing or NoBias.
template <auto... More>
inline constexpr bool only_no_bias = sizeof...(More) == 0;
template <>
inline constexpr bool only_no_bias<NoBias> = true;
}  // namespace detail

/// Long short-term memory. With s_t = W_ih x_t + b_ih + W_hh h_{t-1} + b_hh in four parts of Width,
/// h_{-1} = c_{-1} = 0:
///
///   i, f, g, o = σ(s⁰), σ(s¹), tanh(s²), σ(s³)     c_t = f · c_{t-1} + i · g     y_t = h_t = o · tanh(c_t)
///
///   x (B,T,C), y (B,T,Width)      the compute type
///   weight_ih (4·Width,C), weight_hh (4·Width,Width), bias_ih, bias_hh (4·Width)
///                                 uniform in ±1/√Width; the names, the parts and their order are those of PyTorch
///   i, f, g, o (B,T,4·Width)      the compute type; c (B,T,Width) at least fp32; both saved
///   options                       NoBias: Lstm<Width, NoBias>
///
/// error    W_ih x is rounded to the compute type; W_hh h, the sum s, the gates and c are at least fp32. h is rounded
///          once, before the product of the next position, c never; the gates are rounded once, for backward; gradients
///          of s once
/// cost     2·B·T·4·Width·(C + Width) flops forward, twice that backward: one product of all positions, then for each
///          position one of (B,Width) by (Width,4·Width) and one elementwise operation, in order. Saves x, y and
///          B·T·(16·Width + 4·Width) bytes in fp32, B·T·(8·Width + 4·Width) in bf16. Selective<...> cannot name it
/// refuses  an input that is not (B,T,C); options other than NoBias
/// decodes  incrementally, with h and c of every position of the window as its cache
/// source   Hochreiter, Schmidhuber 1997, with the forget gate of Gers, Schmidhuber, Cummins 2000
template <std::size_t Width, auto... More>
struct Lstm final {
  static constexpr const char* name = "lstm";
  static constexpr bool couples_samples = false, reads_own_output = true;
  static constexpr bool takes_options = detail::only_no_bias<More...>;
  template <class X, class Roles>
  using Bound = detail::LstmBound<Width, sizeof...(More) == 0, X, Roles>;
};

/// Gated recurrent unit. With s_t = W_ih x_t + b_ih and k_t = W_hh h_{t-1} + b_hh in three parts of Width, h_{-1} = 0:
///
///   r, z, n = σ(s⁰ + k⁰), σ(s¹ + k¹), tanh(s² + r · k²)     y_t = h_t = (1 − z) · n + z · h_{t-1}
///
///   x (B,T,C), y (B,T,Width)      the compute type
///   weight_ih (3·Width,C), weight_hh (3·Width,Width), bias_ih, bias_hh (3·Width)
///                                 uniform in ±1/√Width; the names, the parts and their order are those of PyTorch
///   r, z, n (B,T,3·Width), k² (B,T,Width)   the compute type, saved
///   options                       NoBias: Gru<Width, NoBias>
///
/// error    W_ih x is rounded to the compute type; W_hh h, the sums, the gates and the state h are at least fp32. The
///          product of the next position reads h rounded once; the gates are rounded once, for backward, which reads h
///          from y; gradients of sums once
/// cost     as Lstm, with 3·Width in place of 4·Width; saves x, y and B·T·16·Width bytes in fp32, half in bf16.
///          Selective<...> cannot name it
/// refuses  as Lstm
/// decodes  incrementally, with h of every position of the window as its cache
/// source   Cho et al. 2014; the reset gate after the product, as in version 1 of that paper's preprint and in PyTorch
template <std::size_t Width, auto... More>
struct Gru final {
  static constexpr const char* name = "gru";
  static constexpr bool couples_samples = false, reads_own_output = true;
  static constexpr bool takes_options = detail::only_no_bias<More...>;
  template <class X, class Roles>
  using Bound = detail::GruBound<Width, sizeof...(More) == 0, X, Roles>;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
