// regimen/verdict/join_rules.hpp — the rules of joins about the outputs of branches.
#pragma once

#include <regimen/layer/join.hpp>
#include <regimen/rule/branches.hpp>
#include <regimen/rule/extensions.hpp>
#include <regimen/verdict/model_layers.hpp>

#include <array>
#include <concepts>
#include <cstddef>

namespace regimen::verdict {

/// What layer/join.hpp lists. Looks at declarations, and instantiates no function: any type stands for the engine.
template <class Joined, std::size_t count>
concept JoinsBothWays = requires(mp::mp_list<>& engine, const std::array<std::size_t, count>& places, std::size_t y) {
  typename Joined::Output::Shape;
  { Joined::reads_values } -> std::convertible_to<bool>;
  Joined::forward(engine, places, y);
  Joined::backward(engine, y, places, places);
};
template <class Join, class... Outputs>
inline constexpr bool joins_both_ways = requires {
  requires JoinsBothWays<typename Join::template of<Outputs...>, sizeof...(Outputs)>;
} || requires { requires Join::adds; };

/// The rules of a join about the outputs of branches, if they are sound. A program's own join may have none.
template <class Join, class... Outputs>
struct join_rules {
  using type = mp::mp_list<>;
};
template <class Join, class... Outputs>
  requires requires { typename Join::template rules<Outputs...>; }
struct join_rules<Join, Outputs...> {
  using type = typename Join::template rules<Outputs...>;
};
template <class First, class... Others>
struct join_rules<Add, First, Others...> {
  using type = mp::mp_list<rule::branches_keep_shape<Add, typename First::Shape, typename Others::Shape>...>;
};
template <class First, class... Others>
struct join_rules<Multiply, First, Others...> {
  using type = mp::mp_list<rule::branches_keep_shape<Multiply, typename First::Shape, typename Others::Shape>...>;
};
template <std::size_t axis, class First, class... Others>
struct join_rules<ConcatAlong<axis>, First, Others...> {
  using type = mp::mp_list<rule::branches_keep_extents<axis, typename First::Shape, typename Others::Shape>...>;
};
template <class First, class... Others>
struct join_rules<Concat, First, Others...> : join_rules<ConcatAlong<First::Shape::rank - 1>, First, Others...> {};

}  // namespace regimen::verdict
// SPDX-License-Identifier: Apache-2.0
