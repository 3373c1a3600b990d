// regimen/programs/layer_costs.hpp — what the layers of a model cost, for predicates of Checkpoint<If<...>> that ask.
#pragma once

#include <regimen/core/arena.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/core/weights.hpp>
#include <regimen/layer/children.hpp>
#include <regimen/policy/checkpoint.hpp>
#include <regimen/programs/recomputation.hpp>
#include <regimen/walk/model.hpp>

#include <boost/mp11.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace regimen::programs {

/// A place of a layer in a model.
///   names        layers of the model whose choice means that the output is computed again, a bit for each
///   keeps        whether backward reads the output, which is kept then
///   operations   floating-point operations of forward     bytes   of the output
struct LayerPlace {
  std::uint64_t names = 0;
  bool keeps = false;
  double operations = 0, bytes = 0;
};

/// The places of the layers below a walker, for a batch of `samples`.
///   Walk   of a plan     Names   a list of layers, which have the bits: of more than 64 the first
template <class Walk, class Names, std::size_t samples>
struct LayerPlaces {
  /// Writes them from `out` on, if it is not null; returns their number.
  template <class N>
  static constexpr std::size_t write(LayerPlace* out) {
    std::size_t count = is_layer<N> ? 1 : 0;
    if constexpr (is_layer<N>)
      if (out) *out = place_of<N>();
    [&]<class... Walkers>(boost::mp11::mp_list<Walkers...>) {
      ((count += write<Walkers>(out ? out + count : out)), ...);
    }(walk::walkers_in_t<N>{});
    return count;
  }

 private:
  template <class N>
  static constexpr bool is_layer = requires { typename N::Declared; };
  template <class Layer>
  static constexpr std::uint64_t bit_of() {
    constexpr std::size_t index = boost::mp11::mp_find<Names, Layer>::value;
    if constexpr (index < boost::mp11::mp_size<Names>::value && index < 64) return std::uint64_t{1} << index;
    else return 0;
  }
  template <class Layer, class X, class Context, bool flows>
  static constexpr std::uint64_t names_of(const walk::Node<Layer, X, Context, flows>*) {
    using Origin = walk::origin<Layer>;
    return bit_of<typename Origin::output>() | (walk::places_of<Layer> > 1 ? bit_of<typename Origin::parameters>() : 0);
  }
  template <class N>
  static constexpr LayerPlace place_of() {
    LayerPlace place{};
    if constexpr (N::active) {
      constexpr Reads reads = N::Bound::backward_reads(N::trains);
      constexpr regimen::WeightPlaces nowhere{0, 0, false, 0};
      Walk walk(samples, std::size_t{1}, std::size_t{0}, std::size_t{1}, false);
      walk.phase(op::Phase::forward);
      N::forward(walk, walk::Tensor{0, false}, nowhere, LayerPath{}, {walk::Mode::discard, walk::Place::transient});
      place.names = names_of(static_cast<const N*>(nullptr));
      place.keeps = reads == Reads::output || reads == Reads::input_and_output;
      place.operations = walk.engine.cost[static_cast<std::size_t>(op::Phase::forward)].flops;
      place.bytes = double(TensorArena::align(samples * N::Output::bytes));
    }
    return place;
  }
};

/// The costs of a model's layers, where nothing is recomputed.   RecipeOf   programs::Recipe
///
/// They are those of a fixed batch, so that Batch<Largest>, whose batch depends on what is recomputed, can be found,
/// and the same layers are recomputed whatever the batch is.
template <template <class, class> class RecipeOf, class Network, class Configuration>
struct LayerCosts {
 private:
  using All = boost::mp11::mp_unique<regimen::detail::layers_in<walk::layers_of<Network>>>;
  static constexpr std::size_t samples = TensorArena::alignment;  // of so many, no output ends between two multiples

  /// The places of all layers, with bits for those from number `first` on.
  template <std::size_t first>
  struct PlacesFrom {
    using Plain = RecipeOf<Network, typename with_checkpoint<Configuration, Checkpoint<None>>::type>;
    using Body = typename Plain::Bound::Flat;
    using Places = LayerPlaces<typename Plain::PlanWalk, boost::mp11::mp_drop_c<All, first>, samples>;
    static constexpr auto places = [] {
      std::array<LayerPlace, Places::template write<Body>(nullptr)> all{};
      Places::template write<Body>(all.data());
      return all;
    }();
  };

 public:
  /// Whether Layer can be recomputed, and the predicate holds at each of its places.
  template <template <class> class Predicate, class Layer>
  static constexpr bool chooses = [] {
    if constexpr (!replays<Layer>) return false;
    else {
      constexpr std::size_t index = boost::mp11::mp_find<All, Layer>::value, bit = index % 64;
      bool stands = false, holds = true;
      for (const LayerPlace& place : PlacesFrom<index - bit>::places) {
        if (((place.names >> bit) & 1) == 0) continue;
        stands = true;
        holds = holds && !place.keeps && Predicate<Layer>::holds(place.operations / samples, place.bytes / samples);
      }
      return stands && holds;
    }
  }();
};

}  // namespace regimen::programs
// SPDX-License-Identifier: Apache-2.0
