// regimen/engine/cpu/recurrent.hpp — one position of an LSTM and of a GRU.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/math.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/simd.hpp>
#include <regimen/engine/cpu/sweep.hpp>

#include <algorithm>
#include <cstddef>

namespace regimen::cpu {

namespace detail {

/// body(row, i, count) for registers of columns. An element of a cell is as much work as sixteen of a sum.
template <class S, class Body>
void for_cells(std::size_t rows, std::size_t columns, const Body& body) {
  const std::size_t chunks = (std::min)(chunks_of(16 * rows * columns), rows);
  parallel_for(chunks, [&](std::size_t chunk) {
    for (std::size_t row = part_begin(rows, chunks, chunk); row < part_begin(rows, chunks, chunk + 1); ++row)
      for_each_vector<S>(0, columns, [&](std::size_t i, auto n) { body(row, i, n); });
  });
}

/// The numbers at from[i], or 0 where there are none.
template <class S, class T, class Count>
Vector<S> load_or_zero(const T* from, std::size_t i, Count n) {
  return from == nullptr ? Vector<S>(S(0)) : load<S>(from + i, n);
}

}  // namespace detail

template <class T>
void compute(const op::LstmCell<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  using V = Vector<S>;
  const std::size_t w = o.columns;
  T *const gates = at(o.gates), *const y = at(o.y), *const h = at(o.h);
  const T *const bias_ih = at.optional(o.bias_ih), *const bias_hh = at.optional(o.bias_hh);
  const S *const hidden = at.optional(o.hidden), *const c_before = at.optional(o.c_before);
  S* const c = at(o.c);
  detail::for_cells<S>(o.rows, w, [&](std::size_t row, std::size_t i, auto n) {
    T* const gate = gates + row * o.length * 4 * w + i;
    const auto sum = [&](std::size_t part) {
      V s = load<S>(gate + part * w, n);
      if (hidden != nullptr) s += load<S>(hidden + (row * 4 + part) * w + i, n);
      if (bias_ih != nullptr) s += load<S>(bias_ih + part * w + i, n) + load<S>(bias_hh + part * w + i, n);
      return s;
    };
    const V in = sigmoid(sum(0)), forget = sigmoid(sum(1)), g = tanh(sum(2)), out = sigmoid(sum(3));
    const std::size_t here = row * o.length * w + i;
    const V cell = multiply_add(forget, detail::load_or_zero<S>(c_before, here, n), in * g), value = out * tanh(cell);
    store(in, gate, n);
    store(forget, gate + w, n);
    store(g, gate + 2 * w, n);
    store(out, gate + 3 * w, n);
    store(cell, c + here, n);
    store(value, y + here, n);
    store(value, h + row * w + i, n);
  });
}

template <class T>
void compute(const op::LstmCellBackward<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  using V = Vector<S>;
  const std::size_t w = o.columns;
  T *const gates = at(o.gates), *const d_gates = at(o.d_gates);
  const T* const d_y = at(o.d_y);
  const S *const c = at(o.c), *const c_before = at.optional(o.c_before), *const d_hidden = at.optional(o.d_hidden);
  S* const d_c = at(o.d_c);
  detail::for_cells<S>(o.rows, w, [&](std::size_t row, std::size_t i, auto n) {
    T* const gate = gates + row * o.length * 4 * w + i;
    const std::size_t here = row * o.length * w + i, dense = row * w + i;
    const V in = load<S>(gate, n), forget = load<S>(gate + w, n), g = load<S>(gate + 2 * w, n),
            out = load<S>(gate + 3 * w, n), t = tanh(load<S>(c + here, n)), one = S(1);
    const V d_h = load<S>(d_y + here, n) + detail::load_or_zero<S>(d_hidden, dense, n);
    const V later = d_hidden == nullptr ? V(S(0)) : load<S>(d_c + dense, n);
    const V e = multiply_add(d_h * out, (one - t) * (one + t), later);
    const auto both = [&](std::size_t part, V value) {
      store(value, gate + part * w, n);
      store(value, d_gates + (row * 4 + part) * w + i, n);
    };
    both(0, e * g * in * (one - in));
    both(1, e * detail::load_or_zero<S>(c_before, here, n) * forget * (one - forget));
    both(2, e * in * (one - g) * (one + g));
    both(3, d_h * t * out * (one - out));
    store(e * forget, d_c + dense, n);
  });
}

template <class T>
void compute(const op::GruCell<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  using V = Vector<S>;
  const std::size_t w = o.columns;
  T *const gates = at(o.gates), *const inner = at(o.inner), *const y = at(o.y), *const h = at(o.h);
  const T *const bias_ih = at.optional(o.bias_ih), *const bias_hh = at.optional(o.bias_hh);
  const S *const hidden = at.optional(o.hidden), *const state_before = at.optional(o.state_before);
  S* const state = at(o.state);
  detail::for_cells<S>(o.rows, w, [&](std::size_t row, std::size_t i, auto n) {
    T* const gate = gates + row * o.length * 3 * w + i;
    const auto of_input = [&](std::size_t part) {
      const V s = load<S>(gate + part * w, n);
      return bias_ih == nullptr ? s : s + load<S>(bias_ih + part * w + i, n);
    };
    const auto of_state = [&](std::size_t part) {
      const V k = detail::load_or_zero<S>(hidden, (row * 3 + part) * w + i, n);
      return bias_hh == nullptr ? k : k + load<S>(bias_hh + part * w + i, n);
    };
    const V reset = sigmoid(of_input(0) + of_state(0)), z = sigmoid(of_input(1) + of_state(1)), q = of_state(2),
            fresh = tanh(multiply_add(reset, q, of_input(2)));
    const std::size_t here = row * o.length * w + i, dense = row * w + i;
    const V value = multiply_add(z, detail::load_or_zero<S>(state_before, dense, n), (V(S(1)) - z) * fresh);
    store(reset, gate, n);
    store(z, gate + w, n);
    store(fresh, gate + 2 * w, n);
    store(q, inner + here, n);
    store(value, state + dense, n);
    store(value, y + here, n);
    store(value, h + dense, n);
  });
}

template <class T>
void compute(const op::GruCellBackward<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  using V = Vector<S>;
  const std::size_t w = o.columns;
  T *const gates = at(o.gates), *const inner = at(o.inner), *const d_gates = at(o.d_gates);
  const T *const d_y = at(o.d_y), *const y_before = at.optional(o.y_before);
  S* const d_state = at(o.d_state);
  detail::for_cells<S>(o.rows, w, [&](std::size_t row, std::size_t i, auto n) {
    T* const gate = gates + row * o.length * 3 * w + i;
    T* const d_gate = d_gates + row * 3 * w + i;
    const std::size_t here = row * o.length * w + i, dense = row * w + i;
    const V reset = load<S>(gate, n), z = load<S>(gate + w, n), fresh = load<S>(gate + 2 * w, n),
            q = load<S>(inner + here, n), before = detail::load_or_zero<S>(y_before, here, n), one = S(1);
    const V d_h = load<S>(d_y + here, n) + (o.is_last ? V(S(0)) : load<S>(d_state + dense, n));
    const V e = d_h * (one - z) * (one - fresh) * (one + fresh), d_reset = e * q * reset * (one - reset),
            d_z = d_h * (before - fresh) * z * (one - z), d_q = e * reset;
    store(d_reset, gate, n);
    store(d_reset, d_gate, n);
    store(d_z, gate + w, n);
    store(d_z, d_gate + w, n);
    store(e, gate + 2 * w, n);
    store(d_q, inner + here, n);
    store(d_q, d_gate + 2 * w, n);
    store(d_h * z, d_state + dense, n);
  });
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
