// regimen/core/operation/recurrent.hpp — one position of an LSTM and of a GRU: what lies between their products.
//
// Rows are samples, W columns. Tensors of a whole layer, (samples,length,·), are views of the position's first row;
// from sample to sample they are `length` positions apart. All others are dense.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/core/operation/scalars.hpp>
#include <regimen/core/view.hpp>

#include <cstddef>

namespace regimen::op {

/// With s = gates + hidden + bias_ih + bias_hh, in S, in four parts of W columns:
///   i = σ(s₀), f = σ(s₁), g = tanh(s₂), o = σ(s₃);  c = f · c_before + i · g;  y = h = o · tanh(c)
///   gates (samples,length,4W)   the input's product; becomes i, f, g, o, each rounded once
///   c_before, c (samples,length,W) S; y (samples,length,W); h (rows,W); hidden (rows,4W) S; biases (4W)
///   hidden and c_before are absent where there is no position before, the biases where the layer has none
template <class T>
struct LstmCell final {
  static constexpr const char* name = "lstm_cell";
  using S = statistic_t<T>;
  View<T> gates;
  View<S> hidden{};
  View<T> bias_ih{}, bias_hh{};
  View<S> c_before{}, c;
  View<T> y, h;
  std::size_t rows = 0, columns = 0, length = 1;

  constexpr Cost cost() const {
    const double elements = double(rows * columns);
    const bool first = hidden.is_absent();
    return {(first ? 54 : 60) * elements, elements * double(10 * sizeof(T) + (first ? 1 : 6) * sizeof(S)), 1};
  }
};

/// With d_h = d_y + d_hidden and e = d_c + d_h · o · (1 − tanh²(c)):
///   gates becomes d_s = (e · g · i · (1 − i), e · c_before · f · (1 − f), e · i · (1 − g²),
///   d_h · tanh(c) · o · (1 − o)), which is copied to d_gates (rows,4W);  d_c = e · f
///   gates, c, c_before as above; d_y (samples,length,W); d_hidden, d_c (rows,W) S
///   d_hidden is absent at the last position, where d_c is only written; c_before at the first
template <class T>
struct LstmCellBackward final {
  static constexpr const char* name = "lstm_cell_backward";
  using S = statistic_t<T>;
  View<T> gates;
  View<S> c, c_before{};
  View<T> d_y;
  View<S> d_hidden{}, d_c;
  View<T> d_gates;
  std::size_t rows = 0, columns = 0, length = 1;

  constexpr Cost cost() const {
    const double elements = double(rows * columns);
    const std::size_t states = 2 + (c_before.is_absent() ? 0 : 1) + (d_hidden.is_absent() ? 0 : 2);
    return {40 * elements, elements * double(13 * sizeof(T) + states * sizeof(S)), 1};
  }
};

/// With s = gates + bias_ih and k = hidden + bias_hh, in S, in three parts of W columns:
///   r = σ(s₀ + k₀), z = σ(s₁ + k₁), q = k₂, n = tanh(s₂ + r · q);  y = h = state = (1 − z) · n + z · state_before
///   gates (samples,length,3W)   the input's product; becomes r, z, n, each rounded once
///   inner (samples,length,W) becomes q; y (samples,length,W); h (rows,W); hidden (rows,3W) S; biases (3W)
///   state_before, state (rows,W) S   carried from position to position without another rounding; may be one tensor
///   hidden and state_before are absent where there is no position before
template <class T>
struct GruCell final {
  static constexpr const char* name = "gru_cell";
  using S = statistic_t<T>;
  View<T> gates;
  View<S> hidden{};
  View<T> bias_ih{}, bias_hh{};
  View<T> inner;
  View<S> state_before{}, state;
  View<T> y, h;
  std::size_t rows = 0, columns = 0, length = 1;

  constexpr Cost cost() const {
    const double elements = double(rows * columns);
    const bool first = hidden.is_absent();
    return {(first ? 40 : 48) * elements, elements * double(9 * sizeof(T) + (first ? 1 : 5) * sizeof(S)), 1};
  }
};

/// With d_h = d_y + d_state, e = d_h · (1 − z) · (1 − n²) and h_before = y_before:
///   gates becomes (e · q · r · (1 − r), d_h · (h_before − n) · z · (1 − z), e), inner becomes e · r, and d_gates
///   (rows,3W) is gates with inner in place of e;  d_state = d_h · z, to which the hidden product's gradient is still
///   to be added
///   gates, inner as above; y_before, d_y (samples,length,W); d_state (rows,W) S
///   is_last: d_state is only written; y_before is absent at the first position
template <class T>
struct GruCellBackward final {
  static constexpr const char* name = "gru_cell_backward";
  using S = statistic_t<T>;
  View<T> gates, inner;
  View<T> y_before{};
  View<T> d_y;
  View<S> d_state;
  View<T> d_gates;
  std::size_t rows = 0, columns = 0, length = 1;
  bool is_last = false;

  constexpr Cost cost() const {
    const double elements = double(rows * columns);
    const std::size_t numbers = y_before.is_absent() ? 12 : 13, states = is_last ? 1 : 2;
    return {24 * elements, elements * double(numbers * sizeof(T) + states * sizeof(S)), 1};
  }
};

}  // namespace regimen::op
// SPDX-License-Identifier: Apache-2.0
