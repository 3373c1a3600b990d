// regimen/watch/keep_best.hpp — a run ends with the weights of its best evaluation.
#pragma once

#include <regimen/core/finite.hpp>
#include <regimen/trainers/result.hpp>

#include <cstdint>
#include <limits>
#include <vector>

namespace regimen {

/// A callback of fit that keeps the weights of the evaluation with the least loss, and restores them at the end of the
/// run, also if patience or another callback ends it:
///
///   KeepBest<Train> best;
///   trainer.fit(data, held_out, {.steps = 5000, .validate_every = 100, .patience = 5}, best);
///
/// The last evaluation of a run counts, too. Weights and buffers are restored bit for bit; optimizer state, step and
/// place in the data stay as they are at the end of the run. So do not continue training after KeepBest, but from a
/// saved state: Checkpoints saves the whole state of the best evaluation. KeepBest keeps the weights, not the averages
/// of Averaged<...>. Callbacks before it hear the end of the run with the last weights, callbacks after it with the
/// best. A further fit continues with the best loss; a resumed run begins without one: Checkpoints' best.safetensors is
/// the best state of all its parts. All ranks have a KeepBest.
///
/// memory   a copy of all weights, on the host of every rank, outside the plan
/// failure  after an exception in fit the weights are the last ones; restore(trainer) restores the best ones
template <class Trainer>
class KeepBest final {
 public:
  void operator()(Trainer& trainer, const Evaluation& found) {
    if (!is_finite(found.loss) || found.loss >= loss_) return;
    loss_ = found.loss;
    step_ = trainer.steps_done();
    weights_.clear();
    for (const auto& parameter : trainer.parameters())
      weights_.insert(weights_.end(), parameter.values.begin(), parameter.values.end());
  }
  void operator()(Trainer& trainer, const Fitted&) { restore(trainer); }

  /// Sets the weights to the best ones, if there was an evaluation with a finite loss.
  void restore(Trainer& trainer) const {
    if (weights_.empty()) return;
    auto from = weights_.begin();
    for (const auto& parameter : trainer.parameters())
      for (auto& value : parameter.values) value = *from++;
    trainer.parameters_changed();
  }
  /// The least loss, infinite before the first evaluation, and the step of its evaluation.
  double loss() const { return loss_; }
  std::uint64_t step() const { return step_; }

 private:
  double loss_ = std::numeric_limits<double>::infinity();
  std::uint64_t step_ = 0;
  std::vector<typename Trainer::Master> weights_;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
