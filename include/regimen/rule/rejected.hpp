// regimen/rule/rejected.hpp — the base of a Trainer that does not compose.
#pragma once

#include <regimen/policy/optimizer.hpp>

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

#include <cstddef>
#include <cstdlib>
#include <type_traits>

namespace regimen::detail {

/// The parameter of an inert member: takes any argument, also one in braces, such as the `{pointer, count}` of a span.
struct Anything {
  template <class... A>
  constexpr Anything(A&&...) {}
};

/// Can be used like an empty range, a text and a number.
struct Nothing {
  template <class T>
    requires(!std::is_same_v<T, Anything>)
  constexpr operator T() const {
    return T{};
  }
  constexpr const float* begin() const { return nullptr; }
  constexpr const float* end() const { return nullptr; }
  constexpr const float* data() const { return nullptr; }
  constexpr const char* c_str() const { return ""; }
  constexpr std::size_t size() const { return 0; }
  constexpr bool empty() const { return true; }
  constexpr float operator[](std::size_t) const { return 0; }
  template <class Stream>
  friend Stream& operator<<(Stream& stream, const Nothing&) {
    return stream;
  }
};

/// The result of an inert member whose real type is unknown: converts to anything, and has the members that programs
/// read from steps, evaluations, plans and parameters. Nothing here ever runs.
struct Inert {
  double loss = 0, accuracy = 0, validation_loss = 0, learning_rate = 0, gradient_norm = 0, milliseconds = 0,
         loss_scale = 1, weight = 0;
  std::size_t peak = 0, library = 0, operations = 0, parameters = 0, trained = 0, batch = 0, micro_batches = 1,
              targets = 0, samples = 0, step = 0, steps = 0;
  bool applied = true, stopped_early = false, trains = true, decays = true;
  Nothing name{}, shape{}, values{}, kinds{}, largest{}, input{}, target{};

  template <class T>
    requires(!std::is_same_v<T, Anything>)
  constexpr operator T() const {
    if constexpr (std::is_default_constructible_v<T>) return T{};
    else std::abort();  // the pieces of a step
  }
  template <class Stream>
  friend Stream& operator<<(Stream& stream, const Inert&) {
    return stream;
  }

  constexpr double value() const { return 0; }
  constexpr double flops() const { return 0; }
  constexpr double bytes_moved() const { return 0; }
  template <class Kind>
  constexpr std::size_t bytes(Kind) const {
    return 0;
  }
  template <class Target>
  constexpr bool fits(const Target&) const {
    return true;
  }
  constexpr Nothing table() const { return {}; }
  constexpr Inert next() const { return {}; }

  constexpr const Inert* begin() const { return nullptr; }
  constexpr const Inert* end() const { return nullptr; }
  constexpr std::size_t size() const { return 0; }
  constexpr bool empty() const { return true; }
  template <class Index>
  constexpr Inert operator[](const Index&) const {
    return {};
  }
};

/// The result types of a Trainer's members: Inert, or the real types if they do not depend on the policies.
struct InertAnswers {
  using Step = Inert;
  using Fitted = Inert;
  using Evaluation = Inert;
  using Used = Inert;
  using Plan = Inert;
  using Parameters = Inert;
  using Prediction = Nothing;
  using Tokens = Nothing;
  using Sampling = Nothing;
  using Shape = Inert;
  using Profile = Inert;
};

/// Padding after the broken rules, so that the list always has enough elements.
struct silent {
  struct must_hold {};
};

/// The must_hold of the rule at Index of a list of broken rules: a class whose instantiation is the error. A refused
/// Trainer instantiates the first three; further ones appear when these are mended.
template <class Broken, std::size_t Index>
using speech =
    typename boost::mp11::mp_at_c<boost::mp11::mp_push_back<Broken, silent, silent, silent>, Index>::must_hold;

/// A member of a refused Trainer or Inference whose first rule does not speak where it is broken, but when the program
/// is linked.
template <class Broken>
struct unlinked {};
template <class First, class... Others>
  requires requires { typename First::struct_without_a_model; }
struct unlinked<boost::mp11::mp_list<First, Others...>> : First::struct_without_a_model {};

/// The update rule of a recipe, or Default, whatever else in the recipe is wrong; so the
/// names of its options are known.
template <class Default, class... Policies>
struct named_rule {
  using type = Default;
};
template <class Default, class UpdateRule, class Decays, class... Policies>
  requires(belongs_to<UpdateRule, axis::optimizer>)
struct named_rule<Default, Optimizer<UpdateRule, Decays>, Policies...> {
  using type = UpdateRule;
};
template <class Default, class First, class... Policies>
struct named_rule<Default, First, Policies...> : named_rule<Default, Policies...> {};

/// The base of a Trainer that breaks rules: it has all members that a program may call, so
/// that only the rules give errors:
///
///   template <class Model, class... Policies>
///     requires(!Composable<Model, Policies...>)
///   class Trainer<Model, Policies...> : public detail::rejected<Options<typename detail::named_rule<AdamW,
///   Policies...>::type>, FitOptions, Answers> {
///     using Base = typename Trainer::rejected;
///     using Broken = detail::broken_rules<Model, Policies...>;
///     static_assert(sizeof(detail::speech<Broken, 0>) && sizeof(detail::speech<Broken, 1>) &&
///     sizeof(detail::speech<Broken, 2>));
///
///    public:
///     using Base::Base;
///   };
///
/// (The rules are no base classes, because clang drops a base whose assertion failed, and
/// all inherited members with it:
/// measured, nine more errors.)
///
///   Settings     the constructor's options, with the real names, so that `{{.optimizer = {…}}}` gives no error
///   FitOptions   the options of fit: `{.steps = 1000}`
///   Answers      the result types of the members, and the options of generate
///
/// It has every public name of a Trainer and an Inference that a program uses; the test docs.rejected compares the
/// lists.
template <class Settings, class FitOptions, class Answers = InertAnswers>
struct rejected {
  using Options = Settings;
  using Schedule = Nothing;
  using Input = float;
  using Label = float;
  using Output = float;
  using Master = float;
  using Reduce = float;
  static constexpr std::size_t batch = 1, micro_batches = 1, input_size = 1, target_size = 1, output_size = 1,
                               output_rows = 1;
  static constexpr bool scales_loss = false, decodes = true;
  template <class Source>
  static constexpr bool serves = true;

  constexpr rejected() = default;
  constexpr rejected(Settings) {}
  template <class Communicator>
  constexpr explicit rejected(Communicator&&, Settings) {}
  template <class First, class... Others>
  constexpr explicit rejected(First&&, Others&&...) {}

  template <class Source, class... Others>
  static constexpr typename Answers::Fitted fit(Source&&, Others&&...) {
    return {};
  }
  template <class Source, class... Callbacks>
  static constexpr typename Answers::Fitted fit(Source&&, FitOptions, Callbacks&&...) {
    return {};
  }
  template <class Source, class Validation, class... Callbacks>
  static constexpr typename Answers::Fitted fit(Source&&, Validation&&, FitOptions, Callbacks&&...) {
    return {};
  }

  static constexpr typename Answers::Step step(const Anything&, const Anything&) { return {}; }
  static constexpr typename Answers::Step apply(const Anything&) { return {}; }
  template <class... Metrics>
  static constexpr typename Answers::Evaluation evaluate(const Anything&, const Anything& = {}, const Metrics&...) {
    return {};
  }
  static constexpr typename Answers::Prediction predict(const Anything&) { return {}; }
  static constexpr typename Answers::Prediction start(const Anything&, const Anything& = {}) { return {}; }
  static constexpr typename Answers::Prediction next(const Anything&) { return {}; }
  static constexpr typename Answers::Tokens generate(const Anything&, const Anything&,
                                                     typename Answers::Sampling = {}) {
    return {};
  }
  static constexpr typename Answers::Tokens generate(const Anything&, const Anything&, const Anything&,
                                                     typename Answers::Sampling = {}) {
    return {};
  }
  static constexpr Inert batches(const Anything&, FitOptions = {}) { return {}; }
  static constexpr Inert forward(const Anything&, const Anything&) { return {}; }
  static constexpr Inert scale(const Anything&) { return {}; }
  static constexpr Inert backward(const Anything&) { return {}; }
  static constexpr Inert unscale(const Anything&) { return {}; }
  static constexpr double gradient_divisor() { return 1; }
  static constexpr void abandon() {}

  static constexpr typename Answers::Parameters parameters() { return {}; }
  static constexpr typename Answers::Parameters gradients() { return {}; }
  static constexpr void parameters_changed() {}
  static constexpr void save(const Anything&) {}
  static constexpr void save_in_background(const Anything&, const Anything& = {}) {}
  static constexpr void finish_saving() {}
  static constexpr void save_whole(const Anything&) {}
  static constexpr void save_average(const Anything&) {}
  static constexpr void with_average(const Anything&) {}
  static constexpr void load(const Anything&) {}
  static constexpr void load_weights(const Anything&) {}

  static constexpr typename Answers::Plan plan() { return {}; }
  static constexpr typename Answers::Plan plan(const Anything&, const Anything& = {}) { return {}; }
  static constexpr typename Answers::Plan planned() { return {}; }
  static constexpr typename Answers::Plan shared_plan() { return {}; }
  static constexpr Inert share(const Anything& = {}) { return {}; }
  static constexpr typename Answers::Used used() { return {}; }
  static constexpr typename Answers::Shape sample_shape() { return {}; }
  static typename Answers::Profile& profile() { std::abort(); }
  static const Settings& options() { std::abort(); }
  static constexpr std::size_t rank() { return 0; }
  static constexpr std::size_t ranks() { return 1; }
  static constexpr bool on_all_ranks(const Anything&) { return true; }
  static constexpr std::size_t steps_done() { return 0; }
  static constexpr std::size_t seed() { return 0; }
  static constexpr void poison_dead_memory() {}
};

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
