// regimen/programs/check_ids.hpp — checks the tokens and labels of a batch against vocabulary
// and classes, before it is loaded.
#pragma once

#include <regimen/core/bundled.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/finite.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/policy/loss.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace regimen::programs {

/// vocabulary = 0: inputs are no tokens.
[[noreturn, gnu::cold]] void refuse_token(const std::string& where, std::size_t sample, std::size_t position,
                                          std::size_t vocabulary, const std::string& found);
[[noreturn, gnu::cold]] void refuse_label(const std::string& where, std::size_t sample, const std::string& row,
                                          std::size_t classes, const std::string& found);

[[noreturn, gnu::cold]] void refuse_weight(const std::string& where, std::size_t sample, double found);

/// Calls check(value I of a sample, the index of the sample, where, as a bundle says it, std::integral_constant I) for
/// all values whose elements are of a kind, as std::is_integral.
template <template <class> class Kind, class... Values>
void for_each_value(std::span<const Bundled<Values...>> samples, const std::string& where, auto&& check) {
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    const auto look = [&]<std::size_t I, class Element>(std::integral_constant<std::size_t, I> index, Element*) {
      if constexpr (Kind<Element>::value) {
        const std::string part = where + ", part " + std::to_string(I);
        for (std::size_t s = 0; s < samples.size(); ++s)
          check(std::span<const Element>(samples[s].template get<I>()), s, part, index);
      }
    };
    (look(std::integral_constant<std::size_t, i>{}, static_cast<typename Values::Element*>(nullptr)), ...);
  }(std::index_sequence_for<Values...>{});
}

/// The bound that a data source is told: none of a bundle, each of whose values has its own.
constexpr std::size_t single_bound(std::size_t bound) { return bound; }
template <std::size_t count>
constexpr std::size_t single_bound(const std::array<std::size_t, count>&) {
  return 0;
}
/// The bound of labels that a data source is told; of a bundle of classes and weights, the bound of the classes.
template <class Label>
constexpr std::size_t bound_of_labels(std::size_t bound) {
  return std::is_integral_v<Label> ? bound : 0;
}
template <class Label, std::size_t count>
constexpr std::size_t bound_of_labels(const std::array<std::size_t, count>& bounds) {
  if constexpr (regimen::detail::is_bundle<Label> && count == 2) {
    using First = typename regimen::detail::bundled_value<0, Label>::type::Element;
    if (std::is_integral_v<First> && bounds[1] == regimen::detail::are_weights) return bounds[0];
  }
  return 0;
}

/// failure   Error naming sample (the first of these is `first`), position and token
template <class Input>
void check_tokens([[maybe_unused]] std::span<const Input> inputs, [[maybe_unused]] std::size_t per_sample,
                  [[maybe_unused]] std::size_t vocabulary, [[maybe_unused]] const std::string& where,
                  [[maybe_unused]] std::size_t first) {
  if constexpr (std::is_integral_v<Input>) {
    if (vocabulary == 0) return;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (!std::in_range<std::size_t>(inputs[i]) || std::cmp_greater_equal(inputs[i], vocabulary))
        refuse_token(where, first + i / per_sample, i % per_sample, vocabulary, std::to_string(inputs[i]));
  }
}

/// check_tokens for each value of the samples of a bundle.   vocabulary   of each value
template <class... Values>
void check_tokens(std::span<const Bundled<Values...>> inputs, std::size_t,
                  const std::array<std::size_t, sizeof...(Values)>& vocabulary, const std::string& where,
                  std::size_t first) {
  for_each_value<std::is_integral>(
      inputs, where, [&]<class T>(std::span<const T> ids, std::size_t sample, const std::string& part, auto i) {
        check_tokens(ids, ids.size(), vocabulary[i], part, first + sample);
      });
}

/// A source for a model that reads `length` tokens, and shorter ones if a token pads them, behind which attention ends.
void check_source(std::size_t tokens, std::size_t length, std::int32_t padding, const std::string& where);

/// failure   Error naming sample (the first of these is `first`), row and label
template <class Label>
void check_labels([[maybe_unused]] std::span<const Label> targets, [[maybe_unused]] std::size_t per_sample,
                  [[maybe_unused]] std::size_t classes, [[maybe_unused]] const std::string& where,
                  [[maybe_unused]] std::size_t first) {
  if constexpr (std::is_integral_v<Label>) {
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const Label label = targets[i];
      if (label == Label(ignore_index) || (label >= 0 && std::cmp_less(label, classes))) continue;
      refuse_label(where, first + i / per_sample,
                   per_sample > 1 ? ", row " + std::to_string(i % per_sample) : std::string(), classes,
                   std::to_string(label));
    }
  }
}
/// check_labels for each value of the targets of a bundle, which may have weights: each must be finite.
///   classes   of each value; are_weights of weights
template <class... Values>
void check_labels(std::span<const Bundled<Values...>> targets, std::size_t,
                  const std::array<std::size_t, sizeof...(Values)>& classes, const std::string& where,
                  std::size_t first) {
  for_each_value<std::is_integral>(
      targets, where, [&]<class T>(std::span<const T> ids, std::size_t sample, const std::string& part, auto i) {
        check_labels(ids, ids.size(), classes[i], part, first + sample);
      });
  for_each_value<std::is_floating_point>(targets, where,
                                         [&](auto weights, std::size_t sample, const std::string&, auto i) {
                                           if (classes[i] != regimen::detail::are_weights) return;
                                           for (const auto weight : weights)
                                             if (!is_finite(weight))
                                               refuse_weight(where, first + sample, double(weight));
                                         });
}

}  // namespace regimen::programs

#if !REGIMEN_COMPILED
#include <regimen/programs/check_ids.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
