// What the fixed seeds cover: every pair of axes is decided together, every pair of moves leads to a neighbour, every
// layer stands everywhere.
#include "random/seed.hpp"
#include "support/catch.hpp"

#include <array>
#include <set>

using namespace regimen;
using namespace regimen::random;

namespace {

constexpr std::size_t fixed_seeds = 52, axis_count = mp::mp_size<detail::default_policies>::value;

/// Those of the files seeds_*.cpp: 0 to 47, and four without which two moves would never meet.
constexpr std::uint64_t seed_of(std::size_t fixed) { return fixed < 48 ? fixed : fixed + 24; }

/// A bit for each axis on which a program does not have the default.
template <class Policies>
constexpr unsigned decided() {
  unsigned bits = 0, bit = 1;
  mp::mp_for_each<mp::mp_transform<mp::mp_identity, detail::default_policies>>([&](auto given) {
    using Default = typename decltype(given)::type;
    if (!std::is_same_v<policy_in<Policies, typename Default::axis>, Default>) bits |= bit;
    bit *= 2;
  });
  return bits;
}
/// A bit for each axis on which two programs differ.
template <class A, class B>
constexpr unsigned moved_axes() {
  unsigned bits = 0, bit = 1;
  mp::mp_for_each<mp::mp_transform<mp::mp_identity, detail::default_policies>>([&](auto given) {
    using Axis = typename decltype(given)::type::axis;
    if (!std::is_same_v<policy_in<A, Axis>, policy_in<B, Axis>>) bits |= bit;
    bit *= 2;
  });
  return bits;
}

struct Seen {
  unsigned decided[2], moved;
};
template <std::uint64_t seed>
Seen seen_of() {
  using P = Program<seed>;
  return {{decided<typename P::Policies>(), decided<typename P::NeighbourPolicies>()},
          moved_axes<typename P::Policies, typename P::NeighbourPolicies>()};
}
template <std::size_t... fixed>
std::array<Seen, sizeof...(fixed)> all_seen(std::index_sequence<fixed...>) {
  return {seen_of<seed_of(fixed)>()...};
}
const auto& seen() {
  static const auto all = all_seen(std::make_index_sequence<fixed_seeds>{});
  return all;
}

template <class Axis>
constexpr std::size_t place_of() {
  std::size_t place = 0, found = axis_count;
  mp::mp_for_each<mp::mp_transform<mp::mp_identity, detail::default_policies>>([&](auto given) {
    if (std::is_same_v<typename decltype(given)::type::axis, Axis>) found = place;
    ++place;
  });
  return found;
}
template <class... Move>
constexpr std::array<std::size_t, sizeof...(Move)> places_of(mp::mp_list<Move...>) {
  return {place_of<typename Move::Axis>()...};
}

}  // namespace

TEST_CASE("every pair of axes that compose is decided in one of the fixed programs") {
  // A Device has one choice; Graph, Attention and Convolution have others on other devices (see below, and
  // random/emulated.hpp), and Steps is about fit, which these programs do not call: see random/emulated_launches.cpp.
  const std::set<std::size_t> alone{place_of<axis::device>(), place_of<axis::graph>(), place_of<axis::attention>(),
                                    place_of<axis::convolution>(), place_of<axis::steps>()};
  for (std::size_t a = 0; a < axis_count; ++a)
    for (std::size_t b = a + 1; b < axis_count; ++b) {
      if (alone.contains(a) || alone.contains(b)) continue;
      bool found = false;
      for (const Seen& programs : seen())
        for (const unsigned bits : programs.decided) found = found || ((bits >> a & 1u) != 0 && (bits >> b & 1u) != 0);
      INFO("axes " << a << " and " << b << " of the default policies");
      CHECK(found);
    }
}

TEST_CASE("on the emulated device the fixed programs have each form of attention with and without the other choices") {
  std::set<std::array<std::size_t, 3>> found;
  for (std::uint64_t seed = 0; seed < 48; ++seed) {  // random/emulated_*.cpp
    const OnDevice drawn = drawn_on_device(seed);
    found.insert({drawn.form, drawn.separate, drawn.fibers});
  }
  CHECK(found.size() == mp::mp_size<Forms>::value * 4);
}

TEST_CASE("every pair of moves leads to a neighbour") {
  const auto moves = places_of(Moves{});
  for (std::size_t a = 0; a < move_count; ++a)
    for (std::size_t b = a + 1; b < move_count; ++b) {
      bool found = false;
      for (const Seen& programs : seen())
        found = found || ((programs.moved >> moves[a] & 1u) != 0 && (programs.moved >> moves[b] & 1u) != 0);
      INFO("moves " << a << " and " << b);
      CHECK(found);
    }
}
// SPDX-License-Identifier: Apache-2.0
