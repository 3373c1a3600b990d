// regimen/tune/search.hpp — a search over options and recipes, by validation data; a separate call evaluates test data.
#pragma once

#include <regimen/core/atomic_file.hpp>  // exists
#include <regimen/core/error.hpp>
#include <regimen/core/philox.hpp>  // mix
#include <regimen/core/refused.hpp>
#include <regimen/core/rules.hpp>
#include <regimen/core/say.hpp>
#include <regimen/saves/parts.hpp>
#include <regimen/trainers/trainer.hpp>
#include <regimen/trainers/weights_and_state.hpp>
#include <regimen/tune/trials.hpp>
#include <regimen/watch/run_text.hpp>  // for_options, type_name

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace regimen::tune {

/// The recipes of a search: Trainers of one rank each.
///
///   tune::Recipes<Trainer<Net, Optimizer<AdamW>>, Trainer<Net, Optimizer<Muon>>>
template <class... Trainers>
  requires(sizeof...(Trainers) > 0)
struct Recipes final {
  static constexpr std::size_t count = sizeof...(Trainers);
};

/// The way the trials of a Search run.
///
///   run          the options of fit; `steps` is the number of a whole trial. The search evaluates validation data
///                once, with the weights after the last step (validate_average: with their averages, if the rules of
///                all recipes keep averages). Refuses epochs, validate_every, patience
///   at_once, limit, keep, stops   as in tune::Running; run.progress shows the progress of the search; trials show no
///                                 progress
///   save_every   steps between the states of a trial, from which it continues if the search was killed. 0: no states;
///                the trial then begins its rung again, with the same results
struct Settings final {
  FitOptions run{};
  std::size_t at_once = 1;
  double limit = 0;
  std::size_t keep = 1;
  std::uint64_t save_every = 0;
  std::function<bool()> stops{};
};

/// An evaluation of test data: the chosen trial, its result, and the number of such evaluations in this search.
struct Tested final {
  std::size_t trial = 0, look = 0;
  Evaluation found{};
};

namespace detail {

/// A callback of fit: ends a trial whose loss is no number, and saves its state now and then.
class Watch final {
 public:
  Watch(std::string path, std::uint64_t every) : path_(std::move(path)), every_(every) {}
  template <class Trainer>
  void operator()(Trainer& trainer, const StepResult& step) {
    (*this)(trainer, std::span<const StepResult>(&step, 1));
  }
  template <class Trainer>
  void operator()(Trainer& trainer, std::span<const StepResult> launch) {
    bool is_due = false;
    for (const StepResult& step : launch) {
      if (step.targets != 0 && !is_finite(step.loss))
        throw Error("step " + std::to_string(step.step), "a loss that is a finite number", text_of(step.loss));
      is_due = is_due || (every_ != 0 && step.step % every_ == 0);
    }
    if (is_due) trainer.save_in_background(path_);
  }

 private:
  std::string path_;
  std::uint64_t every_;
};

/// The name in code with `using namespace regimen`.
[[gnu::cold]] inline std::string name_of_recipe(std::string text) {
  const std::string left_out = "regimen::";
  for (std::size_t at = 0; (at = text.find(left_out, at)) != std::string::npos;) text.erase(at, left_out.size());
  return text;
}

/// One recipe, behind functions: a Search is compiled once for each recipe, and finds its trials by number.
template <class Train, class Options>
class Recipe final {
 public:
  using Setting = std::function<void(Options&, const Values&)>;
  explicit Recipe(Setting set) : set_(std::move(set)) {}

  Options options(const Values& values) const {
    Options made;
    set_(made, values);
    return made;
  }
  template <class Source, class Validation>
  Score train(const Trial& trial, const Settings& settings, const Source& source, const Validation& validation) const {
    Train trainer(options(trial.values));
    const std::string path = state_in(trial.folder);
    if (has_state(path, trial.steps)) trainer.load(path);
    FitOptions run = settings.run;
    run.steps = trial.steps;
    run.progress = run.validate_average = false;
    trainer.fit(source, run, Watch(path, settings.save_every));
    trainer.finish_saving();
    trainer.save(path);
    return evaluated(trainer, settings, validation);
  }
  template <class Source>
  Score test(const Trial& trial, const Settings& settings, const Source& source) const {
    Train trainer(options(trial.values));
    trainer.load(state_in(trial.folder));
    return evaluated(trainer, settings, source);
  }
  /// Ignores a state of a later rung, which exists if somebody has removed only the trial's line.
  [[gnu::cold]] static bool has_state(const std::string& path, std::uint64_t steps) {
    return regimen::detail::exists(path) &&
           regimen::saves::whole_number(path, regimen::saves::SavedState::metadata_of(path), "regimen.step") <= steps;
  }
  static std::string state_in(const std::string& folder) { return folder + "/state.safetensors"; }

 private:
  template <class Source>
  static Score evaluated(Train& trainer, const Settings& settings, const Source& source) {
    return regimen::trainers::evaluate_in_fit(trainer, source, settings.run);
  }
  Setting set_;
};

}  // namespace detail

/// A search for the options, and the recipe, of the least loss on validation data.
///
///   tune::Search<tune::Recipes<WithAdamW, WithMuon>> search(
///       "run", tune::Random{.trials = 20}, {tune::log_uniform("learning_rate", 1e-4, 1e-1)},
///       [](auto& options, const tune::Values& values) { options.optimizer.learning_rate = values["learning_rate"]; },
///       {.run = {.steps = 1000}, .at_once = 2});
///   const tune::Found found = search.run(train, validation);
///   std::puts(found.table().c_str());
///   const tune::Tested tested = search.test(test);     // once, at the very end
///
/// A trial is a Trainer, trained by fit; `set` writes the trial's values to its options. Its result depends only on the
/// options and the data, not on at_once, threads or kills. `set` is called for each recipe, and is a pure function.
///
/// test     The search sees only training and validation data. The choice of the best of many trials fits the
///          validation data: the least of many noisy losses is too small (Keras' guide to tuning warns of this). Only
///          data that had no part in the choice show how good the choice is. test() evaluates the chosen trial and
///          records the result. If you choose again after the test, the test data have become validation data; so a
///          second test is counted and reported
/// files    as of Trials; trial-3/state.safetensors is the state of a kept trial, for Trainer::load, Inference and
///          Ensemble; test.jsonl has a line for each test
/// failure  as of Trials; also Error for an axis that `set` never reads, options outside their ranges, validation data
///          that equal the training data, and test data that equal either
template <class List>
class Search;

template <class... Trainers>
class Search<Recipes<Trainers...>> final {
 public:
  template <class Set>
  Search(const std::string& folder, const Plan& plan, const std::vector<Axis>& axes, const Set& set,
         const Settings& settings)
      : settings_(checked(settings)),
        recipes_(detail::Recipe<Trainers, typename Trainers::Options>(set)...),
        trials_(folder, plan, axes, settings.run.steps,
                {.at_once = settings.at_once,
                 .limit = settings.limit,
                 .keep = settings.keep,
                 .stops = settings.stops,
                 .progress = settings.run.progress},
                {detail::name_of_recipe(regimen::detail::type_name<Trainers>())...}) {
    check_options();
  }

  /// Runs all trials that are not recorded in the folder. Each trial reads the data in a process of its own: a source
  /// must not share a position in an open file.
  template <class Source, class Validation>
  Found run(const Source& source, const Validation& validation) {
    const std::uint64_t of_training = print(source), of_validation = print(validation);
    if (of_training == of_validation)
      throw Error("a search, validation data", "data that are not trained on", "the training data");
    const FitOptions& run = settings_.run;
    const std::string about = "options that the program sets: " + std::to_string(options_) + "\n" + data_line(0) +
                              std::to_string(of_training) + "\n" + data_line(1) + std::to_string(of_validation) +
                              "\norder: " + std::to_string(static_cast<int>(run.order)) + ", remainder " +
                              std::to_string(static_cast<int>(run.remainder)) + ", average " +
                              std::to_string(run.validate_average) + "\n";
    return trials_.run(
        [&](const Trial& trial) {
          return with(trial.recipe,
                      [&](const auto& recipe) { return recipe.train(trial, settings_, source, validation); });
        },
        about);
  }

  /// Evaluates the chosen trial, in a process of its own, on data that the search has not seen. Every call is recorded,
  /// before and after the evaluation; from the second call on the number is also printed.
  template <class Source>
  Tested test(const Source& source) {
    (void)trials_.read();  // whether a search has run here, and there is a folder to lock
    const detail::Descriptor lock = trials_.lock();
    const Found found = trials_.read();
    if (!found.complete)
      throw Error(trials_.folder() + ", test", "a search whose trials have all run", "trials that have not",
                  "call run() to its end");
    const Trained best = found.best();
    const std::uint64_t own = print(source);
    for (const std::string& line : detail::lines_of(trials_.folder() + "/search.txt"))
      for (const bool validates : {false, true})
        if (line == data_line(validates) + std::to_string(own))
          throw Error(trials_.folder() + ", test data", "data that the search has not seen",
                      validates ? "its validation data" : "its training data");
    const Trial trial = trials_.trial_of(best.number, best.steps());
    Tested tested{best.number, found.looks + 1, {}};
    if (const std::string path = state_of(best); !regimen::detail::exists(path))
      throw Error(path, "the state of the chosen trial", "no such file",
                  "remove the line of trial " + std::to_string(best.number) + " in trials.jsonl, and call run()");
    note(tested, own);
    if (tested.look > 1)
      regimen::detail::say("regimen: look " + std::to_string(tested.look) + " at the test data of " + trials_.folder() +
                           ": if an earlier one has changed a choice, these are validation data\n");
    tested.found = trials_.run_alone(
        "test",
        [&] { return with(trial.recipe, [&](const auto& recipe) { return recipe.test(trial, settings_, source); }); },
        *lock);
    note(tested, own);
    return tested;
  }

  /// The state of a kept trial.
  std::string state_of(const Trained& trial) const {
    return detail::Recipe<First, typename First::Options>::state_in(trials_.folder_of(trial.number));
  }
  const Trials& trials() const& { return trials_; }
  template <class Self = Search>
  const Trials& trials() const&& {
    static_assert(sizeof(typename rule::borrows_no_temporary<Self>::must_hold));
    return trials_;
  }

 private:
  using First = std::tuple_element_t<0, std::tuple<Trainers...>>;

  [[gnu::cold]] static const Settings& checked(const Settings& settings) {
    const FitOptions& run = settings.run;
    if (run.steps == 0)
      throw Error("a search, run.steps", "the steps of a whole trial, at least 1", "0",
                  "write {.run = {.steps = 1000}}");
    if (run.epochs != 0 || run.validate_every != 0 || run.patience != 0)
      throw Error("a search, run",
                  "neither epochs, validate_every nor patience: it evaluates after the steps of a rung",
                  run.epochs != 0           ? "epochs"
                  : run.validate_every != 0 ? "validate_every"
                                            : "patience",
                  "leave it out");
    if (run.validate_average && !(regimen::programs::keeps_averages<typename Trainers::UpdateRule> && ...))
      throw Error("a search, run.validate_average", "recipes whose rules all keep averages of the weights",
                  "one that keeps none", "write Optimizer<Averaged<...>>, or leave the option out");
    return settings;
  }
  /// Refuses a trial whose options are impossible, and an axis that no trial reads. Leaves a hash of these options:
  /// another `set` makes another search of the same axes.
  [[gnu::cold]] void check_options() {
    std::vector<bool> read(trials_.axes().size());
    for (const Candidate& candidate : trials_.candidates()) {
      const Values values(trials_.axes(), candidate.values);
      with(candidate.recipe, [&]<class Train, class Options>(const detail::Recipe<Train, Options>& recipe) {
        const Options options = recipe.options(values);
        regimen::trainers::check_options<typename Train::Master, typename Train::UpdateRule>(options);
        options_ = Philox::mix(options_, options.seed);
        regimen::detail::for_options(options, [&](const std::string&, const std::string& value) {
          for (const char letter : value + "\n") options_ = Philox::mix(options_, static_cast<unsigned char>(letter));
        });
        return Score{};
      });
      for (std::size_t i = 0; i < read.size(); ++i) read[i] = read[i] || values.has_read(i);
    }
    for (std::size_t i = 0; i < read.size(); ++i)
      if (!read[i])
        throw Error("a search, axis " + trials_.axes()[i].name, "a value that the options are made of",
                    "one that is never read", "read values[\"" + trials_.axes()[i].name + "\"], or leave the axis out");
  }
  static const char* data_line(bool validates) { return validates ? "validation data: " : "training data: "; }
  template <class Source>
  static std::uint64_t print(const Source& source) {
    static_assert(
        sizeof(typename rule::source_writes_samples<Source, typename First::Input, typename First::Label>::must_hold));
    if constexpr (First::template serves<Source>) return regimen::trainers::fingerprint_of_source<First>(source);
    else return 0;
  }
  /// f(recipe) of this number.
  template <class F>
  Score with(std::size_t number, const F& f) const {
    Score score;
    std::apply(
        [&](const auto&... recipe) {
          std::size_t at = 0;
          ((at++ == number ? void(score = f(recipe)) : void()), ...);
        },
        recipes_);
    return score;
  }
  /// The line of this look: replaces the one that was written before it.
  [[gnu::cold]] void note(const Tested& tested, std::uint64_t own) const {
    const std::string path = trials_.folder() + "/test.jsonl";
    std::vector<std::string> lines = detail::lines_of(path);
    lines.resize(tested.look);
    lines.back() = "{\"look\":" + std::to_string(tested.look) + ",\"trial\":" + std::to_string(tested.trial) +
                   ",\"data\":" + std::to_string(own) + ",\"loss\":" + detail::json_of(tested.found.loss) +
                   ",\"accuracy\":" + detail::json_of(tested.found.accuracy) + "}";
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    regimen::detail::write_text(path, text);
  }

  Settings settings_;
  std::tuple<detail::Recipe<Trainers, typename Trainers::Options>...> recipes_;
  Trials trials_;
  std::uint64_t options_ = 0;  // a hash of those of all trials
};

/// One of the recipes is refused; there is no other error.
template <class... Trainers>
  requires(regimen::detail::Refused<Trainers> || ...)
class Search<Recipes<Trainers...>> final {
 public:
  template <class Set>
  Search(const std::string&, const Plan&, const std::vector<Axis>&, const Set&, const Settings&) {
    static_assert(((sizeof(Trainers) > 0) && ...));  // each recipe says its error
  }
  template <class Source, class Validation>
  Found run(const Source&, const Validation&) {
    return {};
  }
  template <class Source>
  Tested test(const Source&) {
    return {};
  }
  std::string state_of(const Trained&) const { return {}; }
  const Trials& trials() const { std::abort(); }
};

}  // namespace regimen::tune
// SPDX-License-Identifier: Apache-2.0
