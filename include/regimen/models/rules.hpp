// regimen/models/rules.hpp — rules about published models, and the names of their tensors.
#pragma once

#include <regimen/core/rules.hpp>
#include <regimen/layer/model.hpp>

#include <cstddef>

namespace regimen::rule {

/// The options are a ResNet's, each at most once.   docs/errors/networks.md#resnet_takes_option
template <bool Holds, class... Options>
struct resnet_takes_option {
  static constexpr bool holds = Holds;
  struct must_hold {
    static_assert(
        holds,
        "regimen: ResNet takes CifarStem, ConvBias, MaxPooling, Width, BatchNorm, of bottlenecks StrideInFirst; each once");
  };
};

/// A LlamaModel counts and names the projections of its attention.   docs/errors/networks.md#llama_attends_to_itself
template <class Attention, bool Holds = false>
struct llama_attends_to_itself {
  static constexpr bool holds = Holds;
  struct must_hold {
    static_assert(
        holds,
        "regimen: the attention of a LlamaModel is a SelfAttention<...>; write SelfAttention<Heads<N>, Causal, ...>");
  };
};

/// A layer, or an input, is no model.   docs/errors/networks.md#layers_of_takes_model
template <class Network>
struct layers_of_takes_model {
  static constexpr bool holds = detail::is_model<Network>;
  struct must_hold {
    static_assert(holds,
                  "regimen: LayersOf and EncoderOf take a Model<...>, or a struct that derives from one; give one");
  };
};

/// names::load and names::save write to their owner: load to its weights, save to the state of its thread.
/// docs/errors/networks.md#names_take_a_variable
template <class Owner>
struct names_take_a_variable {
  static constexpr bool holds = never<Owner>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: names::load and names::save take a Trainer or an Inference that is a variable, not const; leave out const");
  };
};

/// Parameters of other models have no name in the Hugging Face format.   docs/errors/networks.md#model_is_gpt2
template <class Network>
struct model_is_gpt2 {
  static constexpr bool holds = requires { Network::gpt2_depth; };
  struct must_hold {
    static_assert(holds,
                  "regimen: hugging_face names the weights of a Gpt2Model; derive the network from Gpt2Model<...>");
  };
};

}  // namespace regimen::rule

namespace regimen::names {

/// The first place where a mapping and a model disagree. Tensors of the model count from 0, in its own order.
enum class Misfit {
  none,
  tensors_without_name,  // the mapping ends before tensor `at`
  names_without_tensor,  // the model ends before entry `at` of the mapping
  shape_of_tensor,       // the axes or the view that entry gives do not fit tensor `at`
  rows_of_tensor,        // tensor `at` cannot be cut into these shares of rows
  parts_of_entry,        // the parts of the foreign tensor that entry `at` names are not all of it
  copy_of_nothing,       // entry `at` is a copy, but no tensor of one piece stands before it
};

}  // namespace regimen::names

namespace regimen::rule {

/// A tensor without a name is in no file.   docs/errors/networks.md#names_fit_model
///   first, at   where mapping and model disagree, see names::Misfit
template <class Network, names::Misfit first, std::size_t at>
struct names_fit_model {
  static constexpr bool holds = first == names::Misfit::none;
  struct must_hold {
    static_assert(
        holds,
        "regimen: the names do not fit the model's tensors; map each, in order, in its shape, or as absent(...)");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
