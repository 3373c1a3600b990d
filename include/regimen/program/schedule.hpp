// regimen/program/schedule.hpp — the layers that Checkpoint<If<Predicate>> chooses of a model.
#pragma once

#include <regimen/layer/children.hpp>
#include <regimen/policy/checkpoint.hpp>

#include <boost/mp11.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::train {

/// A schedule whose layers are named: of If, those of a model's layers of which the predicate is true. What is made of
/// several layers, or a part of such a one, is none.
template <class Schedule, class Layers>
struct named_schedule {
  using type = Schedule;
};
template <template <class> class Predicate, class Layers>
struct named_schedule<If<Predicate>, Layers> {
 private:
  template <class Layer>
  struct chooses {
    static constexpr bool value = [] {
      if constexpr (regimen::detail::is_composite<Layer>) return false;
      else if constexpr (requires { static_cast<bool>(Predicate<Layer>::value); }) return bool(Predicate<Layer>::value);
      else return false;  // and so it is true of none, which a rule says
    }();
  };

 public:
  using type = boost::mp11::mp_apply<
      Selective, boost::mp11::mp_copy_if<boost::mp11::mp_unique<regimen::detail::layers_in<Layers>>, chooses>>;
};

template <std::size_t K, class... Schedules, class Layers>
struct named_schedule<KeepLast<K, Schedules...>, Layers> {
  using type = KeepLast<K, typename named_schedule<Schedules, Layers>::type...>;
};

/// A Checkpoint in the words of Every and Selective, so that recipes that mean the same share their walkers.
template <class Checkpoint, class Layers>
struct named_schedules;
template <class... Schedules, class Layers>
struct named_schedules<Checkpoint<Schedules...>, Layers> {
  using type = Checkpoint<typename named_schedule<Schedules, Layers>::type...>;
};

}  // namespace regimen::train
// SPDX-License-Identifier: Apache-2.0
