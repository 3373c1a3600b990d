// regimen/trainers/refused_calls.hpp — wrong calls of a Trainer's constructor, step and fit, each with its own error.
#pragma once

#include <regimen/comm/communicator.hpp>
#include <regimen/rule/arguments.hpp>
#include <regimen/rule/fit.hpp>
#include <regimen/rule/models.hpp>
#include <regimen/rule/run_options.hpp>
#include <regimen/rule/trainers.hpp>
#include <regimen/trainers/options.hpp>
#include <regimen/trainers/refused_data.hpp>
#include <regimen/trainers/result.hpp>
#include <regimen/trainers/session.hpp>

#include <initializer_list>
#include <type_traits>

namespace regimen::trainers {

/// A class whose instantiation is the error for a T where the constructor takes options.
template <class T, class Communicator>
using constructor_mistake = typename std::conditional_t<
    comm::Collectives<T>, rule::communicator_matches<T, Communicator>,
    std::conditional_t<detail::is_model<T>, rule::model_is_a_type<T>, rule::options_have_names<T>>>::must_hold;

/// Overloads of a Trainer, which is Self. None of them ever compiles.
template <class Self>
struct RefusedCalls {
 private:
  using Input = typename SessionOf<Self>::type::Input;
  using Label = typename SessionOf<Self>::type::Label;

 public:
  // Data or labels in another type than the model and its loss read: convert them explicitly.
  template <class Inputs, class Targets>
    requires(!ReadAs<Inputs, Input> || !ReadAs<Targets, Label>)
  StepResult step(const Inputs&, const Targets&) {
    static_assert(sizeof(refused_sample<Inputs, Input, Targets, Label>));
    return {};
  }

  // Inputs without targets.
  template <class Inputs>
  StepResult step(const Inputs&) {
    static_assert(sizeof(typename rule::step_takes_targets<Inputs>::must_hold));
    return {};
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
};

}  // namespace regimen::trainers
// SPDX-License-Identifier: Apache-2.0
