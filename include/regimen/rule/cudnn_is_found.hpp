// regimen/rule/cudnn_is_found.hpp — a program that runs Attention<Cudnn> is compiled with cuDNN.
#pragma once

namespace regimen::rule {

/// Found: whether it is; CMake's target regimen::cuda says so where it finds the library.
/// docs/errors/cudnn_is_found.md
template <class Attention, class Device, bool Found>
struct cudnn_is_found {
  static constexpr bool holds = Found;
  struct must_hold {
    static_assert(
        holds,
        "regimen: this program has no cuDNN; install it for CMake's regimen::cuda, or write Attention<Composed>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
