// regimen/programs/initial.hpp — weights before the first step.
#pragma once

#include <regimen/core/philox.hpp>
#include <regimen/layer/layer.hpp>
#include <regimen/policy/init.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace regimen {

/// A parameter's place in the model, for schemes that depend on it.
struct ParameterContext {
  bool ends_branch = false;   // whether its layer ends a Residual
  std::size_t residuals = 0;  // Residuals in the whole model; every iteration of a Repeat counts
  std::size_t fan_in = 0;     // inputs of each output of the matrix before it in the same layer; 0: there is none
};

/// As torch.nn begins its layers, by distribution (the bits are others):
///
///   Linear, convolutions           weights and biases uniform in ±1/√fan-in (kaiming_uniform with a = √5)
///   Embedding, PositionEmbedding   normal(0, 1)
///   SelfAttention, CrossAttention  as MultiheadAttention: q, k and v together uniform in ±√(6 / (fan-in + fan-out));
///                                  the projection's weights as Linear's; all biases zero
///   Lstm, Gru                      weights and biases uniform in ±1/√width
///   norms                          gains one, biases zero
///   others                         as Init<Default>: they have no counterpart in torch.nn
struct PyTorch final {
  using option_of = axis::init;
  static InitialValue initial(const Parameter& parameter, const ParameterContext& context) {
    if (parameter.torch.kind == InitialValue::Kind::as_fill) return parameter.fill;
    if (parameter.torch.kind != InitialValue::Kind::by_fan_in) return parameter.torch;
    return context.fan_in > 0 ? InitialValue{InitialValue::Kind::uniform, 1 / std::sqrt(double(context.fan_in))}
                              : InitialValue{};
  }
};

/// Weights and tables normal(0, 0.02), biases zero, gains one; for the matrix that ends a Residual
/// the standard deviation is divided by the square root of the number of Residuals.
/// source   Radford et al. 2019, section 2.3
struct Gpt2 final {
  using option_of = axis::init;
  static InitialValue initial(const Parameter& parameter, const ParameterContext& context) {
    if (parameter.role == ParameterRole::bias) return {InitialValue::Kind::zero, 0};
    if (parameter.role == ParameterRole::gain) return {InitialValue::Kind::one, 1};
    const double share = context.ends_branch && context.residuals > 0 ? 1 / std::sqrt(double(context.residuals)) : 1;
    return {InitialValue::Kind::normal, 0.02 * share};
  }
};

namespace detail {

template <class Scheme>
InitialValue initial_value(const Parameter& parameter, const ParameterContext& context) {
  if constexpr (!std::is_same_v<Scheme, Default>)
    if (parameter.fill.kind != InitialValue::Kind::constant) return Scheme::initial(parameter, context);
  return parameter.fill;
}

/// Element i of a tensor is a pure function of (key, i), independent of threads and other tensors.
template <class T>
[[gnu::noinline]] void fill_initial(T* values, std::size_t count, InitialValue fill, std::uint64_t key) {
  for (std::size_t i = 0; i < count; ++i) {
    double value = fill.kind == InitialValue::Kind::one        ? 1
                   : fill.kind == InitialValue::Kind::constant ? fill.scale
                                                               : 0;
    if (fill.kind == InitialValue::Kind::normal || fill.kind == InitialValue::Kind::uniform) {
      const Philox::Words words = Philox::draw(key, i, 0);
      const double u =
          (double((std::uint64_t{words.word[0]} << 21) | (words.word[1] >> 11)) + 0.5) * 0x1p-53;  // in (0, 1)
      const double v = double(words.word[2]) * 0x1p-32;
      if (fill.kind == InitialValue::Kind::uniform) value = (2 * u - 1) * fill.scale;
      else value = fill.scale * std::sqrt(-2 * std::log(u)) * std::cos(6.28318530717958647693 * v);  // Box, Muller 1958
    }
    values[i] = static_cast<T>(static_cast<statistic_t<T>>(value));
  }
}

}  // namespace detail
}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
