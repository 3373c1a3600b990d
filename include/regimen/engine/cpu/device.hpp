// regimen/engine/cpu/device.hpp — Device<Cpu>, whole: the engine, and the one that measures it.
#pragma once

#include <regimen/engine/cpu/engine.hpp>
#include <regimen/engine/timed.hpp>
#include <regimen/policy/device.hpp>
// SPDX-License-Identifier: Apache-2.0
