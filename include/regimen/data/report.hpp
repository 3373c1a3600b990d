// regimen/data/report.hpp — how long work on data (indexing, caching, tokenising) reports its progress.
#pragma once

#include <cstddef>
#include <functional>

/// Called with the name of the work ("filter"), the amount done, and the whole amount, 0 while it is unknown; by one
/// thread at a time, now and then, and at the end. An empty Report is not called.
namespace regimen::data {
using Report = std::function<void(const char*, std::size_t, std::size_t)>;
}
// SPDX-License-Identifier: Apache-2.0
