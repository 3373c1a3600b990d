// regimen/verdict/neighbour_rules.hpp — the rules of two layers that follow each other.
#pragma once

#include <regimen/layer/batch_norm.hpp>
#include <regimen/layer/conv.hpp>
#include <regimen/layer/conv1d.hpp>
#include <regimen/layer/conv3d.hpp>
#include <regimen/layer/conv_transpose.hpp>
#include <regimen/layer/join.hpp>
#include <regimen/rule/norms.hpp>
#include <regimen/verdict/compose.hpp>
#include <regimen/verdict/model_layers.hpp>

#include <cstddef>

namespace regimen::verdict {

/// Whether a layer ends with a bias, and the BatchNorm with which one begins.
template <class Layer>
inline constexpr bool ends_with_bias = false;
template <std::size_t Width>
inline constexpr bool ends_with_bias<Linear<Width>> = true;
template <std::size_t Channels, auto Window, auto... Options>
inline constexpr bool ends_with_bias<in_order::Conv2d<Channels, Window, Options...>> =
    in_order::Conv2d<Channels, Window, Options...>::options.bias;
template <std::size_t Channels, auto Window, auto... Options>
inline constexpr bool ends_with_bias<in_order::Conv1d<Channels, Window, Options...>> =
    in_order::Conv1d<Channels, Window, Options...>::options.bias;
template <std::size_t Channels, auto Window, auto... Options>
inline constexpr bool ends_with_bias<in_order::Conv3d<Channels, Window, Options...>> =
    in_order::Conv3d<Channels, Window, Options...>::options.bias;
template <std::size_t Channels, auto Window, auto... Options>
inline constexpr bool ends_with_bias<in_order::ConvTranspose2d<Channels, Window, Options...>> =
    in_order::ConvTranspose2d<Channels, Window, Options...>::options.bias;
template <regimen::detail::InSequence Layer>
inline constexpr bool ends_with_bias<Layer> = ends_with_bias<regimen::detail::last_child<Layer>>;
// Where one branch alone has a bias, it stands beside something else, as in a Residual.
template <class First, class... Others>
inline constexpr bool ends_with_bias<Fork<Add, First, Others...>> =
    ends_with_bias<First> && (ends_with_bias<Others> && ...);
template <class Layer>
struct begins_with_norm {
  template <class Before>
  using rules = mp::mp_list<>;
};
template <class... Options>
struct begins_with_norm<in_order::BatchNorm<Options...>> {
  template <class Before>
  using rules =
      mp::mp_list<rule::bias_is_felt<Before, in_order::BatchNorm<Options...>,
                                     in_order::BatchNorm<Options...>::Chosen::after_bias || !ends_with_bias<Before>>>;
};
template <regimen::detail::InSequence Layer>
struct begins_with_norm<Layer> : begins_with_norm<regimen::detail::first_child<Layer>> {};
/// The rules of two neighbours.
template <class Before, class... Rest>
struct neighbour_rules {
  using type = mp::mp_list<>;
};
template <class Before, class Next, class... Rest>
struct neighbour_rules<Before, Next, Rest...> {
  using type = typename begins_with_norm<Next>::template rules<Before>;
};
/// Those of a block's end and the beginning of its next iteration.
template <std::size_t Count, class Block>
struct iteration_rules : neighbour_rules<Block, Block> {};
template <class Block>
struct iteration_rules<1, Block> : neighbour_rules<Block> {};

}  // namespace regimen::verdict
// SPDX-License-Identifier: Apache-2.0
