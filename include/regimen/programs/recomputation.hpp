// regimen/programs/recomputation.hpp — schedules of a Checkpoint as numbers and names; a configuration with others.
#pragma once

#include <regimen/policy/checkpoint.hpp>
#include <regimen/policy/policy.hpp>
#include <regimen/programs/plan.hpp>

#include <boost/mp11.hpp>

#include <cstddef>
#include <string_view>
#include <type_traits>

namespace regimen::programs {

/// The configuration with another Checkpoint.
template <class Configuration, class Checkpoint>
struct with_checkpoint;
template <template <class...> class Configuration, class... Policies, class Checkpoint>
struct with_checkpoint<Configuration<Policies...>, Checkpoint> {
 private:
  template <class P>
  using replaced = std::conditional_t<!std::is_same_v<typename P::axis, axis::checkpoint>, boost::mp11::mp_list<P>,
                                      std::conditional_t<std::is_same_v<Checkpoint, regimen::Checkpoint<None>>,
                                                         boost::mp11::mp_list<>, boost::mp11::mp_list<Checkpoint>>>;

 public:
  using type =
      boost::mp11::mp_apply<Configuration, boost::mp11::mp_append<boost::mp11::mp_list<>, replaced<Policies>...>>;
};

/// Whether a layer gives the same output again.
template <class Layer>
inline constexpr bool replays = [] {
  if constexpr (requires { Layer::replayable; }) return bool(Layer::replayable);
  else return true;
}();
template <class Layer>
using is_replayable = boost::mp11::mp_bool<replays<Layer>>;

/// The schedules of a Checkpoint as numbers and names, from place `at` on.
template <class Schedule>
constexpr void describe(RecomputationPlan&, std::size_t, const Schedule*) {}
template <std::size_t N>
constexpr void describe(RecomputationPlan& found, std::size_t at, const Every<N>*) {
  found.of[at].segment = N;
}
template <class... Layers>
constexpr void describe(RecomputationPlan& found, std::size_t at, const Selective<Layers...>*) {
  const auto add = [&](const char* name) {
    for (const char*& layer : found.of[at].layers) {
      if (layer && std::string_view(layer) != name) continue;
      layer = name;
      break;
    }
  };
  (add(Layers::name), ...);
}
template <std::size_t K, class... Schedules>
constexpr void describe(RecomputationPlan& found, std::size_t at, const KeepLast<K, Schedules...>*) {
  found.of[at].whole = K;
  (describe(found, at + 1, static_cast<const Schedules*>(nullptr)), ...);
}
template <class... Schedules>
constexpr RecomputationPlan recomputation_of(const Checkpoint<Schedules...>*) {
  RecomputationPlan found{};
  (describe(found, 0, static_cast<const Schedules*>(nullptr)), ...);
  return found;
}

}  // namespace regimen::programs
// SPDX-License-Identifier: Apache-2.0
