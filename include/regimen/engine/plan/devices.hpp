// regimen/engine/plan/devices.hpp — the library's devices and their engines' Traits, for plans.
#pragma once

#include <regimen/engine/cpu/traits.hpp>
#include <regimen/engine/engine.hpp>
#include <regimen/policy/attention.hpp>
#include <regimen/policy/communicator.hpp>
#include <regimen/policy/convolution.hpp>
#include <regimen/policy/device.hpp>

namespace regimen {

namespace cpu {
class Engine;
}
template <>
struct engines::Of<Cpu> {
  using Traits = cpu::Traits;
  using type = cpu::Engine;
};

namespace engines {

/// The policies that engines read besides Device.
template <class Configuration>
using ChoicesOf = detail::policies_by_axis<typename Configuration::attention, typename Configuration::convolution,
                                           typename Configuration::communicator>;
using DefaultChoices = detail::policies_by_axis<Attention<>, Convolution<>, Communicator<Solo>>;

/// The engine of a configuration.
template <class Configuration>
using OfConfiguration = With<typename Configuration::device::where, ChoicesOf<Configuration>>;

}  // namespace engines

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
