// tests/support/recipe.hpp — a Trainer without an engine: the verdict, the speech, and the braces that users write.
#pragma once

#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/loss/cross_entropy.hpp>
#include <regimen/optimizer/adamw.hpp>
#include <regimen/policy/compose.hpp>
#include <regimen/policy/rejected.hpp>

namespace regimen {

template <class Rule>
struct RecipeOptions {
  typename Rule::Options optimizer;
};
struct RecipeRun {
  std::size_t steps = 0, epochs = 0;
};
struct RecipePlan {
  std::size_t peak = 0;
  template <class T>
  constexpr bool fits(T) const {
    return true;
  }
};
struct RecipeParameter {
  const char* name = "";
};
struct RecipeMetrics {
  double loss = 0;
};

template <class Model, class... Policies>
class Recipe {
 public:
  using Configuration = Configured<Policies...>;
  using Options = RecipeOptions<typename Configuration::optimizer::rule>;
  Recipe() = default;
  explicit Recipe(Options) {}
  template <class Data>
  void fit(const Data&, RecipeRun) {}
  template <class Batch>
  RecipeMetrics step(const Batch&) {
    return {};
  }
  template <class Data>
  RecipeMetrics evaluate(const Data&) {
    return {};
  }
  auto& parameters() { return parameters_; }
  void save(const char*) {}
  static constexpr RecipePlan plan() { return {}; }

 private:
  RecipeParameter parameters_[1];
};

/// A recipe that does not compose: each broken rule says so once, the rest of the user's code adds nothing.
template <class Model, class... Policies>
  requires(!Composable<Model, Policies...>)
class Recipe<Model, Policies...> : public detail::rejected<RecipeOptions<typename detail::named_rule<AdamW, Policies...>::type>, RecipeRun> {
  using Base = typename Recipe::rejected;
  using Broken = detail::broken_rules<Model, Policies...>;
  static_assert(sizeof(detail::speech<Broken, 0>) && sizeof(detail::speech<Broken, 1>) && sizeof(detail::speech<Broken, 2>));

 public:
  using Base::Base;
};

/// The model of these tests.
struct Net : Model<Input<Vector<8>>, Linear<4>> {};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
