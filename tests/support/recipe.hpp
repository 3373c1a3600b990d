// tests/support/recipe.hpp — a Trainer without an engine: the verdict and the speech of the real one, compiled in a
// tenth of the time.
#pragma once

#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/loss/cross_entropy.hpp>
#include <regimen/optimizer/adamw.hpp>
#include <regimen/rule/compose.hpp>
#include <regimen/rule/rejected.hpp>

namespace regimen {

template <class Rule>
struct RecipeOptions {
  typename Rule::Options optimizer;
};
struct RecipeRun {
  std::size_t steps = 0;
};

template <class Model, class... Policies>
class Trainer {
 public:
  using Configuration = ConfigurationOf<Policies...>;
  using Options = RecipeOptions<typename Configuration::optimizer::rule>;
  explicit Trainer(const Options& = {}) {}
};

/// A recipe that does not compose: each broken rule says so once, the rest of the user's code adds nothing.
template <class Model, class... Policies>
  requires(!Composable<Model, Policies...>)
class Trainer<Model, Policies...>
    : public detail::rejected<RecipeOptions<typename detail::named_rule<AdamW, Policies...>::type>, RecipeRun> {
  using Base = typename Trainer::rejected;
  using Broken = detail::broken_rules<Model, Policies...>;
  static_assert(sizeof(detail::speech<Broken, 0>) && sizeof(detail::speech<Broken, 1>) &&
                sizeof(detail::speech<Broken, 2>));

 public:
  using Base::Base;
};

/// The model of these tests.
struct Net : Model<Input<Vector<8>>, Repeat<2, Residual<Linear<8>>>, Linear<4>> {};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
