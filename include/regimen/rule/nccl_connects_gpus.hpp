// regimen/rule/nccl_connects_gpus.hpp — Communicator<Nccl> is for GPUs.
#pragma once

#include <regimen/policy/communicator.hpp>

namespace regimen::rule {

/// takes_ranks: whether the device's memory is a GPU's.   docs/errors/ranks.md#nccl_connects_gpus
template <class Communicator, class Device, bool takes_ranks>
struct nccl_connects_gpus {
  static constexpr bool holds = takes_ranks || !connects_gpus<typename Communicator::ranks>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Communicator<Nccl> connects GPUs; write Device<Cuda>, or Communicator<Threads>, <Tcp> or <Mpi>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
