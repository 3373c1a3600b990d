// regimen/trainers/options.hpp — run-time options: hyper-parameters, schedules, the length of a run.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/misnamed.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/core/schedule.hpp>
#include <regimen/data/batching.hpp>
#include <regimen/optimizer/range.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace regimen {

/// The options of a Trainer's constructor: `Train trainer{{.optimizer = {.learning_rate = 3e-4}}};`
///
///   optimizer   the options of the update rule; for a Split the options of the groups' rules, by the names of the
///               groups
///   schedule    of the learning rate
///   seed        of initial weights, dropout and data order; 0: the seed of the policy Seed
///   threads     for the CPU engine; 0: OMP_NUM_THREADS, else this rank's share of the processors
///   verbose     prints the implementation of products and the number of threads (standard error)
///   compare_weights_every   steps between bitwise comparisons of weights that several ranks keep; 0: never. A
///                           comparison reads all weights once
///
/// failure   the constructor throws Error if a number lies outside the range in its header, or a weight_decay reaches
///           no parameter (optimizer/decay.hpp); a step throws Error if the schedule makes its rate infinite
///
/// Some members have names of other libraries: they cannot be set, and their error gives the name here.
template <class UpdateRule>
struct Options {
  typename UpdateRule::Options optimizer{};
  [[no_unique_address]] detail::Misnamed<misnamed::learning_rate> lr{};
  [[no_unique_address]] detail::Misnamed<misnamed::policy> batch_size{}, device{}, precision{},
      accumulate_grad_batches{}, gradient_accumulation_steps{}, gradient_clip_val{}, max_grad_norm{}, clipnorm{};
  [[no_unique_address]] detail::Misnamed<misnamed::steps> steps{}, epochs{}, max_steps{}, max_epochs{}, num_epochs{},
      num_train_epochs{};
  [[no_unique_address]] detail::Misnamed<misnamed::rule> momentum{}, weight_decay{};
  [[no_unique_address]] detail::Misnamed<misnamed::run> num_workers{}, callbacks{};
  [[no_unique_address]] detail::Misnamed<misnamed::seed> seed_everything{}, random_state{};
  [[no_unique_address]] detail::Misnamed<misnamed::schedule> scheduler{}, lr_scheduler{}, warmup_steps{};
  Schedule schedule{};
  std::uint64_t seed = 0;
  int threads = 0;
  bool verbose = false;
  std::uint64_t compare_weights_every = 100;
};

namespace trainers {
/// Throws Error if an option lies outside its range.
template <class Master, class UpdateRule>
[[gnu::cold]] void check_options(const Options<UpdateRule>& options) {
  regimen::detail::at_least_zero("optimizer.learning_rate", options.optimizer.learning_rate);
  if constexpr (requires { UpdateRule::template check<Master>(options.optimizer); })
    UpdateRule::template check<Master>(options.optimizer);
  regimen::detail::in_range("schedule", options.schedule);
}
/// Throws Error if the rate of a step is no finite number of the weights' type: no weight would survive the step.
template <class Master>
void check_rate(double rate, std::uint64_t step) {
  if (rate >= 0 && rate <= double((std::numeric_limits<Master>::max)())) return;
  throw Error("step " + std::to_string(step) + ", learning rate", std::string("a finite number in ") + name_of<Master>,
              regimen::detail::digits_of(rate),
              "give a smaller options.optimizer.learning_rate, or an options.schedule that grows less");
}
}  // namespace trainers

/// The options of fit: `trainer.fit(source, {.steps = 1000})`. Give steps or epochs; with both the run ends at the
/// earlier end.
///
///   steps, epochs    in total, including steps and epochs before this call and in a loaded file: a program that
///                    resumes from a saved file ends at the same step as without the interruption
///   validate_every   steps between evaluations of the validation source; 0: once, at the end. Refused without a
///                    validation source
///   patience         stops after this many evaluations without a better loss; 0: never. Refused without a validation
///                    source. With validate_every an extra evaluation at the end of a call does not count
///   validate_average evaluates the averages of Averaged<...> in place of the weights, as with_average does, once a
///                    step has counted; patience then uses their loss. Refused without a validation source, and for a
///                    rule without averages
///   order            of the samples; Shuffled: every sample once an epoch
///   remainder        the samples that do not fill the last batch of an epoch. Short: a shorter batch; Drop: leaves
///                    them out, so every step is full; Wrap: the next epoch fills the batch
///   workers, ahead   prefetching threads, and the number of batches that they keep ready: on a GPU in pinned memory,
///                    which stays until the Trainer ends. With workers = data::automatic fit adds threads while
///                    training waits for data, and prints its choice; `ahead` is then the least number
///   progress         shows progress: a bar on a terminal, plain lines elsewhere (standard error)
///
/// As in Options, some members have names of other libraries.
struct FitOptions {
  std::uint64_t steps = 0, epochs = 0;
  [[no_unique_address]] detail::Misnamed<misnamed::steps> step{}, epoch{}, iterations{}, max_steps{}, max_epochs{},
      max_iters{}, num_steps{}, num_epochs{}, num_train_epochs{}, n_epochs{}, steps_per_epoch{}, initial_epoch{};
  [[no_unique_address]] detail::Misnamed<misnamed::policy> batch_size{}, gradient_accumulation_steps{};
  [[no_unique_address]] detail::Misnamed<misnamed::learning_rate> lr{}, learning_rate{};
  [[no_unique_address]] detail::Misnamed<misnamed::argument> validation_data{}, validation_split{}, callbacks{},
      metrics{};
  std::uint64_t validate_every = 0, patience = 0;
  [[no_unique_address]] detail::Misnamed<misnamed::evaluation> eval_every{}, eval_interval{}, eval_steps{},
      validation_freq{}, val_check_interval{}, check_val_every_n_epoch{};
  [[no_unique_address]] detail::Misnamed<misnamed::patience> early_stopping{};
  [[no_unique_address]] detail::Misnamed<misnamed::saving> save_steps{}, resume{}, resume_from_checkpoint{};
  Order order = Order::Shuffled;
  Remainder remainder = Remainder::Short;
  std::size_t workers = 1, ahead = 2;
  bool progress = true, validate_average = false;
  [[no_unique_address]] detail::Misnamed<misnamed::progress> verbose{}, log_every_n_steps{}, logging_steps{};
  [[no_unique_address]] detail::Misnamed<misnamed::loading> shuffle{}, num_workers{}, drop_last{};
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
