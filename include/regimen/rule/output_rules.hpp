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

/// CrossEntropy takes the logits of two classes or more, MeanSquaredError any numbers.
/// docs/errors/losses.md#loss_accepts_output
template <class Loss, class Output>
struct loss_accepts_output {
  static constexpr bool holds = accepts_output<Loss, Output>();
  struct must_hold {
    static_assert(holds,
                  "regimen: this loss does not read such an output; write another Loss<...>, or another last layer");
  };
};

/// The members of a loss that a step uses.
template <class Loss, class Output>
concept WholeLoss = requires(walk::Walk<planning::Engine<planning::AnyTraits>>& engine, std::size_t at,
                             View<Scalars> scalars, double scale) {
  { Loss::template rows<Output> } -> std::convertible_to<std::size_t>;
  Loss::template run<true, Output>(engine, at, at, scalars, scale);
  Loss::template run<false, Output>(engine, at, at, scalars, scale);
};

/// It has rows and run for this output.   docs/errors/extensions.md#loss_is_whole
template <class Loss, class Output>
struct loss_is_whole {
  static constexpr bool holds = WholeLoss<Loss, Output>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a loss has rows<Output> and run<gradient, Output>(engine, output, target, scalars, scale); give it both");
  };
};

/// As many losses as outputs.   docs/errors/losses.md#losses_match_outputs
template <class Loss, class Output>
struct losses_match_outputs {
  static constexpr bool holds = never<Loss>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: SumOf has a loss for each branch of Fork<Outputs, ...>, the last layer; write as many of both");
  };
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
struct last_layer_rules : RuleList<final_output_at_least_fp32<typename explicit_element<Layer>::type>> {};
template <detail::InSequence Layer>
  requires ends_with_outputs<Layer>
struct last_layer_rules<Layer> : last_layer_rules<detail::last_child<Layer>> {};
template <class... Branches>
struct last_layer_rules<Fork<Outputs, Branches...>> {
  using type = mp::mp_append<typename last_layer_rules<Branches>::type...>;
};
template <class Loss, class Output, class Found>
struct loss_and_output_rules : RuleList<loss_accepts_output<Loss, Found>, loss_is_whole<Loss, Output>> {};
template <class Loss, class Output, class Found>
  requires(detail::is_joined<typename Output::Shape>)
struct loss_and_output_rules<Loss, Output, Found> : RuleList<losses_match_outputs<Loss, Output>> {};
template <class... Losses, class Output, class Found>
struct loss_and_output_rules<SumOf<Losses...>, Output, Found>
    : RuleList<losses_match_outputs<SumOf<Losses...>, Output>> {};
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
/// No other place has one.   docs/errors/losses.md#outputs_come_last
template <class Network>
struct outputs_come_last {
  static constexpr bool holds = has_outputs_last<typename parts_t<Network>::Layers>();
  struct must_hold {
    static_assert(
        holds,
        "regimen: Outputs joins what losses read; write Fork<Outputs, ...> once, as the last layer of the model");
  };
};

// ---- the last layer and the loss that reads it

/// What a loss takes its input for: the logits of classes, of questions, or numbers. Of a loss in a wrapper, that
/// loss's.
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

/// Logits below 0 are what a loss asks for where a class is unlikely. Of Softmax and Sigmoid they also end at 1; of
/// Relu the gradient is 0 where a logit would be below 0.   docs/errors/losses.md#logits_take_both_signs
template <class Loss, class Ending>
struct logits_take_both_signs {
  static constexpr bool holds = !((takes<Loss> != Takes::numbers && std::is_same_v<Ending, Relu>) ||
                                  (takes<Loss> == Takes::logits_of_classes && std::is_same_v<Ending, Sigmoid>) ||
                                  (takes<Loss> == Takes::logits_of_questions && std::is_same_v<Ending, Softmax>));
  struct must_hold {
    static_assert(holds,
                  "regimen: this loss takes logits of both signs, and the last layer gives none below 0; leave it out");
  };
};

/// BinaryCrossEntropy takes logits. The logistic function of a logistic function lies between 0.5 and 0.73.
/// docs/errors/losses.md#sigmoid_is_in_the_loss
template <class Loss, class Ending>
struct sigmoid_is_in_the_loss {
  static constexpr bool holds = takes<Loss> != Takes::logits_of_questions || !std::is_same_v<Ending, Sigmoid>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: BinaryCrossEntropy takes logits, of which it computes the sigmoid itself; leave out the last Sigmoid");
  };
};

/// A cross-entropy takes logits. Of the softmax of a softmax no class gets a probability above e / (e + V − 1), so that
/// the loss cannot come near 0, whatever is learned.   docs/errors/losses.md#softmax_is_in_the_loss
template <class Loss, class Ending>
struct softmax_is_in_the_loss {
  static constexpr bool holds = takes<Loss> != Takes::logits_of_classes || !std::is_same_v<Ending, Softmax>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a cross-entropy takes logits, of which it computes the softmax itself; leave out the last Softmax");
  };
};

/// The layer that all numbers of a layer's output come from, through sequences and joins; void without one.
template <class Layer, class Ending = last_of<Layer>>
struct ending_of {
  using type = Ending;
};
template <class Layer, class First, class... Others>
struct ending_of<Layer, Fork<Concat, First, Others...>> {
  using type =
      std::conditional_t<(std::is_same_v<typename ending_of<First>::type, typename ending_of<Others>::type> && ...),
                         typename ending_of<First>::type, void>;
};
template <class Layer, std::size_t axis, class... Branches>
struct ending_of<Layer, Fork<ConcatAlong<axis>, Branches...>> : ending_of<Layer, Fork<Concat, Branches...>> {};
template <class Layer, class... Branches>
struct ending_of<Layer, Fork<Last, Branches...>> : ending_of<mp::mp_back<mp::mp_list<Branches...>>> {};

/// Layer   the last of a model, or a branch of Outputs   Ending   what it ends with
template <class Loss, class Layer, class Ending = last_of<Layer>>
struct ending_rules {
  using All = typename ending_of<Layer, Ending>::type;
  using type = mp::mp_list<softmax_is_in_the_loss<Loss, All>, sigmoid_is_in_the_loss<Loss, All>,
                           logits_take_both_signs<Loss, All>>;
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
