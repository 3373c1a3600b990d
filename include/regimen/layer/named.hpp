// regimen/layer/named.hpp — values with names: Keep keeps one, Read reads it elsewhere in the model.
#pragma once

#include <regimen/layer/layer.hpp>

#include <type_traits>

namespace regimen {

/// A name is a type of the program. It declares the shape of its value, without the batch:
///
///   struct Encoded : NamedValue<Shape<64, 512>> {};
template <class TensorShape>
struct NamedValue {
  using Shape = TensorShape;
};

namespace detail {

/// The shape of a name; void if it declares none.
template <class Name>
struct shape_of_name {
  using type = void;
};
template <class Name>
  requires requires { typename Name::Shape; }
struct shape_of_name<Name> {
  using type = typename Name::Shape;
};

/// The part that Keep and Read share: a named value of type K, and a tensor of the layer's own, in T.
template <class Name, class T, class K>
struct NamedBound : LayerDefaults {
  using Named = Name;
  static constexpr bool casts = !std::is_same_v<T, K>;
  static constexpr std::size_t size = Value<T, typename Name::Shape>::size;
  using BackwardScratch = std::conditional_t<casts, Tensors<PerSample<K, size>>, Tensors<>>;

 protected:
  template <class From, class To>
  static constexpr void copy(auto& walk, std::size_t from, std::size_t to) {
    if (from != to) walk.run(op::Cast<From, To>{{from}, {to}, walk.batch * size});
  }
  /// to += from, through the scratch if the types differ.
  template <class From, class To>
  static constexpr void add(auto& walk, std::size_t from, std::size_t to, const auto& scratch) {
    if constexpr (std::is_same_v<From, To>) walk.run(op::Add<To>{{from}, {to}, walk.batch * size});
    else {
      copy<From, To>(walk, from, scratch[0]);
      walk.run(op::Add<To>{{scratch[0]}, {to}, walk.batch * size});
    }
  }
};

}  // namespace detail

/// y = x; every later Read<Name> reads x.              x, y of Name's shape; exact
///
///   struct Skip : NamedValue<Shape<16, 16, 8>> {};
///   Model<..., Keep<Skip>, ..., Fork<Concat, Identity, Read<Skip>>, ...>
///
/// Any number of Reads may follow the Keep, also in combinators and in a Repeat; the Keep itself may not be in a
/// Repeat. The gradient of x is the sum of the gradients of y and of all Reads. The value has the compute type of
/// Precision; a Keep inside As<...> rounds to it.
///
/// cost     the value and its gradient, from the beginning of forward to the end of backward; a copy for Keep and for
///          each Read. A model with a Keep generates text by whole windows, except a decoder after an encoder (see
///          generate)
template <class Name>
struct Keep final {
  static constexpr const char* name = "keep";
  static constexpr bool couples_samples = false;

  template <class X, class Roles>
  struct Bound : detail::NamedBound<Name, typename X::Element, typename Roles::kept> {
    using T = typename X::Element;
    using K = typename Roles::kept;
    using Base = detail::NamedBound<Name, T, K>;
    using Output = X;
    static constexpr bool in_place = true;
    // The scratch holds a gradient of the named value in T.
    using BackwardScratch = std::conditional_t<Base::casts, Tensors<PerSample<T, Base::size>>, Tensors<>>;

    static constexpr void forward(auto& walk, const auto& call) {
      Base::template copy<T, K>(walk, call.x, call.named);
      Base::template copy<T, T>(walk, call.x, call.y);
    }
    static constexpr void backward(auto& walk, const auto& call) {
      if (!call.wants_d_x()) return;
      Base::template copy<T, T>(walk, call.d_y, call.d_x);
      Base::template add<K, T>(walk, call.d_named, call.d_x, call.scratch);
    }
  };
};

/// y = the value of Keep<Name>; x has no effect, and gets no gradient
///
///   x of any shape   y of Name's shape; exact, except a change of the element type
template <class Name>
struct Read final {
  static constexpr const char* name = "read";
  static constexpr bool couples_samples = false;

  template <class X, class Roles>
  struct Bound : detail::NamedBound<Name, typename X::Element, typename Roles::kept> {
    using T = typename X::Element;
    using K = typename Roles::kept;
    using Base = detail::NamedBound<Name, T, K>;
    using Output = Value<T, typename Name::Shape>;
    static constexpr bool adds_to_named = true;

    static constexpr void forward(auto& walk, const auto& call) { Base::template copy<K, T>(walk, call.named, call.y); }
    static constexpr void backward(auto& walk, const auto& call) {
      Base::template add<T, K>(walk, call.d_y, call.d_named, call.scratch);
      if (call.wants_d_x()) walk.run(op::Zero<T>{{call.d_x}, walk.batch * X::size});
    }
  };
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
