// regimen/walk/again.hpp — the walker of Checkpointed: its layers are walked again in backward, from its input.
#pragma once

#include <regimen/walk/sequential.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <type_traits>

namespace regimen::walk {

template <std::size_t begin, class... Entries, class X, class Context, bool flows>
struct Node<Again<begin, Entries...>, X, Context, flows> {
  using Inside = Chain<typename fuse<typename Context::Fusing, mp::mp_list<Entries...>>::type, X,
                       std::conditional_t<Context::twice, Context, computed_twice<Context>>, flows, begin>;
  using Output = typename Inside::Output;
  using Walkers = mp::mp_list<Inside>;
  static constexpr ParameterLayout layout = Inside::layout;
  static constexpr bool active = Inside::active, reads_input = active, reads_output = false, recomputes_output = false,
                        reads_weights = active && layout.count > 0;
  static constexpr bool keeps_d_y = true;  // its layers are walked again before it is read
  static constexpr Place inner_place = Inside::reads_output ? Place::saved : Place::nowhere;

  static constexpr std::size_t footprint(const auto& engine, Place place) {
    return place == Place::saved ? bytes_of<Output>(engine) : 0;
  }
  static constexpr bool is_idle(Place place) { return place == Place::nowhere; }

  static constexpr std::size_t forward(auto& engine, Tensor x, WeightPlaces weights, LayerPath path, Way way) {
    if (way.mode == Mode::discard || !active) {
      return Inside::forward(engine, x, weights, path, {Mode::discard, way.place});
    } else {
      std::size_t y = absent;
      if (way.place != Place::nowhere)
        y = Inside::forward(engine, Tensor{x.offset, false}, weights, path, {Mode::discard, way.place});
      if (x.owned) engine.arena.give(x.offset);  // it is computed again before it is read
      return y;
    }
  }
  static constexpr void retire_output(auto& engine, Place place) {
    if (place == Place::saved) pop<Output>(engine);
  }
  static constexpr std::size_t backward(auto& engine, Tensor d_y, std::size_t x, std::size_t floor,
                                        WeightPlaces weights, LayerPath path, Place) {
    Inside::forward(engine, Tensor{x, false}, weights, path, {Mode::save, inner_place});
    return Inside::backward(engine, d_y, x, floor, weights, path, inner_place);
  }

  static constexpr void place_tensors(TensorPlace*& out, TensorPlace at) { Inside::place_tensors(out, at); }
  static constexpr void name_tensors(const auto& prefix, bool ends_branch, auto& visit) {
    Inside::name_tensors(prefix, ends_branch, visit);
  }
};

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
