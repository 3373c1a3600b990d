// regimen/core/operation/arithmetic.hpp — sums of tensors with factors that lie on the device, and arithmetic on those:
// what update rules of whole tensors are made of, beside products, casts and sums of squares.
#pragma once

#include <regimen/core/hd.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/operation/scalars.hpp>
#include <regimen/core/view.hpp>

#include <cstddef>

namespace regimen::op {

/// A factor that an operation reads when it runs, so that no recording has its value: constant · *number, or the
/// constant where no number is given.
struct Factor {
  double constant = 1;
  View<double> number{};

  REGIMEN_HD_UNCHECKED
  template <class Memory>
  REGIMEN_HD double value(const Memory& at) const {
    return number.offset == View<double>::absent ? constant : constant * *at(number);
  }
};

/// y = a · x + b · y                                         (count); in S, rounded once to Y; x may be y
///   without b (its constant is 0) y is not read
///   scalars   if given: nothing happens in a step that does not count (scalars.apply = 0)
template <class X, class Y>
struct ScaledSum final {
  static constexpr const char* name = "scaled_sum";
  using S = statistic_t<Y>;
  View<X> x;
  View<Y> y;
  std::size_t count = 0;
  Factor a{}, b{.constant = 0};
  View<Scalars> scalars{};

  constexpr bool reads_y() const { return b.constant != 0; }
  constexpr Cost cost() const {
    return {(reads_y() ? 3.0 : 1.0) * double(count), double(count) * (sizeof(X) + sizeof(Y) * (reads_y() ? 2.0 : 1.0)),
            1};
  }
};

/// function(numbers, scalars), by one thread: arithmetic on a few numbers of the device, such as norms
///   Function   has operator()(double* numbers, const Scalars& scalars) const, marked REGIMEN_HD; its members are
///              constants of the recording
///   numbers    (count), which it reads and writes, whether or not the step counts
template <class Function>
struct Calculate final {
  static constexpr const char* name = "calculate";
  View<double> numbers;
  View<Scalars> scalars;
  std::size_t count = 0;
  Function function{};

  constexpr Cost cost() const { return {double(count), 2 * double(count) * sizeof(double) + sizeof(Scalars), 1}; }
};

}  // namespace regimen::op
// SPDX-License-Identifier: Apache-2.0
