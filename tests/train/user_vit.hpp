// tests/train/user_vit.hpp — a vision transformer with two layers of a program's own: a class token before the patches,
// and the model's
// output at its place.
#pragma once

#include <regimen/engine/cpu/device.hpp>
#include <regimen/layer/activation.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/trainers/trainer.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

namespace regimen::own_vit {

/// y[b, 0] = token; y[b, 1 + i] = x[b, i]
template <class T>
struct Prepend final {
  static constexpr const char* name = "prepend";
  View<T> x, token, y;
  std::size_t batch = 0, rows = 0, columns = 0;  // of x
  constexpr Cost cost() const { return {0, 2.0 * double(batch * rows * columns) * sizeof(T), 1}; }
};
template <class T, class Gradient>
struct PrependBackward final {
  static constexpr const char* name = "prepend_backward";
  View<T> d_y, d_x;
  View<Gradient> d_token;
  std::size_t batch = 0, rows = 0, columns = 0;
  bool add = false;
  constexpr Cost cost() const { return {double(batch * columns), 2.0 * double(batch * rows * columns) * sizeof(T), 1}; }
};
/// y[b] = x[b, 0]
template <class T>
struct First final {
  static constexpr const char* name = "first";
  View<T> x, y;
  std::size_t batch = 0, rows = 0, columns = 0;
  constexpr Cost cost() const { return {0, 2.0 * double(batch * columns) * sizeof(T), 1}; }
};
template <class T>
struct FirstBackward final {
  static constexpr const char* name = "first_backward";
  View<T> d_y, d_x;
  std::size_t batch = 0, rows = 0, columns = 0;
  constexpr Cost cost() const { return {0, double(batch * rows * columns) * sizeof(T), 1}; }
};

template <class T>
void compute(const Prepend<T>& o, const cpu::Memory& at) {
  for (std::size_t b = 0; b < o.batch; ++b) {
    T* const y = at(o.y) + b * (o.rows + 1) * o.columns;
    std::copy_n(at(o.token), o.columns, y);
    std::copy_n(at(o.x) + b * o.rows * o.columns, o.rows * o.columns, y + o.columns);
  }
}
template <class T, class Gradient>
void compute(const PrependBackward<T, Gradient>& o, const cpu::Memory& at) {
  using S = statistic_t<T>;
  const std::size_t stride = (o.rows + 1) * o.columns;
  if (Gradient* const d_token = at.optional(o.d_token))
    for (std::size_t c = 0; c < o.columns; ++c) {
      S sum = o.add ? S(d_token[c]) : S(0);
      for (std::size_t b = 0; b < o.batch; ++b) sum += S(at(o.d_y)[b * stride + c]);
      d_token[c] = static_cast<Gradient>(sum);
    }
  if (T* const d_x = at.optional(o.d_x))
    for (std::size_t b = 0; b < o.batch; ++b)
      std::copy_n(at(o.d_y) + b * stride + o.columns, o.rows * o.columns, d_x + b * o.rows * o.columns);
}
template <class T>
void compute(const First<T>& o, const cpu::Memory& at) {
  for (std::size_t b = 0; b < o.batch; ++b)
    std::copy_n(at(o.x) + b * o.rows * o.columns, o.columns, at(o.y) + b * o.columns);
}
template <class T>
void compute(const FirstBackward<T>& o, const cpu::Memory& at) {
  std::fill_n(at(o.d_x), o.batch * o.rows * o.columns, T(0.0f));
  for (std::size_t b = 0; b < o.batch; ++b)
    std::copy_n(at(o.d_y) + b * o.columns, o.columns, at(o.d_x) + b * o.rows * o.columns);
}

struct ClassToken final {
  static constexpr const char* name = "class_token";
  static constexpr bool couples_samples = false;
  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using Gradient = typename Roles::reduce;
    using Element = T;
    using Output = Value<T, Shape<X::rows + 1, X::columns>>;
    static constexpr std::array<Parameter, 1> parameters{
        Parameter{"weight", ParameterRole::table, 1, {X::columns, 1, 1, 1}, {InitialValue::Kind::normal, 0.02}}};
    static constexpr bool backward_reads_parameters(bool) { return false; }
    static constexpr void forward(auto& walk, const auto& call) {
      walk.run(Prepend<T>{{call.x}, {call.parameters}, {call.y}, walk.batch, X::rows, X::columns});
    }
    static constexpr void backward(auto& walk, const auto& call) {
      View<T> d_x{};
      View<Gradient> d_token{};
      if (call.wants_d_x()) d_x = {call.d_x};
      if (call.trains()) d_token = {call.gradients};
      walk.run(PrependBackward<T, Gradient>{{call.d_y}, d_x, d_token, walk.batch, X::rows, X::columns, call.add});
    }
  };
};
struct TakeFirst final {
  static constexpr const char* name = "take_first";
  static constexpr bool couples_samples = false;
  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using Output = Value<T, Shape<X::columns>>;
    static constexpr void forward(auto& walk, const auto& call) {
      walk.run(First<T>{{call.x}, {call.y}, walk.batch, X::rows, X::columns});
    }
    static constexpr void backward(auto& walk, const auto& call) {
      if (call.wants_d_x()) walk.run(FirstBackward<T>{{call.d_y}, {call.d_x}, walk.batch, X::rows, X::columns});
    }
  };
};

template <std::size_t Width, std::size_t Count>
using Block = Sequential<Residual<LayerNorm, SelfAttention<Heads<Count>>>,
                         Residual<LayerNorm, Linear<4 * Width>, Gelu, Linear<Width>>>;

/// Side x Side patches of `Numbers` numbers each, which the data source cuts.
template <std::size_t Side, std::size_t Numbers, std::size_t Width, std::size_t Depth, std::size_t Count,
          std::size_t Classes>
struct Vit : Model<Input<Image<Side, Side, Numbers>>, Linear<Width>, ClassToken, PositionEmbedding,
                   Repeat<Depth, Block<Width, Count>>, LayerNorm, TakeFirst, Linear<Classes>> {};

}  // namespace regimen::own_vit
// SPDX-License-Identifier: Apache-2.0
