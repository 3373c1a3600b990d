// regimen/rule/weights.hpp — rules about weights: frozen, tied, shared.
#pragma once

#include <regimen/layer/children.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/rule/model_layers.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::rule {

/// Trained: parameters that have a gradient.   docs/errors/weights.md#something_trains
template <class Network, std::size_t Trained>
struct something_trains {
  static constexpr bool holds = (Trained > 0);
  struct must_hold {
    static_assert(
        holds,
        "regimen: no parameter of this model trains; add a layer with weights, freeze fewer layers, or write Inference<...>");
  };
};

/// Freeze<Embedding<...>> in a model without it freezes nothing, and only single layers have weights of their own.
/// Found: whether the model has Layer.   docs/errors/weights.md#freeze_names_a_layer
template <class Layer, bool Found = false>
struct freeze_names_a_layer {
  static constexpr bool is_single = !detail::is_composite<Layer>, holds = is_single && Found;
  struct must_hold {
    static_assert(holds || !is_single,
                  "regimen: Freeze<...> names a layer that this model lacks; name one that it has");
    static_assert(is_single,
                  "regimen: Freeze<...> freezes single layers, such as Embedding<...> or Linear<N>; name these");
  };
};

/// Freeze<Relu> would change nothing. Weights: whether Layer has any in this model, outside of a Frozen.
/// docs/errors/weights.md#frozen_layer_has_weights
template <class Layer, bool Weights>
struct frozen_layer_has_weights {
  static constexpr bool holds = Weights, is_list = detail::is_frozen<Layer>;
  struct must_hold {
    static_assert(holds || is_list,
                  "regimen: Freeze<...> names a layer without weights that would train; leave it out");
    static_assert(holds || !is_list,
                  "regimen: Frozen<...> holds no layer with weights, so nothing would be frozen; leave it out");
  };
};

/// Frozen<KeepStatistics, Linear<8>> would change nothing. Found: whether a layer in it has statistics.
/// docs/errors/weights.md#kept_statistics_exist
template <class Layer, bool Found>
struct kept_statistics_exist {
  static constexpr bool holds = Found || !detail::keeps_statistics<Layer>;
  struct must_hold {
    static_assert(
        holds, "regimen: Frozen<KeepStatistics, ...> holds no layer with running statistics; leave KeepStatistics out");
  };
};

/// A tied layer has no weights of its own. Found: whether the model has Layer, which is an Embedding.
/// docs/errors/weights.md#tied_layer_exists
template <class Layer, bool Found = false>
struct tied_layer_exists {
  static constexpr bool is_table = vocabulary<Layer>::size > 0, holds = is_table && Found;
  struct must_hold {
    static_assert(holds || !is_table,
                  "regimen: a tied layer shares the weights of a layer that this model lacks; name one that it has");
    static_assert(is_table,
                  "regimen: TiedLinear<...> shares the table of an Embedding; write TiedLinear<Embedding<...>>");
  };
};

/// The table is stored once, in the type in which its layers compute.   docs/errors/weights.md#tied_layers_share_a_type
template <class Table, bool Shares>
struct tied_layers_share_a_type {
  static constexpr bool holds = Shares;
  struct must_hold {
    static_assert(
        holds,
        "regimen: an Embedding and its TiedLinear compute in one type; write both inside As<T, ...>, or neither");
  };
};

/// A table has one set of weights.   docs/errors/weights.md#tied_layers_train_together
template <class Table, bool Together>
struct tied_layers_train_together {
  static constexpr bool holds = Together;
  struct must_hold {
    static_assert(holds,
                  "regimen: an Embedding and its TiedLinear train together; write both inside Frozen<...>, or neither");
  };
};

/// Layers take the shapes of their weights from what they read.   docs/errors/weights.md#shared_keeps_parameters
template <class Name, bool Keeps>
struct shared_keeps_parameters {
  static constexpr bool holds = Keeps;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a Shared reads inputs for which its layers have other weights; give all its places the same channels");
  };
};

/// The name stands for one set of weights.   docs/errors/weights.md#shared_layers_agree
template <class Name, class First, class Other>
struct shared_layers_agree {
  static constexpr bool holds = std::is_same_v<First, Other>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: all Shared<Name, ...> of one name are the same layers; write the list once, as an alias, or another Name");
  };
};

/// They are stored once, in the type in which their layers compute.   docs/errors/weights.md#shared_places_share_a_type
template <class Name, bool Shares>
struct shared_places_share_a_type {
  static constexpr bool holds = Shares;
  struct must_hold {
    static_assert(
        holds,
        "regimen: all Shared of one name compute in one type; write As<T, ...> around all of them, none, or inside");
  };
};

/// They are one set.   docs/errors/weights.md#shared_places_train_together
template <class Name, bool Together>
struct shared_places_train_together {
  static constexpr bool holds = Together;
  struct must_hold {
    static_assert(
        holds, "regimen: all Shared of one name train together; write Frozen<...> around all of them, none, or inside");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
