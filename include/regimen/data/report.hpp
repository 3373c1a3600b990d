// regimen/data/report.hpp — how far long work on data is.
#pragma once

#include <cstddef>
#include <functional>

namespace regimen::data { using Report = std::function<void(const char*, std::size_t, std::size_t)>; }
// SPDX-License-Identifier: Apache-2.0
