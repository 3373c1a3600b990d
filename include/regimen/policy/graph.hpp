// regimen/policy/graph.hpp — whether a device replays a step as a graph.
#pragma once

#include <regimen/policy/policy.hpp>

#include <type_traits>

namespace regimen {

struct On final : detail::OptionOf<axis::graph> {};
struct Off final : detail::OptionOf<axis::graph> {};

/// Decides whether a device that has graphs captures a step once, and then launches this graph. Both choices give the
/// same bits.
///
///   choices   Graph<On>, Graph<Off>
///   default   Graph<On>
///   refuses   Off on a device without graphs: Device<Cpu>
///   cost      Off: the host launches every kernel, some microseconds each. For debugging, and for profilers that do
///             not show the kernels of a graph
///   effect    trainers/session.hpp (captures), engine/cuda/engine.hpp (captures_)
template <class Switch>
struct Graph final {
  using axis = regimen::axis::graph;
  static constexpr bool captures = std::is_same_v<Switch, On>;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
