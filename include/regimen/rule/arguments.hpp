// regimen/rule/arguments.hpp — rules. Arguments of Trainer: options, layers and types where a policy or the model belongs.
#pragma once

#include <regimen/layer/model.hpp>
#include <regimen/policy/checkpoint.hpp>
#include <regimen/policy/loss.hpp>
#include <regimen/policy/optimizer.hpp>
#include <regimen/policy/policy.hpp>
#include <regimen/policy/precision.hpp>
#include <regimen/policy/target.hpp>
#include <regimen/rule/precision.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::rule {

/// The model comes first; the policies after it may have any order.   docs/errors/arguments.md#model_comes_first
template <class First>
struct model_comes_first {
  static constexpr bool holds = detail::is_model<First>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Trainer begins with a model; write struct Net : Model<Input<...>, Layers...> {}, and Trainer<Net>");
  };
};

template <Policy First>
struct model_comes_first<First> {
  static constexpr bool holds = !Policy<First>;
  struct must_hold {
    static_assert(holds, "regimen: the model comes first; write Trainer<Model, Policies...>");
  };
};

/// A struct without members and bases. If its base is what the compiler could not read, as in Model<Input<784>, ...>, then
/// that error stands above, and nothing may follow it that speaks of another mistake; else the program does not link:
/// "undefined reference to regimen::rule::model_comes_first<Net>::struct_without_a_model".
template <class First>
concept Blank = requires { sizeof(First); } && std::is_empty_v<First> && !Policy<First> && !detail::is_model<First> &&
                !requires { First::name; };

template <Blank First>
struct model_comes_first<First> {
  static constexpr bool holds = detail::is_model<First>;
  struct must_hold {};
  struct struct_without_a_model {
    struct_without_a_model();
  };
};

}  // namespace regimen::rule

namespace regimen::detail {

/// Whether T has a name, as layers and their containers do. Only used to choose the error
/// for a layer among the policies.
template <class T>
inline constexpr bool is_layer = !AnyOption<T> && !TargetDescription<T> && requires { T::name; };

}  // namespace regimen::detail

namespace regimen::rule {

/// Every<2> means Checkpoint<Every<2>>: the specialisations recognise such arguments and name the cure.
/// docs/errors/arguments.md#argument_is_a_policy
template <class Argument>
struct argument_is_a_policy {
  static constexpr bool holds = Policy<Argument>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: this argument of Trainer decides nothing; write a policy, such as Batch<32> or Optimizer<AdamW>");
  };
};

template <class Argument>
  requires(!Policy<Argument> && requires { typename Argument::axis; })
struct argument_is_a_policy<Argument> {
  static constexpr bool holds = Policy<Argument>;
  struct must_hold {
    static_assert(holds,
                  "regimen: nothing reads the axis of this policy; take it out, or decide an axis of regimen::axis");
  };
};

template <class Argument>
  requires detail::is_layer<Argument>
struct argument_is_a_policy<Argument> {
  static constexpr bool holds = Policy<Argument>;
  struct must_hold {
    static_assert(holds, "regimen: a layer is a part of the model, not a policy; write it inside Model<...>");
  };
};

template <class Argument>
  requires detail::is_model<Argument>
struct argument_is_a_policy<Argument> {
  static constexpr bool holds = Policy<Argument>;
  struct must_hold {
    static_assert(holds, "regimen: a Trainer trains one model; write it first and once, then the policies");
  };
};

// Element types.

template <class Argument>
  requires std::same_as<Argument, bf16>
struct argument_is_a_policy<Argument> {
  static constexpr bool holds = Policy<Argument>;
  struct must_hold {
    static_assert(holds, "regimen: bf16 is an element type, not a policy; write Precision<bf16, fp32>");
  };
};

template <class Argument>
  requires std::same_as<Argument, fp16>
struct argument_is_a_policy<Argument> {
  static constexpr bool holds = Policy<Argument>;
  struct must_hold {
    static_assert(holds, "regimen: fp16 is an element type, not a policy; write Precision<fp16, fp32>");
  };
};

template <class Argument>
  requires std::same_as<Argument, fp32>
struct argument_is_a_policy<Argument> {
  static constexpr bool holds = Policy<Argument>;
  struct must_hold {
    static_assert(holds, "regimen: fp32 is an element type, not a policy; write Precision<fp32>");
  };
};

template <class Argument>
  requires std::same_as<Argument, fp64>
struct argument_is_a_policy<Argument> {
  static constexpr bool holds = Policy<Argument>;
  struct must_hold {
    static_assert(holds, "regimen: fp64 is an element type, not a policy; write Precision<fp64>");
  };
};

template <class Argument>
  requires std::same_as<Argument, tf32>
struct argument_is_a_policy<Argument> {
  static constexpr bool holds = Policy<Argument>;
  struct must_hold {
    static_assert(holds, "regimen: tf32 is how products read fp32, not a policy; write Precision<tf32>");
  };
};

template <class Argument>
  requires detail::is_unbuilt_number<Argument>
struct argument_is_a_policy<Argument> {
  static constexpr bool holds = Policy<Argument>;
  struct must_hold {
    static_assert(holds, "regimen: fp8 formats are not built, and no policies; write Precision<bf16, fp32>");
  };
};

// Options without their policy.

template <std::size_t N>
struct argument_is_a_policy<Every<N>> {
  static constexpr bool holds = Policy<Every<N>>;
  struct must_hold {
    static_assert(holds, "regimen: Every<N> is a schedule, not a policy; write Checkpoint<Every<N>>");
  };
};

template <class... Layers>
struct argument_is_a_policy<Selective<Layers...>> {
  static constexpr bool holds = Policy<Selective<Layers...>>;
  struct must_hold {
    static_assert(holds, "regimen: Selective<...> is a schedule, not a policy; write Checkpoint<Selective<...>>");
  };
};

template <class T, class... Layers>
struct argument_is_a_policy<As<T, Layers...>> {
  static constexpr bool holds = Policy<As<T, Layers...>>;
  struct must_hold {
    static_assert(holds,
                  "regimen: As<T, Layer> wraps a layer inside the model; write Precision<T> to decide for all layers");
  };
};

template <class Argument>
  requires std::same_as<Argument, None>
struct argument_is_a_policy<Argument> {
  static constexpr bool holds = Policy<Argument>;
  struct must_hold {
    static_assert(holds,
                  "regimen: None is an option, not a policy; write Checkpoint<None>, Clip<None>, or leave it out");
  };
};

template <class Argument>
  requires detail::belongs_to<Argument, axis::loss_scale>
struct argument_is_a_policy<Argument> {
  static constexpr bool holds = Policy<Argument>;
  struct must_hold {
    static_assert(holds, "regimen: Static<N> and Dynamic are loss scales, not policies; write LossScale<Dynamic>");
  };
};

template <class Argument>
  requires detail::belongs_to<Argument, axis::checkpoint>
struct argument_is_a_policy<Argument> {
  static constexpr bool holds = Policy<Argument>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Offload, Budget<...> and If<...> are schedules, not policies; write Checkpoint<...> around them");
  };
};

template <class Argument>
  requires detail::belongs_to<Argument, axis::clip>
struct argument_is_a_policy<Argument> {
  static constexpr bool holds = Policy<Argument>;
  struct must_hold {
    static_assert(holds, "regimen: Norm<...> is a bound, not a policy; write Clip<Norm<Ratio<1>>>");
  };
};

template <class Argument>
  requires detail::belongs_to<Argument, axis::optimizer>
struct argument_is_a_policy<Argument> {
  static constexpr bool holds = Policy<Argument>;
  struct must_hold {
    static_assert(holds, "regimen: an update rule is an option, not a policy; write Optimizer<...> around it");
  };
};

template <class Argument>
  requires detail::belongs_to<Argument, axis::loss>
struct argument_is_a_policy<Argument> {
  static constexpr bool holds = Policy<Argument>;
  struct must_hold {
    static_assert(holds, "regimen: a loss function is an option, not a policy; write Loss<...> around it");
  };
};

template <class Argument>
  requires detail::belongs_to<Argument, axis::device>
struct argument_is_a_policy<Argument> {
  static constexpr bool holds = Policy<Argument>;
  struct must_hold {
    static_assert(holds, "regimen: Cpu and Cuda are devices, not policies; write Device<Cpu>");
  };
};

template <class Argument>
  requires detail::belongs_to<Argument, axis::target>
struct argument_is_a_policy<Argument> {
  static constexpr bool holds = Policy<Argument>;
  struct must_hold {
    static_assert(holds, "regimen: a target is an option, not a policy; write Target<...> around it");
  };
};

template <class Argument>
  requires detail::belongs_to<Argument, axis::communicator>
struct argument_is_a_policy<Argument> {
  static constexpr bool holds = Policy<Argument>;
  struct must_hold {
    static_assert(holds, "regimen: Solo and the others are communicators, not policies; write Communicator<Solo>");
  };
};

template <class Argument>
  requires detail::belongs_to<Argument, axis::shard>
struct argument_is_a_policy<Argument> {
  static constexpr bool holds = Policy<Argument>;
  struct must_hold {
    static_assert(holds, "regimen: ZeRO3 and the others are stages, not policies; write Shard<...> around them");
  };
};

template <class Argument>
  requires detail::belongs_to<Argument, axis::debug>
struct argument_is_a_policy<Argument> {
  static constexpr bool holds = Policy<Argument>;
  struct must_hold {
    static_assert(holds, "regimen: Anomaly is a check, not a policy; write Debug<Anomaly>");
  };
};

template <class Argument>
  requires detail::belongs_to<Argument, axis::init>
struct argument_is_a_policy<Argument> {
  static constexpr bool holds = Policy<Argument>;
  struct must_hold {
    static_assert(holds, "regimen: an initialisation is an option, not a policy; write Init<...> around it");
  };
};

template <class Argument>
  requires detail::belongs_to<Argument, axis::fusion>
struct argument_is_a_policy<Argument> {
  static constexpr bool holds = Policy<Argument>;
  struct must_hold {
    static_assert(
        holds, "regimen: Fused, Unfused and Separate are switches, not policies; write Fusion<...>, or Epilogue<...>");
  };
};

template <class Argument>
  requires detail::belongs_to<Argument, axis::graph>
struct argument_is_a_policy<Argument> {
  static constexpr bool holds = Policy<Argument>;
  struct must_hold {
    static_assert(holds, "regimen: On and Off are switches, not policies; write Graph<Off>");
  };
};

template <class Argument>
  requires detail::belongs_to<Argument, axis::attention>
struct argument_is_a_policy<Argument> {
  static constexpr bool holds = Policy<Argument>;
  struct must_hold {
    static_assert(holds, "regimen: Tiled, Composed and Cudnn are forms, not policies; write Attention<Composed>");
  };
};

/// Cudnn is a form of attention, too, and named there.
template <class Argument>
  requires(detail::belongs_to<Argument, axis::convolution> && !detail::belongs_to<Argument, axis::attention>)
struct argument_is_a_policy<Argument> {
  static constexpr bool holds = Policy<Argument>;
  struct must_hold {
    static_assert(holds, "regimen: Direct and Cudnn are forms, not policies; write Convolution<Cudnn>");
  };
};

/// Two policies of one axis, equal or not, leave open which one is meant.
/// docs/errors/arguments.md#one_policy_per_axis
template <class Axis, class... Claimants>
struct one_policy_per_axis {
  static constexpr bool holds = sizeof...(Claimants) < 2;
  struct must_hold {
    static_assert(holds, "regimen: two policies decide the same axis; keep one of them");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
