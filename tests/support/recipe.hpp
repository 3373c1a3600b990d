// tests/support/recipe.hpp — a Trainer without an engine: the verdict, the speech and the braces that users write.
#pragma once

#include <regimen/policy/compose.hpp>
#include <regimen/policy/rejected.hpp>

namespace regimen {

struct AdamW final {
  using option_of = axis::optimizer;
  struct Options {
    float learning_rate = 1e-3f, weight_decay = 0.1f;
  };
};
struct CrossEntropy final {
  using option_of = axis::loss;
};
struct MeanSquaredError final {
  using option_of = axis::loss;
};

/// A layer and a model by name only.
template <std::size_t Width> struct Linear final { static constexpr bool is_layer = true; };
struct Net final {
  static constexpr bool is_model = true;
};

template <class Rule> struct RecipeOptions { typename Rule::Options optimizer; };
struct RecipeRun {
  std::size_t steps = 0, epochs = 0;
};
struct RecipePlan {
  std::size_t peak = 0;
  template <class T> constexpr bool fits(T) const { return true; }
};
struct RecipeParameter {
  const char* name = "";
};
struct RecipeStep {
  double loss = 0;
};

template <class Model, class... Policies> class Recipe {
 public:
  using Configuration = Configured<Policies...>;
  using Options = RecipeOptions<typename Configuration::optimizer::rule>;
  Recipe() = default;
  explicit Recipe(Options) {}
  template <class Data> void fit(const Data&, RecipeRun) {}
  template <class Batch> RecipeStep step(const Batch&) { return {}; }
  template <class Data> RecipeStep evaluate(const Data&) { return {}; }
  RecipeParameter* begin() { return &parameter_; }
  auto& parameters() { return parameters_; }
  void save(const char*) {}
  static constexpr RecipePlan plan() { return {}; }

 private:
  RecipeParameter parameter_;
  RecipeParameter parameters_[1];
};

/// A recipe that does not compose: each broken rule says so once, the rest of the user's code adds nothing.
template <class Model, class... Policies>
  requires(!Composable<Model, Policies...>)
class Recipe<Model, Policies...> : public detail::rejected<RecipeOptions<AdamW>, RecipeRun> {
  using Broken = detail::broken_rules<Model, Policies...>;
  static_assert(sizeof(detail::speech<Broken, 0>) && sizeof(detail::speech<Broken, 1>) && sizeof(detail::speech<Broken, 2>));

 public:
  using detail::rejected<RecipeOptions<AdamW>, RecipeRun>::rejected;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
