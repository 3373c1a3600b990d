// regimen/rule/devices.hpp — rules about devices: what an engine computes, and in which form.
#pragma once

#include <regimen/core/rules.hpp>
#include <regimen/engine/plan/devices.hpp>
#include <regimen/policy/attention.hpp>
#include <regimen/policy/convolution.hpp>

#include <type_traits>

namespace regimen::rule {

/// The Traits of a configuration's engine, which reads the forms of attention and convolution, too.
template <class Configuration>
using EngineTraits = typename engines::OfConfiguration<Configuration>::Traits;

/// Tensor cores before sm_80 have neither bf16 nor tf32; the library would compute something else, or nothing.
/// docs/errors/devices.md#device_computes_in
template <class Device, class Compute>
struct device_computes_in {
  static constexpr bool holds = engines::TraitsOf<typename Device::where>::template computes<Compute>;
  struct must_hold {
    static_assert(holds,
                  "regimen: bf16 and tf32 need a GPU from sm_80 on; compile for sm_80, or write Precision<fp32>");
  };
};

/// Whether the engine of a configuration computes attention in the form that it decides.
template <class Configuration, class Form = typename Configuration::attention::form>
inline constexpr bool attends_in_form = std::is_same_v<Form, OfDevice> || requires {
  requires std::is_same_v<typename EngineTraits<Configuration>::attention, Form>;
};
/// Scores that are stored are a form of GPUs: the CPU engine stores none.   Has: attends_in_form
/// docs/errors/devices.md#device_attends_in_form
template <class Attention, class Device, bool Has>
struct device_attends_in_form {
  static constexpr bool holds = Has;
  struct must_hold {
    static_assert(
        holds,
        "regimen: this Device<...> has no such form of attention; leave Attention<...> out, or write Device<Cuda>");
  };
};

/// Whether the engine of a configuration computes convolutions in the form that it decides.
template <class Configuration, class Form = typename Configuration::convolution::form>
inline constexpr bool convolves_in_form = std::is_same_v<Form, OfDevice> || requires {
  requires std::is_same_v<typename EngineTraits<Configuration>::convolution, Form>;
};
/// Direct and Cudnn are forms of GPUs.   Has: convolves_in_form
/// docs/errors/devices.md#device_convolves_in_form
template <class Convolution, class Device, bool Has>
struct device_convolves_in_form {
  static constexpr bool holds = Has;
  struct must_hold {
    static_assert(
        holds,
        "regimen: this Device<...> has no such form of convolution; leave Convolution<...> out, or write Device<Cuda>");
  };
};

/// A device without graphs would ignore the policy.   docs/errors/devices.md#graph_needs_graphs
template <class Graph, class Device>
struct graph_needs_graphs {
  static constexpr bool holds = Graph::captures || engines::TraitsOf<typename Device::where>::has_graphs;
  struct must_hold {
    static_assert(holds, "regimen: this Device<...> has no graphs, so Graph<Off> changes nothing; leave it out");
  };
};

/// On the CPU a kernel adds the bias; the choice would change nothing.   docs/errors/devices.md#product_has_epilogue
template <class Device, class Fusing>
struct product_has_epilogue {
  static constexpr bool holds = !Fusing::names_epilogues || engines::TraitsOf<typename Device::where>::Epilogues::any;
  struct must_hold {
    static_assert(holds,
                  "regimen: products of this Device have no epilogues; take Epilogue<...> out, or write Fusion<...>");
  };
};

/// Its update_tensor is code of the host, and no GPU has it. Written by operations, it runs on every device
/// (policy/optimizer.hpp).   docs/errors/devices.md#spans_stay_on_the_host
template <class UpdateRule, class Device>
struct spans_stay_on_the_host {
  static constexpr bool holds = never<UpdateRule>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: update_tensor computes on spans of the host; write it by operations, on TensorViews, or Device<Cpu>");
  };
};

/// The policy that calls cuDNN, and whether the engine has that library; CMake's target regimen::cuda says so where it
/// finds it. An engine that does not say so is refused by device_attends_in_form or device_convolves_in_form.
template <class Configuration>
using calls_cudnn = std::conditional_t<std::is_same_v<typename Configuration::attention::form, Cudnn>,
                                       typename Configuration::attention, typename Configuration::convolution>;
template <class Configuration>
inline constexpr bool finds_cudnn = !std::is_same_v<typename calls_cudnn<Configuration>::form, Cudnn> ||
                                    !requires { requires !EngineTraits<Configuration>::has_cudnn; };
/// Policy: Attention<Cudnn> or Convolution<Cudnn>.   Found: finds_cudnn
/// docs/errors/devices.md#cudnn_is_found
template <class Policy, class Device, bool Found>
struct cudnn_is_found {
  static constexpr bool holds = Found;
  struct must_hold {
    static_assert(holds,
                  "regimen: this program has no cuDNN; install it for CMake's regimen::cuda, or name another form");
  };
};

/// Layer attends in another type. A wider one has no fused kernel.   docs/errors/devices.md#cudnn_computes_in_half
template <class Layer, class Attention>
struct cudnn_computes_in_half {
  static constexpr bool holds = never<Layer>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Attention<Cudnn> computes in bf16 or fp16; write Precision<bf16, fp32>, or Attention<Composed>");
  };
};

/// Layer has heads that no kernel of cuDNN takes.   docs/errors/devices.md#cudnn_takes_heads
template <class Layer, class Attention>
struct cudnn_takes_heads {
  static constexpr bool holds = never<Layer>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Attention<Cudnn> takes heads of 8, 16, ... or 256 channels; write other Heads<N>, or Attention<Composed>");
  };
};

/// Layer has Alibi or RelativeBias, which Attention, the form, does not take.
/// docs/errors/devices.md#form_adds_distances
template <class Layer, class Attention>
struct form_adds_distances {
  static constexpr bool holds = never<Layer>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Attention<Cudnn> has no Alibi and RelativeBias; write Attention<Composed> or Attention<Tiled>");
  };
};

/// Layer is of a CrossAttention, which Attention, the form, does not take.   docs/errors/devices.md#form_attends_across
template <class Layer, class Attention>
struct form_attends_across {
  static constexpr bool holds = never<Layer>;
  struct must_hold {
    static_assert(
        holds, "regimen: Attention<Cudnn> has no keys of another text; write Attention<Composed> or Attention<Tiled>");
  };
};

/// Layer has a Within, which Attention, the form, does not take.   docs/errors/devices.md#form_ends_keys
template <class Layer, class Attention>
struct form_ends_keys {
  static constexpr bool holds = never<Layer>;
  struct must_hold {
    static_assert(holds, "regimen: Attention<Cudnn> has no Within<...>; write Attention<Composed> or Attention<Tiled>");
  };
};

/// Layer has fewer key heads than heads, which Attention, the form, does not take.
/// docs/errors/devices.md#form_shares_keys
template <class Layer, class Attention>
struct form_shares_keys {
  static constexpr bool holds = never<Layer>;
  struct must_hold {
    static_assert(holds,
                  "regimen: on a GPU attention shares keys in Attention<Tiled> alone; write that, or no KeyHeads<K>");
  };
};

/// Layer has a SlidingWindow, which Attention, the form, does not take.   docs/errors/devices.md#form_slides
template <class Layer, class Attention>
struct form_slides {
  static constexpr bool holds = never<Layer>;
  struct must_hold {
    static_assert(holds,
                  "regimen: Attention<Cudnn> has no SlidingWindow; write Attention<Composed> or Attention<Tiled>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
