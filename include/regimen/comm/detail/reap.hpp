// regimen/comm/detail/reap.hpp — waits for processes that were started by fork.
#pragma once

#include <regimen/core/compiled.hpp>

#include <sys/types.h>
#include <sys/wait.h>  // of whoever reads the status

namespace regimen::comm::detail {

/// waitpid, which also removes a file that LLVM's OpenMP (seen with 14) leaves behind for a process that ends without
/// exit(): a later process with the same number may be ended when it finds that file. Returns false while the process
/// runs, if options say WNOHANG.
bool reap(::pid_t process, int* status = nullptr, int options = 0);

}  // namespace regimen::comm::detail

#if !REGIMEN_COMPILED
#include <regimen/comm/detail/reap.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
