// regimen/walk/child.hpp — the children of a chain of layers: the node of each, and groups of them.
#pragma once

#include <regimen/walk/walked_again.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace regimen::walk {

inline constexpr std::size_t not_grouped = ~std::size_t{0};

/// Value i is the input of child i; value 0 and the last value belong to the caller. The children of a Group begin at
/// index `group` of the list that paths refer to; its output may be `computed_again`.
template <class Entries, class X, class Context, bool flows, std::size_t group = not_grouped,
          bool computed_again = false, class Indices = std::make_index_sequence<mp::mp_size<Entries>::value>>
struct Chain;

/// Neighbouring children of the model that are one unit; the first is child `place`. Names, paths and saved tensors are
/// the same as without the Group. If a later backward needs the Group's output, the Group recomputes its inner values
/// for that, and once more for its own backward.
///   computed_again   whether the output is recomputed
template <std::size_t place, bool computed_again, class... Entries>
struct Group final {
  static constexpr const char* name = mp::mp_first<mp::mp_list<Entries...>>::Layer::name;
};
template <class Layer>
inline constexpr std::size_t group_size = 0;  // no Group, nor what is walked as one
template <std::size_t place, class Entries>
inline constexpr std::size_t group_size<Again<place, Entries>> = mp::mp_size<Entries>::value;
template <std::size_t place, bool computed_again, class... Entries>
inline constexpr std::size_t group_size<Group<place, computed_again, Entries...>> = sizeof...(Entries);

template <std::size_t place, bool computed_again, class... Entries>
inline constexpr std::size_t places_of<Group<place, computed_again, Entries...>> =
    (places_of<typename Entries::Layer> + ...);

template <class Layer>
inline constexpr bool is_repeat = false;
template <std::size_t Count, class Block>
inline constexpr bool is_repeat<Repeat<Count, Block>> = true;

/// The context of a child: that of the list's own children, if iterations are units, or else of those inside them.
template <class Entry, class Context>
using context_of_child =
    context_behind<typename std::conditional_t<is_repeat<typename Entry::Layer>, Context,
                                               typename Context::inner>::template with_compute<typename Entry::Compute>,
                   typename Entry::Labels>;

/// The node of child `index`: its input is the output of the child before, and its gradient
/// flows if that child has a backward.
template <std::size_t index, class Entries, class X, class Context, bool flows>
struct Child {
 private:
  using Before = Child<index - 1, Entries, X, Context, flows>;
  using Entry = mp::mp_at_c<Entries, index>;

 public:
  using type = WalkerOfChild<typename Entry::Layer, typename Before::type::Output, context_of_child<Entry, Context>,
                             Before::type::active>;
};
template <class Entries, class X, class Context, bool flows>
struct Child<0, Entries, X, Context, flows> {
 private:
  using Entry = mp::mp_at_c<Entries, 0>;

 public:
  using type = WalkerOfChild<typename Entry::Layer, X, context_of_child<Entry, Context>, flows>;
};

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
