// regimen/programs/outline.hpp — a model as numbers: what a schedule of recomputation costs, without its walkers.
//
// A walk of another schedule is other functions, which a compiler takes about a second to make. An outline is one table
// of the model's layers, with what each takes and gives as its own walker says when it is walked alone; `Sketch` walks
// that table under any schedule. It follows the rules by which walk/ places tensors, in their order, but leaves out
// what it need not know: holes between tensors, gathered weights, the memory of forward and of the update. So
//
//   bound   at most the peak of the plan; but a combinator of a program's own is drawn as one that adds
//   extra   the floating-point operations of recomputation, as in the plan (those of Checkpointed, too, which are the same
//           under any schedule)
//
// and programs/budget.hpp asks the plan itself whether what was found fits. tests/train/budget.cpp compares both.
#pragma once

#include <regimen/core/arena.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/core/weights.hpp>
#include <regimen/walk/model.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace regimen::programs {

/// A layer or a combinator of a model, in a list where each stands before its children.
///   again           the layers of the model whose choice means that this one's output is computed again, a bit for each
///   count           iterations of a Repeat, branches of a Fork that are no input
///   last, before    the last child, and the sibling before; 0: there is none
///   next            behind the last of its children
///   x, y, saved     bytes of its input, its output, and of what it saves besides
///   gradient        bytes of the gradient of its input, if it gives one
///   lent, taken     most bytes in backward besides saved tensors and the gradient of its output, if that stays; if not
///   operations      floating-point operations of its forward; of a combinator those of itself
struct OutlinePart {
  enum class Kind : unsigned char { layer, chain, residual, repeat, fork, again, input, opaque };
  Kind kind = Kind::opaque;
  bool active = false, flows = false, adds = false, reads_values = false, has_input = false;
  Reads reads = Reads::nothing;
  std::uint64_t again = 0;
  std::size_t count = 0, last = 0, before = 0, next = 0, x = 0, y = 0, saved = 0, gradient = 0, lent = 0, taken = 0;
  double operations = 0;
};

/// Draws the outline of a model.   Walk   of a plan     Names   a list of layers, which have the bits
template <class Walk, class Names>
struct OutlineOf {
  using Kind = OutlinePart::Kind;

  template <class N>
  static constexpr Kind kind_of = [] {
    if constexpr (requires { typename N::Declared; }) return Kind::layer;
    else if constexpr (requires { N::is_group; }) return Kind::chain;
    else if constexpr (requires { N::keeps_branch; }) return Kind::residual;
    else if constexpr (requires { N::iterations; }) return Kind::repeat;
    else if constexpr (requires { N::is_apart; }) return Kind::fork;
    else if constexpr (requires { typename N::Inside; }) return Kind::again;
    else if constexpr (!walk::mp::mp_empty<walk::walkers_in_t<N>>::value) return Kind::fork;
    else return walk::is_input<N> ? Kind::input : Kind::opaque;
  }();
  /// A combinator of a program's own: it is outlined as a Fork that adds, whose children read its input, and save what
  /// they say.
  template <class N>
  static constexpr bool is_foreign_fork = kind_of<N> == Kind::fork && !requires { N::is_apart; };

  /// What a walker stands for: Shared for its layers.
  template <class N>
  struct seen {
    using type = N;
  };
  template <class Name, class... Layers, class X, class Context, bool flows>
  struct seen<walk::Node<Shared<Name, Layers...>, X, Context, flows>> {
    using type = typename walk::Node<Shared<Name, Layers...>, X, Context, flows>::Branch;
  };
  template <class N>
  using seen_t = typename seen<N>::type;

  /// How many parts there are.
  template <class N>
  static constexpr std::size_t size() {
    if constexpr (!std::is_same_v<seen_t<N>, N>) return size<seen_t<N>>();
    else
      return []<class... Walkers>(walk::mp::mp_list<Walkers...>) {
        return (std::size_t{1} + ... + size<Walkers>());
      }(walk::walkers_in_t<N>{});
  }

  /// Draws a node and its children from parts[here] on; returns the place behind them.
  template <class N>
  static constexpr std::size_t draw(OutlinePart* parts, std::size_t here, std::size_t before, std::size_t samples) {
    if constexpr (!std::is_same_v<seen_t<N>, N>) return draw<seen_t<N>>(parts, here, before, samples);
    OutlinePart& part = parts[here];
    part.kind = kind_of<N>;
    part.before = before;
    part.active = N::active;
    part.next = here + 1;
    part.y = bytes<typename N::Output>(samples);
    [&]<class... Walkers>(walk::mp::mp_list<Walkers...>) {
      [[maybe_unused]] std::size_t last = 0;
      ((last = part.next, part.next = draw<Walkers>(parts, last, part.last, samples), part.last = last), ...);
    }(walk::walkers_in_t<N>{});
    if constexpr (kind_of<N> == Kind::layer) {
      measure<N>(part, samples);
    } else if constexpr (is_foreign_fork<N>) {
      part.adds = true;
      part.flows = flows_of<N>::value;
      part.x = bytes<typename flows_of<N>::Input>(samples);
      [&]<class... Walkers>(walk::mp::mp_list<Walkers...>) {
        part.operations = (forward_of<N>(samples) - ... - forward_of<Walkers>(samples));
        part.count = sizeof...(Walkers);
      }(walk::walkers_in_t<N>{});
    } else if constexpr (kind_of<N> == Kind::fork) {
      measure_fork<N>(part, samples);
    } else if constexpr (kind_of<N> == Kind::residual) {
      part.x = part.y;
      part.operations = N::joins_forward ? 0 : sum_of<typename N::Output>(samples);
    } else if constexpr (kind_of<N> == Kind::repeat) {
      part.count = N::iterations;
      part.x = part.y;
      part.flows = flows_of<N>::value;
    }
    return part.next;
  }

 private:
  template <class V>
  static constexpr std::size_t bytes(std::size_t samples) {
    return TensorArena::align(samples * V::bytes);
  }
  template <class V>
  static constexpr double sum_of(std::size_t samples) {
    return op::Add<typename V::Element>{{0}, {0}, samples * V::size}.cost().flops;
  }
  template <class Layer>
  static constexpr std::uint64_t bit_of() {
    constexpr std::size_t index = walk::mp::mp_find<Names, Layer>::value;
    if constexpr (index < walk::mp::mp_size<Names>::value && index < 64) return std::uint64_t{1} << index;
    else return 0;
  }
  template <class N>
  struct flows_of;
  template <class Layer, class X, class Context, bool flows>
  struct flows_of<walk::Node<Layer, X, Context, flows>> : std::bool_constant<flows> {
    using Input = X;
    using Origin = walk::origin<Layer>;
    static constexpr std::uint64_t again =
        OutlineOf::bit_of<typename Origin::output>() |
        (walk::places_of<Layer> > 1 ? OutlineOf::bit_of<typename Origin::parameters>() : 0);
  };

  static constexpr Walk walk_of(std::size_t samples) {
    return Walk(samples, std::size_t{1}, std::size_t{0}, std::size_t{1}, false);
  }
  template <class N>
  static constexpr double forward_of(std::size_t samples) {
    constexpr regimen::WeightPlaces nowhere{0, 0, false, 0};
    Walk walk = walk_of(samples);
    walk.phase(op::Phase::forward);
    N::forward(walk, walk::Tensor{0, false}, nowhere, LayerPath{}, {walk::Mode::discard, walk::Place::transient});
    return walk.engine.cost[static_cast<std::size_t>(op::Phase::forward)].flops;
  }
  /// What a layer's walker takes, alone in an arena.
  template <class N>
  static constexpr void measure(OutlinePart& part, std::size_t samples) {
    using Of = flows_of<N>;
    part.flows = Of::value;
    part.again = N::active ? Of::again : 0;
    part.reads = N::active ? N::Bound::backward_reads(N::trains) : Reads::nothing;
    part.x = bytes<typename Of::Input>(samples);
    part.saved = walk::bytes_of_all<typename N::Saved>(walk_of(samples));
    part.operations = forward_of<N>(samples);
    if constexpr (N::active) {
      part.gradient = Of::value ? part.x : 0;
      part.lent = most_in_backward<N>(part, samples, false);
      part.taken = most_in_backward<N>(part, samples, true);
    }
  }
  template <class N>
  static constexpr std::size_t most_in_backward(const OutlinePart& part, std::size_t samples, bool owned) {
    constexpr regimen::WeightPlaces nowhere{0, 0, false, 0};
    Walk walk = walk_of(samples);
    walk.phase(op::Phase::backward);
    const std::size_t floor = 2 * (part.x + part.y);  // below it lies what other layers have saved
    walk.arena.push(floor + part.saved + (N::reads_output ? part.y : 0), MemoryKind::saved, LayerPath{});
    const std::size_t top = walk.arena.top, d_y = walk.arena.take(part.y, MemoryKind::transient, LayerPath{});
    walk.arena.peak_of_live = 0;
    N::backward(walk, walk::Tensor{d_y, owned}, floor - part.x, floor, nowhere, LayerPath{}, walk::Place::transient);
    const std::size_t most = walk.arena.peak_of_live;  // 0: it has taken nothing
    return most > top + part.y ? most - top - part.y : 0;
  }
  template <class N>
  static constexpr void measure_fork(OutlinePart& part, std::size_t samples) {
    part.adds = N::adds;
    part.reads_values = N::reads_values;
    part.has_input = N::input < N::count;
    part.count = N::count - (part.has_input ? 1 : 0);
    part.flows = fork_flows<N>::value;
    part.x = part.has_input ? bytes<typename N::template At<(N::input < N::count ? N::input : 0)>::Output>(samples) : 0;
    if constexpr (N::adds) {
      part.operations = double(N::count - 1) * sum_of<typename N::Output>(samples);
    } else {
      Walk walk = walk_of(samples);
      walk.phase(op::Phase::forward);
      N::Joined::forward(walk, std::array<std::size_t, N::count>{}, std::size_t{0});
      part.operations = walk.engine.cost[static_cast<std::size_t>(op::Phase::forward)].flops;
    }
  }
  template <class N>
  struct fork_flows;
  template <class Join, class... Branches, class X, class Context, bool flows>
  struct fork_flows<walk::Node<Fork<Join, Branches...>, X, Context, flows>> : std::bool_constant<flows> {};
};

}  // namespace regimen::programs
// SPDX-License-Identifier: Apache-2.0
