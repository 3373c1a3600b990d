// regimen/walk/walked_again.hpp — a walker of what backward computes again from its input.
#pragma once

#include <regimen/layer/children.hpp>
#include <regimen/walk/node.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::walk {

/// The context of what is computed again.
template <class Context>
using context_again = std::conditional_t<Context::twice, Context, not_moved<Context, true>>;

/// Saves its input, and walks the Inside again in backward.   Inside   a walker in a context_again
template <class Inside_>
struct WalkedAgain {
  using Inside = Inside_;
  using Output = typename Inside::Output;
  using Walkers = mp::mp_list<Inside>;
  static constexpr ParameterLayout layout = Inside::layout;
  static constexpr bool active = Inside::active, reads_input = active, reads_output = false, recomputes_output = false,
                        reads_weights = active && layout.count > 0;
  static constexpr bool keeps_d_y = true;  // its layers are walked again before it is read
  static constexpr Place inner_place = Inside::reads_output ? Place::saved : Place::nowhere;

  static constexpr std::size_t footprint(const auto& walk, Place place) {
    return place == Place::saved ? bytes_of<Output>(walk) : 0;
  }
  static constexpr bool is_idle(Place place) { return place == Place::nowhere; }

  static constexpr std::size_t forward(auto& walk, Tensor x, WeightPlaces weights, LayerPath path, Way way) {
    const Way once{Mode::discard, way.place, way.onto};
    if (way.mode == Mode::discard || !active) {
      return Inside::forward(walk, x, weights, path, once);
    } else {
      std::size_t y = absent;
      if (way.place != Place::nowhere) y = Inside::forward(walk, Tensor{x.offset, false}, weights, path, once);
      if (x.owned) walk.arena.give(x.offset);  // it is computed again before it is read
      return y;
    }
  }
  static constexpr void retire_output(auto& walk, Place place) {
    if (place == Place::saved) pop<Output>(walk);
  }
  static constexpr std::size_t backward(auto& walk, Tensor d_y, std::size_t x, std::size_t floor, WeightPlaces weights,
                                        LayerPath path, Place) {
    Inside::forward(walk, Tensor{x, false}, weights, path, {Mode::save, inner_place});
    return Inside::backward(walk, d_y, x, floor, weights, path, inner_place);
  }

  static constexpr void place_tensors(TensorPlace*& out, TensorPlace at) { Inside::place_tensors(out, at); }
  [[gnu::cold]] static constexpr void name_tensors(const auto& prefix, bool ends_branch, auto& visit) {
    Inside::name_tensors(prefix, ends_branch, visit);
  }
};

/// The same for what a schedule chooses: its layers stand where they stood, and so it has their names, paths, units and
/// sums.   Walked   the walker of that
template <class Walked_>
struct ChosenAgain : WalkedAgain<Walked_> {
  using Walked = Walked_;
  static constexpr bool sums_y = joins_y<true, Walked>, sums_d_x = joins_d_x<true, Walked>;
};

/// Whether a schedule chooses what a list has as one child: a combinator that has a list of its own.
template <class Layer, class Context>
concept Chosen = Combinator<Layer> && Context::Checkpoint::template recomputes<Layer>;

/// The walker of a child of a list.
template <class Layer, class X, class Context, bool flows>
using WalkerOfChild =
    std::conditional_t<Chosen<Layer, Context>, ChosenAgain<Node<Layer, X, context_again<Context>, flows>>,
                       Node<Layer, X, Context, flows>>;

template <class Walker>
using walked_in = typename Walker::Walked;
/// A walker without what is around it because it was chosen.
template <class Walker>
using without_choice_t = mp::mp_eval_or<Walker, walked_in, Walker>;

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
