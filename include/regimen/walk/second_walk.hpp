// regimen/walk/second_walk.hpp — a walker of layers that backward computes again from their input.
#pragma once

#include <regimen/layer/children.hpp>
#include <regimen/walk/node.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::walk {

/// The context of layers that backward computes again.
template <class Context>
using context_again = std::conditional_t<Context::twice, Context, not_moved<Context, true>>;

/// Saves only its input, and walks the layers inside a second time in backward.
///   Inside   the walker of these layers, in a context_again
template <class Inside_>
struct SecondWalk {
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

  static constexpr std::size_t forward(auto& walk, const Tensor& x, const WeightPlaces& weights, const LayerPath& path,
                                       const Way& way) {
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
  static constexpr std::size_t backward(auto& walk, const Tensor& d_y, std::size_t x, std::size_t floor,
                                        const WeightPlaces& weights, const LayerPath& path, Place) {
    Inside::forward(walk, Tensor{x, false}, weights, path, {Mode::save, inner_place});
    return Inside::backward(walk, d_y, x, floor, weights, path, inner_place);
  }

  static constexpr void place_tensors(TensorPlace*& out, const TensorPlace& at) { Inside::place_tensors(out, at); }
  [[gnu::cold]] static constexpr void name_tensors(auto&& prefix, bool ends_branch, auto& visit) {
    Inside::name_tensors(prefix, ends_branch, visit);
  }
};

/// A SecondWalk of a layer that a schedule chooses (Selective<...>, If<P>). Its layers stand where they stand without the
/// schedule: it has their names, paths, units and sums.
///   Choice   the walker of the chosen layer
template <class Choice_>
struct ChosenSecondWalk : SecondWalk<Choice_> {
  using Choice = Choice_;
  static constexpr bool sums_y = joins_y<true, Choice>, sums_d_x = joins_d_x<true, Choice>;
};

/// Whether the schedule recomputes this child of a list: a combinator with a list of its own.
template <class Layer, class Context>
concept Chosen = Combinator<Layer> && Context::Checkpoint::template recomputes<Layer>;

/// The walker of a child of a list.
template <class Layer, class X, class Context, bool flows>
using WalkerOfChild =
    std::conditional_t<Chosen<Layer, Context>, ChosenSecondWalk<Node<Layer, X, context_again<Context>, flows>>,
                       Node<Layer, X, Context, flows>>;

template <class Walker>
using choice_in = typename Walker::Choice;
/// The walker inside a ChosenSecondWalk; any other walker itself.
template <class Walker>
using without_choice_t = mp::mp_eval_or<Walker, choice_in, Walker>;

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
