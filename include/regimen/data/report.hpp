// regimen/data/report.hpp — how long work tells how far it is.
#pragma once

#include <cstddef>
#include <functional>

/// what is done ("indexing flowers-0.tfrec"), how much of it is done, and how much there is
namespace regimen::data { using Report = std::function<void(const char*, std::size_t, std::size_t)>; }
// SPDX-License-Identifier: Apache-2.0
