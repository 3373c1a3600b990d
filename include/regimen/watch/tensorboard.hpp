// regimen/watch/tensorboard.hpp — writes a running training for TensorBoard.
#pragma once

#include <regimen/core/finite.hpp>
#include <regimen/trainers/result.hpp>
#include <regimen/watch/events.hpp>
#include <regimen/watch/run_text.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace regimen {

///   every        steps between scalars of the training
///   histograms   steps between histograms of the weights, and, with a single rank, of the step's gradients, divided by
///                gradient_divisor; 0: none. Costs a copy of all weights on the host
///   file         the name of the file in the folder; empty: events.out.tfevents.<seconds>.<host>.<process>
///   clock        gives the time of an event, in seconds since 1970; empty: the system's
struct TensorBoardOptions final {
  std::uint64_t every = 1, histograms = 0;
  std::string file{};
  std::function<double()> clock{};
};

/// A callback of fit that writes its events for `tensorboard --logdir FOLDER`:
///
///   TensorBoard board("runs/1", {.histograms = 100});
///   trainer.fit(data, held_out, {.epochs = 3, .validate_every = 100}, board);
///
/// Scalars train/loss, train/learning_rate, train/gradient_norm, train/loss_scale if there is one, train/step_ms,
/// validation/loss, validation/accuracy, epoch/loss; for fit's metrics train/NAME and validation/NAME; the recipe and
/// the plan as a text. All ranks have a TensorBoard; rank 0 writes. Under Steps<K> histograms show the weights at the
/// end of a launch.
///
/// failure  Error if the file cannot be made or written
/// source   TensorBoard's own reader accepts the files: tests/recorded/make_events.py
class TensorBoard final {
 public:
  explicit TensorBoard(std::string folder, TensorBoardOptions options = {});

  template <class Trainer>
  void operator()(Trainer& trainer, const StepResult& step) {
    (*this)(trainer, std::span<const StepResult>(&step, 1));
  }
  template <class Trainer>
  void operator()(Trainer& trainer, std::span<const StepResult> launch) {
    begin(trainer);
    bool is_due = false;
    for (const StepResult& step : launch) {
      is_due = is_due || (options_.histograms != 0 && step.step % options_.histograms == 0);
      if (!file_ || step.step % options_.every != 0) continue;
      std::string values = EventFile::scalar("train/loss", step.loss) +
                           EventFile::scalar("train/learning_rate", step.learning_rate) +
                           EventFile::scalar("train/gradient_norm", step.gradient_norm);
      if (Trainer::scales_loss) values += EventFile::scalar("train/loss_scale", step.loss_scale);
      values += EventFile::scalar("train/step_ms", step.milliseconds);
      file_->write(time(), step.step, values);
    }
    if (is_due) write_histograms(trainer);
  }
  template <class Trainer>
  void operator()(Trainer& trainer, const Evaluation& found) {
    begin(trainer);
    if (!file_) return;
    std::string values = EventFile::scalar("validation/loss", found.loss);
    has_accuracy_ = !is_nan(found.accuracy);
    if (!is_nan(found.accuracy)) values += EventFile::scalar("validation/accuracy", found.accuracy);
    file_->write(time(), trainer.steps_done(), values);
  }
  template <class Trainer>
  void operator()(Trainer& trainer, const EpochEvent& epoch) {
    begin(trainer);
    if (file_ && epoch.ended) file_->write(time(), epoch.epoch, EventFile::scalar("epoch/loss", epoch.loss));
  }

  template <class Trainer>
  void operator()(Trainer& trainer, const Measured& found) {
    begin(trainer);
    std::string values;
    for (const MetricValue& of : found.values)
      if (!found.evaluation || !has_accuracy_ || of.name != "accuracy")  // which the evaluation has said
        values += EventFile::scalar((found.evaluation ? "validation/" : "train/") + of.name, of.value);
    if (file_ && !values.empty()) file_->write(time(), found.step, values);
  }

  /// On rank 0, after the first event: for values of your own.
  EventFile* file() { return file_.get(); }
  double time() const;

 private:
  template <class Trainer>
  void begin(Trainer& trainer) {
    if (file_ || trainer.rank() != 0) return;
    open(trainer.steps_done(), run_text(trainer));
  }
  void open(std::uint64_t steps, const std::string& run);
  template <class Trainer>
  void write_histograms(Trainer& trainer) {
    std::string values;
    const auto add = [&](const char* what, const auto& tensors, double divisor) {
      for (const auto& tensor : tensors) {
        if (!file_) continue;
        EventHistogram of;
        for (const auto value : tensor.values) of.add(double(value) / divisor);
        values += EventFile::histogram(what + tensor.name, of);
      }
    };
    add("weights/", trainer.parameters(), 1);  // of ranks that keep slices: all call it
    if (trainer.ranks() == 1) add("gradients/", trainer.gradients(), trainer.gradient_divisor());
    if (file_) file_->write(time(), trainer.steps_done(), values);
  }

  std::string folder_;
  TensorBoardOptions options_;
  std::unique_ptr<EventFile> file_;
  bool has_accuracy_ = false;
};

}  // namespace regimen

#if !REGIMEN_COMPILED
#include <regimen/watch/tensorboard.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
