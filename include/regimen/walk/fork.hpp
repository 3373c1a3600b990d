// regimen/walk/fork.hpp — the walker of a Fork.
//
// Branches are walked in their order, and back in the reverse one; each has its part of the saved stack behind that of
// the branch before. A sum is formed in the output of the last branch: its last operation adds what the others gave,
// and the first operation of a branch what other gradients there are, where they can. Any other join writes a tensor of
// its own.
#pragma once

#include <regimen/layer/join.hpp>
#include <regimen/walk/sequential.hpp>

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace regimen::walk {

/// Whether a branch is the Fork's input.
template <class Branch>
inline constexpr bool is_input = false;
template <class X, bool flows>
inline constexpr bool is_input<InputValue<X, flows>> = true;

/// The element type of the outputs of branches: that of the Fork's input or, where that is tokens, the compute type.
/// Outputs joins final outputs of the model.
template <class Join, class X, class Context>
using branch_element = std::conditional_t<
    std::is_same_v<Join, Outputs>, typename Context::Roles::statistic,
    std::conditional_t<Number<typename X::Element>, typename X::Element, stored_t<typename Context::Roles::computed>>>;

/// A branch whose layers begin at `place` of the list that paths refer to.
template <std::size_t place, class Final, class X, class Context, bool flows, class... Layers>
struct BranchOf {
  using Entries = typename flatten<typename Context::Fusing, typename X::Element, typename Context::Roles::computed,
                                   Final, typename listed_layers<Layers...>::type>::type;
  using type = Chain<typename begins_at<Entries, place>::type, X, Context, flows, place>;
};

/// A branch whose last layer, an activation, is the join's work. That layer keeps its place, so that the random numbers
/// of later branches are the same.
template <class Branch>
struct WithoutActivation final {};
template <std::size_t place, class Final, class X, class Context, bool flows, class... Layers>
struct BranchOf<place, Final, X, Context, flows, WithoutActivation<Sequential<Layers...>>> {
  using Rest = mp::mp_pop_back<Sequential<Layers...>>;
  struct type : BranchOf<place, Final, X, Context, flows, Rest>::type {
    static constexpr std::size_t length = BranchOf<place, Final, X, Context, flows, Rest>::type::length + 1;
  };
};

/// A Fork as it is walked: a gate in its fused form.
template <class Branch>
inline constexpr bool ends_in_activation = false;
template <class First, class Second, class... Layers>
inline constexpr bool ends_in_activation<Sequential<First, Second, Layers...>> =
    FusedWithBias<mp::mp_back<mp::mp_list<Second, Layers...>>>;
template <class Fusing, class Join_, class... Branch>
struct fused_fork {
  using Join = Join_;
  using List = mp::mp_list<Branch...>;
};
template <class Fusing, class A, class B>
  requires(Fusing::fuses && (ends_in_activation<A> || ends_in_activation<B>))
struct fused_fork<Fusing, Multiply, A, B> {
  static constexpr bool is_first = ends_in_activation<A>;
  using Gate = std::conditional_t<is_first, A, B>;
  using Join = regimen::detail::GatedMultiply<typename mp::mp_back<Gate>::Function, is_first ? 0 : 1>;
  using List = std::conditional_t<is_first, mp::mp_list<WithoutActivation<A>, B>, mp::mp_list<A, WithoutActivation<B>>>;
};

/// The walkers of all branches. The first Identity is the input itself, if outputs have its type.
template <std::size_t place, bool has_input, class Final, class X, class Context, bool flows, class Branches>
struct branches_of {
  using type = mp::mp_list<>;
};
template <std::size_t place, bool has_input, class Final, class X, class Context, bool flows, class First,
          class... Others>
struct branches_of<place, has_input, Final, X, Context, flows, mp::mp_list<First, Others...>> {
  static constexpr bool is_the_input =
      std::is_same_v<First, Identity> && std::is_same_v<Final, typename X::Element> && !has_input;
  using Walker = typename std::conditional_t<is_the_input, mp::mp_identity<InputValue<X, flows>>,
                                             BranchOf<place, Final, X, Context, flows, First>>::type;
  using type = mp::mp_push_front<typename branches_of<place + Walker::length, has_input || is_the_input, Final, X,
                                                      Context, flows, mp::mp_list<Others...>>::type,
                                 Walker>;
};

template <class Join, class Branches, class X, class Context, bool flows>
struct ForkWalker;
template <class Join, class... Branch, class X, class Context, bool flows>
struct ForkWalker<Join, mp::mp_list<Branch...>, X, Context, flows> {
  static constexpr std::size_t count = sizeof...(Branch);
  using Walkers = mp::mp_list<Branch...>;
  template <std::size_t i>
  using At = mp::mp_at_c<Walkers, i>;
  using Joined = typename Join::template of<typename Branch::Output...>;
  using Output = typename Joined::Output;
  static constexpr bool adds = requires { requires Join::adds; };
  static constexpr std::array<bool, count> has_layers{!is_input<Branch>...};
  /// The branch that is the input, or `count`; and the last one with layers.
  static constexpr std::size_t input = [] {
    std::size_t i = 0;
    while (i < count && has_layers[i]) ++i;
    return i;
  }();
  static constexpr std::size_t last = count - (input + 1 == count ? 2 : 1);
  using Last = At<last>;

  static constexpr bool active = (Branch::active || ...), reads_values = Joined::reads_values && active,
                        reads_input = (Branch::reads_input || ...) || (reads_values && input < count),
                        reads_output = false, recomputes_output = false, reads_weights = (Branch::reads_weights || ...),
                        // d_y is added to d_x after the branches, or lies where a branch pushes what it computes again
      keeps_d_y = adds || (Branch::keeps_d_y || ...);
  /// Whether y is no output of a branch: a sum is, unless that branch reads its own output.
  static constexpr bool is_apart = !adds || Last::reads_output;

  static constexpr NeighbourLayouts<count> layouts{Branch::layout...};
  static constexpr ParameterLayout layout = layouts.all;

  /// Where the output of branch i goes if that of the Fork goes to `place`, and backward follows.
  template <std::size_t i>
  static constexpr Place place_of(Place place) {
    if (reads_values || At<i>::reads_output) return Place::saved;
    return place == Place::nowhere || (adds && i == last) ? place : Place::transient;
  }
  static constexpr std::size_t footprint(const auto& walk, Place place) {
    return floors(walk, 0, place)[count] + (is_apart && place == Place::saved ? bytes_of<Output>(walk) : 0);
  }
  static constexpr bool is_idle(Place place) {
    bool idle = adds || place == Place::nowhere;
    for_each_branch([&]<std::size_t i>() { idle = idle && At<i>::is_idle(place_of<i>(place)); });
    return idle;
  }

  static constexpr std::size_t forward(auto& walk, const Tensor& x, const WeightPlaces& weights, const LayerPath& path,
                                       const Way& way) {
    std::size_t y = absent;
    if constexpr (adds) y = sum(walk, x, weights, path, way);
    else y = join(walk, x, weights, path, way);
    if (x.owned && !gives_input) walk.arena.give(x.offset);
    return y;
  }
  static constexpr void retire_output(auto& walk, Place place) {
    if constexpr (!is_apart) Last::retire_output(walk, place);
    else if (place == Place::saved) pop<Output>(walk);
  }
  static constexpr std::size_t backward(auto& walk, const Tensor& d_y, std::size_t x, std::size_t floor,
                                        const WeightPlaces& weights, const LayerPath& path, Place place) {
    const std::array<std::size_t, count + 1> begins = floors(walk, floor, place);
    std::array<std::size_t, count> d_values{};  // the gradients of their outputs. Of a sum all are that of its output
    if constexpr (adds) d_values.fill(d_y.offset);
    else d_values = split(walk, d_y, x, begins, path);
    Tensor d_x{};
    if (input < count && flows) d_x = {d_values[input], !adds};
    for_each_branch<true>([&]<std::size_t i>() {
      constexpr bool joins = joins_d_x<(Context::Epilogues::sums && flows), At<i>>;
      if constexpr (reads_values) At<i>::retire_output(walk, Place::saved);
      const Tensor d_value{d_values[i], !adds && d_values[i] != absent, joins ? d_x.offset : absent};
      const std::size_t own =
          At<i>::backward(walk, d_value, x, begins[i], weights_of(weights, i), path, place_of<i>(place));
      if constexpr (flows) {
        if (!joins && d_x.offset != absent) add<X>(walk, d_x.offset, own);
        if (d_x.owned) walk.arena.give(d_x.offset);
        d_x = {own, true};
      }
    });
    if (adds && d_y.owned) walk.arena.give(d_y.offset);
    return flows ? d_x.offset : absent;
  }

  static constexpr void place_tensors(TensorPlace*& out, const TensorPlace& at) {
    for_each_branch([&]<std::size_t i>() { At<i>::place_tensors(out, at + layouts.begins[i]); });
  }
  [[gnu::cold]] static constexpr void name_tensors(auto&& prefix, bool, auto& visit) {
    const auto own = name_mark(prefix);
    for_each_branch([&]<std::size_t i>() {
      extend_name(prefix, i);
      At<i>::name_tensors(prefix, is_residual, visit);
      cut_name(prefix, own);
    });
  }

 private:
  static constexpr bool is_residual = adds && count == 2 && input < count;
  /// Whether the last branch may take x: nobody reads it afterwards.
  static constexpr bool gives_input = input == count;

  static constexpr WeightPlaces weights_of(const WeightPlaces& weights, std::size_t i) {
    return layouts.weights_of(weights, i, sizeof(typename Context::Roles::reduce));
  }

  /// body.operator()<i>() for the branches with layers, in their order or in the reverse one. (Inlined also without
  /// optimisation: see walk/walk.hpp.)
  template <bool reversed = false>
  [[gnu::always_inline]] static constexpr void for_each_branch(auto&& body) {
    visit_each<reversed>(body, std::make_index_sequence<count>{});
  }
  template <bool reversed, std::size_t... i>
  [[gnu::always_inline]] static constexpr void visit_each(auto& body, std::index_sequence<i...>) {
    (visit<(reversed ? count - 1 - i : i)>(body), ...);
  }
  template <std::size_t i>
  [[gnu::always_inline]] static constexpr void visit(auto& body) {
    if constexpr (has_layers[i]) body.template operator()<i>();
  }
  /// Where each branch's part of the saved stack begins; the last entry is the end of all parts.
  static constexpr std::array<std::size_t, count + 1> floors(const auto& walk, std::size_t floor, Place place) {
    std::array<std::size_t, count + 1> result{};
    result.fill(floor);
    for_each_branch([&]<std::size_t i>() {
      floor += At<i>::footprint(walk, place_of<i>(place));
      for (std::size_t next = i + 1; next <= count; ++next) result[next] = floor;
    });
    return result;
  }

  template <std::size_t i>
  static constexpr std::size_t forward_of(auto& walk, const Tensor& x, const WeightPlaces& weights,
                                          const LayerPath& path, const Way& way) {
    return At<i>::forward(walk, Tensor{x.offset, x.owned && gives_input && i == last}, weights_of(weights, i), path,
                          way);
  }
  /// Whether the join does without branch i at this position of a text.
  template <std::size_t i>
  static constexpr bool is_left_out([[maybe_unused]] const auto& walk) {
    if constexpr (requires { Join::is_last_alone(walk); }) return i + 1 < count && Join::is_last_alone(walk);
    else return false;
  }
  /// Where the output of branch i goes.
  template <std::size_t i>
  static constexpr Place place_in(const Way& way) {
    if (way.mode == Mode::save) return place_of<i>(way.place);
    return way.place == Place::nowhere || (adds && i == last) ? way.place : Place::transient;
  }

  // Each branch is added to the sum of those before it. Bits must not depend on what is saved, nor may this order.
  static constexpr std::size_t sum(auto& walk, const Tensor& x, const WeightPlaces& weights, const LayerPath& path,
                                   const Way& way) {
    Tensor total{input < count ? x.offset : absent, false};
    for_each_branch([&]<std::size_t i>() {
      constexpr bool joins = joins_y<Context::Epilogues::sums, At<i>>;
      // What this branch reads again in backward stays as it is.
      const bool stays = At<i>::reads_output && way.mode == Mode::save;
      std::size_t y =
          forward_of<i>(walk, x, weights, path, {way.mode, place_in<i>(way), joins ? total.offset : absent});
      if (way.place == Place::nowhere) return;
      if (stays && i != last && total.offset == absent) {
        total = {y, false};
        return;
      }
      if (stays && i != last && total.owned) return add<Output>(walk, y, total.offset);
      if (stays) y = copy_of<Output>(walk, y, i == last ? way.place : Place::transient, path);
      if (!joins && total.offset != absent) add<Output>(walk, total.offset, y);
      if (total.owned) walk.arena.give(total.offset);
      total = {y, true};
    });
    return way.place == Place::nowhere ? absent : total.offset;
  }
  static constexpr std::size_t join(auto& walk, const Tensor& x, const WeightPlaces& weights, const LayerPath& path,
                                    const Way& way) {
    std::array<std::size_t, count> values{};
    values.fill(x.offset);
    for_each_branch([&]<std::size_t i>() {
      if (is_left_out<i>(walk)) return;
      values[i] = forward_of<i>(walk, x, weights, path, {way.mode, place_in<i>(way)});
    });
    std::size_t y = absent;
    if (way.place != Place::nowhere) {
      y = allocate<Output>(walk, way.place, path);
      walk.path = path;
      Joined::forward(walk, values, y);
      walk.template produced<typename Output::Element>(y, walk.batch * Output::size, path);
    }
    for_each_branch([&]<std::size_t i>() {
      if (place_in<i>(way) == Place::transient && !is_left_out<i>(walk)) walk.arena.give(values[i]);
    });
    return y;
  }

  /// Finds the gradients of all outputs that want one. Consumes d_y.
  ///   begins   where the part of the saved stack of each branch begins
  static constexpr std::array<std::size_t, count> split(auto& walk, const Tensor& d_y, std::size_t x,
                                                        const std::array<std::size_t, count + 1>& begins,
                                                        const LayerPath& path) {
    std::array<std::size_t, count> values{}, d_values{};
    values.fill(x);
    d_values.fill(absent);
    for_each_branch([&]<std::size_t i>() {
      values[i] = reads_values ? just_below<typename At<i>::Output>(walk, begins[i + 1]) : absent;
      if (At<i>::active) d_values[i] = allocate<typename At<i>::Output>(walk, Place::transient, path);
    });
    if (input < count && flows) d_values[input] = allocate<X>(walk, Place::transient, path);
    walk.path = path;
    Joined::backward(walk, d_y.offset, values, d_values);
    if (d_y.owned) walk.arena.give(d_y.offset);
    return d_values;
  }
};

template <class Fused, class X, class Context, bool flows>
using WalkerOfFork = ForkWalker<typename Fused::Join,
                                typename branches_of<0, false, branch_element<typename Fused::Join, X, Context>, X,
                                                     Context, flows, typename Fused::List>::type,
                                X, Context, flows>;
template <class X, class Context, bool flows, class Join, class... Branches>
struct Node<Fork<Join, Branches...>, X, Context, flows>
    : WalkerOfFork<fused_fork<typename Context::Fusing, Join, Branches...>, X, Context, flows> {};

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
