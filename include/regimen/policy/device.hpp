// regimen/policy/device.hpp — where a step runs.
#pragma once

#include <regimen/policy/policy.hpp>

namespace regimen {

/// The processor that runs the program.
struct Cpu final : detail::OptionOf<axis::device> {};

/// A GPU of NVIDIA, with the engine of Emulated. nvcc compiles the program, or it links regimen::cuda_compiled.
struct Cuda final : detail::OptionOf<axis::device> {};

/// A GPU that the host emulates: the engine of Cuda without a GPU, for tests. Slow.
struct Emulated final : detail::OptionOf<axis::device> {};

/// Decides which engine executes the step. A device of your own is a type with
/// `using option_of = regimen::axis::device;`, and a specialisation of engines::Of (engine/engine.hpp).
///
///   choices   Device<Cpu>, Device<Emulated>, Device<Cuda>
///   default   Device<Cpu>
///   refuses   a device whose header is not included
///   header    of Cpu: regimen/engine/cpu/device.hpp, which regimen.hpp includes; of Emulated:
///             regimen/engine/emulated/device.hpp; of Cuda: regimen/engine/cuda/device.hpp; for a program that only
///             prints plans, by any compiler, regimen/engine/cuda/plan.hpp
///   effect    engine/plan/devices.hpp (device), engine/engine.hpp (Of)
///
/// There is no policy Deterministic: on the CPU a program always repeats its bits, because the split of work depends
/// only on shapes, and a random number only on its position.
template <class Where>
struct Device final {
  using axis = regimen::axis::device;
  using where = Where;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
