// regimen/core/flags.hpp — whether the files of a program were compiled with the same flags.
#pragma once

#include <regimen/core/compiled.hpp>

namespace regimen::detail {

/// Every engine asks before it runs. Throws Error if two files of the list differ: each may call functions that were
/// compiled in the other, or in a library.
void expect_same_flags(const FlagsOfFile* list);

}  // namespace regimen::detail

#if !REGIMEN_COMPILED
#include <regimen/core/flags.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
