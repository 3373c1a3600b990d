// regimen/policy/device.hpp — where a step runs.
#pragma once

#include <regimen/policy/policy.hpp>

namespace regimen {

/// The processor that runs the program.
struct Cpu final {
  using option_of = regimen::axis::device;
};

/// One GPU. Declared; refused until its engine is built.
struct Cuda final {
  using option_of = regimen::axis::device;
};

/// Decides which engine executes the step.
///
///   choices   Device<Cpu>
///   default   Device<Cpu>
///   refuses   Cuda for now
///
/// There is no policy Deterministic: work is cut by shape alone and random numbers depend on their position alone, so on the CPU
/// equal recipes give equal bits at an equal number of threads without asking.
template <class Where>
struct Device final {
  using axis = regimen::axis::device;
  using where = Where;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
