// regimen/programs/layer_costs.hpp — what the layers of a model cost, for predicates of Checkpoint<If<...>> that ask.
#pragma once

#include <regimen/core/arena.hpp>
#include <regimen/layer/children.hpp>
#include <regimen/policy/checkpoint.hpp>
#include <regimen/programs/outline.hpp>
#include <regimen/programs/recomputation.hpp>
#include <regimen/walk/model.hpp>

#include <boost/mp11.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace regimen::programs {

/// The costs of a model's layers, where nothing is recomputed.   RecipeOf   programs::Recipe
///
/// They are those of a fixed batch, so that Batch<Largest>, whose batch depends on what is recomputed, can be found, and
/// the same layers are recomputed whatever the batch is.
template <template <class, class> class RecipeOf, class Network, class Configuration>
struct LayerCosts {
 private:
  using All = boost::mp11::mp_unique<regimen::detail::layers_in<walk::layers_of<Network>>>;
  static constexpr std::size_t samples = TensorArena::alignment;  // of so many, no output ends between two multiples

  /// The outline of the model, with bits for the layers from number `first` on.
  template <std::size_t first>
  struct Drawn {
    using Plain = RecipeOf<Network, typename with_checkpoint<Configuration, Checkpoint<None>>::type>;
    using Body = typename Plain::Bound::Flat;
    using Draws = OutlineOf<typename Plain::Planned, boost::mp11::mp_drop_c<All, first>>;
    static constexpr std::array<OutlinePart, Draws::template size<Body>()> parts = [] {
      std::array<OutlinePart, Draws::template size<Body>()> all{};
      Draws::template draw<Body>(all.data(), 0, 0, samples);
      return all;
    }();
  };

  template <class Layer>
  static constexpr bool replays = [] {
    if constexpr (requires { Layer::replayable; }) return bool(Layer::replayable);
    else return true;
  }();

 public:
  /// Whether Layer can be recomputed, and the predicate holds at each of its places.
  template <template <class> class Predicate, class Layer>
  static constexpr bool chooses = [] {
    if constexpr (!replays<Layer>) return false;
    else {
      constexpr std::size_t index = boost::mp11::mp_find<All, Layer>::value, bit = index % 64;
      bool stands = false, holds = true;
      for (const OutlinePart& part : Drawn<index - bit>::parts) {
        if (((part.again >> bit) & 1) == 0) continue;
        stands = true;
        holds = holds && part.reads != Reads::output && part.reads != Reads::input_and_output &&
                Predicate<Layer>::holds(part.operations / samples, double(part.y) / samples);
      }
      return stands && holds;
    }
  }();
};

}  // namespace regimen::programs
// SPDX-License-Identifier: Apache-2.0
