// regimen/policy/rejected.hpp — what stands in place of a Trainer that does not compose.
#pragma once

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

#include <cstddef>

namespace regimen::detail {

/// What every inert member returns: it turns into anything, and has the fields that programs read from losses, plans and parameters.
/// Nothing here ever runs; it keeps the lines after a refused recipe from adding errors of their own.
struct Inert {
  double loss = 0, accuracy = 0, learning_rate = 0, gradient_norm = 0, milliseconds = 0, tokens_per_second = 0, loss_scale = 0;
  std::size_t peak = 0, parameter = 0, gradient = 0, optimizer = 0, saved = 0, transient = 0, scratch = 0, communication = 0, input = 0;
  std::size_t library = 0, count = 0, step = 0, steps = 0, epoch = 0, batch = 0, bytes = 0, flops = 0;
  const char* name = "";

  template <class T>
  constexpr operator T() const {
    return T{};
  }
  template <class Stream>
  friend Stream& operator<<(Stream& stream, const Inert&) {
    return stream;
  }

  constexpr const Inert* begin() const { return nullptr; }
  constexpr const Inert* end() const { return nullptr; }
  constexpr const char* data() const { return ""; }
  constexpr std::size_t size() const { return 0; }
  template <class Index>
  constexpr Inert operator[](const Index&) const {
    return {};
  }
  template <class... Arguments>
  constexpr bool fits(Arguments&&...) const {
    return true;
  }
  template <class... Arguments>
  constexpr Inert table(Arguments&&...) const {
    return {};
  }
};

/// Follows the broken rules, so that there is always another one to ask.
struct silent {
  struct must_hold {};
};

/// The sentence of the rule at Index of a list of broken rules: a class that says it when it is completed. A refused Trainer completes the
/// first three of them; whoever breaks more reads the others after those.
template <class Broken, std::size_t Index>
using speech = typename boost::mp11::mp_at_c<boost::mp11::mp_push_back<Broken, silent, silent, silent>, Index>::must_hold;

/// The base of a Trainer that breaks rules: everything that a program may call is there and silent. Only the rules speak:
///
///   template <class Model, class... Policies>
///     requires(!Composable<Model, Policies...>)
///   class Trainer<Model, Policies...> : public detail::rejected<Options<AdamW>, Run> {
///     using Broken = detail::broken_rules<Model, Policies...>;
///     static_assert(sizeof(detail::speech<Broken, 0>) && sizeof(detail::speech<Broken, 1>) && sizeof(detail::speech<Broken, 2>));
///
///    public:
///     using detail::rejected<Options<AdamW>, Run>::rejected;
///   };
///
/// (As base classes the rules would take all inherited members away in clang, which drops a base that failed an assertion: measured,
/// nine more errors.)
///
///   Settings     what the constructor takes in braces, with the real names, so that `{{.optimizer = {…}}}` is silent too
///   Run_         what fit takes in braces: `{.steps = 1000}`
template <class Settings, class Run_>
struct rejected {
  using Options = Settings;
  using Run = Run_;

  constexpr rejected() = default;
  constexpr rejected(Settings) {}
  template <class First, class... Others>
  constexpr explicit rejected(First&&, Others&&...) {}

  template <class... A>
  static constexpr Inert fit(A&&...) {
    return {};
  }
  template <class A>
  static constexpr Inert fit(A&&, Run) {
    return {};
  }
  template <class A, class B>
  static constexpr Inert fit(A&&, B&&, Run) {
    return {};
  }

  template <class... A>
  static constexpr Inert step(A&&...) {
    return {};
  }
  template <class... A>
  static constexpr Inert evaluate(A&&...) {
    return {};
  }
  template <class... A>
  static constexpr Inert predict(A&&...) {
    return {};
  }
  template <class... A>
  static constexpr Inert generate(A&&...) {
    return {};
  }
  template <class... A>
  static constexpr Inert forward(A&&...) {
    return {};
  }
  template <class... A>
  static constexpr Inert backward(A&&...) {
    return {};
  }
  template <class... A>
  static constexpr Inert unscale(A&&...) {
    return {};
  }
  template <class... A>
  static constexpr Inert apply(A&&...) {
    return {};
  }
  template <class... A>
  static constexpr Inert save(A&&...) {
    return {};
  }
  template <class... A>
  static constexpr Inert load(A&&...) {
    return {};
  }
  template <class... A>
  static constexpr Inert resume(A&&...) {
    return {};
  }
  template <class... A>
  static constexpr Inert parameters(A&&...) {
    return {};
  }
  template <class... A>
  static constexpr Inert gradients(A&&...) {
    return {};
  }
  template <class... A>
  static constexpr Inert options(A&&...) {
    return {};
  }
  template <class... A>
  static constexpr Inert metrics(A&&...) {
    return {};
  }
  template <class... A>
  static constexpr Inert plan(A&&...) {
    return {};
  }
  template <class... A>
  static constexpr Inert profile(A&&...) {
    return {};
  }
  template <class... A>
  static constexpr Inert parameters_changed(A&&...) {
    return {};
  }
  template <class... A>
  static constexpr Inert used(A&&...) {
    return {};
  }
};

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
