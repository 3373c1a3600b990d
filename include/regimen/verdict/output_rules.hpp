// regimen/verdict/output_rules.hpp — the rules about the output of a model and the loss that reads it.
#pragma once

#include <regimen/engine/plan/engine.hpp>
#include <regimen/layer/join.hpp>
#include <regimen/loss/mean_squared_error.hpp>
#include <regimen/loss/sum_of.hpp>
#include <regimen/rule/final_output_at_least_fp32.hpp>
#include <regimen/rule/loss_accepts_output.hpp>
#include <regimen/rule/loss_is_whole.hpp>
#include <regimen/rule/losses_match_outputs.hpp>
#include <regimen/verdict/compose.hpp>
#include <regimen/verdict/model_layers.hpp>
#include <regimen/walk/walk.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace regimen::train {

/// Whether a loss reads this output, one.
template <class Loss, class Output>
constexpr bool accepts_output() {
  if constexpr (regimen::detail::is_joined<typename Output::Shape>) return false;
  else if constexpr (requires { Loss::template accepts<Output>; }) return Loss::template accepts<Output>;
  else return Number<typename Output::Element>;
}

/// The members of a loss that a step uses.
template <class Loss, class Output>
concept WholeLoss =
    requires(walk::Walk<plan::Engine<plan::AnyTraits>>& engine, std::size_t at, View<Scalars> scalars, double scale) {
      { Loss::template rows<Output> } -> std::convertible_to<std::size_t>;
      Loss::template run<true, Output>(engine, at, at, scalars, scale);
      Loss::template run<false, Output>(engine, at, at, scalars, scale);
    };

/// Whether a layer is, or ends with, a Fork<Outputs, ...>.
template <class Layer>
inline constexpr bool has_outputs = false;
template <class... Branches>
inline constexpr bool has_outputs<Fork<Outputs, Branches...>> = true;
template <class Layer>
inline constexpr bool ends_with_outputs = has_outputs<Layer>;
template <regimen::detail::InSequence Layer>
  requires(children<Layer>::levels == 0 && !is_as<Layer>)
inline constexpr bool ends_with_outputs<Layer> = ends_with_outputs<regimen::detail::last_child<Layer>>;

/// The rules about the last layer: its output is at least fp32, and what the loss reads.
template <class Layer>
struct last_layer_rules {
  using type = mp::mp_list<rule::final_output_at_least_fp32<typename explicit_element<Layer>::type>>;
};
template <regimen::detail::InSequence Layer>
  requires ends_with_outputs<Layer>
struct last_layer_rules<Layer> : last_layer_rules<regimen::detail::last_child<Layer>> {};
template <class... Branches>
struct last_layer_rules<Fork<Outputs, Branches...>> {
  using type = mp::mp_append<typename last_layer_rules<Branches>::type...>;
};
template <class Loss, class Output, class Found>
struct loss_and_output_rules {
  using type = mp::mp_list<rule::loss_accepts_output<Loss, Output, accepts_output<Loss, Found>()>,
                           rule::loss_is_whole<Loss, Output, WholeLoss<Loss, Output>>>;
};
template <class Loss, class Output, class Found>
  requires(regimen::detail::is_joined<typename Output::Shape>)
struct loss_and_output_rules<Loss, Output, Found> {
  using type = mp::mp_list<rule::losses_match_outputs<Loss, Output>>;
};
template <class... Losses, class Output, class Found>
struct loss_and_output_rules<SumOf<Losses...>, Output, Found> {
  using type = mp::mp_list<rule::losses_match_outputs<SumOf<Losses...>, Output>>;
};
template <class... Losses, class T, class... Shapes, class Found>
  requires(sizeof...(Losses) == sizeof...(Shapes))
struct loss_and_output_rules<SumOf<Losses...>, Value<T, JoinedShapes<Shapes...>>, Found> {
  using type =
      mp::mp_append<typename loss_and_output_rules<typename regimen::detail::weighed<Losses>::Function,
                                                   Value<T, Shapes>, Value<typename Found::Element, Shapes>>::type...>;
};

template <class Layers>
constexpr bool outputs_come_last() {
  std::size_t count = 0;
  mp::mp_for_each<mp::mp_transform<mp::mp_identity, typename detail::all_in<Layers>::type>>(
      [&]<class Layer>(mp::mp_identity<Layer>) { count += has_outputs<Layer> ? 1 : 0; });
  if constexpr (mp::mp_empty<Layers>::value) return true;
  else return count == (ends_with_outputs<mp::mp_back<Layers>> ? 1 : 0);
}

}  // namespace regimen::train
// SPDX-License-Identifier: Apache-2.0
