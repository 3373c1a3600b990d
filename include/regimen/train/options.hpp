// regimen/train/options.hpp — run-time options: hyper-parameters, schedules, the length of a run.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/misnamed.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/core/schedule.hpp>
#include <regimen/data/batching.hpp>
#include <regimen/optimizer/range.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace regimen {

/// The options of a Trainer's constructor: `Train trainer{{.optimizer = {.learning_rate = 3e-4}}};`
///
///   optimizer   the update rule's own options; of a Split, those of each group's rule by its name
///   schedule    of the learning rate
///   seed        of initial weights, dropout and data order; 0: the Seed policy's
///   threads     for the CPU engine; 0: OMP_NUM_THREADS, else this rank's share of the processors
///   verbose     prints the implementation of products and the number of threads (standard error)
///   compare_weights_every   steps between bitwise comparisons of the weights that several ranks keep; 0: never. Each
///                           comparison reads all weights once
///
/// failure   the constructor throws Error when a number lies outside the range in its header, or a weight_decay reaches no
///           parameter (optimizer/decay.hpp); a step, when the schedule makes its rate infinite
///
/// Names of other libraries are members, too, so that an error says how it is written here; nothing can be set to them.
template <class UpdateRule>
struct Options {
  typename UpdateRule::Options optimizer{};
  [[no_unique_address]] detail::Misnamed<misnamed::learning_rate> lr{};
  [[no_unique_address]] detail::Misnamed<misnamed::policy> batch_size{}, device{}, precision{},
      accumulate_grad_batches{}, gradient_accumulation_steps{}, gradient_clip_val{}, max_grad_norm{}, clipnorm{};
  [[no_unique_address]] detail::Misnamed<misnamed::steps> steps{}, epochs{}, max_steps{}, max_epochs{}, num_epochs{},
      num_train_epochs{};
  [[no_unique_address]] detail::Misnamed<misnamed::schedule> scheduler{}, lr_scheduler{}, warmup_steps{};
  Schedule schedule{};
  std::uint64_t seed = 0;
  int threads = 0;
  bool verbose = false;
  std::uint64_t compare_weights_every = 100;
};

namespace train {
/// Throws Error when an option lies outside its range.
template <class Master, class UpdateRule>
[[gnu::cold]] void check_options(const Options<UpdateRule>& options) {
  regimen::detail::at_least_zero("optimizer.learning_rate", options.optimizer.learning_rate);
  if constexpr (requires { UpdateRule::template check<Master>(options.optimizer); })
    UpdateRule::template check<Master>(options.optimizer);
  regimen::detail::in_range("schedule", options.schedule);
}
/// Throws Error when the rate of a step is no number of the weights' type: no weight would survive the step.
template <class Master>
void check_rate(double rate, std::uint64_t step) {
  if (rate >= 0 && rate <= double((std::numeric_limits<Master>::max)())) return;
  throw Error("step " + std::to_string(step) + ", learning rate", std::string("a finite number in ") + name_of<Master>,
              regimen::detail::digits_of(rate),
              "give a smaller options.optimizer.learning_rate, or an options.schedule that grows less");
}
}  // namespace train

/// The options of fit: `trainer.fit(source, {.steps = 1000})`. Give steps or epochs; if
/// both, the run ends at the first.
///
///   steps, epochs    in total, including those before this call and those of a loaded file: the same program, resumed
///                    from a saved file, ends where it would have ended
///   validate_every   steps between evaluations of the validation source; 0: once, at the end. Refused without a source
///   patience         stops after this many evaluations without a better loss; 0: never. Refused likewise. With
///                    validate_every the evaluation that only the end of a call asks for is none of them
///   validate_average evaluates the averages of Averaged<...> in place of the weights, as with_average does, once a step has
///                    made some; patience is of their loss. Refused without a source, and for a rule that keeps none
///   order            of the samples; Shuffled: every sample once an epoch
///   remainder        the samples that do not fill the last batch of an epoch. Short: a shorter batch; Drop: left out,
///                    and every step is full; Wrap: the next epoch fills the batch
///   workers, ahead   prefetching threads, and the batches that they keep ready: on a GPU in pinned memory, which stays
///                    until the Trainer ends. data::automatic workers: fit adds one while training waits for data, and
///                    says what it chose; `ahead` then at least
///   progress         shows progress: a bar on a terminal, plain lines elsewhere (standard error)
///
/// Names of other libraries are members, too, as in Options.
struct FitOptions {
  std::uint64_t steps = 0, epochs = 0;
  [[no_unique_address]] detail::Misnamed<misnamed::steps> step{}, epoch{}, iterations{}, max_steps{}, max_epochs{},
      max_iters{}, num_steps{}, num_epochs{}, num_train_epochs{};
  [[no_unique_address]] detail::Misnamed<misnamed::policy> batch_size{};
  [[no_unique_address]] detail::Misnamed<misnamed::learning_rate> lr{}, learning_rate{};
  [[no_unique_address]] detail::Misnamed<misnamed::argument> validation_data{}, callbacks{}, metrics{};
  std::uint64_t validate_every = 0, patience = 0;
  [[no_unique_address]] detail::Misnamed<misnamed::evaluation> eval_every{}, eval_interval{}, eval_steps{},
      validation_freq{}, val_check_interval{}, check_val_every_n_epoch{};
  Order order = Order::Shuffled;
  Remainder remainder = Remainder::Short;
  std::size_t workers = 1, ahead = 2;
  bool progress = true, validate_average = false;
  [[no_unique_address]] detail::Misnamed<misnamed::loading> shuffle{}, num_workers{}, drop_last{};
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
