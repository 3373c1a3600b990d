// regimen/core/misnamed.hpp — members of options that other libraries have: to write one is an error with its cure.
#pragma once

#include <type_traits>

namespace regimen {

namespace rule {
template <class Meaning, bool Has>
struct option_has_name;  // rule/run_options.hpp, which Trainer includes
}

/// What other libraries mean by a name, which has another place here.
namespace misnamed {
struct learning_rate;  // lr
struct moments;        // betas, beta_1, beta_2, rho, eps
struct rule;           // of an update rule, beside it: momentum, weight_decay
struct seed;           // seed_everything, random_state
struct policy;         // batch_size, precision, device, accumulate_grad_batches, gradient_clip_val, ...
struct steps;          // step, max_steps, num_epochs, ...
struct schedule;       // scheduler, lr_scheduler, warmup_steps
struct argument;       // validation_data, callbacks, metrics
struct evaluation;     // eval_every, val_check_interval, ...
struct loading;        // shuffle, drop_last, num_workers, ...
struct run;            // of fit, given to a Trainer: callbacks, num_workers
struct progress;       // verbose, log_every_n_steps, ...
struct patience;       // early_stopping
struct saving;         // save_steps, resume, ...
struct sampling;       // of generate: max_new_tokens, top_p, ...
}  // namespace misnamed

namespace detail {

/// A member of options under such a name. It can be neither given a value, whatever the value's type, nor assigned to;
/// it is empty, and takes no memory where it is [[no_unique_address]], if each of a struct has its own Number.
template <class Meaning, int Number = 0>
struct Misnamed final {
  constexpr Misnamed() noexcept {}
  template <class... Given>
    requires(sizeof...(Given) > 0 && !(std::is_same_v<std::remove_cvref_t<Given>, Misnamed> && ...))
  Misnamed(Given&&...) {  // not constexpr: who only asks whether a member may be written does not compile the sentence
    static_assert(sizeof(typename rule::option_has_name<Meaning, (std::is_void_v<Given> && ...)>::must_hold));
  }
  template <class Given>
    requires(!std::is_same_v<std::remove_cvref_t<Given>, Misnamed>)
  Misnamed& operator=(Given&&) {
    static_assert(sizeof(typename rule::option_has_name<Meaning, std::is_void_v<Given>>::must_hold));
    return *this;
  }
};

}  // namespace detail
}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
