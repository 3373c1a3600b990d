// regimen/trainers/mistakes.hpp — frequent mistakes in a Trainer's arguments, each with its own error.
#pragma once

#include <regimen/comm/communicator.hpp>
#include <regimen/rule/arguments.hpp>
#include <regimen/rule/models.hpp>
#include <regimen/rule/run_options.hpp>
#include <regimen/rule/trainers.hpp>

namespace regimen::trainers {

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

}  // namespace regimen::trainers
// SPDX-License-Identifier: Apache-2.0
