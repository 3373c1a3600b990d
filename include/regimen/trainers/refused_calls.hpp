// regimen/trainers/refused_calls.hpp — wrong calls of a Trainer's members, each with its own error.
#pragma once

#include <regimen/rule/fit.hpp>
#include <regimen/rule/texts.hpp>
#include <regimen/rule/trainers.hpp>
#include <regimen/trainers/generate.hpp>  // Sampling
#include <regimen/trainers/mistakes.hpp>
#include <regimen/trainers/options.hpp>
#include <regimen/trainers/refused_data.hpp>
#include <regimen/trainers/result.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string_view>
#include <type_traits>
#include <vector>

namespace regimen::trainers {

/// A loss, scaled or not, where gradients belong.
template <class T>
concept AnyLoss = std::is_same_v<T, UnscaledLoss> || std::is_same_v<T, ScaledLoss>;

/// Overloads for wrong calls of a Trainer. None of them ever compiles.
template <class Input, class Label, class Output>
struct RefusedCalls {
  // Data or labels in another type than the model and its loss read: convert them explicitly.
  template <class Inputs, class Targets>
    requires(!ReadAs<Inputs, Input> || !ReadAs<Targets, Label>)
  StepResult step(const Inputs&, const Targets&) {
    static_assert(sizeof(refused_sample<Inputs, Input, Targets, Label>));
    return {};
  }
  template <class Inputs, class Targets>
    requires(!ReadAs<Inputs, Input> || !ReadAs<Targets, Label>)
  UnscaledLoss forward(const Inputs&, const Targets&) {
    static_assert(sizeof(refused_sample<Inputs, Input, Targets, Label>));
    std::abort();
  }
  template <class Data>
    requires(!ReadAs<Data, Input>)
  std::vector<Output> predict(const Data&) {
    static_assert(sizeof(refused_data<Data, Input>));
    return {};
  }

  // Characters where generate reads tokens.
  template <class Prompt>
    requires std::is_convertible_v<const Prompt&, std::string_view>
  std::vector<std::int32_t> generate(const Prompt&, std::size_t = 0, const Sampling& = {}) {
    static_assert(sizeof(typename rule::generate_reads_tokens<Prompt>::must_hold));
    return {};
  }

  // Inputs without targets.
  template <class Inputs>
  StepResult step(const Inputs&) {
    static_assert(sizeof(typename rule::step_takes_targets<Inputs>::must_hold));
    return {};
  }
  template <class Inputs>
  UnscaledLoss forward(const Inputs&) {
    static_assert(sizeof(typename rule::step_takes_targets<Inputs>::must_hold));
    std::abort();
  }

  // Data in braces.
  template <class Inputs, class Targets>
    requires(std::is_arithmetic_v<Inputs> && std::is_arithmetic_v<Targets>)
  StepResult step(std::initializer_list<Inputs>, std::initializer_list<Targets>) {
    static_assert(sizeof(typename rule::data_lies_somewhere<std::initializer_list<Inputs>>::must_hold));
    return {};
  }
  template <class Inputs, class Targets>
    requires std::is_arithmetic_v<Targets>
  StepResult step(const Inputs&, std::initializer_list<Targets>) {
    static_assert(sizeof(typename rule::data_lies_somewhere<std::initializer_list<Targets>>::must_hold));
    return {};
  }

  // Sources or numbers where fit has its options.
  template <class Source, class Second, class Third, class... Others>
    requires(!std::is_convertible_v<const Second&, FitOptions> && !std::is_convertible_v<const Third&, FitOptions>)
  Fitted fit(const Source&, const Second&, const Third&, const FitOptions& = {}, const Others&...) {
    static_assert(sizeof(typename rule::options_follow_sources<Third>::must_hold));
    return {};
  }

  // Pieces of a step in the wrong order.
  template <AnyLoss Loss>
  Gradients unscale(const Loss&) const {
    static_assert(sizeof(typename rule::apply_needs_backward<Loss>::must_hold));
    std::abort();
  }
  template <AnyLoss Loss>
  StepResult apply(const Loss&) {
    static_assert(sizeof(typename rule::apply_needs_backward<Loss>::must_hold));
    return {};
  }
  template <class Scaled>
    requires std::is_same_v<Scaled, ScaledGradients>
  StepResult apply(const Scaled&) {
    static_assert(sizeof(typename rule::scaled_gradients_need_unscale<Scaled>::must_hold));
    return {};
  }
};

template <class Recipe, class Step = typename Recipe::Step>
using RefusedCallsOf =
    RefusedCalls<typename Step::X::Element, typename Step::Labels::Element, typename Step::Output::Element>;

}  // namespace regimen::trainers
// SPDX-License-Identifier: Apache-2.0
