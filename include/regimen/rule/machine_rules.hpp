// regimen/rule/machine_rules.hpp — the rules about the machine: its memory, its operations, the rows that it reads.
#pragma once

#include <regimen/programs/recipe.hpp>
#include <regimen/rule/compose.hpp>
#include <regimen/rule/devices.hpp>
#include <regimen/rule/extensions.hpp>
#include <regimen/rule/owners.hpp>
#include <regimen/rule/rule_list.hpp>
#include <regimen/rule/targets.hpp>
#include <regimen/rule/update_rules.hpp>

#include <type_traits>

namespace regimen::rule {

// ---- memory. What follows is asked only where a plan does not fit: what would.

/// The largest batch that fits, below that of a recipe; 0 if none does.
template <class Recipe>
constexpr std::size_t smaller_batch() {
  if constexpr (Recipe::batch == 1) return 0;
  else return Recipe::template largest_batch<Recipe::Target::memory>();
}
/// The policy for a batch of so many samples.
template <class Recipe, class Configuration, std::size_t samples>
using batch_of_size =
    std::conditional_t<(Configuration::batch::global > 0),
                       GlobalBatch<samples * Recipe::planned_ranks * Recipe::micro_batches>, Batch<samples>>;

/// The configuration with another policy on an axis that has its default.
template <class Configuration, class Policy>
using with_policy = mp::mp_apply<ConfigurationOf, mp::mp_push_back<mp::mp_rename<Configuration, mp::mp_list>, Policy>>;

template <class Rule>
inline constexpr bool is_about_memory = false;
template <std::size_t Needed, std::size_t There, class... Others>
inline constexpr bool is_about_memory<fits_target<Needed, There, Others...>> = true;

/// Whether a recipe that recomputes nothing may be one of Checkpoint<Every<1>>, whatever its bytes.
template <class Network, class Configuration>
inline constexpr bool may_recompute_blocks = false;
template <class Network, class Configuration>
  requires(std::is_same_v<typename Configuration::checkpoint, Checkpoint<None>>)
inline constexpr bool may_recompute_blocks<Network, Configuration> = [] {
  using With = with_policy<Configuration, Checkpoint<Every<1>>>;
  using Broken = broken_of<typename model_rules<Network, With>::type>;
  if constexpr (mp::mp_empty<Broken>::value) return true;
  else return is_about_memory<mp::mp_front<Broken>>;
}();

template <class Network, class Configuration, class Recipe>
constexpr auto cure_of_training() {
  constexpr std::size_t there = Recipe::Target::memory, samples = smaller_batch<Recipe>();
  using Smaller = batch_of_size<Recipe, Configuration, samples>;
  if constexpr (Recipe::plan.kept > there) return mp::mp_identity<StateAlone<Recipe::plan.kept>>{};
  else if constexpr (!may_recompute_blocks<Network, Configuration>) {
    if constexpr (samples > 0) return mp::mp_identity<Either<Smaller>>{};
    else return mp::mp_identity<SampleAlone>{};
  } else {
    using Blocks = Checkpoint<Every<1>>;
    using Recomputed = programs::Recipe<Network, with_policy<Configuration, Blocks>>;
    if constexpr (Recomputed::peak(Recipe::batch) <= there) {
      if constexpr (samples > 0) return mp::mp_identity<Either<Smaller, Blocks>>{};
      else return mp::mp_identity<Together<Blocks>>{};
    } else if constexpr (samples > 0) return mp::mp_identity<Either<Smaller>>{};
    else if constexpr (constexpr std::size_t fewer = smaller_batch<Recomputed>(); fewer > 0)
      return mp::mp_identity<Together<batch_of_size<Recipe, Configuration, fewer>, Blocks>>{};
    else return mp::mp_identity<SampleAlone>{};
  }
}
template <class Configuration, class Recipe>
constexpr auto cure_of_inference() {
  using Compute = typename Configuration::precision::compute;
  constexpr std::size_t there = Recipe::Target::memory, weights = Recipe::plan.bytes(MemoryKind::parameter),
                        in_half = weights / sizeof(Compute) * 2, samples = smaller_batch<Recipe>();
  constexpr bool helps = sizeof(Compute) > 2 && in_half <= there && Recipe::Target::template supports<bf16>;
  if constexpr (weights > there) return mp::mp_identity<WeightsAlone<(helps ? in_half : 0)>>{};
  else if constexpr (samples > 0) return mp::mp_identity<Either<Batch<samples>>>{};
  else return mp::mp_identity<SampleAlone>{};
}

template <class Network, class Configuration, class Recipe>
constexpr auto memory_rules() {
  constexpr std::size_t there = Recipe::Target::memory;
  if constexpr (there == targets::unlimited::memory) return mp::mp_list<>{};
  else if constexpr (Recipe::plan.peak <= there) return mp::mp_list<>{};
  else {
    constexpr std::size_t needed = Recipe::plan.peak;
    constexpr auto cure = [] {
      if constexpr (requires { typename Recipe::UpdateRule; })
        return cure_of_training<Network, Configuration, Recipe>();
      else return cure_of_inference<Configuration, Recipe>();
    }();
    return mp::mp_list<fits_target<needed, there, Exceeds<needed - there>, typename decltype(cure)::type,
                                   owner_of_line<Recipe, 0>, owner_of_line<Recipe, 1>, owner_of_line<Recipe, 2>>>{};
  }
}

// ---- operations

template <class UpdateRule>
using computes_on_spans =
    std::bool_constant<detail::sees_whole_tensors<UpdateRule> && !UpdatesByOperations<UpdateRule>>;

/// The owner of an operation that lacks a part: a layer, the loss, or the update rule.
template <class Recipe>
constexpr auto owner_of_lacking() {
  if constexpr (requires { typename Recipe::UpdateRule; }) {
    if constexpr (Recipe::lacking.phase == op::Phase::update) return mp::mp_identity<typename Recipe::UpdateRule>{};
    else if constexpr (Recipe::lacking.path.digits == 0) return mp::mp_identity<typename Recipe::Loss>{};
    else return owner_at<typename Recipe::Bound, Recipe::lacking.path.digits>();
  } else {
    return owner_at<typename Recipe::Bound, Recipe::lacking.path.digits>();
  }
}
template <class Recipe>
using spans_of = mp::mp_copy_if<typename programs::GroupsOf<typename Recipe::UpdateRule>::Rules, computes_on_spans>;

/// What of an operation of Layer no form takes, by the number that Traits::refused_part gives.
template <class Layer, class Device, class Attention>
using refused_parts = mp::mp_list<operation_has_kernel<Layer, Device>, cudnn_computes_in_half<Layer, Attention>,
                                  cudnn_takes_heads<Layer, Attention>, form_shares_keys<Layer, Attention>,
                                  form_attends_across<Layer, Attention>, form_slides<Layer, Attention>,
                                  form_adds_distances<Layer, Attention>, form_ends_keys<Layer, Attention>>;

template <class Recipe, class Configuration>
constexpr auto operation_rules() {
  using Device = typename Configuration::device;
  if constexpr (!Recipe::lacking.any) {
    return mp::mp_list<>{};
  } else {
    using Owner = typename decltype(owner_of_lacking<Recipe>())::type;
    constexpr unsigned part = Recipe::lacking.refused_part;
    if constexpr (!Recipe::lacking.is_said) return mp::mp_list<operation_says_cost<Owner>>{};
    else if constexpr (std::is_same_v<typename Device::where, Cpu>)
      return mp::mp_list<operation_has_compute<Owner, Device>>{};
    else if constexpr (Recipe::lacking.phase == op::Phase::update) {
      if constexpr (mp::mp_empty<spans_of<Recipe>>::value) return mp::mp_list<operation_has_kernel<Owner, Device>>{};
      else return mp::mp_list<spans_stay_on_the_host<mp::mp_front<spans_of<Recipe>>, Device>>{};
    } else return mp::mp_list<mp::mp_at_c<refused_parts<Owner, Device, typename Configuration::attention>, part>>{};
  }
}
/// The first layer whose rows are not aligned, if there is more of them than Target allows.
template <class Recipe, class Target>
constexpr auto row_rules() {
  if constexpr (!Target::bounds_rows) return mp::mp_list<>{};
  else if constexpr (Recipe::plan.unaligned_share() <= Target::unaligned) return mp::mp_list<>{};
  else
    return mp::mp_list<rows_are_aligned<
        typename decltype(owner_at<typename Recipe::Bound, Recipe::plan.unaligned[0].path.digits>())::type,
        Recipe::plan.unaligned[0].columns, Recipe::plan.unaligned[0].element>>{};
}
template <class Network, class Recipe, class Configuration>
constexpr auto machine_rules() {
  using Operations = decltype(operation_rules<Recipe, Configuration>());
  using Rows = decltype(row_rules<Recipe, typename Configuration::target>());
  if constexpr (!mp::mp_empty<Operations>::value) return Operations{};
  else if constexpr (!mp::mp_empty<Rows>::value) return Rows{};
  else return memory_rules<Network, Configuration, Recipe>();
}

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
