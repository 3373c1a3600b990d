// regimen/verdict/machine_rules.hpp — the rules about the machine: its memory, its operations, the rows that it reads.
#pragma once

#include <regimen/program/recipe.hpp>
#include <regimen/rule/cudnn_computes_in_half.hpp>
#include <regimen/rule/cudnn_takes_heads.hpp>
#include <regimen/rule/fits_target.hpp>
#include <regimen/rule/form_adds_distances.hpp>
#include <regimen/rule/form_attends_across.hpp>
#include <regimen/rule/form_ends_keys.hpp>
#include <regimen/rule/form_shares_keys.hpp>
#include <regimen/rule/form_slides.hpp>
#include <regimen/rule/operation_has_compute.hpp>
#include <regimen/rule/operation_has_kernel.hpp>
#include <regimen/rule/operation_says_cost.hpp>
#include <regimen/rule/rows_are_aligned.hpp>
#include <regimen/rule/spans_stay_on_the_host.hpp>
#include <regimen/verdict/compose.hpp>
#include <regimen/verdict/owners.hpp>
#include <regimen/verdict/update_rules.hpp>

#include <type_traits>

namespace regimen::train {

template <class Recipe>
constexpr auto memory_rules() {
  if constexpr (Recipe::Target::memory == targets::unlimited::memory) return mp::mp_list<>{};
  else if constexpr (Recipe::plan.peak <= Recipe::Target::memory) return mp::mp_list<>{};
  else
    return mp::mp_list<rule::fits_target<Recipe::plan.peak, Recipe::Target::memory, owner_of_line<Recipe, 0>,
                                         owner_of_line<Recipe, 1>, owner_of_line<Recipe, 2>>>{};
}

// ---- operations

template <class UpdateRule>
using computes_on_spans =
    std::bool_constant<regimen::detail::sees_whole_tensors<UpdateRule> && !UpdatesByOperations<UpdateRule>>;

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
using spans_of = mp::mp_copy_if<typename GroupsOf<typename Recipe::UpdateRule>::Rules, computes_on_spans>;

template <class Recipe, class Configuration>
constexpr auto operation_rules() {
  using Device = typename Configuration::device;
  using Attention = typename Configuration::attention;
  if constexpr (!Recipe::lacking.any) {
    return mp::mp_list<>{};
  } else {
    using Owner = typename decltype(owner_of_lacking<Recipe>())::type;
    constexpr unsigned part = Recipe::lacking.refused_part;
    if constexpr (!Recipe::lacking.is_said) return mp::mp_list<rule::operation_says_cost<Owner, false>>{};
    else if constexpr (std::is_same_v<typename Device::where, Cpu>)
      return mp::mp_list<rule::operation_has_compute<Owner, Device, false>>{};
    else if constexpr (Recipe::lacking.phase == op::Phase::update) {
      if constexpr (mp::mp_empty<spans_of<Recipe>>::value)
        return mp::mp_list<rule::operation_has_kernel<Owner, Device, false>>{};
      else return mp::mp_list<rule::spans_stay_on_the_host<mp::mp_front<spans_of<Recipe>>, Device, false>>{};
    } else if constexpr (part == 0) return mp::mp_list<rule::operation_has_kernel<Owner, Device, false>>{};
    else if constexpr (part == 1) return mp::mp_list<rule::cudnn_computes_in_half<Owner, Attention, false>>{};
    else if constexpr (part == 2) return mp::mp_list<rule::cudnn_takes_heads<Owner, Attention, false>>{};
    else if constexpr (part == 3) return mp::mp_list<rule::form_shares_keys<Owner, Attention, false>>{};
    else if constexpr (part == 4) return mp::mp_list<rule::form_attends_across<Owner, Attention, false>>{};
    else if constexpr (part == 5) return mp::mp_list<rule::form_slides<Owner, Attention, false>>{};
    else if constexpr (part == 7) return mp::mp_list<rule::form_ends_keys<Owner, Attention, false>>{};
    else return mp::mp_list<rule::form_adds_distances<Owner, Attention, false>>{};
  }
}
/// The first layer whose rows are not aligned, if there is more of them than Target allows.
template <class Recipe, class Target>
constexpr auto row_rules() {
  if constexpr (!Target::bounds_rows) return mp::mp_list<>{};
  else if constexpr (Recipe::plan.unaligned_share() <= Target::unaligned) return mp::mp_list<>{};
  else
    return mp::mp_list<rule::rows_are_aligned<
        typename decltype(owner_at<typename Recipe::Bound, Recipe::plan.unaligned[0].path.digits>())::type,
        Recipe::plan.unaligned[0].columns, Recipe::plan.unaligned[0].element, false>>{};
}
template <class Recipe, class Configuration>
constexpr auto machine_rules() {
  using Operations = decltype(operation_rules<Recipe, Configuration>());
  using Rows = decltype(row_rules<Recipe, typename Configuration::target>());
  if constexpr (!mp::mp_empty<Operations>::value) return Operations{};
  else if constexpr (!mp::mp_empty<Rows>::value) return Rows{};
  else return memory_rules<Recipe>();
}

}  // namespace regimen::train
// SPDX-License-Identifier: Apache-2.0
