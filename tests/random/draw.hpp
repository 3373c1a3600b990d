// tests/random/draw.hpp — choices as types: a key, a list, one of it.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/core/philox.hpp>
#include <regimen/core/shape.hpp>
#include <regimen/layer/layer.hpp>

#include <boost/mp11.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace regimen::random {

namespace mp = boost::mp11;

/// Names a thing that is drawn, and that shrinking may take away. A layer: its path from the model on, a hexadecimal
/// digit a level, counted from 1: 0x12 is the second layer of the first. Other things have names of their own, above
/// all paths.
using Id = std::uint64_t;
inline constexpr Id unwrapped = 0x8000'0000;  // with a combinator's id: its layers stand in its place
inline constexpr Id of_model = 0x10'0000, of_policy = 0x20'0000, of_neighbour = 0x30'0000;

/// Where a seed's numbers come from: each is a function of the seed, the attempt, the thing that asks, and which number
/// of it that is. So taking one thing away changes no other.
///   Attempt   counts the draws that did not compose
///   Compute   the element type of the program, which those of As must fit
///   Without   the ids that shrinking took away
template <std::uint64_t Seed, std::uint64_t Attempt, class Compute, Id... Without>
struct Source final {
  static constexpr std::uint64_t seed = Seed, attempt = Attempt;
  using compute = Compute;
  static constexpr std::size_t below(Id id, std::uint64_t which, std::size_t bound) {
    return static_cast<std::size_t>((Philox::mix(Philox::mix(Philox::mix(Seed, Attempt), id), which) >> 20) % bound);
  }
  static constexpr bool has(Id id) { return ((id != Without) && ...); }
};

/// An entry of a list that is drawn so many times as often as one of weight 1.
template <std::size_t Weight, class Kind_>
struct Often final {
  using Kind = Kind_;
  static constexpr std::size_t weight = Weight;
};

/// Which of these weights a number below their sum falls on.
template <std::size_t count>
constexpr std::size_t fall_on(const std::array<std::size_t, count>& weights, std::size_t number) {
  std::size_t at = 0;
  while (number >= weights[at]) number -= weights[at++];
  return at;
}

/// The entry that is drawn among those that fit; void when none does.
///   fits::fn<Kind>   a bool constant
template <class Source, Id id, std::uint64_t which, class fits, class... Entries>
constexpr auto pick(mp::mp_list<Entries...>) {
  constexpr std::array<std::size_t, sizeof...(Entries)> weights{
      (fits::template fn<typename Entries::Kind>::value ? Entries::weight : 0)...};
  constexpr std::size_t sum = [&] {
    std::size_t result = 0;
    for (const std::size_t weight : weights) result += weight;
    return result;
  }();
  if constexpr (sum == 0) return mp::mp_identity<void>{};
  else
    return mp::mp_identity<
        typename mp::mp_at_c<mp::mp_list<Entries...>, fall_on(weights, Source::below(id, which, sum))>::Kind>{};
}
template <class Source, Id id, std::uint64_t which, class fits, class List>
using picked = typename decltype(pick<Source, id, which, fits>(List{}))::type;

struct always {
  template <class>
  using fn = mp::mp_true;
};

/// Where a layer is drawn: what it reads, how deep it stands, and whether the list that it stands in must keep the rank
/// of its shape.
///   Table    the Embedding that a TiedLinear may be tied to; void without one
///   Length   the name of the length of the program's text; void without one
template <class Source_, Id Id_, class X_, class Table_, class Length_, std::size_t Level, bool Keeps>
struct At final {
  using Source = Source_;
  using X = X_;
  using Table = Table_;
  using Length = Length_;
  static constexpr Id id = Id_;
  static constexpr std::size_t level = Level;
  static constexpr bool keeps = Keeps, reads_numbers = Number<typename X::Element>;

  static constexpr std::size_t below(std::uint64_t which, std::size_t bound) { return Source::below(id, which, bound); }
  template <std::size_t count>
  static constexpr std::size_t one_of(std::uint64_t which, const std::size_t (&values)[count]) {
    return values[below(which, count)];
  }
};

using DrawnRoles = Roles<fp32, fp32, fp32>;

/// A layer that was drawn, what it makes of its input, what it holds for Selective and Freeze to name, and the ids in
/// it.
template <class Layer, class Out_, class Leaves, class Weighted, class Ids>
struct Drawn {
  using Layers = mp::mp_list<Layer>;
  using Out = Out_;
  using leaves = Leaves;
  using weighted = Weighted;
  using ids = Ids;
};
template <class At>
struct Nothing {
  using Layers = mp::mp_list<>;
  using Out = typename At::X;
  using leaves = mp::mp_list<>;
  using weighted = mp::mp_list<>;
  using ids = mp::mp_list<>;
};

/// A layer of its own, which is asked for its output.
template <class Layer, class At>
using Bound = typename Layer::template Bound<typename At::X, DrawnRoles>;
template <class Layer>
inline constexpr bool can_be_selected = !requires { requires Layer::reads_own_output; };
template <class Layer, class At>
using Leaf = Drawn<Layer, Value<fp32, typename Bound<Layer, At>::Output::Shape>,
                   std::conditional_t<can_be_selected<Layer>, mp::mp_list<Layer>, mp::mp_list<>>,
                   std::conditional_t<(Bound<Layer, At>::parameters.size() > 0), mp::mp_list<Layer>, mp::mp_list<>>,
                   mp::mp_list<std::integral_constant<Id, At::id>>>;
/// One that keeps the shape, made of others, which no policy names.
template <class Layer, class At>
using Opaque =
    Drawn<Layer, typename At::X, mp::mp_list<>, mp::mp_list<>, mp::mp_list<std::integral_constant<Id, At::id>>>;

}  // namespace regimen::random
// SPDX-License-Identifier: Apache-2.0
