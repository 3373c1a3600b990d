// regimen/policy/device.hpp — where a step runs.
#pragma once

#include <regimen/engine/cpu/traits.hpp>
#include <regimen/engine/engine.hpp>
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

namespace cpu {
class Engine;
}
template <>
struct engine::Of<Cpu> {
  using Traits = cpu::Traits;
  using type = cpu::Engine;
  using profiled = Timed<cpu::Engine>;
};

/// Decides which engine executes the step. A device of your own is a type with `option_of` as here, and a specialisation of engine::Of.
///
///   choices   Device<Cpu>
///   default   Device<Cpu>
///   refuses   Cuda for now
///   header    of its engine: regimen/engine/cpu/device.hpp; regimen.hpp has it
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
