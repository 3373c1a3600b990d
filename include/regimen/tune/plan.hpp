// regimen/tune/plan.hpp — the trials of a search, and the steps of each: a grid, random values, halving.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/philox.hpp>
#include <regimen/tune/space.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace regimen::tune {

/// Every combination of the choices of all axes, for every recipe: the last axis changes first, the recipe last.
struct Grid final {};

/// `trials` draws from all axes. Trial t has recipe t modulo the number of recipes, so recipes have equally many trials
/// (one more or less). A draw depends only on seed, trial and axis: a search of more trials begins with the same
/// trials.
///
/// source   Bergstra, Bengio 2012, "Random search for hyper-parameter optimization": if few axes matter, random values
///          find more than a grid of equally many trials
struct Random final {
  std::size_t trials = 0;
  std::uint64_t seed = 1;
};

/// Successive halving: all trials of `of` train a few steps, the best of them, 1 in eta, train eta times as many steps,
/// and so on; each such round is a rung. The last rung trains all steps of a trial. The number s of halvings is the
/// largest for which steps / eta^s is at least least_steps, and trials / eta^s at least 1. Rung i = 0 ... s has trials
/// / eta^i trials of steps / eta^(s−i) steps in all, each rounded down. A promoted trial continues from its state.
///
///   tune::Halving{.of = tune::Random{.trials = 27}, .eta = 3, .least_steps = 30}
///
/// source   Jamieson, Talwalkar 2016, "Non-stochastic best arm identification and hyperparameter optimization"; the
///          numbers of a rung as in a bracket of Li et al. 2018, "Hyperband"
struct Halving final {
  std::variant<Random, Grid> of{};
  std::uint64_t eta = 3, least_steps = 0;
};

using Plan = std::variant<Grid, Random, Halving>;

/// A trial before it runs.
struct Candidate final {
  std::size_t recipe = 0;
  std::vector<double> values;
};
/// A rung: the number of its trials, and the step up to which they are trained.
struct Rung final {
  std::size_t trials = 0;
  std::uint64_t steps = 0;
};

namespace detail {

[[gnu::cold]] inline std::vector<Candidate> candidates_of(const Grid&, const std::vector<Axis>& axes,
                                                          std::size_t recipes) {
  constexpr std::size_t most = 1'000'000;
  std::size_t each = 1;
  for (const Axis& axis : axes) {
    if (axis.kind != Axis::Kind::choice)
      throw Error("Grid, axis " + axis.name, "a list of values", "a range",
                  "write choice(\"" + axis.name + "\", {...}), or search by Random");
    if (axis.values.size() > most / each)
      throw Error("Grid", "at most a million combinations", "more", "leave values out, or search by Random");
    each *= axis.values.size();
  }
  std::vector<Candidate> all;
  for (std::size_t recipe = 0; recipe < recipes; ++recipe)
    for (std::size_t number = 0; number < each; ++number) {
      std::vector<double> values(axes.size());
      std::size_t rest = number;
      for (std::size_t i = axes.size(); i-- > 0; rest /= axes[i].values.size())
        values[i] = axes[i].values[rest % axes[i].values.size()];
      all.push_back({recipe, std::move(values)});
    }
  return all;
}

[[gnu::cold]] inline std::vector<Candidate> candidates_of(const Random& random, const std::vector<Axis>& axes,
                                                          std::size_t recipes) {
  if (random.trials == 0) throw Error("Random, trials", "at least 1", "0");
  std::vector<Candidate> all;
  for (std::size_t trial = 0; trial < random.trials; ++trial) {
    Candidate made{trial % recipes, {}};
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const Philox::Words drawn = Philox::draw(Philox::mix(random.seed, 0x7214), trial, i);
      const std::uint64_t bits = std::uint64_t{drawn.word[0]} << 21 ^ drawn.word[1] >> 11;  // 53, as a double has
      made.values.push_back(axes[i].at(double(bits) * 0x1p-53));
    }
    all.push_back(std::move(made));
  }
  return all;
}

[[gnu::cold]] inline std::vector<Candidate> candidates_of(const Halving& halving, const std::vector<Axis>& axes,
                                                          std::size_t recipes) {
  return std::visit([&](const auto& of) { return candidates_of(of, axes, recipes); }, halving.of);
}

[[gnu::cold]] inline std::string words_of_plan(const Grid&) { return "grid"; }
[[gnu::cold]] inline std::string words_of_plan(const Random& random) {
  return "random, trials " + std::to_string(random.trials) + ", seed " + std::to_string(random.seed);
}
[[gnu::cold]] inline std::string words_of_plan(const Halving& halving) {
  return "halving, eta " + std::to_string(halving.eta) + ", least_steps " + std::to_string(halving.least_steps) +
         ", of " + std::visit([](const auto& of) { return words_of_plan(of); }, halving.of);
}

}  // namespace detail

/// The trials that a plan makes. Throws Error for an impossible plan, or two axes of one name.
[[gnu::cold]] inline std::vector<Candidate> candidates(const Plan& plan, const std::vector<Axis>& axes,
                                                       std::size_t recipes = 1) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    detail::checked(axes[i]);
    for (std::size_t j = 0; j < i; ++j)
      if (axes[i].name == axes[j].name)
        throw Error("axis " + axes[i].name, "axes of different names", "two of this one");
  }
  return std::visit([&](const auto& of) { return detail::candidates_of(of, axes, recipes); }, plan);
}

/// The rungs of a plan: numbers of trials and of steps. Only Halving has several rungs. `steps`: of a whole trial.
[[gnu::cold]] inline std::vector<Rung> rungs(const Plan& plan, std::size_t trials, std::uint64_t steps) {
  const Halving* const halving = std::get_if<Halving>(&plan);
  if (halving == nullptr) return {{trials, steps}};
  if (halving->eta < 2) throw Error("Halving, eta", "at least 2", std::to_string(halving->eta));
  if (halving->least_steps == 0 || halving->least_steps > steps)
    throw Error("Halving, least_steps", "1 to " + std::to_string(steps) + ", the steps of a whole trial",
                std::to_string(halving->least_steps));
  std::vector<std::uint64_t> powers{1};
  while (powers.back() <= (std::numeric_limits<std::uint64_t>::max)() / halving->eta) {
    const std::uint64_t next = powers.back() * halving->eta;
    if (steps / next < halving->least_steps || trials / next == 0) break;
    powers.push_back(next);
  }
  std::vector<Rung> all;
  for (std::size_t i = 0; i < powers.size(); ++i)
    all.push_back({static_cast<std::size_t>(trials / powers[i]), steps / powers[powers.size() - 1 - i]});
  return all;
}

}  // namespace regimen::tune
// SPDX-License-Identifier: Apache-2.0
