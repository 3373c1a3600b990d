// regimen/data/pipeline.hpp — all stages: docs/data.md
#pragma once

#include <regimen/data/cache.hpp>
#include <regimen/data/choose.hpp>
#include <regimen/data/join.hpp>
#include <regimen/data/samples.hpp>
// SPDX-License-Identifier: Apache-2.0
