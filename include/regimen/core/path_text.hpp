// regimen/core/path_text.hpp — a path as text.
#pragma once

#include <regimen/core/path.hpp>

#if !REGIMEN_COMPILED
#include <regimen/core/path_text.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
