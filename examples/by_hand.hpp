// examples/by_hand.hpp — the training loop of lesson 3: what fit does, written by hand.
#pragma once

#include <regimen/trainers/trainer.hpp>

#include "session.hpp"

namespace mnist_lesson {

struct ByHand {
  /// The gradients of one micro-batch; those of later micro-batches of the step are added.
  template <class Train, class Batch>
  static auto gradients(Train& trainer, const Batch& batch) {
    const auto loss = trainer.forward(batch.input, batch.target);
    if constexpr (Train::scales_loss) {
      // fp16 gradients below 6e-8 would vanish, so backward computes those of scale · loss.
      // They have a type of their own:
      // only unscale turns them into Gradients, and apply takes only Gradients. A forgotten line does not compile.
      const auto scaled = trainer.backward(trainer.scale(loss));
      return trainer.unscale(scaled);
    } else {
      return trainer.backward(loss);
    }
  }

  template <class Train, class Source>
  static void learn(Train& trainer, const Source& source, const Source& held_out, const regimen::FitOptions& run, program::Session<Train>& session) {
    auto batches = trainer.batches(source, run);  // shuffled and prefetched, as in fit
    bool goes_on = true;
    while (goes_on && trainer.steps_done() < run.steps) {
      auto gradient = gradients(trainer, batches.next());
      for (std::size_t m = 1; m < Train::micro_batches; ++m) gradient = gradients(trainer, batches.next());
      const regimen::StepResult result = trainer.apply(gradient);  // not finite: skipped, and the scale is halved
      goes_on = session(trainer, result);
      if (result.step % 250 == 0)
        std::fprintf(session.out(), "step %llu  loss %.4f  gradient norm %.3f\n", static_cast<unsigned long long>(result.step), result.loss, result.gradient_norm);
      const bool last = !goes_on || result.step == run.steps;
      if (last || (run.validate_every != 0 && result.step % run.validate_every == 0)) session(trainer, trainer.evaluate(held_out));
    }
  }
};

}  // namespace mnist_lesson
// SPDX-License-Identifier: Apache-2.0
