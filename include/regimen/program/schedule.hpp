// regimen/program/schedule.hpp — the layers that Checkpoint<If<Predicate>> chooses of a model.
#pragma once

#include <regimen/layer/children.hpp>
#include <regimen/policy/checkpoint.hpp>

#include <boost/mp11.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::train {

/// Whether a predicate of If asks what a layer costs.
template <template <class> class Predicate, class Layer>
concept AsksCost = requires { static_cast<bool>(Predicate<Layer>::holds(double{}, double{})); };

/// Stands for the costs where these are not known: predicates that ask choose nothing.
struct UnknownCosts {
  template <template <class> class Predicate, class Layer>
  static constexpr bool chooses = false;
};

/// A schedule whose layers are named: of If, those of a model's layers that the predicate chooses. What is made of several
/// layers, or a part of such a one, is none.   Costs   UnknownCosts, or LayerCosts of the model
template <class Schedule, class Layers, class Costs>
struct named_schedule {
  using type = Schedule;
};
template <template <class> class Predicate, class Layers, class Costs>
struct named_schedule<If<Predicate>, Layers, Costs> {
 private:
  template <class Layer>
  struct chooses {
    static constexpr bool value = [] {
      if constexpr (regimen::detail::is_composite<Layer>) return false;
      else if constexpr (AsksCost<Predicate, Layer>) return Costs::template chooses<Predicate, Layer>;
      else if constexpr (requires { static_cast<bool>(Predicate<Layer>::value); }) return bool(Predicate<Layer>::value);
      else return false;  // and so it is true of none, which a rule says
    }();
  };
  template <class Layer>
  struct asks {
    static constexpr bool value = AsksCost<Predicate, Layer>;
  };
  template <class Whole>
  struct is_chosen_block {
    static constexpr bool value = [] {
      if constexpr (!regimen::detail::is_composite<Whole>) return false;
      else if constexpr (requires { static_cast<bool>(Predicate<Whole>::value); }) return bool(Predicate<Whole>::value);
      else return false;
    }();
  };
  using All = boost::mp11::mp_unique<regimen::detail::layers_in<Layers>>;

 public:
  /// Whether the predicate is true of what is made of several layers, of which it is not asked.
  static constexpr bool chooses_block =
      boost::mp11::mp_any_of<typename regimen::detail::all_in<Layers>::type, is_chosen_block>::value;
  static constexpr bool asks_cost = boost::mp11::mp_any_of<All, asks>::value;
  using type = boost::mp11::mp_apply<Selective, boost::mp11::mp_copy_if<All, chooses>>;
};

template <std::size_t K, class... Schedules, class Layers, class Costs>
struct named_schedule<KeepLast<K, Schedules...>, Layers, Costs> {
  using type = KeepLast<K, typename named_schedule<Schedules, Layers, Costs>::type...>;
};

/// A Checkpoint in the words of Every and Selective, so that recipes that mean the same share their walkers.
template <class Checkpoint, class Layers, class Costs>
struct named_schedules;
template <class... Schedules, class Layers, class Costs>
struct named_schedules<Checkpoint<Schedules...>, Layers, Costs> {
  using type = Checkpoint<typename named_schedule<Schedules, Layers, Costs>::type...>;
};

}  // namespace regimen::train
// SPDX-License-Identifier: Apache-2.0
