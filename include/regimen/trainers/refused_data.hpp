// regimen/trainers/refused_data.hpp — the errors for data of another type than the model reads.
#pragma once

#include <regimen/rule/fit.hpp>

#include <span>
#include <type_traits>

namespace regimen::trainers {

/// Whether Data convert to a span of T without copying.
template <class Data, class T>
concept ReadAs = std::is_convertible_v<const Data&, std::span<const T>>;

/// The element type of Data; Data itself if it is no range.
template <class Data>
struct element_of_data {
  using type = std::remove_cv_t<std::remove_extent_t<Data>>;
};
template <class Data>
  requires requires { typename Data::value_type; }
struct element_of_data<Data> {
  using type = typename Data::value_type;
};
/// Names a rule's `must_hold`, whose static_assert fails: the program gives Data, and the model reads elements of type T.
/// The rule about narrowing comes first, since its cure is more precise.
template <class Data, class T, class From = typename element_of_data<Data>::type>
using refused_data = typename std::conditional_t<rule::narrowing_data<From, T>::holds, rule::data_type_matches<From, T>,
                                                 rule::narrowing_data<From, T>>::must_hold;
/// The error for a sample: for its targets, if its inputs have the right type.
template <class Inputs, class In, class Targets, class Label>
using refused_sample = std::conditional_t<ReadAs<Inputs, In>, refused_data<Targets, Label>, refused_data<Inputs, In>>;

}  // namespace regimen::trainers
// SPDX-License-Identifier: Apache-2.0
