// regimen/watch/tensorboard.hpp — writes a run for TensorBoard while it goes on.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/finite.hpp>
#include <regimen/train/result.hpp>
#include <regimen/watch/events.hpp>
#include <regimen/watch/run_text.hpp>

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace regimen {

///   every        steps between scalars of the training
///   histograms   steps between histograms of the weights, and, of a single rank, of the gradients that the step has
///                used, divided as gradient_divisor says; 0: none. Costs a copy of all weights on the host
///   file         the name of the file in the folder; empty: events.out.tfevents.<seconds>.<host>.<process>
///   clock        gives the time of an event, in seconds since 1970; empty: the system's
struct TensorBoardOptions final {
  std::uint64_t every = 1, histograms = 0;
  std::string file{};
  std::function<double()> clock{};
};

/// A callback of fit that writes what it hears for `tensorboard --logdir FOLDER`:
///
///   TensorBoard board("runs/1", {.histograms = 100});
///   trainer.fit(data, held_out, {.epochs = 3, .validate_every = 100}, board);
///
/// Scalars train/loss, train/learning_rate, train/gradient_norm, train/loss_scale if there is one, train/step_ms,
/// validation/loss, validation/accuracy, epoch/loss; of metrics that fit was given train/NAME and validation/NAME; the
/// recipe and the plan as a text. Rank 0 writes; all ranks have one. Under Steps<K> histograms are of the end of a launch.
///
/// failure  Error if the file cannot be made or written
/// source   TensorBoard's own reader accepts the files: tests/recorded/make_events.py
class TensorBoard final {
 public:
  explicit TensorBoard(std::string folder, TensorBoardOptions options = {})
      : folder_(std::move(folder)), options_(std::move(options)) {
    if (options_.every == 0) throw Error("TensorBoard, every", "at least 1 step", "0");
  }

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
  double time() const {
    if (options_.clock) return options_.clock();
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  }

 private:
  template <class Trainer>
  void begin(Trainer& trainer) {
    if (file_ || trainer.rank() != 0) return;
    std::error_code failed;
    std::filesystem::create_directories(folder_, failed);
    if (failed) throw Error(folder_, "a folder, or a name where one can be made", failed.message());
    const double now = time();
    if (options_.file.empty()) {
      std::array<char, 256> host{};
      if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '-';
      options_.file = "events.out.tfevents." + std::to_string(static_cast<std::uint64_t>(now)) + "." + host.data() +
                      "." + std::to_string(::getpid()) + "." + std::to_string(files++);
    }
    file_ = std::make_unique<EventFile>(folder_ + "/" + options_.file, now);
    std::string indented;  // Markdown's way to leave text alone
    for (const char letter : "    " + run_text(trainer)) indented += letter == '\n' ? "\n    " : std::string(1, letter);
    file_->write(now, trainer.steps_done(), EventFile::text("run", indented));
  }
  template <class Trainer>
  void write_histograms(Trainer& trainer) {
    std::string values;
    const auto add = [&](const char* what, const auto& tensors, double divisor) {
      for (const auto& tensor : tensors) {
        if (!file_) continue;
        Histogram of;
        for (const auto value : tensor.values) of.add(double(value) / divisor);
        values += EventFile::histogram(what + tensor.name, of);
      }
    };
    add("weights/", trainer.parameters(), 1);  // of ranks that keep slices: all call it
    if (trainer.ranks() == 1) add("gradients/", trainer.gradients(), trainer.gradient_divisor());
    if (file_) file_->write(time(), trainer.steps_done(), values);
  }

  static inline std::atomic<unsigned> files{0};  // of this process

  std::string folder_;
  TensorBoardOptions options_;
  std::unique_ptr<EventFile> file_;
  bool has_accuracy_ = false;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
