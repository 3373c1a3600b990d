// regimen/kernel/recurrent.hpp — one position of an LSTM and of a GRU: a lane takes columns of a sample's state.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/kernel/body.hpp>

#include <cmath>
#include <cstddef>
#include <type_traits>

// The products with the weights are done: what is left depends on one column of one sample, so a lane computes all
// gates of its columns. The gates of a column lie `columns` apart, as rows of the gates' tensor: row 4 · r + g is gate
// g of row r of an LSTM (3 · r + g of a GRU), so that neighbouring lanes read neighbours in each gate.
//
// Rows of tensors (samples,length,columns) are `length` apart from sample to sample: the tensors begin at the position.
// Gates overwrite their sums, since backward reads the gates alone.
#if defined(__CUDACC__) && !defined(REGIMEN_HD_CHECKED)
#pragma nv_diagnostic push
#pragma nv_diag_suppress 20011, 20014  // as kernel/body.hpp
#endif

namespace regimen::kernel {

// ---- of one column; registers of the CPU have functions of the same names

template <class S>
  requires std::is_floating_point_v<S>
REGIMEN_HD S sigmoid(S x) {
  return S(1) / (S(1) + std::exp(-x));
}
template <class S>
  requires std::is_floating_point_v<S>
REGIMEN_HD S tanh(S x) {
  return std::tanh(x);
}
template <class S>
  requires std::is_floating_point_v<S>
REGIMEN_HD S multiply_add(S a, S b, S c) {
  return a * b + c;
}

namespace detail {

/// An element of a cell is as much work as sixteen of a sum.
REGIMEN_HD constexpr Extent extent_of_cells(std::size_t rows, std::size_t columns) { return {rows, columns, 16}; }

/// The numbers of a row, or 0 where there are none.
REGIMEN_HD auto load_or_zero(const auto& lane, const auto* from, std::size_t row) {
  return from == nullptr ? lane.number(0) : lane.load(from, row);
}

}  // namespace detail

/// i, f, o = σ(s₀, s₁, s₃), g = tanh(s₂) of the sums s of gates, hidden and biases; c = f · c_before + i · g, y = o ·
/// tanh(c). c is kept in S: rounded to T at each position it would lose what many positions add. h is y again, row
/// behind row, as the next position's product reads it.
template <class T, class At>
struct Body<op::LstmCell<T>, At> final {
  using Number = statistic_t<T>;
  const op::LstmCell<T>& o;
  const At& at;
  std::size_t rows = o.rows, columns = o.columns, length = o.length;
  T *gates = at(o.gates), *y = at(o.y), *h = at(o.h);
  const T *bias_ih = at.optional(o.bias_ih), *bias_hh = at.optional(o.bias_hh);
  const Number *hidden = at.optional(o.hidden), *c_before = at.optional(o.c_before);
  Number* c = at(o.c);

  REGIMEN_HD constexpr Extent extent() const { return detail::extent_of_cells(rows, columns); }
  REGIMEN_HD void operator()(std::size_t row, const auto& lane) const {
    const std::size_t here = row * length, gate = here * 4;
    const auto sum = [&](std::size_t part) {
      auto s = lane.load(gates, gate + part);
      if (hidden != nullptr) s += lane.load(hidden, row * 4 + part);
      if (bias_ih != nullptr) s += lane.load(bias_ih, part) + lane.load(bias_hh, part);
      return s;
    };
    const auto in = sigmoid(sum(0)), forget = sigmoid(sum(1)), g = tanh(sum(2)), out = sigmoid(sum(3));
    const auto cell = multiply_add(forget, detail::load_or_zero(lane, c_before, here), in * g),
               value = out * tanh(cell);
    lane.store(in, gates, gate);
    lane.store(forget, gates, gate + 1);
    lane.store(g, gates, gate + 2);
    lane.store(out, gates, gate + 3);
    lane.store(cell, c, here);
    lane.store(value, y, here);
    lane.store(value, h, row);
  }
};

/// d_h = d_y + d_hidden, e = d_h · o · (1 − tanh²(c)) + d_c of the position behind; then
///   d_s = (e · g · i (1 − i), e · c_before · f (1 − f), e · i · (1 − g²), d_h · tanh(c) · o (1 − o)),   d_c = e · f.
/// 1 − t² is (1 − t)(1 + t), which keeps its digits where t is nearly 1. d_s is written twice: over the gates, for the
/// gradients of weights over all positions, and to d_gates, row behind row, for the product with the hidden weights.
template <class T, class At>
struct Body<op::LstmCellBackward<T>, At> final {
  using Number = statistic_t<T>;
  const op::LstmCellBackward<T>& o;
  const At& at;
  std::size_t rows = o.rows, columns = o.columns, length = o.length;
  T *gates = at(o.gates), *d_gates = at(o.d_gates);
  const T* d_y = at(o.d_y);
  const Number *c = at(o.c), *c_before = at.optional(o.c_before), *d_hidden = at.optional(o.d_hidden);
  Number* d_c = at(o.d_c);

  REGIMEN_HD constexpr Extent extent() const { return detail::extent_of_cells(rows, columns); }
  REGIMEN_HD void operator()(std::size_t row, const auto& lane) const {
    const std::size_t here = row * length, gate = here * 4;
    const auto in = lane.load(gates, gate), forget = lane.load(gates, gate + 1), g = lane.load(gates, gate + 2),
               out = lane.load(gates, gate + 3), t = tanh(lane.load(c, here)), one = lane.number(1);
    const auto d_h = lane.load(d_y, here) + detail::load_or_zero(lane, d_hidden, row);
    const auto later = d_hidden == nullptr ? lane.number(0) : lane.load(d_c, row);
    const auto e = multiply_add(d_h * out, (one - t) * (one + t), later);
    const auto both = [&](std::size_t part, const auto& value) {
      lane.store(value, gates, gate + part);
      lane.store(value, d_gates, row * 4 + part);
    };
    both(0, e * g * in * (one - in));
    both(1, e * detail::load_or_zero(lane, c_before, here) * forget * (one - forget));
    both(2, e * in * (one - g) * (one + g));
    both(3, d_h * t * out * (one - out));
    lane.store(e * forget, d_c, row);
  }
};

/// r, z = σ(s + k) of the sums s of the input and k of the state, n = tanh(s₂ + r · q) with q = k₂;
/// y = (1 − z) · n + z · state_before. The input's and the state's sums of the third gate stay apart, since r
/// multiplies one of them: q goes to `inner`, for backward. The state is carried in S, y and h are rounded copies.
template <class T, class At>
struct Body<op::GruCell<T>, At> final {
  using Number = statistic_t<T>;
  const op::GruCell<T>& o;
  const At& at;
  std::size_t rows = o.rows, columns = o.columns, length = o.length;
  T *gates = at(o.gates), *inner = at(o.inner), *y = at(o.y), *h = at(o.h);
  const T *bias_ih = at.optional(o.bias_ih), *bias_hh = at.optional(o.bias_hh);
  const Number *hidden = at.optional(o.hidden), *state_before = at.optional(o.state_before);
  Number* state = at(o.state);

  REGIMEN_HD constexpr Extent extent() const { return detail::extent_of_cells(rows, columns); }
  REGIMEN_HD void operator()(std::size_t row, const auto& lane) const {
    const std::size_t here = row * length, gate = here * 3;
    const auto of_input = [&](std::size_t part) {
      const auto s = lane.load(gates, gate + part);
      return bias_ih == nullptr ? s : s + lane.load(bias_ih, part);
    };
    const auto of_state = [&](std::size_t part) {
      const auto k = detail::load_or_zero(lane, hidden, row * 3 + part);
      return bias_hh == nullptr ? k : k + lane.load(bias_hh, part);
    };
    const auto reset = sigmoid(of_input(0) + of_state(0)), z = sigmoid(of_input(1) + of_state(1)), q = of_state(2),
               fresh = tanh(multiply_add(reset, q, of_input(2)));
    const auto value = multiply_add(z, detail::load_or_zero(lane, state_before, row), (lane.number(1) - z) * fresh);
    lane.store(reset, gates, gate);
    lane.store(z, gates, gate + 1);
    lane.store(fresh, gates, gate + 2);
    lane.store(q, inner, here);
    lane.store(value, state, row);
    lane.store(value, y, here);
    lane.store(value, h, row);
  }
};

/// With e = d_h · (1 − z) · (1 − n²): d_s = (e · q · r (1 − r), d_h · (y_before − n) · z (1 − z), e), d_q = e · r, and
/// d_state = d_h · z. The gates of d_s and of d_gates differ in the third alone: e for the input, d_q for the state.
template <class T, class At>
struct Body<op::GruCellBackward<T>, At> final {
  using Number = statistic_t<T>;
  const op::GruCellBackward<T>& o;
  const At& at;
  std::size_t rows = o.rows, columns = o.columns, length = o.length;
  T *gates = at(o.gates), *inner = at(o.inner), *d_gates = at(o.d_gates);
  const T *d_y = at(o.d_y), *y_before = at.optional(o.y_before);
  Number* d_state = at(o.d_state);
  bool is_last = o.is_last;

  REGIMEN_HD constexpr Extent extent() const { return detail::extent_of_cells(rows, columns); }
  REGIMEN_HD void operator()(std::size_t row, const auto& lane) const {
    const std::size_t here = row * length, gate = here * 3, d_gate = row * 3;
    const auto reset = lane.load(gates, gate), z = lane.load(gates, gate + 1), fresh = lane.load(gates, gate + 2),
               q = lane.load(inner, here), before = detail::load_or_zero(lane, y_before, here), one = lane.number(1);
    const auto d_h = lane.load(d_y, here) + (is_last ? lane.number(0) : lane.load(d_state, row));
    const auto e = d_h * (one - z) * (one - fresh) * (one + fresh), d_reset = e * q * reset * (one - reset),
               d_z = d_h * (before - fresh) * z * (one - z), d_q = e * reset;
    const auto both = [&](std::size_t part, const auto& value) {
      lane.store(value, gates, gate + part);
      lane.store(value, d_gates, d_gate + part);
    };
    both(0, d_reset);
    both(1, d_z);
    lane.store(e, gates, gate + 2);
    lane.store(d_q, inner, here);
    lane.store(d_q, d_gates, d_gate + 2);
    lane.store(d_h * z, d_state, row);
  }
};

}  // namespace regimen::kernel

#if defined(__CUDACC__) && !defined(REGIMEN_HD_CHECKED)
#pragma nv_diagnostic pop
#endif
// SPDX-License-Identifier: Apache-2.0
