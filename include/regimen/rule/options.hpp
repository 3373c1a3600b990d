// regimen/rule/options.hpp — rules about options of policies: wrong types, and a device without its header.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/core/rules.hpp>
#include <regimen/engine/plan/devices.hpp>
#include <regimen/layer/layer.hpp>
#include <regimen/policy/accumulate.hpp>
#include <regimen/policy/attention.hpp>
#include <regimen/policy/checkpoint.hpp>
#include <regimen/policy/clip.hpp>
#include <regimen/policy/communicator.hpp>
#include <regimen/policy/convolution.hpp>
#include <regimen/policy/debug.hpp>
#include <regimen/policy/device.hpp>
#include <regimen/policy/fusion.hpp>
#include <regimen/policy/graph.hpp>
#include <regimen/policy/init.hpp>
#include <regimen/policy/loss.hpp>
#include <regimen/policy/loss_scale.hpp>
#include <regimen/policy/optimizer.hpp>
#include <regimen/policy/policy.hpp>
#include <regimen/policy/precision.hpp>
#include <regimen/policy/shard.hpp>
#include <regimen/policy/target.hpp>
#include <regimen/rule/precision.hpp>

#include <concepts>
#include <type_traits>

namespace regimen::rule {

/// Whether the axis accepts Option: its own options, and None if it can be switched off.
template <class Axis, class Option>
inline constexpr bool is_option =
    detail::belongs_to<Option, Axis> ||
    (std::is_same_v<Option, None> &&
     detail::is_any_of<Axis, axis::loss_scale, axis::checkpoint, axis::clip, axis::debug>);

template <class Option>
inline constexpr bool is_option<axis::precision, Option> =
    ComputeType<Option> || is_unbuilt_number<Option>;  // element_type_is_built refuses these
template <class Option>
inline constexpr bool is_option<axis::fusion, Option> = detail::is_any_of<Option, Fused, Unfused>;
template <class Option>
inline constexpr bool is_option<axis::optimizer, Option> =
    detail::belongs_to<Option, axis::optimizer> || detail::is_incomplete<Option>;
template <class Option>
inline constexpr bool is_option<axis::loss, Option> =
    detail::belongs_to<Option, axis::loss> || detail::is_incomplete<Option>;

/// Checkpoint<bf16> takes an option of another policy.   docs/errors/options.md#policy_takes_option
template <class Axis, class Option>
struct policy_takes_option {
  static constexpr bool holds = is_option<Axis, Option>;
  template <class Of>
  static constexpr bool holds_of = holds || !std::is_same_v<Axis, Of>;
  struct must_hold {
    static_assert(holds_of<axis::precision>,
                  "regimen: Precision<...> takes element types; name fp64, fp32, tf32, bf16 or fp16");
    static_assert(holds_of<axis::loss_scale>,
                  "regimen: LossScale<...> takes a loss scale; name None, Static<N> or Dynamic");
    static_assert(
        holds_of<axis::checkpoint>,
        "regimen: Checkpoint<...> takes schedules; name None, Every<N>, Selective<...>, If<P>, KeepLast<K>, Offload or Budget<B>");
    static_assert(holds_of<axis::accumulate>,
                  "regimen: Accumulate<N, ...> takes when to reduce; name ReduceOnce or ReduceEach, or leave it out");
    static_assert(holds_of<axis::clip>, "regimen: Clip<...> takes a bound; name None or Norm<Ratio<...>>");
    static_assert(holds_of<axis::optimizer>, "regimen: Optimizer<...> takes an update rule; name one, such as AdamW");
    static_assert(holds_of<axis::loss>, "regimen: Loss<...> takes a loss function; name one, such as CrossEntropy");
    static_assert(holds_of<axis::device>, "regimen: Device<...> takes a device; name Cpu");
    static_assert(holds_of<axis::target>,
                  "regimen: Target<T> reads name, memory and supports of T; give T all of them");
    static_assert(holds_of<axis::communicator>, "regimen: Communicator<...> takes a communicator; name Solo");
    static_assert(holds_of<axis::shard>,
                  "regimen: Shard<...> takes a stage; name Replicated, ZeRO1, ZeRO2, ZeRO3 or Hybrid<N>");
    static_assert(holds_of<axis::debug>,
                  "regimen: Debug<...> takes checks; name None, Anomaly, Profile or Synchronous");
    static_assert(holds_of<axis::init>, "regimen: Init<...> takes an initialisation; name one, such as Default");
    static_assert(holds_of<axis::fusion>, "regimen: Fusion<...> takes a switch; name Fused or Unfused");
    static_assert(holds_of<axis::graph>, "regimen: Graph<...> takes a switch; name On or Off");
    static_assert(holds_of<axis::attention>, "regimen: Attention<...> takes a form; name Tiled, Composed or Cudnn");
    static_assert(holds_of<axis::convolution>, "regimen: Convolution<...> takes a form; name Direct or Cudnn");
  };
};

/// Epilogue<Unfused> would be Fusion<Unfused>, or only half of it.   docs/errors/options.md#epilogue_takes_switch
template <class Switch>
struct epilogue_takes_switch {
  static constexpr bool holds = detail::is_any_of<Switch, Fused, Separate>;
  struct must_hold {
    static_assert(holds, "regimen: Epilogue<...> takes a switch; name Fused or Separate");
  };
};

/// Stands for any layer, where a choice of parameters is asked whether it is one.
struct some_layer {
  static constexpr const char* name = "layer";
};
template <class Option>
inline constexpr bool chooses_parameters =
    std::is_same_v<Option, DecayProducts> || requires(const Parameter& parameter) {
      { Option::template decays<some_layer>(parameter) } -> std::convertible_to<bool>;
    };
/// Option has decays<Layer>(parameter).   docs/errors/options.md#decay_chooses_parameters
template <class Option>
struct decay_chooses_parameters {
  static constexpr bool holds = chooses_parameters<Option>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: the second option of Optimizer<...> says what decays; name DecayAll, or leave it out for products alone");
  };
};

/// The rule of a group without parameters would be ignored. Of a parameter the first group decides that takes it.
/// Takes: whether a parameter that trains is left for Group.   docs/errors/options.md#group_takes_a_parameter
template <class Group, bool Takes = false>
struct group_takes_a_parameter {
  static constexpr bool holds = Takes;
  struct must_hold {
    static_assert(holds, "regimen: a group of Split<...> gets no parameter that trains; name others, or leave it out");
  };
};

/// A device's header brings its engine: regimen.hpp that of Cpu, regimen/engine/emulated/device.hpp that of Emulated,
/// regimen/engine/cuda/device.hpp that of Cuda.   docs/errors/options.md#device_is_included
template <class Device>
struct device_is_included {
  static constexpr bool holds = !detail::is_incomplete<engines::Of<typename Device::where>>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: this Device<...> has no engine here; include its header (regimen/engine/cuda/device.hpp for Cuda)");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
