// regimen/programs/schedule.hpp — the layers that Checkpoint<If<Predicate>> chooses of a model.
#pragma once

#include <regimen/layer/children.hpp>
#include <regimen/policy/checkpoint.hpp>
#include <regimen/walk/child.hpp>

#include <boost/mp11.hpp>

#include <cstddef>

namespace regimen::programs {

/// Whether a predicate of If asks what a layer costs.
template <template <class> class Predicate, class Layer>
concept AsksCost = requires { static_cast<bool>(Predicate<Layer>::holds(double{}, double{})); };

/// Whether a predicate has a value for a layer, and it is true.
template <template <class> class Predicate, class Layer>
concept HoldsOf = requires { requires static_cast<bool>(Predicate<Layer>::value); };

/// Stands for the costs where these are not known: predicates that ask choose nothing.
struct UnknownCosts {
  template <template <class> class Predicate, class Layer>
  static constexpr bool chooses = false;
};

/// A combinator that a list of layers has as one child, with a list of its own; others are written out in that list.
template <class Layer>
concept HasOwnList = Combinator<Layer> && (children<Layer>::levels > 0);

/// The blocks of a model, of which a predicate of If is asked besides its layers: what a list of layers has as one
/// child with a list of its own (Residual, Fork, Shared, a combinator of a program's own), and what a Repeat repeats.
/// Not what is written out in the list in which it stands (Sequential, As, SelfAttention), unless it is all that a
/// Repeat repeats: there, a layer inside may be computed as one with a layer outside.
template <class Layers>
struct blocks_in {
 private:
  template <class Layer>
  using is_repeat = boost::mp11::mp_bool<walk::is_repeat<Layer>>;
  template <class Layer>
  using is_child = boost::mp11::mp_bool<HasOwnList<Layer> && !walk::is_repeat<Layer>>;
  template <class Layer>
  using is_written_out = boost::mp11::mp_bool<Combinator<Layer> && !HasOwnList<Layer>>;
  template <class Layer>
  using repeated = typename children<Layer>::type;
  using All = typename regimen::detail::all_in<Layers>::type;
  using Repeated =
      boost::mp11::mp_flatten<boost::mp11::mp_transform<repeated, boost::mp11::mp_copy_if<All, is_repeat>>>;

 public:
  using type = boost::mp11::mp_unique<boost::mp11::mp_append<boost::mp11::mp_copy_if<All, is_child>,
                                                             boost::mp11::mp_copy_if<Repeated, is_written_out>>>;
};

/// A schedule whose layers are named: of If, those of a model's layers and blocks that the predicate chooses. A part of
/// a layer of several is none.   Costs   UnknownCosts, or LayerCosts of the model
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
      else return HoldsOf<Predicate, Layer>;  // without a value it is true of none, which a rule says
    }();
  };
  template <class Layer>
  struct asks {
    static constexpr bool value = AsksCost<Predicate, Layer>;
  };
  template <class Whole>
  struct chooses_whole {
    static constexpr bool value = Combinator<Whole> && HoldsOf<Predicate, Whole>;
  };
  using All = boost::mp11::mp_unique<regimen::detail::layers_in<Layers>>;

 public:
  using ChosenLayers = boost::mp11::mp_copy_if<All, chooses>;
  using ChosenBlocks = boost::mp11::mp_copy_if<typename blocks_in<Layers>::type, chooses_whole>;
  /// Whether the predicate is true of what is made of several layers, be it a block or not.
  static constexpr bool chooses_any_whole =
      boost::mp11::mp_any_of<typename regimen::detail::all_in<Layers>::type, chooses_whole>::value;
  static constexpr bool asks_cost = boost::mp11::mp_any_of<All, asks>::value;
  using type = boost::mp11::mp_apply<Selective, boost::mp11::mp_append<ChosenLayers, ChosenBlocks>>;
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

}  // namespace regimen::programs
// SPDX-License-Identifier: Apache-2.0
