// regimen/tune/trials.hpp — runs the trials of a search, each in its own process, and keeps their results.
#pragma once

#include <regimen/core/atomic_file.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/core/say.hpp>
#include <regimen/tune/plan.hpp>
#include <regimen/tune/process.hpp>
#include <regimen/tune/record.hpp>
#include <regimen/tune/space.hpp>
#include <regimen/watch/text.hpp>

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace regimen::tune {

/// The argument of a trial's body, which runs in its own process.
///
///   steps    the number of steps to train up to. Under Halving the steps of the first rung, and more for a promoted
///            trial
///   folder   an existing folder for this trial only, with the files of its earlier rungs, or of a killed search. The
///            search removes it if the trial has failed, or is no longer among the kept ones
struct Trial final {
  std::size_t number = 0, recipe = 0;
  Values values;
  std::uint64_t steps = 0;
  std::string folder;
};

/// The way trials run. No option changes their results, except a limit that ends one.
///
///   at_once    the number of trials that run at a time. Each has its share of the processors, or OMP_NUM_THREADS
///              threads
///   limit      seconds after which a trial (of one rung) is killed, and has failed; 0: none
///   keep       the number of best trials whose folder stays: `<folder>/trial-3`
///   stops      asked some 100 times a second; true: running trials are killed, and run() returns the results so far.
///              The next run() continues
///   progress   a line on standard error for each trial that ends
struct Running final {
  std::size_t at_once = 1;
  double limit = 0;
  std::size_t keep = 1;
  std::function<bool()> stops{};
  bool progress = true;
};

/// Trials of any function that gives a loss; `Search` (search.hpp) uses it for Trainers.
///
///   tune::Trials trials("run", tune::Random{.trials = 40}, {tune::uniform("x", -1, 1)}, 0);
///   const tune::Found found = trials.run([](const tune::Trial& trial) { return f(trial.values["x"]); });
///
/// files    in the folder, each replaced as a whole: search.txt describes the search; trials.jsonl has a line for each
///          trial that has ended; trial-3.txt has the output of trial 3
/// killed   all trials end with the search. When you start the search again, it continues: trials in trials.jsonl do
///          not run again; the others begin again, with the files in their folder. To run a trial again, remove its
///          line and its folder
/// failure  a trial has failed if it throws, is killed, runs longer than the limit, has no memory left, or has a loss
///          that is not finite: it is recorded with the reason, and the search continues. Error for impossible values,
///          a folder that cannot be written, a folder of another search, or a folder in which another process searches
/// fork     a trial is a copy of this process at run(); in the copy only the calling thread runs. So no other thread
///          may hold a lock during run(), and a program whose trials compute on a GPU must not have used it before
class Trials final {
 public:
  /// steps     of a whole trial: Trial::steps, and the number that Halving divides
  /// recipes   their names, if there are several
  [[gnu::cold]] Trials(std::string folder, const Plan& plan, std::vector<Axis> axes, std::uint64_t steps,
                       Running running = {}, std::vector<std::string> recipes = {"one"})
      : folder_(std::move(folder)),
        axes_(std::move(axes)),
        running_(std::move(running)),
        candidates_(tune::candidates(plan, axes_, recipes.size())),
        rungs_(tune::rungs(plan, candidates_.size(), steps)) {
    if (running_.at_once == 0) throw Error("a search, at_once", "at least 1 trial", "0");
    if (running_.keep == 0) throw Error("a search, keep", "at least 1 trial, for its state is the result", "0");
    if (!(running_.limit >= 0) || !is_finite(running_.limit))
      throw Error("a search, limit", "seconds, or 0 for none", detail::text_of(running_.limit));
    text_ = "regimen search, version 1\nplan: " +
            std::visit([](const auto& of) { return detail::words_of_plan(of); }, plan) +
            "\nsteps: " + std::to_string(steps) + "\n";
    for (const Axis& axis : axes_) text_ += "axis: " + axis.words() + "\n";
    for (std::size_t i = 0; i < recipes.size(); ++i) text_ += "recipe " + std::to_string(i) + ": " + recipes[i] + "\n";
    found_.recipes = std::move(recipes);
    found_.rungs = rungs_.size();
    for (const Axis& axis : axes_) found_.axes.push_back(axis.name);
  }

  const std::string& folder() const& { return folder_; }
  std::string folder() const&& { return folder(); }
  const std::vector<Axis>& axes() const& { return axes_; }
  std::vector<Axis> axes() const&& { return axes(); }
  const std::vector<Candidate>& candidates() const& { return candidates_; }
  std::vector<Candidate> candidates() const&& { return candidates(); }
  const std::vector<Rung>& rungs() const& { return rungs_; }
  std::vector<Rung> rungs() const&& { return rungs(); }
  std::string folder_of(std::size_t trial) const { return folder_ + "/trial-" + std::to_string(trial); }

  /// Trial `i` of the plan, up to this number of steps.
  Trial trial_of(std::size_t i, std::uint64_t steps) const {
    const Candidate& of = candidates_[i];
    return {.number = i, .recipe = of.recipe, .values = {axes_, of.values}, .steps = steps, .folder = folder_of(i)};
  }

  /// Runs all trials that are not recorded. body(const Trial&) gives a loss, or a Score. `about`: further lines of
  /// search.txt: other facts that must be the same when a search continues.
  template <class Body>
  Found run(const Body& body, const std::string& about = {}) {
    return run_all(
        [&body](const Trial& trial) {
          if constexpr (std::is_convertible_v<decltype(body(trial)), Score>) return Score(body(trial));
          else return Score{static_cast<double>(body(trial)), no_value};
        },
        about);
  }

  /// The results in the folder, without running a trial.
  [[gnu::cold]] Found read() {
    const std::string what = folder_ + "/search.txt";
    std::vector<std::string> before = detail::lines_of(what);
    if (before.empty()) throw Error(folder_, "a folder in which a search has run", "no search.txt", "call run() first");
    before.resize((std::min)(before.size(), static_cast<std::size_t>(std::count(text_.begin(), text_.end(), '\n'))));
    expect_same(what, before, text_);
    open();
    return found_;
  }

  /// Only one process works in a folder: the lock ends with the descriptor, or the process. Waits up to a second: a
  /// trial of a search that was just killed may not have closed its copy.
  [[gnu::cold]] detail::Descriptor lock() const {
    const std::string path = folder_ + "/lock";
    detail::Descriptor lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (*lock < 0) throw Error(path, "a folder that can be written", detail::system_words(errno));
    for (int tries = 0; ::flock(*lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; ++tries, nap())
      if (tries == 200)
        throw Error(folder_, "a folder in which nobody searches", "a search that is running, or its look at test data",
                    "wait for its end");
    return lock;
  }
  /// Runs a body in a process of its own, as a trial, with the whole machine. Throws Error if it fails.
  [[gnu::cold]] Score run_alone(const std::string& who, const std::function<Score()>& body, int lock) const {
    detail::Outcome outcome;
    detail::Process process(body, 1, 0, folder_ + "/" + who + ".txt", lock);
    while (!process.has_ended(outcome)) nap();
    if (!outcome.failure.empty()) throw Error(folder_ + ", " + who, "a loss", outcome.failure);
    return outcome.score;
  }

 private:
  struct Slot {
    std::size_t trial;
    std::unique_ptr<detail::Process> process;
  };

  static void nap() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }
  std::string records() const { return folder_ + "/trials.jsonl"; }

  [[gnu::cold]] Found run_all(const std::function<Score(const Trial&)>& body, const std::string& about) {
    const detail::Descriptor lock = begin(about);
    for (std::size_t rung = 0; rung < rungs_.size(); ++rung) {
      const std::vector<std::size_t> chosen = trials_of(rung);
      if (!run_rung(body, rung, chosen, *lock)) return found_;
      clean(rung + 1 == rungs_.size() ? best_of(rung, running_.keep) : trials_of(rung + 1));
    }
    found_.complete = true;
    return found_;
  }

  /// false: `stops` has ended it.
  [[gnu::cold]] bool run_rung(const std::function<Score(const Trial&)>& body, std::size_t rung,
                              const std::vector<std::size_t>& chosen, int lock) {
    std::vector<std::size_t> queue;  // the next one last
    for (auto trial = chosen.rbegin(); trial != chosen.rend(); ++trial)
      if (is_open(*trial, rung)) queue.push_back(*trial);
    const std::size_t share = (std::min)(running_.at_once, (std::max)(queue.size(), std::size_t{1}));
    std::vector<Slot> at_work;  // destroyed, it kills what runs
    while (!queue.empty() || !at_work.empty()) {
      if (running_.stops && running_.stops()) return false;
      while (!queue.empty() && at_work.size() < running_.at_once) {
        at_work.push_back(start(body, queue.back(), rung, share, lock));
        queue.pop_back();
      }
      bool any = false;
      for (std::size_t i = at_work.size(); i-- > 0;) {
        detail::Outcome outcome;
        if (!at_work[i].process->has_ended(outcome)) continue;
        const std::size_t trial = at_work[i].trial;
        at_work.erase(at_work.begin() + static_cast<std::ptrdiff_t>(i));
        any = true;
        end(trial, rung, outcome);
      }
      if (!any) nap();
    }
    return true;
  }

  [[gnu::cold]] Slot start(const std::function<Score(const Trial&)>& body, std::size_t number, std::size_t rung,
                           std::size_t share, int lock) {
    const Trial trial = trial_of(number, rungs_[rung].steps);
    regimen::detail::make_folder(trial.folder);
    return {number, std::make_unique<detail::Process>([&] { return body(trial); }, share, running_.limit,
                                                      trial.folder + ".txt", lock)};
  }

  [[gnu::cold]] void end(std::size_t number, std::size_t rung, const detail::Outcome& outcome) {
    Trained& trial = found_.trials[number];
    trial.failure = outcome.failure;
    if (!trial.has_failed())
      trial.rungs.push_back({rungs_[rung].steps, outcome.score.loss, outcome.score.accuracy, outcome.seconds});
    write();
    if (trial.has_failed()) remove_folder(number);
    else if (rung + 1 == rungs_.size()) {
      const std::vector<std::size_t> kept = best_of(rung, running_.keep);
      for (const Trained& other : found_.trials)
        if (other.rungs.size() == rungs_.size() && std::find(kept.begin(), kept.end(), other.number) == kept.end())
          remove_folder(other.number);
    }
    if (!running_.progress) return;
    std::string text = "regimen: trial " + std::to_string(number) + " of " + std::to_string(candidates_.size());
    if (found_.recipes.size() > 1) text += ", recipe " + std::to_string(trial.recipe);
    for (std::size_t i = 0; i < axes_.size(); ++i)
      text += ", " + axes_[i].name + " " + regimen::detail::digits_of(trial.values[i]);
    text += trial.has_failed() ? ": failed: " + trial.failure
                               : ": loss " + regimen::detail::digits_of(trial.loss()) + " after " +
                                     regimen::detail::counted(rungs_[rung].steps, "step");
    regimen::detail::say(text + "\n");
  }

  bool is_open(std::size_t trial, std::size_t rung) const {
    return !found_.trials[trial].has_failed() && found_.trials[trial].rungs.size() <= rung;
  }
  /// The best `count` trials of a finished rung, by their losses in this rung; later rungs do not change the result.
  [[gnu::cold]] std::vector<std::size_t> best_of(std::size_t rung, std::size_t count) const {
    std::vector<std::size_t> all;
    for (const Trained& trial : found_.trials)
      if (trial.rungs.size() > rung) all.push_back(trial.number);
    std::sort(all.begin(), all.end(), [&](std::size_t a, std::size_t b) {
      const double of_a = found_.trials[a].rungs[rung].loss, of_b = found_.trials[b].rungs[rung].loss;
      return of_a != of_b ? of_a < of_b : a < b;
    });
    all.resize((std::min)(all.size(), count));
    return all;
  }
  [[gnu::cold]] std::vector<std::size_t> trials_of(std::size_t rung) const {
    if (rung > 0) return best_of(rung - 1, rungs_[rung].trials);
    std::vector<std::size_t> all(candidates_.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    return all;
  }
  /// After a rung: removes all other trials' folders.
  [[gnu::cold]] void clean(const std::vector<std::size_t>& kept) const {
    for (const Trained& trial : found_.trials)
      if (std::find(kept.begin(), kept.end(), trial.number) == kept.end()) remove_folder(trial.number);
  }
  void remove_folder(std::size_t trial) const {
    std::error_code ignored;  // it takes room, and nothing else
    std::filesystem::remove_all(folder_of(trial), ignored);
  }

  [[gnu::cold]] detail::Descriptor begin(const std::string& about) {
    regimen::detail::make_folder(folder_);
    detail::Descriptor own = lock();
    const std::string what = folder_ + "/search.txt", text = text_ + about;
    const std::vector<std::string> before = detail::lines_of(what);
    if (!before.empty()) expect_same(what, before, text);
    else if (detail::lines_of(records()).empty()) regimen::detail::write_text(what, text);
    else throw Error(folder_, "search.txt beside trials.jsonl", "none", "give another folder");
    open();
    return own;
  }
  [[gnu::cold]] static void expect_same(const std::string& path, const std::vector<std::string>& before,
                                        const std::string& text) {
    const std::vector<std::string> now = detail::lines_in(text);
    for (std::size_t i = 0; i < (std::max)(before.size(), now.size()); ++i) {
      const std::string expected = i < now.size() ? now[i] : "nothing more",
                        found = i < before.size() ? before[i] : "the end";
      if (expected != found)
        throw Error(path + ", line " + std::to_string(i + 1), "the search of this program: " + expected, found,
                    "this folder is another search's: give another one");
    }
  }
  /// Reads the records.
  [[gnu::cold]] void open() {
    found_.trials.clear();
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      found_.trials.push_back({.number = i, .recipe = candidates_[i].recipe, .values = candidates_[i].values});
    const std::vector<std::string> lines = detail::lines_of(records());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string where = records() + ", line " + std::to_string(i + 1);
      const Trained trial = detail::trial_of(where, lines[i]);
      bool fits = trial.number < candidates_.size() && trial.rungs.size() <= rungs_.size();
      for (std::size_t r = 0; fits && r < trial.rungs.size(); ++r)
        fits = trial.rungs[r].steps == rungs_[r].steps && is_finite(trial.rungs[r].loss);
      if (!fits)
        throw Error(where, "a trial of this search", "trial " + std::to_string(trial.number),
                    "remove the line, or give another folder");
      found_.trials[trial.number].rungs = trial.rungs;
      found_.trials[trial.number].failure = trial.failure;
    }
    found_.looks = detail::lines_of(folder_ + "/test.jsonl").size();
    found_.complete = true;
    for (std::size_t rung = 0; rung < rungs_.size(); ++rung)
      for (const std::size_t trial : trials_of(rung))
        if (is_open(trial, rung)) found_.complete = false;
  }
  /// All trials that have ended a rung, or failed.
  [[gnu::cold]] void write() const {
    std::string text;
    for (const Trained& trial : found_.trials)
      if (trial.has_failed() || !trial.rungs.empty()) text += detail::line_of(trial, found_.axes);
    regimen::detail::write_text(records(), text);
  }

  std::string folder_, text_;
  std::vector<Axis> axes_;
  Running running_;
  std::vector<Candidate> candidates_;
  std::vector<Rung> rungs_;
  Found found_;
};

}  // namespace regimen::tune
// SPDX-License-Identifier: Apache-2.0
