// regimen/watch/report.hpp — a run as one HTML file: curves, the plan, the memory of a step.
#pragma once

#include <regimen/core/arena.hpp>
#include <regimen/core/atomic_file.hpp>
#include <regimen/core/refused.hpp>
#include <regimen/trainers/result.hpp>
#include <regimen/watch/history.hpp>
#include <regimen/watch/run_text.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace regimen {

namespace detail {

/// The bytes that live after each allocation and release of a step, as its plan has them.
template <class Trainer>
std::vector<std::size_t> memory_of_step(Trainer& trainer) {
  using Recipe = typename Trainer::Recipe;
  struct Timeline {
    std::vector<std::size_t> bytes{0};
    static void lives(void* self, std::size_t, std::size_t count) {
      auto& all = static_cast<Timeline*>(self)->bytes;
      all.push_back(all.back() + count);
    }
    static void dies(void* self, std::size_t, std::size_t count) {
      auto& all = static_cast<Timeline*>(self)->bytes;
      all.push_back(all.back() - count);
    }
  } timeline;
  const TensorArena::Witness witness{&timeline, &Timeline::dies, &Timeline::lives};
  typename Recipe::PlanWalk walk(Trainer::batch, trainer.ranks(), std::size_t{0}, trainer.ranks(), true);
  walk.checks_finite = Recipe::checks_finite;
  walk.arena.witness = &witness;
  const programs::Resident resident = Recipe::Step::setup(walk);
  Recipe::Step::step(walk, resident, Recipe::loss_scaling, Recipe::clip, {}, [](std::size_t) { return true; });
  return timeline.bytes;
}

/// The whole file.   bytes   memory_of_step(trainer)      run   run_text(trainer)
[[gnu::cold]] std::string report_page(const History& history, const std::string& title,
                                      const std::vector<std::size_t>& bytes, const std::string& run);

}  // namespace detail

/// The history of a run as one HTML file that opens offline: loss of steps, evaluations and epochs, learning rate, norm
/// of the gradient, samples a second, the memory of a step as planned, recipe and plan. It refers to nothing outside
/// itself, and has no script.
template <class Trainer>
std::string report_html(Trainer& trainer, const History& history, const std::string& title = "A run") {
  return detail::report_page(history, title, detail::memory_of_step(trainer), run_text(trainer));
}
template <detail::Refused Trainer>
std::string report_html(Trainer&, const History&, const std::string& = "A run") {
  return {};
}

/// A callback of fit that writes the history of the run to an HTML file when the run ends:
///
///   HtmlReport report("run.html");
///   trainer.fit(data, held_out, {.epochs = 3, .validate_every = 100}, report);
///
/// All ranks may have one; rank 0 writes.
///
/// memory   the memory of its History
/// failure  Error if the file cannot be written
class HtmlReport final : History {
 public:
  explicit HtmlReport(std::string path, std::string title = "A run");

  using History::operator();
  template <class Trainer>
  void operator()(Trainer& trainer, const Fitted&) {
    if (trainer.rank() == 0) detail::write_text(path_, report_html(trainer, *this, title_));
  }
  const History& history() const& { return *this; }
  History history() const&& { return *this; }

 private:
  std::string path_, title_;
};

}  // namespace regimen

#if !REGIMEN_COMPILED
#include <regimen/watch/report.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
