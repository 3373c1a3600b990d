// regimen/rule/owners.hpp — the owners of a plan's memory, as types that an error shows.
#pragma once

#include <regimen/core/path.hpp>
#include <regimen/walk/node.hpp>
#include <regimen/walk/second_walk.hpp>

#include <boost/mp11.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace regimen::rule {

namespace mp = boost::mp11;

/// An owner of memory in an error: a layer, the iteration over all Repeats, and how many bytes.
template <class Layer, std::size_t Iteration, std::size_t Bytes>
struct Owner final {};

struct step_scalars;
struct input_buffer;
struct bucket_staging;

template <class N>
struct node_parts {
  using layer = void;
};
template <class Layer, class X, class Context, bool flows>
struct node_parts<walk::Node<Layer, X, Context, flows>> {
  using layer = typename walk::origin<Layer>::output;
};

/// Of the chains that a walker is made of, that which has the child at a place.
template <std::size_t place, class First, class... Others>
constexpr auto chain_with(mp::mp_list<First, Others...>) {
  using Chain = walk::without_choice_t<First>;
  if constexpr (requires { Chain::places; }) {
    if constexpr (place < Chain::places[0] + Chain::length || sizeof...(Others) == 0) return mp::mp_identity<Chain>{};
    else return chain_with<place>(mp::mp_list<Others...>{});
  } else {
    return chain_with<place>(mp::mp_list<Others...>{});
  }
}

template <class Chain, std::uint64_t digits>
constexpr auto layer_at() {
  constexpr int level = [] {
    int count = 0;
    for (std::uint64_t rest = digits; rest >= 256; rest /= 256) ++count;
    return count;
  }();
  constexpr std::uint64_t power = [] {
    std::uint64_t value = 1;
    for (int i = 0; i < level; ++i) value *= 256;
    return value;
  }();
  constexpr std::size_t index = Chain::index_of(static_cast<std::size_t>(digits / power) - 1);
  using N = walk::without_choice_t<typename Chain::template At<index>>;
  if constexpr (requires { typename N::Inside; }) return layer_at<typename N::Inside, digits>();
  else if constexpr (level > 0 && requires { typename N::Walkers; }) {
    constexpr std::size_t place = static_cast<std::size_t>(digits % power / (power / 256)) - 1;
    return layer_at<typename decltype(chain_with<place>(typename N::Walkers{}))::type, digits % power>();
  } else return mp::mp_identity<typename node_parts<N>::layer>{};
}

/// The owner at a path of the model: a layer, a tied table (after the layers), or memory that belongs to no layer.
template <class Bound, std::uint64_t digits>
constexpr auto owner_at() {
  constexpr std::size_t children = Bound::Flat::length;
  if constexpr (LayerPath{"", digits, 0}.is_outside())
    return mp::mp_identity<std::conditional_t<
        digits == LayerPath::outside(0, "").digits, step_scalars,
        std::conditional_t<digits == LayerPath::outside(4, "").digits, bucket_staging, input_buffer>>>{};
  else if constexpr (digits > children && digits <= children + Bound::tied_count)
    return mp::mp_identity<mp::mp_at_c<typename Bound::Tied, digits - children - 1>>{};
  else return layer_at<typename Bound::Flat, digits>();
}

template <class Recipe, std::size_t line>
using owner_of_line = rule::Owner<
    typename decltype(owner_at<typename Recipe::Bound, Recipe::plan.largest[line].item.path.digits>())::type,
    static_cast<std::size_t>(Recipe::plan.largest[line].item.path.iteration), Recipe::plan.largest[line].bytes()>;

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
