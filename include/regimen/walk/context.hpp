// regimen/walk/context.hpp — what a walk of layers needs to know of where they stand.
#pragma once

#include <regimen/layer/layer.hpp>
#include <regimen/walk/flatten.hpp>

#include <type_traits>

namespace regimen::walk {

/// The context of layers.
///   Facts     of the policies:
///               Roles        element types            Checkpoint   segment, offloads, recomputes<Layer>
///               Freeze       freezes<Layer>           Sharding     which slices of the units' buffers a rank keeps
///               states       arrays that the optimizer keeps per parameter
///               Groups       group_of<Layer>(parameter), states_of(group); void: one group
///               Decays       decays<Layer>(parameter); void: nothing does
///               fuses        whether the fusion pass is applied; Roles::Epilogues: what products apply
///               alignment    bytes: every parameter begins at a multiple, in each buffer of its unit
///               row_alignment   bytes: so does every row of the model's output, if its last layer can write it so
///   Common    Tied, the tables that several layers use; Named, the names of values
///   Compute   of these layers
///   units     whether these are the model's own children
///   twice     whether they may be computed twice, all of them
///   keeps_statistics   whether buffers stand for the statistics of the batch, and stay
///   offloads  whether the blocks of a Repeat are moved to the host's memory
template <class Facts, class Common, class Compute, bool units_>
struct ContextOf : Facts, Common {
  using Roles = regimen::Roles<Compute, typename Facts::Roles::master, typename Facts::Roles::reduce,
                               typename Facts::Roles::Epilogues, typename Facts::Roles::compute>;
  using Epilogues = typename Roles::Epilogues;
  using Fusing = Fuses<Facts::fuses, Epilogues, std::conditional_t<Epilogues::any, typename Facts::Freeze, void>>;
  static constexpr bool units = units_, twice = Facts::Checkpoint::repeats, offloads = Facts::Checkpoint::offloads,
                        keeps_statistics = false;
  using inner = ContextOf<Facts, Common, Compute, false>;
  template <class Other>
  using with_compute = ContextOf<Facts, Common, Other, units>;
};

/// The context of layers whose saved tensors Checkpoint<Offload> does not move one by one: those of a block move
/// together, and those of layers that are computed twice are used soon.
template <class Context, bool twice_ = Context::twice>
struct not_moved : Context {
  static constexpr bool twice = twice_, offloads = false;
  using inner = not_moved<typename Context::inner, twice>;
  template <class Other>
  using with_compute = not_moved<typename Context::template with_compute<Other>, twice>;
};

/// Freezes every layer.
struct FreezeAll final {
  template <class Layer>
  static constexpr bool freezes = true;
};
/// The context of the layers of a Frozen.
template <class Context, bool keeps_statistics_>
struct frozen_inside : Context {
  using Freeze = FreezeAll;
  using Fusing = Fuses<Context::Fusing::fuses, typename Context::Epilogues,
                       std::conditional_t<Context::Epilogues::any, Freeze, void>>;
  static constexpr bool keeps_statistics = keeps_statistics_;
  using inner = frozen_inside<typename Context::inner, keeps_statistics>;
  template <class Other>
  using with_compute = frozen_inside<typename Context::template with_compute<Other>, keeps_statistics>;
};
/// The context of a layer to which these labels lead.
template <class Context, class Labels>
using context_behind = std::conditional_t<
    lead_through_frozen<Labels>,
    frozen_inside<Context, Context::keeps_statistics || mp::mp_contains<Labels, InFrozen<true>>::value>, Context>;

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
