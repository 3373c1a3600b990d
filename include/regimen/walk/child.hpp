// regimen/walk/child.hpp — the children of a chain of layers: the node of each, and its context.
#pragma once

#include <regimen/walk/second_walk.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace regimen::walk {

/// Value i is the input of child i; value 0 and the last value belong to the caller. The children begin at index
/// `begin` of the list that paths refer to; the output of a Group may be `computed_again`.
template <class Entries, class X, class Context, bool flows, std::size_t begin = 0, bool computed_again = false,
          class Indices = std::make_index_sequence<mp::mp_size<Entries>::value>>
struct Chain;

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

/// What gives layers their input: no walker, but a member of a list of them.
template <class X, bool flows>
struct InputValue {
  using Output = X;
  static constexpr ParameterLayout layout{};
  static constexpr std::size_t length = 0;
  static constexpr bool active = flows, reads_input = false, reads_output = false, reads_weights = false,
                        keeps_d_y = false;
};

/// The node of child `index`: its input is the output of the child before, and its gradient
/// flows if that child has a backward.
template <std::size_t index, class Entries, class X, class Context, bool flows>
struct Child {
 private:
  using Before = typename std::conditional_t<index == 0, mp::mp_identity<InputValue<X, flows>>,
                                             Child<index - 1, Entries, X, Context, flows>>::type;
  using Entry = mp::mp_at_c<Entries, index>;

 public:
  using type =
      WalkerOfChild<typename Entry::Layer, typename Before::Output, context_of_child<Entry, Context>, Before::active>;
};

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
