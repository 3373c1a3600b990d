// regimen/data/report.hpp — how long work on data (indexing, caching, tokenising) says how far it is.
#pragma once

#include <cstddef>
#include <functional>

/// Called with what is done ("filter"), how much is done, and how much there is, 0 while that is not known; by one thread
/// at a time, now and then, and at the end. An empty Report says nothing.
namespace regimen::data {
using Report = std::function<void(const char*, std::size_t, std::size_t)>;
}
// SPDX-License-Identifier: Apache-2.0
