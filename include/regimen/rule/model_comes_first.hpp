// regimen/rule/model_comes_first.hpp — the first argument of Trainer is the model.
#pragma once

#include <regimen/policy/policy.hpp>

#include <type_traits>

namespace regimen {

template <class Input, class... Layers>
struct Model;

namespace detail {
template <class Input, class... Layers>
std::true_type derives_from_model(const Model<Input, Layers...>*);
std::false_type derives_from_model(const void*);

/// Whether T is a Model<...> or a struct that derives from one.
template <class T>
inline constexpr bool is_model =
    std::is_class_v<T> && decltype(derives_from_model(static_cast<std::remove_reference_t<T>*>(nullptr)))::value;
}  // namespace detail

}  // namespace regimen

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
// SPDX-License-Identifier: Apache-2.0
