// examples/session.hpp — the code around the training of every lesson and benchmark: plan, log, saved state, Ctrl-C.
#pragma once

#include <regimen/trainers/trainer.hpp>

#include "program.hpp"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <type_traits>

namespace program {

/// Starts the ranks of this process that train. For several ranks (Threads, Tcp, Mpi) include ranks.hpp.
template <class Train>
struct RanksOf {
  using type = regimen::Solo;
};
template <class Train>
  requires requires { typename Train::Configuration; }
struct RanksOf<Train> {
  using type = typename Train::Configuration::communicator::ranks;
};
/// Whether ranks are threads of one process.
template <class Train>
inline constexpr bool shares_process = std::is_same_v<typename RanksOf<Train>::type, regimen::Threads>;

template <class Train, class Communicator = typename RanksOf<Train>::type>
class Ranks {
  static_assert(std::is_same_v<Communicator, regimen::Solo>, "program: several ranks are started by ranks.hpp; include it");

 public:
  Ranks(CommandLine&, Options&) {}

  /// Runs body(trainer) on every rank; returns the exit code of rank 0.
  int train(const typename Train::Options& settings, const auto& body) const {
    Train trainer(settings);
    return body(trainer);
  }
};

/// Everything around a training loop: a callback of fit, or called by hand after every step.
/// Each rank has one; rank 0 prints.
template <class Train>
class Session {
 public:
  Session(Train& trainer, const Options& options)
      : trainer_(trainer), options_(with_folder(trainer, options)), log_(log_of(trainer, options), !options.resume.empty()), began_(regimen::detail::now()) {
    const regimen::MemoryPlan plan = trainer.planned();
    Event kinds, event("plan");
    for (std::size_t kind = 0; kind < regimen::memory_kinds; ++kind) kinds.add(regimen::memory_kind_names[kind], std::uint64_t{plan.kinds[kind]});
    event.add("peak", std::uint64_t{plan.peak}).add("kinds", kinds).add("parameters", std::uint64_t{plan.parameters});
    event.add("batch", std::uint64_t{plan.batch}).add("micro_batches", std::uint64_t{plan.micro_batches});
    event.add("flops", plan.flops()).add("bytes_moved", plan.bytes_moved());
    if (trainer.ranks() > 1)
      event.add("rank", std::uint64_t{trainer.rank()}).add("ranks", std::uint64_t{plan.ranks}).add("kept", std::uint64_t{plan.kept}).add("wire", std::uint64_t{plan.wire()});
    log_.write(debug(event));
    if (tells()) {
      std::fprintf(out(), "%s\n", plan.table().c_str());
      flush_output();  // before the progress, in case both go to one place; and a full output ends the program before the training
    }
    if (!options.resume.empty()) trainer.load(options.resume + "/" + file);
    if (trainer.steps_done() >= options.steps)
      throw regimen::Error("--steps", "more than the " + std::to_string(trainer.steps_done()) + " steps that " + options.resume + " has behind it",
                           std::to_string(options.steps));
    if (!shares_process<Train> || tells()) catch_interrupt();
  }

  /// Whether this rank prints for all.
  bool tells() const { return trainer_.rank() == 0; }
  /// The stream for people: standard output, unless that is the log.
  std::FILE* out() const { return options_.log == "-" ? stderr : stdout; }

  bool operator()(Train&, const regimen::StepResult& step) {
    const double seconds = step.milliseconds * 1e-3, samples = double(step.samples);
    loss_ = step.loss;
    diverged_ = step.targets != 0 && !std::isfinite(step.loss);
    Event event("step");
    event.add("step", step.step).add("loss", step.loss).add("milliseconds", step.milliseconds);
    event.add("tokens_per_second", samples * double(Train::target_size) / seconds).add("samples_per_second", samples / seconds);
    event.add("gradient_norm", step.gradient_norm).add("learning_rate", step.learning_rate);
    if (Train::scales_loss) event.add("loss_scale", step.loss_scale);
    write(event.add("applied", step.applied));
    if (options_.save_every != 0 && step.step % options_.save_every == 0) save();
    return log_error_.empty() && !(tells() && is_output_closed()) && !is_interrupted();
  }
  void operator()(Train& trainer, const regimen::Evaluation& found) {
    validation_ = found;
    validated_ = true;
    diverged_ = diverged_ || (found.targets != 0 && !std::isfinite(found.loss));
    Event event("validation");
    event.add("step", trainer.steps_done()).add("loss", found.loss);
    if (found.accuracy == found.accuracy) event.add("accuracy", found.accuracy);
    write(event);
  }

  const regimen::Evaluation& validation() const { return validation_; }

  /// Saves, ends the log, prints the planned and the used bytes. Returns the program's exit code, the same on all
  /// ranks: an error if the training diverged or the log failed. The state is saved, whatever fails after this.
  int finish() {
    if (!options_.save.empty() && saved_at_ != trainer_.steps_done()) save();
    const bool interrupted = !trainer_.on_all_ranks(!is_interrupted());
    const regimen::Used used = trainer_.used();
    Event event("end");
    event.add("used", std::uint64_t{used.peak}).add("library", std::uint64_t{used.library});
    event.add("peak_rss_bytes", std::uint64_t{peak_resident_bytes()}).add("steps", trainer_.steps_done()).add("loss", loss_);
    event.add("validation_loss", validation_.loss).add("seconds", regimen::detail::now() - began_).add("interrupted", interrupted);
    write(debug(event));
    if (tells()) {
      std::fprintf(out(), "%llu steps, loss %.4f", static_cast<unsigned long long>(trainer_.steps_done()), loss_);
      if (validated_) std::fprintf(out(), ", validation loss %.4f", validation_.loss);
      std::fprintf(out(), "\n");
      std::fprintf(out(), "planned %.2f MiB (%zu bytes), used %zu bytes\n", double(trainer_.planned().peak) / 0x1p20, trainer_.planned().peak, used.peak);
    }
    if (tells() && diverged_)
      std::fprintf(stderr, "the loss is not finite after %llu steps: training diverged; a lower --learning-rate may help\n", static_cast<unsigned long long>(trainer_.steps_done()));
    const bool well = trainer_.on_all_ranks(log_error_.empty() && !diverged_);
    if (interrupted) return Exit::interrupted;
    release_interrupt();  // nothing is left to save
    return well ? Exit::ok : Exit::failed;
  }

 private:
  static constexpr const char* file = "state.safetensors";

  static const Options& with_folder(const Train& trainer, const Options& options) {  // before the log is begun, which replaces an older one
    if (!options.save.empty() && trainer.rank() == 0) make_folder(options.save, file);
    return options;
  }
  static std::string log_of(const Train& trainer, const Options& options) {
    const bool all = options.log_of == "all";
    if (all && (options.log.empty() || options.log == "-")) throw regimen::Error("--log-of all", "--log FILE, a name to put each rank's number behind", "none");
    return trainer.rank() == 0 ? options.log : all ? options.log + "." + std::to_string(trainer.rank()) : "";
  }
  /// If the log fails, the training ends after this step, and finish saves the state.
  void write(const Event& event) {
    if (!log_error_.empty()) return;
    try {
      log_.write(event);
    } catch (const regimen::Error& error) {
      log_error_ = error.what();
      std::fprintf(stderr, "%s\n", error.what());
    }
  }
  void save() {
    trainer_.save(options_.save + "/" + file);
    saved_at_ = trainer_.steps_done();
  }
  static Event& debug(Event& event) {  // marks runs that checks slow down
    if constexpr (requires { requires Train::Configuration::debug::checks; }) event.add("debug", true);
    return event;
  }

  Train& trainer_;
  const Options& options_;
  Log log_;
  std::string log_error_{};
  bool validated_ = false, diverged_ = false;   // diverged: in the last step or the evaluation after it
  double began_, loss_ = std::numeric_limits<double>::quiet_NaN();
  regimen::Evaluation validation_{std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN(), 0};
  std::uint64_t saved_at_ = std::numeric_limits<std::uint64_t>::max();
};

/// Trainer<Model, ...> with the policies Given, and those of the list Own for the other axes.
template <class Model, class Own, class... Given>
using Recipe = boost::mp11::mp_apply<regimen::Trainer, boost::mp11::mp_push_front<regimen::MergedPolicies<Own, Given...>, Model>>;

}  // namespace program
// SPDX-License-Identifier: Apache-2.0
