// regimen/layer/dropout.hpp — zeroes a random share of the elements in training.
#pragma once

#include <regimen/core/ratio.hpp>
#include <regimen/layer/layer.hpp>

namespace regimen {

namespace detail {

/// The rate in units of 1/65536, as the kernels take it.
template <class Rate>
constexpr op::Drop drop_of(const auto& walk, LayerPath path) {
  static_assert(Rate::value >= 0 && Rate::value < 1, "regimen: Dropout<Ratio<N, D>> needs a rate in [0, 1)");
  return {walk.training ? static_cast<std::uint32_t>(Rate::value * 65536.0 + 0.5) : 0u, path.stream(), walk.random()};
}

/// Operation   drops elements, or samples         sums   whether the operation of a sum may drop elements
template <template <class> class Operation, class Rate, bool sums, class X>
struct DropBound : LayerDefaults {
  using T = typename X::Element;
  using Output = X;
  static constexpr bool in_place = true, sums_y = sums, sums_d_x = sums;

  static constexpr void forward(auto& walk, const auto& call) { drop(walk, call.x, call.y, call.path, call.onto); }
  static constexpr void backward(auto& walk, const auto& call) { drop(walk, call.d_y, call.d_x, call.path, call.onto); }

 private:
  static constexpr void drop(auto& walk, std::size_t from, std::size_t to, LayerPath path,
                             [[maybe_unused]] std::size_t onto) {
    const Operation<T> dropout{
        .x = {from}, .y = {to}, .samples = walk.batch, .elements = X::size, .drop = drop_of<Rate>(walk, path)};
    if constexpr (sums)
      if (onto != View<T>::absent) return walk.run(op::DropoutSum<T>{.dropout = dropout, .onto = {onto}});
    if (dropout.drop.threshold > 0) walk.run(dropout);
    else if (from != to) walk.run(op::Copy<T>{{from}, {to}, walk.batch * X::size});
  }
};

}  // namespace detail

/// y = x · keep / (1 − rate), with a new random keep (0 or 1) for each element in every step; y = x outside training
///
///   x, y any shape; Rate a Ratio in [0, 1), used to the nearest 1/65536
///
/// keep is a pure function of (seed, step, layer, sample, element): backward and recomputation draw it again, so
/// nothing is saved.
/// source   Srivastava et al. 2014
template <class Rate>
struct Dropout final {
  static constexpr const char* name = "dropout";
  static constexpr bool couples_samples = false, couples_positions = false;

  template <class X, class Roles>
  using Bound = detail::DropBound<op::Dropout, Rate, Roles::Epilogues::sums, X>;
};

/// y[b,:] = x[b,:] · keep / (1 − rate), with a new random keep (0 or 1) for each sample in every step; y = x outside
/// training
///
///   x, y any shape; Rate a Ratio in [0, 1), used to the nearest 1/65536
///
/// At the end of a Residual's branch this is stochastic depth. Like Dropout it saves nothing.
/// source   Huang et al. 2016
template <class Rate>
struct DropPath final {
  static constexpr const char* name = "drop_path";
  static constexpr bool couples_samples = false, couples_positions = false;

  template <class X, class Roles>
  using Bound = detail::DropBound<op::DropSamples, Rate, false, X>;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
