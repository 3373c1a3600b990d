// regimen/layer/padded.hpp — a model's last product, with rows that tensor cores read fast.
#pragma once

#include <regimen/core/shape.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::detail {

/// Whether rows of a layer's output may lie apart: its Bound has forward<leading> and backward<leading>.
template <class Layer>
inline constexpr bool writes_padded_rows = false;

/// The form of a last layer whose output, like the gradient that overwrites it, has rows that begin at multiples of
/// `row_alignment` bytes. Bytes between two rows are never read. The gradient has the type of the layer's factors if
/// this is narrower: tensor cores multiply no wider type.
template <class Layer, std::size_t row_alignment>
struct PaddedRows final {
  static constexpr const char* name = Layer::name;
  static constexpr bool couples_samples = false;

  template <class X, class Roles>
  struct Bound : Layer::template Bound<X, Roles> {
    using Dense = typename Layer::template Bound<X, Roles>;
    using Out = typename Dense::Output::Element;
    using Factor = typename Roles::template factor<typename X::Element>;
    using Gradient = std::conditional_t<sizeof(Factor) < sizeof(Out), Factor, Out>;
    using Output = PaddedValue<typename Dense::Output, row_alignment, Gradient>;

    static constexpr void forward(auto& walk, const auto& call) {
      Dense::template forward<Output::leading>(walk, call);
    }
    static constexpr void backward(auto& walk, const auto& call) {
      Dense::template backward<Output::leading * sizeof(Out) / sizeof(Gradient), Gradient>(walk, call);
    }
  };
};

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
