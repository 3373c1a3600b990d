// regimen/watch/keep_best.hpp — a run ends with the weights of its best evaluation.
#pragma once

#include <regimen/core/finite.hpp>
#include <regimen/train/result.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace regimen {

/// A callback of fit that keeps the weights of the evaluation with the least loss, and puts them back when the run
/// ends, also when patience or another callback ends it:
///
///   KeepBest<Train> best;
///   trainer.fit(data, held_out, {.steps = 5000, .validate_every = 100, .patience = 5}, best);
///
/// The last evaluation of a run counts, too. Weights and buffers come back, bit for bit; optimizer state, step and
/// place in the data stay those of the end, so train on from a saved state, not from here: Checkpoints saves the whole
/// state of the best evaluation. The weights are kept, not the averages of Averaged<...>. Callbacks that stand before
/// it hear the end of the run with the last weights, those behind it with the best. A further fit goes on with the best
/// loss; a resumed run begins anew: the best state of all its parts is Checkpoints' best.safetensors. All ranks have one.
///
/// memory   a copy of all weights, on the host of every rank, outside the plan
/// failure  after an exception in fit the weights are the last ones; restore(trainer) puts the best ones back
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
  /// The least loss, infinite before there is one, and the step of its evaluation.
  double loss() const { return loss_; }
  std::uint64_t step() const { return step_; }

 private:
  double loss_ = std::numeric_limits<double>::infinity();
  std::uint64_t step_ = 0;
  std::vector<typename Trainer::Master> weights_;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
