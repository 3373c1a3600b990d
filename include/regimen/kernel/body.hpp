// regimen/kernel/body.hpp — one body for operations whose numbers do not depend on each other: for registers of the CPU
// engine (engine/cpu/body.hpp), and for the threads of a block.
#pragma once

#include <regimen/core/hd.hpp>
#include <regimen/core/number.hpp>
#include <regimen/kernel/block.hpp>

#include <cstddef>

#if defined(__CUDACC__) && !defined(REGIMEN_HD_CHECKED)
#pragma nv_diagnostic push
#pragma nv_diag_suppress 20011, 20014  // as REGIMEN_HD_UNCHECKED, also in lambdas
#endif

namespace regimen::kernel {

/// Rows of columns, and how many numbers are read or written for each.
struct Extent final {
  std::size_t rows = 0, columns = 0, work = 1;
};

/// What an operation computes of a row of its result. This folder specialises it.
///
///   Number                  the type in which it computes
///   Body{operation, at}     finds its tensors
///   extent()
///   operator()(row, lane)   the lane's columns of the row
///
/// A lane is one column, or neighbours in a register of the CPU. All tensors have rows of as many columns.
///
///   number(value)           a Number, or a register of copies of it
///   load(x, row)            the lane's columns of a row of x, as numbers
///   store(number, y, row)   rounded once
///
/// For numbers there are operators, select and is_larger, and sigmoid, tanh and multiply_add of recurrent.hpp. nvcc has
/// no registers of the CPU in functions for a device, and says so where one is named: a body names their types by
/// `auto` alone.
///
///   At   what finds tensors: the memory of kernels, or of the CPU engine
template <class Operation, class At = Memory>
struct Body;

template <class Operation>
concept HasBody = requires { typename Body<Operation>::Number; };

/// One column: a thread's.
template <class S>
struct Lane final {
  std::size_t column, columns;

  template <class Value>
  REGIMEN_HD static constexpr S number(Value value) {
    return static_cast<S>(value);
  }
  template <class T>
  REGIMEN_HD S load(const T* x, std::size_t row) const {
    return static_cast<S>(x[row * columns + column]);
  }
  template <class T>
  REGIMEN_HD void store(S number, T* y, std::size_t row) const {
    y[row * columns + column] = static_cast<T>(number);
  }
};

template <class S>
REGIMEN_HD constexpr S select(bool condition, S yes, S no) {
  return condition ? yes : no;
}
/// Whether a replaces b as the largest: NaN does.
template <class S>
REGIMEN_HD constexpr bool is_larger(S a, S b) {
  return a > b || a != a;
}

namespace detail {

/// The largest of the numbers that a lane has seen, and which of them it is. Both begin as 0.
template <class Number>
struct LargestSeen final {
  Number value, place;
  unsigned seen = 0;

  template <class Lane>
  REGIMEN_HD void look(const Lane& lane, const auto& other) {
    if (seen == 0) value = other;
    else compare(lane, other, seen);
    ++seen;
  }
  /// Of a second number or a later one, which is not counted.
  template <class Lane>
  REGIMEN_HD void compare(const Lane& lane, const auto& other, std::size_t at) {
    const auto larger = is_larger(other, value);
    value = select(larger, other, value);
    place = select(larger, lane.number(at), place);
  }
};
template <class Number>
LargestSeen(Number, Number) -> LargestSeen<Number>;

}  // namespace detail

/// A thread takes a column of a row; neighbours read neighbours. It makes the body anew for each: one for all would
/// take more registers.
template <class Operation>
  requires HasBody<Operation>
struct Kernel<Operation, 0> final {
  static constexpr unsigned threads = 256;
  Operation o;
  Memory at;

  constexpr unsigned blocks() const {
    const Extent extent = Body<Operation>{o, at}.extent();
    return blocks_for(extent.rows * extent.columns, threads);
  }
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const Extent extent = Body<Operation>{o, at}.extent();
    for_pieces(block, extent.rows * extent.columns, [&](std::size_t i) {
      const Lane<typename Body<Operation>::Number> lane{i % extent.columns, extent.columns};
      Body<Operation>{o, at}(i / extent.columns, lane);
    });
  }
};

}  // namespace regimen::kernel

#if defined(__CUDACC__) && !defined(REGIMEN_HD_CHECKED)
#pragma nv_diagnostic pop
#endif
// SPDX-License-Identifier: Apache-2.0
