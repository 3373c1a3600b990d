// regimen/walk/unit.hpp — the unit of sharding: parameters that are gathered, used, and reduced together.
#pragma once

#include <regimen/walk/node.hpp>

namespace regimen::walk {

/// Bytes into the three persistent regions: parameters (what kernels read, then master weights), gradients, state.
struct UnitOffsets {
  std::size_t parameters = 0, gradients = 0, states = 0;

  constexpr UnitOffsets operator+(const UnitOffsets& other) const {
    return {parameters + other.parameters, gradients + other.gradients, states + other.states};
  }
  constexpr UnitOffsets operator*(std::size_t count) const { return {parameters * count, gradients * count, states * count}; }
};

/// A child of the model, an iteration of a Repeat, or a tied table: one flat buffer each of parameters, gradients and
/// optimizer state. Where every kernel reads the master weights, those are the parameters; otherwise a copy in the
/// compute types lies before them.
template <class N, class Context>
struct Unit final {
  using Node = N;
  using Master = typename Context::Roles::master;
  using Reduce = typename Context::Roles::reduce;
  static constexpr ParameterLayout layout = N::layout;
  static constexpr std::size_t states = Context::states;
  static constexpr bool shares_master = layout.all_master;
  static constexpr std::size_t value_bytes = Arena::align(layout.value_bytes);
  static constexpr std::size_t master_offset = shares_master ? 0 : value_bytes;
  static constexpr UnitOffsets size{value_bytes + (shares_master ? 0 : Arena::align(layout.count * sizeof(Master))),
                                    Arena::align(layout.trained * sizeof(Reduce)), Arena::align(layout.trained * states * sizeof(Master))};

  static constexpr std::array<TensorPlace, layout.tensors> tensors = [] {
    std::array<TensorPlace, layout.tensors> places{};
    TensorPlace* out = places.data();
    N::place_tensors(out, TensorPlace{});
    return places;
  }();
};

/// A parameter that several layers use is a unit of its own: the owner's node, without the walk.
template <class N>
struct TiedTable final {
  static constexpr ParameterLayout layout = N::own_layout;
  static constexpr void place_tensors(TensorPlace*& out, TensorPlace at) { N::place_own_tensors(out, at); }
  static void name_tensors(const std::string& prefix, auto& visit) { N::name_own_tensors(prefix, false, visit); }
};

/// Before a unit computes: its parameters, whole, where kernels read them. With one rank they lie there already.
constexpr Weights gather(auto& engine, Weights resident) {
  engine.communicator.all_gather(engine, resident.values).wait();
  return resident;
}
/// After its last use of a pass.
constexpr void release(auto& engine, Weights gathered) { engine.communicator.release(engine, gathered.values); }
/// After its backward: its gradients become sums over all ranks.
constexpr void reduce(auto& engine, Weights weights) { engine.communicator.reduce_scatter(engine, weights.gradients).wait(); }

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
