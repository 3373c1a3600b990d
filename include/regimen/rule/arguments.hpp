// regimen/rule/arguments.hpp — rules about arguments of Trainer: others where a policy or the model belongs.
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
  static constexpr bool is_policy = Policy<First>, holds = !is_policy && detail::is_model<First>;
  struct must_hold {
    static_assert(
        holds || is_policy,
        "regimen: Trainer begins with a model; write struct Net : Model<Input<...>, Layers...> {}, and Trainer<Net>");
    static_assert(!is_policy, "regimen: the model comes first; write Trainer<Model, Policies...>");
  };
};

/// A struct without members and bases. If its base is what the compiler could not read, as in Model<Input<784>, ...>,
/// then that error stands above, and nothing may follow it that speaks of another mistake; else the program does not
/// link: "undefined reference to regimen::rule::model_comes_first<Net>::struct_without_a_model".
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

/// Whether T has a name, as layers and their containers do. Only used to choose the error
/// for a layer among the policies.
template <class T>
inline constexpr bool is_layer = !detail::AnyOption<T> && !TargetDescription<T> && requires { T::name; };

/// What an argument of Trainer is that decides nothing: a word of a policy, of the model, or a type that is neither.
enum class Meaning { unknown, policy, layer, model, option, named, every, selective, as, fp8 };
template <class T, class... Axes>
inline constexpr bool belongs_to_one = (detail::belongs_to<T, Axes> || ...);
template <class T>
inline constexpr Meaning special_meaning =
    detail::is_any_of<T, bf16, fp16, fp32, fp64, tf32, None> ? Meaning::named : Meaning::unknown;
template <std::size_t N>
inline constexpr Meaning special_meaning<Every<N>> = Meaning::every;
template <class... Layers>
inline constexpr Meaning special_meaning<Selective<Layers...>> = Meaning::selective;
template <class T, class... Layers>
inline constexpr Meaning special_meaning<As<T, Layers...>> = Meaning::as;
template <class T>
constexpr Meaning meaning_of() {
  if (special_meaning<T> != Meaning::unknown) return special_meaning<T>;
  if (is_unbuilt_number<T>) return Meaning::fp8;
  if (belongs_to_one<T, axis::loss_scale, axis::checkpoint, axis::clip, axis::optimizer, axis::loss, axis::device,
                     axis::target, axis::communicator, axis::shard, axis::debug, axis::init, axis::fusion, axis::graph,
                     axis::attention, axis::convolution>)
    return Meaning::option;
  if (is_layer<T>) return Meaning::layer;
  if (detail::is_model<T>) return Meaning::model;
  return requires { typename T::axis; } ? Meaning::policy : Meaning::unknown;
}

/// Every<2> means Checkpoint<Every<2>>: such arguments are recognised, and the sentence names the cure.
/// docs/errors/arguments.md#argument_is_a_policy
template <class Argument>
struct argument_is_a_policy {
  static constexpr bool holds = Policy<Argument>;
  template <Meaning meaning>
  static constexpr bool holds_of = holds || meaning_of<Argument>() != meaning;
  template <class Named>
  static constexpr bool holds_of_type = !std::is_same_v<Argument, Named>;
  template <class Axis>
  static constexpr bool holds_of_option = holds_of<Meaning::option> || !detail::belongs_to<Argument, Axis>;
  struct must_hold {
    using enum Meaning;
    static_assert(
        holds_of<unknown>,
        "regimen: this argument of Trainer decides nothing; write a policy, such as Batch<32> or Optimizer<AdamW>");
    static_assert(holds_of<policy>,
                  "regimen: nothing reads the axis of this policy; take it out, or decide an axis of regimen::axis");
    static_assert(holds_of<layer>, "regimen: a layer is a part of the model, not a policy; write it inside Model<...>");
    static_assert(holds_of<model>, "regimen: a Trainer trains one model; write it first and once, then the policies");
    static_assert(holds_of_type<bf16>, "regimen: bf16 is an element type, not a policy; write Precision<bf16, fp32>");
    static_assert(holds_of_type<fp16>, "regimen: fp16 is an element type, not a policy; write Precision<fp16, fp32>");
    static_assert(holds_of_type<fp32>, "regimen: fp32 is an element type, not a policy; write Precision<fp32>");
    static_assert(holds_of_type<fp64>, "regimen: fp64 is an element type, not a policy; write Precision<fp64>");
    static_assert(holds_of_type<tf32>, "regimen: tf32 is how products read fp32, not a policy; write Precision<tf32>");
    static_assert(holds_of<fp8>, "regimen: fp8 formats are not built, and no policies; write Precision<bf16, fp32>");
    static_assert(holds_of<every>, "regimen: Every<N> is a schedule, not a policy; write Checkpoint<Every<N>>");
    static_assert(holds_of<selective>,
                  "regimen: Selective<...> is a schedule, not a policy; write Checkpoint<Selective<...>>");
    static_assert(holds_of<as>,
                  "regimen: As<T, Layer> wraps a layer inside the model; write Precision<T> to decide for all layers");
    static_assert(holds_of_type<None>,
                  "regimen: None is an option, not a policy; write Checkpoint<None>, Clip<None>, or leave it out");
    static_assert(holds_of_option<axis::loss_scale>,
                  "regimen: Static<N> and Dynamic are loss scales, not policies; write LossScale<Dynamic>");
    static_assert(
        holds_of_option<axis::checkpoint>,
        "regimen: Offload, Budget<...> and If<...> are schedules, not policies; write Checkpoint<...> around them");
    static_assert(holds_of_option<axis::clip>,
                  "regimen: Norm<...> is a bound, not a policy; write Clip<Norm<Ratio<1>>>");
    static_assert(holds_of_option<axis::optimizer>,
                  "regimen: an update rule is an option, not a policy; write Optimizer<...> around it");
    static_assert(holds_of_option<axis::loss>,
                  "regimen: a loss function is an option, not a policy; write Loss<...> around it");
    static_assert(holds_of_option<axis::device>, "regimen: Cpu and Cuda are devices, not policies; write Device<Cpu>");
    static_assert(holds_of_option<axis::target>,
                  "regimen: a target is an option, not a policy; write Target<...> around it");
    static_assert(holds_of_option<axis::communicator>,
                  "regimen: Solo and the others are communicators, not policies; write Communicator<Solo>");
    static_assert(holds_of_option<axis::shard>,
                  "regimen: ZeRO3 and the others are stages, not policies; write Shard<...> around them");
    static_assert(holds_of_option<axis::debug>, "regimen: Anomaly is a check, not a policy; write Debug<Anomaly>");
    static_assert(holds_of_option<axis::init>,
                  "regimen: an initialisation is an option, not a policy; write Init<...> around it");
    static_assert(
        holds_of_option<axis::fusion>,
        "regimen: Fused, Unfused and Separate are switches, not policies; write Fusion<...>, or Epilogue<...>");
    static_assert(holds_of_option<axis::graph>, "regimen: On and Off are switches, not policies; write Graph<Off>");
    static_assert(holds_of_option<axis::attention>,
                  "regimen: Tiled, Composed and Cudnn are forms, not policies; write Attention<Composed>");
    static_assert(holds_of_option<axis::convolution> || detail::belongs_to<Argument, axis::attention>,
                  "regimen: Direct and Cudnn are forms, not policies; write Convolution<Cudnn>");
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
