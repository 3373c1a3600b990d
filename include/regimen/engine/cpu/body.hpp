// regimen/engine/cpu/body.hpp — operations that have one body for registers and for threads, on registers.
#pragma once

#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/simd.hpp>
#include <regimen/engine/cpu/sweep.hpp>
#include <regimen/kernel/body.hpp>

#include <cstddef>

namespace regimen::cpu {

/// Columns of a row that are neighbours: as many as a register has lanes, or as many as `count` says.
template <class S, class Count>
struct Lanes final {
  std::size_t column, columns;
  Count count;

  template <class Value>
  static Vector<S> number(Value value) {
    return static_cast<S>(value);
  }
  template <class T>
  Vector<S> load(const T* x, std::size_t row) const {
    return cpu::load<S>(x + row * columns + column, count);
  }
  template <class T>
  void store(Vector<S> number, T* y, std::size_t row) const {
    cpu::store(number, y + row * columns + column, count);
  }
};

template <kernel::HasBody Operation>
void compute(const Operation& o, const Memory& at) {
  using Body = kernel::Body<Operation, Memory>;
  using S = typename Body::Number;
  const Body body{o, at};
  const kernel::Extent extent = body.extent();
  const auto row_of = [&](std::size_t row, std::size_t begin, std::size_t end) {
    const Body own = body;  // which no store changes, so that what registers share is computed once
    const std::size_t columns = extent.columns;
    for_each_vector<S>(begin, end, [&](std::size_t i, auto n) { own(row, Lanes<S, decltype(n)>{i, columns, n}); });
  };
  for_rows(extent.rows, extent.columns, row_of, extent.work);
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
