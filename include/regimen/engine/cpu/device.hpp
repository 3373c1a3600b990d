// regimen/engine/cpu/device.hpp — Device<Cpu> complete: its engine, and the engine that measures.
#pragma once

#include <regimen/engine/cpu/engine.hpp>
#include <regimen/engine/plan/devices.hpp>
#include <regimen/engine/timed.hpp>
// SPDX-License-Identifier: Apache-2.0
