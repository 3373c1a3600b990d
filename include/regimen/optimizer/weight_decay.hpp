// regimen/optimizer/weight_decay.hpp — a weight decay that knows whether a program wrote it.
#pragma once

#include <regimen/core/hd.hpp>

#include <cstdint>

namespace regimen::detail {

/// An option that is read and assigned like a double. It also knows whether the program wrote it, for rules that decay
/// by default: a default decay that reaches no parameter is no mistake, but the same decay written by the program is
/// one.
class WeightDecay final {
 public:
  constexpr WeightDecay(double number) : number_(number), is_written_(1) {}
  static constexpr WeightDecay by_default(double number) {
    WeightDecay made(number);
    made.is_written_ = 0;
    return made;
  }
  REGIMEN_HD constexpr operator double() const { return number_; }
  constexpr bool is_written() const { return is_written_ != 0; }

  constexpr WeightDecay& operator+=(double by) { return *this = number_ + by; }
  constexpr WeightDecay& operator-=(double by) { return *this = number_ - by; }
  constexpr WeightDecay& operator*=(double by) { return *this = number_ * by; }
  constexpr WeightDecay& operator/=(double by) { return *this = number_ / by; }

 private:
  double number_;
  std::uint64_t is_written_;  // as wide as the number: kernels get options as bytes, all of which have a value
};

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
