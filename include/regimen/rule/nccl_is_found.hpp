// regimen/rule/nccl_is_found.hpp — a program that runs ranks on GPUs is compiled with NCCL.
#pragma once

namespace regimen::rule {

/// Found: whether it is; CMake's target regimen::nccl says so, which exists where the library was found.
/// docs/errors/ranks.md#nccl_is_found
template <class Communicator, class Device, bool Found>
struct nccl_is_found {
  static constexpr bool holds = Found;
  struct must_hold {
    static_assert(
        holds, "regimen: this program has no NCCL; link CMake's regimen::nccl, or leave Communicator out for one rank");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
