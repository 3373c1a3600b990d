// regimen/comm/detail/forget_openmp.hpp — what an OpenMP leaves behind of processes that were killed.
#pragma once

#include <unistd.h>

#include <string>

namespace regimen::comm::detail {

/// LLVM's OpenMP (seen with 14) leaves a file for every process that ends without exit(), and a later process that is given the same number may
/// be ended when it finds it. To be called with a process that is no more.
inline void forget_openmp_of(::pid_t process) {
  ::unlink(("/dev/shm/__KMP_REGISTERED_LIB_" + std::to_string(process) + "_" + std::to_string(::getuid())).c_str());
}

}  // namespace regimen::comm::detail
// SPDX-License-Identifier: Apache-2.0
