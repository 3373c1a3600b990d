// regimen/engine/cpu/device.hpp — Device<Cpu> complete: its engine, and the engine that measures.
#pragma once

#include <regimen/engine/cpu/engine.hpp>
#include <regimen/engine/timed.hpp>
#include <regimen/policy/device.hpp>
// SPDX-License-Identifier: Apache-2.0
