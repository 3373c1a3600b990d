// regimen/core/say.hpp — writes a line to standard error; a closed pipe does not end the run.
#pragma once

#include <string_view>

namespace regimen::detail {

/// Returns whether all of `text` was written. When the reader of a pipe is gone (`2>&1 | head`), the write fails and
/// SIGPIPE is not delivered, whatever the program does with that signal.
[[gnu::cold]] bool say(std::string_view text);

}  // namespace regimen::detail

#if !REGIMEN_COMPILED
#include <regimen/core/say.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
