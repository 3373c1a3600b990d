// regimen/rule/graph_needs_graphs.hpp — only a device with graphs does without them.
#pragma once

namespace regimen::rule {

/// A device without graphs would ignore the policy.   docs/errors/devices.md#graph_needs_graphs
template <class Graph, class Device, bool has_graphs>
struct graph_needs_graphs {
  static constexpr bool holds = Graph::captures || has_graphs;
  struct must_hold {
    static_assert(holds, "regimen: this Device<...> has no graphs, so Graph<Off> changes nothing; leave it out");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
