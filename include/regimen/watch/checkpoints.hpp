// regimen/watch/checkpoints.hpp — saves the state of a run at intervals: the last few and the best.
#pragma once

#include <regimen/core/finite.hpp>
#include <regimen/saves/trainer_state.hpp>
#include <regimen/trainers/result.hpp>
#include <regimen/watch/run_text.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace regimen {

struct CheckpointsOptions final {
  std::uint64_t every = 0;
  std::size_t keep = 3;
  bool best = false;
  std::string note{};
};

/// A callback of fit that saves the state of a run to a folder, while training continues:
///
///   Checkpoints checkpoints("run", {.every = 500, .keep = 3, .best = true});
///   if (const std::string newest = Checkpoints::newest("run"); !newest.empty()) trainer.load(newest);
///   trainer.fit(data, held_out, {.steps = 5000, .validate_every = 500, .patience = 4}, checkpoints);
///
///   every   steps between states: step-<N>.safetensors; and one when the run ends. 0: none
///   keep    the number of states that stay, the last ones; an older state is removed when a newer one is in place
///   best    also best.safetensors: the state of the evaluation with the least loss. The file has the loss
///           ("regimen.evaluated" in its metadata); best.txt has the loss and its step, for people
///   note    a line for run.txt, for example the version of your program; every run that begins or resumes here adds
///           its part to run.txt
///
/// Under Steps<K> a state that is due inside a launch is saved after the launch. If a run continues from one of the
/// states in the folder, `keep` counts these states, too, and the best loss so far is known. If it continues from a
/// state that is not the newest, the states of later steps are moved to the sub-folder abandoned-<k>, and `newest`
/// never finds them. best.safetensors stays: it is the best state of all runs in the folder. Use one folder for each
/// run: a new run refuses a folder with states of later steps. All ranks have a Checkpoints, with the same folder, on
/// one file system.
///
/// memory   while it saves, a copy of this rank's state, outside the plan
/// failure  an error of writing is thrown at the next state, or at the end of fit, as save_in_background does it
class Checkpoints final {
 public:
  explicit Checkpoints(std::string folder, const CheckpointsOptions& options);

  template <class Trainer>
  void operator()(Trainer& trainer, const StepResult& step) {
    (*this)(trainer, std::span<const StepResult>(&step, 1));
  }
  template <class Trainer>
  void operator()(Trainer& trainer, std::span<const StepResult> launch) {
    begin(trainer, launch.front().step - 1);
    if (std::any_of(launch.begin(), launch.end(), [&](const StepResult& step) { return is_due(step); }))
      save(trainer, trainer.steps_done());
  }
  template <class Trainer>
  void operator()(Trainer& trainer, const Evaluation& found) {
    begin(trainer, trainer.steps_done());
    if (!options_.best) return;
    // A file that one rank sees later than another decides nothing.
    if (!trainer.on_all_ranks(is_finite(found.loss) && found.loss < best_)) return;
    best_ = found.loss;
    save(trainer, none);
  }
  template <class Trainer>
  void operator()(Trainer& trainer, const Fitted&) {
    begin(trainer, trainer.steps_done());
    if (options_.every != 0 && pending_ != trainer.steps_done() &&
        (states_.empty() || states_.back() != trainer.steps_done()))
      save(trainer, trainer.steps_done());
    finish(trainer);
  }

  /// The file of the state with the highest step in a folder; empty if there is none.
  static std::string newest(const std::string& folder);
  std::string best_file() const { return folder_ + "/best.safetensors"; }
  /// The least loss so far, also of earlier runs in this folder; infinite if there is none.
  double best_loss() const { return best_; }

 private:
  static constexpr std::uint64_t none = (std::numeric_limits<std::uint64_t>::max)();
  static constexpr std::string_view prefix = "step-", suffix = ".safetensors";

  /// The loss that chose the state; while this lives, it goes into the state's file.
  struct LossOfState {
    double& evaluated;
    ~LossOfState() { evaluated = no_value; }
  };

  static std::string file_in(const std::string& folder, std::uint64_t step);
  static std::vector<std::uint64_t> steps_in(const std::string& folder);

  bool is_due(const StepResult& step) const { return options_.every != 0 && step.step % options_.every == 0; }

  /// Looks for files of earlier runs, before the first event, and again if the program has gone back to an older state.
  ///   since   the steps before the event
  template <class Trainer>
  void begin(Trainer& trainer, std::uint64_t since) {
    const std::uint64_t before = std::exchange(seen_, since);
    if (before != none && before <= since) return;
    finish(trainer);
    const bool first = trainer.rank() == 0;
    look(since, first);
    if (first) add_to_run_text(run_text(trainer, options_.note, since));
  }
  void look(std::uint64_t since, bool first);
  void set_aside(std::uint64_t since, std::span<const std::uint64_t> steps) const;
  void add_to_run_text(const std::string& text) const;
  std::string best_text(std::uint64_t step) const;

  /// step   `none`: the best state
  template <class Trainer>
  void save(Trainer& trainer, std::uint64_t step) {
    finish(trainer);
    const LossOfState loss{saves::Inside::session(trainer).saving.evaluated};
    loss.evaluated = step == none ? best_ : no_value;
    trainer.save_in_background(step == none ? best_file() : file_in(folder_, step));
    saves_ = true;
    pending_ = step;
    pending_best_ = best_text(trainer.steps_done());
  }
  /// The state that is being saved is in place; then older ones may go.
  template <class Trainer>
  void finish(Trainer& trainer) {
    if (!std::exchange(saves_, false)) return;
    trainer.finish_saving();
    settle(trainer.rank() == 0);
  }
  void settle(bool first);

  std::string folder_;
  CheckpointsOptions options_;
  std::vector<std::uint64_t> states_;  // in place, by step
  double best_ = std::numeric_limits<double>::infinity();
  std::uint64_t seen_ = none;  // steps before the last event; none: there was no event
  bool saves_ = false;
  std::uint64_t pending_ = none;  // the step of the state that is being saved; none: the best
  std::string pending_best_;
};

}  // namespace regimen

#if !REGIMEN_COMPILED
#include <regimen/watch/checkpoints.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
