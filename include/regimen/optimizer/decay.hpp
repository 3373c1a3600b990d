// regimen/optimizer/decay.hpp — the parameters that decay.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/printed.hpp>

#include <string>

namespace regimen {

// ---- parameters that decay, the second option of Optimizer<...>. Your own is a struct like these: Layer owns the
// parameter, which has a role, a shape and a name.

/// Only weights of products decay: of Linear, attention, convolutions and recurrent layers. The default, as in llm.c.
struct DecayProducts final {
  template <class Layer>
  static constexpr bool decays(const auto& parameter) {
    return parameter.role == decltype(parameter.role)::matrix;
  }
};
/// Weights of products and tables (embeddings, positions) decay; norms and biases do not. nanoGPT and transformers'
/// Trainer do the same.
struct DecayProductsAndTables final {
  template <class Layer>
  static constexpr bool decays(const auto& parameter) {
    using Role = decltype(parameter.role);
    return parameter.role == Role::matrix || parameter.role == Role::table;
  }
};
/// Every parameter decays, biases and norms too, as in an optimizer of PyTorch that gets model.parameters().
struct DecayAll final {
  template <class Layer>
  static constexpr bool decays(const auto&) {
    return true;
  }
};

namespace detail {

/// Throws Error for a weight decay that reaches no parameter. The default decay of a rule passes, since the program did
/// not write it; the same number written by the program does not pass. If a rule of your own has a double as its
/// option, and its default is not 0, nobody can tell the two apart: both pass.
template <class UpdateRule>
[[gnu::cold]] void expect_decay_reaches(bool reaches, const std::string& prefix,
                                        const typename UpdateRule::Options& options) {
  if constexpr (requires { double(options.weight_decay); }) {
    const bool is_written = [&] {
      if constexpr (requires { options.weight_decay.is_written(); }) return options.weight_decay.is_written();
      else return options.weight_decay != typename UpdateRule::Options{}.weight_decay;
    }();
    if (reaches || options.weight_decay == 0 || !is_written) return;
    throw Error("options." + prefix + "weight_decay", "0, as no parameter that it would reach decays",
                digits_of(options.weight_decay),
                "leave it out, or say what decays: Optimizer<..., DecayAll> or DecayProductsAndTables");
  }
}

}  // namespace detail

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
