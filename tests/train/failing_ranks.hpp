// tests/train/failing_ranks.hpp — ranks that train, evaluate and save, until one of them fails in a chosen phase.
#pragma once

#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/trainers/trainer.hpp>

#include "train/odd_models.hpp"

#include <functional>
#include <string>

namespace regimen::test {

enum class Phase { data, step, evaluation, save };
inline constexpr const char* name_of_phase[] = {"data", "step", "evaluation", "save"};
inline constexpr std::size_t phases = 4;

/// Fails where it is asked for a sample, once it has given some.
struct FailingSource final {
  Fake source{{.samples = 43, .classes = 11, .seed = 3}};
  std::function<void()> fail{};  // empty: it does not

  std::size_t size(const SampleShape& shape) const { return source.size(shape); }
  void read(std::size_t index, Sample<std::int32_t, std::int32_t> sample) const {
    if (fail && index % 7 == 3) fail();
    source.read(index, sample);
  }
};

/// Forty steps from what is saved at `path`; an evaluation every third, a save every second. fail() is called in the
/// phase, in its middle; a rank that is not to fail has none. From then on one that fails in saving saves at
/// `elsewhere`.
template <class Train, class Ranks>
void train_until_failure(Ranks& ranks, const std::string& path, Phase phase, const std::function<void()>& fail,
                         const std::string& elsewhere) {
  const auto in = [&](Phase here) { return here == phase ? fail : std::function<void()>{}; };
  typename Train::Options options;
  options.threads = 1;
  Train trainer(ranks, options);
  trainer.load(path);
  const std::uint64_t first = trainer.steps_done();
  trainer.fit(FailingSource{.fail = in(Phase::data)}, FailingSource{.fail = in(Phase::evaluation)},
              {.steps = first + 40, .validate_every = 3, .progress = false},
              [&](Train& self, const StepResult& result) {
                if (fail && phase == Phase::step && result.step == first + 3) fail();
                if (result.step % 2 != 0) return;
                const bool fails = fail && phase == Phase::save && result.step >= first + 4;
                if (fails) fail();
                self.save(fails ? elsewhere : path);
              });
}

/// A few steps, saved.
template <class Train, class Ranks>
std::uint64_t train_and_save(Ranks& ranks, const std::string& path, bool loads) {
  typename Train::Options options;
  options.threads = 1;
  Train trainer(ranks, options);
  if (loads) trainer.load(path);
  const std::uint64_t first = trainer.steps_done();
  trainer.fit(FailingSource{}, {.steps = first + 2, .progress = false});
  trainer.save(path);
  return first;
}

}  // namespace regimen::test
// SPDX-License-Identifier: Apache-2.0
