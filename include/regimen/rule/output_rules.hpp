// regimen/rule/output_rules.hpp — the rules about the output of a model and the loss that reads it.
#pragma once

#include <regimen/core/pointwise_loss.hpp>
#include <regimen/engine/plan/engine.hpp>
#include <regimen/layer/activation.hpp>
#include <regimen/layer/join.hpp>
#include <regimen/layer/softmax.hpp>
#include <regimen/loss/cross_entropy.hpp>
#include <regimen/loss/mean_squared_error.hpp>
#include <regimen/loss/soft_cross_entropy.hpp>
#include <regimen/loss/sum_of.hpp>
#include <regimen/rule/compose.hpp>
#include <regimen/rule/extensions.hpp>
#include <regimen/rule/losses.hpp>
#include <regimen/rule/model_layers.hpp>
#include <regimen/rule/precision.hpp>
#include <regimen/walk/walk.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace regimen::rule {

/// Whether a loss reads this output, one.
template <class Loss, class Output>
constexpr bool accepts_output() {
  if constexpr (detail::is_joined<typename Output::Shape>) return false;
  else if constexpr (requires { Loss::template accepts<Output>; }) return Loss::template accepts<Output>;
  else return Number<typename Output::Element>;
}

/// The members of a loss that a step uses.
template <class Loss, class Output>
concept WholeLoss = requires(walk::Walk<planning::Engine<planning::AnyTraits>>& engine, std::size_t at,
                             View<Scalars> scalars, double scale) {
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
template <detail::InSequence Layer>
  requires(children<Layer>::levels == 0 && !is_as<Layer>)
inline constexpr bool ends_with_outputs<Layer> = ends_with_outputs<detail::last_child<Layer>>;

/// The rules about the last layer: its output is at least fp32, and what the loss reads.
template <class Layer>
struct last_layer_rules {
  using type = mp::mp_list<final_output_at_least_fp32<typename explicit_element<Layer>::type>>;
};
template <detail::InSequence Layer>
  requires ends_with_outputs<Layer>
struct last_layer_rules<Layer> : last_layer_rules<detail::last_child<Layer>> {};
template <class... Branches>
struct last_layer_rules<Fork<Outputs, Branches...>> {
  using type = mp::mp_append<typename last_layer_rules<Branches>::type...>;
};
template <class Loss, class Output, class Found>
struct loss_and_output_rules {
  using type = mp::mp_list<loss_accepts_output<Loss, Output, accepts_output<Loss, Found>()>,
                           loss_is_whole<Loss, Output, WholeLoss<Loss, Output>>>;
};
template <class Loss, class Output, class Found>
  requires(detail::is_joined<typename Output::Shape>)
struct loss_and_output_rules<Loss, Output, Found> {
  using type = mp::mp_list<losses_match_outputs<Loss, Output>>;
};
template <class... Losses, class Output, class Found>
struct loss_and_output_rules<SumOf<Losses...>, Output, Found> {
  using type = mp::mp_list<losses_match_outputs<SumOf<Losses...>, Output>>;
};
template <class... Losses, class T, class... Shapes, class Found>
  requires(sizeof...(Losses) == sizeof...(Shapes))
struct loss_and_output_rules<SumOf<Losses...>, Value<T, JoinedShapes<Shapes...>>, Found> {
  using type =
      mp::mp_append<typename loss_and_output_rules<typename detail::weighed<Losses>::Function, Value<T, Shapes>,
                                                   Value<typename Found::Element, Shapes>>::type...>;
};

template <class Layers>
constexpr bool has_outputs_last() {
  std::size_t count = 0;
  mp::mp_for_each<mp::mp_transform<mp::mp_identity, typename detail::all_in<Layers>::type>>(
      [&]<class Layer>(mp::mp_identity<Layer>) { count += has_outputs<Layer> ? 1 : 0; });
  if constexpr (mp::mp_empty<Layers>::value) return true;
  else return count == (ends_with_outputs<mp::mp_back<Layers>> ? 1 : 0);
}

// ---- the last layer and the loss that reads it

/// What a loss takes its input for: the logits of classes, of questions, or numbers. Of a loss in a wrapper, that loss's.
enum class Takes { numbers, logits_of_classes, logits_of_questions };
template <class Smoothing>
std::integral_constant<Takes, Takes::logits_of_classes> taken_by(const SmoothedCrossEntropy<Smoothing>*);
template <bool masked>
std::integral_constant<Takes, Takes::logits_of_classes> taken_by(const detail::SoftCrossEntropyOf<masked>*);
std::integral_constant<Takes, Takes::logits_of_questions> taken_by(
    const detail::PointwiseLoss<pointwise::BinaryCrossEntropy>*);
std::integral_constant<Takes, Takes::logits_of_questions> taken_by(
    const detail::PointwiseLoss<pointwise::Masked<pointwise::BinaryCrossEntropy>>*);
std::integral_constant<Takes, Takes::numbers> taken_by(const void*);
template <class Loss>
inline constexpr Takes takes = decltype(taken_by(static_cast<const Loss*>(nullptr)))::value;
template <class Loss>
inline constexpr Takes takes<SampleWeighted<Loss>> = takes<Loss>;

/// Whether all numbers of a layer's output come from a layer of this type: through sequences and joins. Not `Last`, which
/// nvcc would take for the join of that name.
template <class Layer, class Wanted, class Ending = last_of<Layer>>
inline constexpr bool ends_with = std::is_same_v<Ending, Wanted>;
template <class Layer, class Wanted, class... Branches>
inline constexpr bool ends_with<Layer, Wanted, Fork<Concat, Branches...>> = (ends_with<Branches, Wanted> && ...);
template <class Layer, class Wanted, std::size_t axis, class... Branches>
inline constexpr bool ends_with<Layer, Wanted, Fork<ConcatAlong<axis>, Branches...>> =
    (ends_with<Branches, Wanted> && ...);
template <class Layer, class Wanted, class... Branches>
inline constexpr bool ends_with<Layer, Wanted, Fork<Last, Branches...>> =
    ends_with<mp::mp_back<mp::mp_list<Branches...>>, Wanted>;

/// A last layer, what a loss behind it takes, and the rule that refuses the two together.
template <class Layer_, Takes takes_, template <class, class, bool> class Rule>
struct Refused {
  using Layer = Layer_;
  template <class Loss, class Ending>
  using rule = Rule<Loss, Layer, !(takes<Loss> == takes_ && ends_with<Ending, Layer>)>;
};
using refused_endings = mp::mp_list<Refused<Softmax, Takes::logits_of_classes, softmax_is_in_the_loss>,
                                    Refused<Sigmoid, Takes::logits_of_questions, sigmoid_is_in_the_loss>,
                                    Refused<Sigmoid, Takes::logits_of_classes, logits_take_both_signs>,
                                    Refused<Softmax, Takes::logits_of_questions, logits_take_both_signs>,
                                    Refused<Relu, Takes::logits_of_classes, logits_take_both_signs>,
                                    Refused<Relu, Takes::logits_of_questions, logits_take_both_signs>>;

/// Layer   the last of a model, or a branch of Outputs   Ending   what it ends with
template <class Loss, class Layer, class Ending = last_of<Layer>>
struct ending_rules {
  template <class Pair>
  using one = typename Pair::template rule<Loss, Layer>;
  using type = mp::mp_transform<one, refused_endings>;
};
template <class Loss, class Weight, class Layer, class Ending>
struct ending_rules<Weighted<Loss, Weight>, Layer, Ending> : ending_rules<Loss, Layer> {};
template <class... Losses, class Layer, class... Branches>
  requires(sizeof...(Losses) == sizeof...(Branches))
struct ending_rules<SumOf<Losses...>, Layer, Fork<Outputs, Branches...>> {
  using type = mp::mp_append<typename ending_rules<Losses, Branches>::type...>;
};
/// A branch that keeps numbers, such as Identity, ends with what stands before the Fork.
template <class... Losses, class... Layers, class... Branches>
  requires(sizeof...(Losses) == sizeof...(Branches) &&
           std::is_same_v<mp::mp_back<mp::mp_list<Layers...>>, Fork<Outputs, Branches...>>)
struct ending_rules<SumOf<Losses...>, Sequential<Layers...>, Fork<Outputs, Branches...>> {
  using Before = mp::mp_take_c<Sequential<Layers...>, sizeof...(Layers) - 1>;
  using type = mp::mp_append<typename ending_rules<Losses, mp::mp_push_back<Before, Branches>>::type...>;
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
