// regimen/programs/facts.hpp — what a walk needs to know of the policies.
#pragma once

#include <regimen/engine/engine.hpp>
#include <regimen/layer/layer.hpp>
#include <regimen/optimizer/decay.hpp>
#include <regimen/policy/checkpoint.hpp>
#include <regimen/policy/communicator.hpp>
#include <regimen/policy/freeze.hpp>
#include <regimen/policy/loss.hpp>
#include <regimen/policy/policy.hpp>
#include <regimen/policy/shard.hpp>
#include <regimen/programs/groups.hpp>
#include <regimen/walk/node.hpp>
#include <regimen/walk/sharding.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::programs {

/// The ranks of the constant plan.
template <class Configuration>
inline constexpr std::size_t planned_ranks_of = Configuration::world::ranks > 0 ? Configuration::world::ranks : 1;
/// The sharding that the policies choose.
template <class Configuration>
using sharding_of = walk::ShardingOf<typename Configuration::shard, typename Configuration::communicator::ranks,
                                     Configuration::accumulate::reduces_each(Configuration::shard::stage::level),
                                     planned_ranks_of<Configuration>>;
/// A single rank, which keeps everything.
using Unsharded = walk::ShardingOf<Shard<Replicated>, Solo, false>;

/// What is fused, and the epilogues that products may have.
template <bool fuses_, class Epilogues_>
struct Fusing final {
  using axis = regimen::axis::fusion;
  using Epilogues = Epilogues_;
  static constexpr bool fuses = fuses_;
};
template <class Configuration>
using fusing_of = Fusing<
    Configuration::fusion::fuses,
    std::conditional_t<Configuration::fusion::epilogues,
                       typename engines::TraitsOf<typename Configuration::device::where>::Epilogues, op::NoEpilogues>>;

/// Where parameters begin on the device: at multiples of so many bytes.
template <class Configuration>
inline constexpr std::size_t alignment_of_parameters =
    engines::TraitsOf<typename Configuration::device::where>::parameter_alignment;

/// Rows of the model's output begin at multiples of so many bytes; 1: they are dense, as losses expect that do not say
/// otherwise.
template <class Configuration>
inline constexpr std::size_t alignment_of_rows =
    engines::TraitsOf<typename Configuration::device::where>::row_alignment;
template <class Configuration>
inline constexpr std::size_t alignment_of_trained_rows =
    regimen::detail::takes_padded_rows<typename Configuration::loss::function> ? alignment_of_rows<Configuration> : 1;

/// What a walk that trains needs to know of the policies (walk::ContextOf). Of the policies themselves it has only
/// these, so that recipes that differ in others share their walkers.
template <class Sharding_, std::size_t alignment_, std::size_t row_alignment_, class... Policies>
struct TrainingFacts {
 private:
  using Chosen = regimen::detail::policies_by_axis<Policies...>;
  using Precision = typename Chosen::precision;

 public:
  using Roles = regimen::Roles<typename Precision::compute, typename Precision::master, typename Precision::reduce,
                               typename Chosen::fusion::Epilogues>;
  using Checkpoint = typename Chosen::checkpoint;
  using Freeze = typename Chosen::freeze;
  using Sharding = Sharding_;
  using Groups = typename GroupsOf<typename Chosen::optimizer::rule>::Choice;
  using Decays = typename Chosen::optimizer::decay;
  static constexpr std::size_t states = Chosen::optimizer::rule::states, alignment = alignment_,
                               row_alignment = row_alignment_;
  static constexpr bool fuses = Chosen::fusion::fuses;
};
/// What a walk for inference needs to know of the policies: it has no master weights, and so each parameter is stored
/// once.
template <class Compute, std::size_t alignment_, std::size_t row_alignment_, class Fusing>
struct InferenceFacts {
  using Roles = regimen::Roles<Compute, walk::NoMaster, stored_t<Compute>, typename Fusing::Epilogues>;
  using Checkpoint = regimen::Checkpoint<None>;
  using Freeze = regimen::Freeze<>;
  using Sharding = Unsharded;
  using Groups = void;
  using Decays = void;
  static constexpr std::size_t states = 0, alignment = alignment_, row_alignment = row_alignment_;
  static constexpr bool fuses = Fusing::fuses;
};

}  // namespace regimen::programs
// SPDX-License-Identifier: Apache-2.0
