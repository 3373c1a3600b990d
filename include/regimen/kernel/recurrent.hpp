// regimen/kernel/recurrent.hpp — one position of an LSTM and of a GRU: a thread for an element of the state.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/kernel/block.hpp>

#include <cmath>
#include <cstddef>

namespace regimen::kernel {

namespace detail {

inline constexpr unsigned cell_threads = 128;

template <class S>
REGIMEN_HD S sigmoid_of(S x) {
  return S(1) / (S(1) + std::exp(-x));
}
/// from[i], or 0 where there is nothing.
template <class S, class T>
REGIMEN_HD S value_or_zero(const T* from, std::size_t i) {
  return from == nullptr ? S(0) : static_cast<S>(from[i]);
}

}  // namespace detail

template <class T>
struct Kernel<op::LstmCell<T>> final {
  using S = statistic_t<T>;
  static constexpr unsigned threads = detail::cell_threads;
  op::LstmCell<T> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.rows * o.columns, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const std::size_t w = o.columns;
    T *const gates = at(o.gates), *const y = at(o.y), *const h = at(o.h);
    const T *const bias_ih = at.optional(o.bias_ih), *const bias_hh = at.optional(o.bias_hh);
    const S *const hidden = at.optional(o.hidden), *const c_before = at.optional(o.c_before);
    S* const c = at(o.c);
    for_pieces(block, o.rows * w, [&](std::size_t dense) {
      const std::size_t row = dense / w, i = dense % w, here = row * o.length * w + i;
      T* const gate = gates + row * o.length * 4 * w + i;
      const auto sum = [&](std::size_t part) {
        S s = static_cast<S>(gate[part * w]) + detail::value_or_zero<S>(hidden, (row * 4 + part) * w + i);
        if (bias_ih != nullptr) s += static_cast<S>(bias_ih[part * w + i]) + static_cast<S>(bias_hh[part * w + i]);
        return s;
      };
      const S in = detail::sigmoid_of(sum(0)), forget = detail::sigmoid_of(sum(1)), g = std::tanh(sum(2)),
              out = detail::sigmoid_of(sum(3));
      const S cell = forget * detail::value_or_zero<S>(c_before, here) + in * g, value = out * std::tanh(cell);
      gate[0] = static_cast<T>(in);
      gate[w] = static_cast<T>(forget);
      gate[2 * w] = static_cast<T>(g);
      gate[3 * w] = static_cast<T>(out);
      c[here] = cell;
      y[here] = static_cast<T>(value);
      h[dense] = static_cast<T>(value);
    });
  }
};

template <class T>
struct Kernel<op::LstmCellBackward<T>> final {
  using S = statistic_t<T>;
  static constexpr unsigned threads = detail::cell_threads;
  op::LstmCellBackward<T> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.rows * o.columns, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const std::size_t w = o.columns;
    T *const gates = at(o.gates), *const d_gates = at(o.d_gates);
    const T* const d_y = at(o.d_y);
    const S *const c = at(o.c), *const c_before = at.optional(o.c_before), *const d_hidden = at.optional(o.d_hidden);
    S* const d_c = at(o.d_c);
    for_pieces(block, o.rows * w, [&](std::size_t dense) {
      const std::size_t row = dense / w, i = dense % w, here = row * o.length * w + i;
      T* const gate = gates + row * o.length * 4 * w + i;
      T* const d_gate = d_gates + row * 4 * w + i;
      const S in = static_cast<S>(gate[0]), forget = static_cast<S>(gate[w]), g = static_cast<S>(gate[2 * w]),
              out = static_cast<S>(gate[3 * w]), t = std::tanh(c[here]);
      const S d_h = static_cast<S>(d_y[here]) + detail::value_or_zero<S>(d_hidden, dense);
      const S e = d_h * out * ((S(1) - t) * (S(1) + t)) + (d_hidden == nullptr ? S(0) : d_c[dense]);
      gate[0] = d_gate[0] = static_cast<T>(e * g * in * (S(1) - in));
      gate[w] = d_gate[w] = static_cast<T>(e * detail::value_or_zero<S>(c_before, here) * forget * (S(1) - forget));
      gate[2 * w] = d_gate[2 * w] = static_cast<T>(e * in * (S(1) - g) * (S(1) + g));
      gate[3 * w] = d_gate[3 * w] = static_cast<T>(d_h * t * out * (S(1) - out));
      d_c[dense] = e * forget;
    });
  }
};

template <class T>
struct Kernel<op::GruCell<T>> final {
  using S = statistic_t<T>;
  static constexpr unsigned threads = detail::cell_threads;
  op::GruCell<T> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.rows * o.columns, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const std::size_t w = o.columns;
    T *const gates = at(o.gates), *const inner = at(o.inner), *const y = at(o.y), *const h = at(o.h);
    const T *const bias_ih = at.optional(o.bias_ih), *const bias_hh = at.optional(o.bias_hh);
    const S *const hidden = at.optional(o.hidden), *const state_before = at.optional(o.state_before);
    S* const state = at(o.state);
    for_pieces(block, o.rows * w, [&](std::size_t dense) {
      const std::size_t row = dense / w, i = dense % w, here = row * o.length * w + i;
      T* const gate = gates + row * o.length * 3 * w + i;
      const auto of_input = [&](std::size_t part) {
        return static_cast<S>(gate[part * w]) + detail::value_or_zero<S>(bias_ih, part * w + i);
      };
      const auto of_state = [&](std::size_t part) {
        return detail::value_or_zero<S>(hidden, (row * 3 + part) * w + i) +
               detail::value_or_zero<S>(bias_hh, part * w + i);
      };
      const S reset = detail::sigmoid_of(of_input(0) + of_state(0)), z = detail::sigmoid_of(of_input(1) + of_state(1)),
              q = of_state(2), fresh = std::tanh(of_input(2) + reset * q);
      const S value = (S(1) - z) * fresh + z * detail::value_or_zero<S>(state_before, dense);
      gate[0] = static_cast<T>(reset);
      gate[w] = static_cast<T>(z);
      gate[2 * w] = static_cast<T>(fresh);
      inner[here] = static_cast<T>(q);
      state[dense] = value;
      y[here] = static_cast<T>(value);
      h[dense] = static_cast<T>(value);
    });
  }
};

template <class T>
struct Kernel<op::GruCellBackward<T>> final {
  using S = statistic_t<T>;
  static constexpr unsigned threads = detail::cell_threads;
  op::GruCellBackward<T> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.rows * o.columns, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const std::size_t w = o.columns;
    T *const gates = at(o.gates), *const inner = at(o.inner), *const d_gates = at(o.d_gates);
    const T *const d_y = at(o.d_y), *const y_before = at.optional(o.y_before);
    S* const d_state = at(o.d_state);
    for_pieces(block, o.rows * w, [&](std::size_t dense) {
      const std::size_t row = dense / w, i = dense % w, here = row * o.length * w + i;
      T* const gate = gates + row * o.length * 3 * w + i;
      T* const d_gate = d_gates + row * 3 * w + i;
      const S reset = static_cast<S>(gate[0]), z = static_cast<S>(gate[w]), fresh = static_cast<S>(gate[2 * w]),
              q = static_cast<S>(inner[here]), before = detail::value_or_zero<S>(y_before, here);
      const S d_h = static_cast<S>(d_y[here]) + (o.is_last ? S(0) : d_state[dense]);
      const S e = d_h * (S(1) - z) * (S(1) - fresh) * (S(1) + fresh);
      gate[0] = d_gate[0] = static_cast<T>(e * q * reset * (S(1) - reset));
      gate[w] = d_gate[w] = static_cast<T>(d_h * (before - fresh) * z * (S(1) - z));
      gate[2 * w] = static_cast<T>(e);
      inner[here] = d_gate[2 * w] = static_cast<T>(e * reset);
      d_state[dense] = d_h * z;
    });
  }
};

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
