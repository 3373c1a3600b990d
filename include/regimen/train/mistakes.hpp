// regimen/train/mistakes.hpp — frequent mistakes in a Trainer's arguments, each with its own error.
#pragma once

#include <regimen/comm/communicator.hpp>
#include <regimen/data/batching.hpp>
#include <regimen/data/order.hpp>
#include <regimen/rule/communicator_matches.hpp>
#include <regimen/rule/model_comes_first.hpp>
#include <regimen/rule/model_is_a_type.hpp>
#include <regimen/rule/options_have_names.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace regimen::train {

/// A number that must be given.
struct Given final {
  constexpr Given(double) {}
};

/// Matches in place of FitOptions when an option has another library's name. A list without such a name, or without any
/// names, does not match.
struct MisnamedRun final {
  struct Unnamed {
    constexpr Unnamed() {}
  };
  Unnamed unnamed{};
  union {
    Given step, epoch, iterations, max_steps, max_epochs, num_steps, num_epochs;
  };
#if !defined(__CUDACC__)  // nvcc 13 would prefer this to FitOptions for lists of these names alone
  std::uint64_t steps = 0, epochs = 0, validate_every = 0, patience = 0;
  Order order = Order::Shuffled;
  Remainder remainder = Remainder::Short;
  std::size_t workers = 1, ahead = 2;
  bool progress = true, validate_average = false;
#endif
};

template <class T, class Communicator>
struct constructor_mistake {
  using type = typename rule::options_have_names<T>::must_hold;
};
template <class T, class Communicator>
  requires detail::is_model<T>
struct constructor_mistake<T, Communicator> {
  using type = typename rule::model_is_a_type<T>::must_hold;
};
template <comm::Collectives T, class Communicator>
struct constructor_mistake<T, Communicator> {
  using type = typename rule::communicator_matches<T, Communicator>::must_hold;
};

}  // namespace regimen::train
// SPDX-License-Identifier: Apache-2.0
