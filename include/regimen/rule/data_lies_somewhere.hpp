// regimen/rule/data_lies_somewhere.hpp — step reads data in place, so they need an address.
#pragma once

namespace regimen::rule {

/// A braced list has no address.   docs/errors/trainers.md#data_lies_somewhere
template <class Data, bool Lies = false>
struct data_lies_somewhere {
  static constexpr bool holds = Lies;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a step reads data where they lie; put the numbers into a std::vector of Train::Input or Train::Label first");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
