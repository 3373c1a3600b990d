// regimen/walk/grouping.hpp — which children of a model are one unit.
#pragma once

#include <regimen/walk/sequential.hpp>

namespace regimen::walk {

/// The argument of a predicate: a layer as the user wrote it, or the block of a Repeat.
template <class Layer>
struct wrapped_layer {
  using type = typename origin<Layer>::parameters;
};
template <std::size_t Count, class Block>
struct wrapped_layer<Repeat<Count, Block>> {
  using type = Block;
};
template <class Wrap, class Layer>
inline constexpr bool wraps = Wrap::template wraps<typename wrapped_layer<Layer>::type>;

/// The model's children, grouped. `Flat`: the chain of all children, ungrouped.
template <class Wrap, class Flat, class Indices = std::make_index_sequence<Flat::count>>
struct Grouping;
template <class Wrap, class Flat, std::size_t... each>
struct Grouping<Wrap, Flat, std::index_sequence<each...>> {
  static constexpr std::size_t count = Flat::count;
  template <std::size_t i>
  using Entry = typename Flat::template Entry<i>;
  static constexpr std::array<bool, count> chosen{wraps<Wrap, typename Entry<each>::Layer>...},
      weighs{(Flat::template At<each>::layout.count > 0)...}, repeats{is_repeat<typename Entry<each>::Layer>...};

  /// For each child: one past the last child of the group that begins there; 0 if none does. A group begins and ends
  /// with a layer that has weights. The two walked layers of a fused layer have one name and count as one.
  static constexpr std::array<std::size_t, count> ends = [] {
    constexpr std::array<bool, count> is_second{
        std::is_same_v<typename Entry<each>::Labels, typename Entry<(each > 0 ? each - 1 : 0)>::Labels> &&
        each > 0 ...};
    std::array<std::size_t, count> result{};
    for (std::size_t begin = 0; begin < count;) {
      std::size_t end = begin + 1, members = weighs[begin] ? 1 : 0;
      for (std::size_t at = end; members > 0 && at < count; ++at) {
        if (weighs[at] && (chosen[begin] ? at != end || !is_second[at] : chosen[at])) break;
        if (!weighs[at]) continue;
        end = at + 1;
        ++members;
      }
      if (members > 1 || (repeats[begin] && members > 0 && !chosen[begin])) result[begin] = end;
      begin = end;
    }
    return result;
  }();
  /// Whether there is a child to wrap, and a Repeat whose iterations are units.
  static constexpr bool matches = ((weighs[each] && chosen[each]) || ...),
                        matches_block = ((weighs[each] && chosen[each] && repeats[each]) || ...);

  template <std::size_t begin, std::size_t... i>
  static auto group(std::index_sequence<i...>) {
    constexpr bool computed_again = Flat::template is_recomputed<begin + sizeof...(i)>();
    using Whole = Group<Flat::places[begin], computed_again ? GroupIs::unit_computed_again : GroupIs::unit,
                        mp::mp_list<Entry<begin + i>...>>;
    return ListEntry<Whole, typename Entry<begin>::Compute, mp::mp_list<>>{};
  }
  template <std::size_t begin, class... Done>
  static auto from(mp::mp_list<Done...>) {
    if constexpr (begin == count) return mp::mp_list<Done...>{};
    else if constexpr (ends[begin] > 0)
      return from<ends[begin]>(
          mp::mp_list<Done..., decltype(group<begin>(std::make_index_sequence<ends[begin] - begin>{}))>{});
    else return from<begin + 1>(mp::mp_list<Done..., Entry<begin>>{});
  }
  using type = decltype(from<0>(mp::mp_list<>{}));
};

/// The chain of the model's children, grouped.
template <class Wrap, class Flat, class X, class Context>
using Grouped = Chain<typename Grouping<Wrap, Flat>::type, X, Context, false>;

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
