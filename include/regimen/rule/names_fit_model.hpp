// regimen/rule/names_fit_model.hpp — a mapping names every parameter and buffer of the model once, in its shape.
#pragma once

#include <cstddef>

namespace regimen::names {

/// The first place where a mapping and a model disagree. Tensors of the model count from 0, in its own order.
enum class Misfit {
  none,
  tensors_without_name,  // the mapping ends before tensor `at`
  names_without_tensor,  // the model ends before entry `at` of the mapping
  shape_of_tensor,       // the axes or the view that entry gives do not fit tensor `at`
  rows_of_tensor,        // tensor `at` cannot be cut into these shares of rows
  parts_of_entry,        // the parts of the foreign tensor that entry `at` names are not all of it
  copy_of_nothing,       // entry `at` is a copy, but no tensor of one piece stands before it
};

}  // namespace regimen::names

namespace regimen::rule {

/// What has no name is in no file.   docs/errors/networks.md#names_fit_model
///   first, at   where mapping and model disagree, see names::Misfit
template <class Network, names::Misfit first, std::size_t at>
struct names_fit_model {
  static constexpr bool holds = first == names::Misfit::none;
  struct must_hold {
    static_assert(
        holds,
        "regimen: the names do not fit the model's tensors; map each, in order, in its shape, or as absent(...)");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
