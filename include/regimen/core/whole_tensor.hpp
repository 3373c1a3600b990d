// regimen/core/whole_tensor.hpp — updates one parameter tensor by a rule that needs all of it (norms, matrices).
#pragma once

#include <regimen/core/operation.hpp>

#include <array>
#include <cstddef>
#include <span>

namespace regimen {

/// A tensor as an update rule with sees_whole_tensors reads it, row-major; a vector is one row.
///   weight, state   to be updated      gradient   divided, unscaled and clipped; the rule may write over it
///   scratch         UpdateRule::scratch(rows, columns) elements, uninitialised
template <class M, std::size_t states>
struct WholeTensor final {
  std::span<M> weight, gradient;
  std::array<std::span<M>, states> state;
  std::span<M> scratch;
  std::size_t rows = 0, columns = 0;
  bool decays = false;
};

namespace op {

/// UpdateRule::update_tensor on one tensor, if scalars.apply; the rule sees a copy of gradient · scalars.factor.
///   master, gradient, copy (rows,columns); scratch (rows · columns + scratch_count()) M;
///   state: UpdateRule::states arrays (rows,columns), `state_stride` elements apart
/// cost  flops(rows, columns) of the rule, if it has that member; memory is counted as read once and written once
template <class UpdateRule, class M, class T, class G>
struct UpdateTensor final {
  static constexpr const char* name = "update tensor";
  View<M> master, state;
  View<T> copy;
  View<G> gradient;
  View<Scalars> scalars;
  View<M> scratch;
  std::size_t rows = 0, columns = 0, state_stride = 0;
  bool decays = false;
  typename UpdateRule::Options options{};

  static constexpr std::size_t scratch_of(std::size_t rows, std::size_t columns) {
    if constexpr (requires { UpdateRule::scratch(rows, columns); }) return UpdateRule::scratch(rows, columns);
    else return 0;
  }
  constexpr std::size_t scratch_count() const { return scratch_of(rows, columns); }
  constexpr Cost cost() const {
    const double count = double(rows) * double(columns);
    double flops = 12 * count;
    if constexpr (requires { UpdateRule::flops(rows, columns); }) flops = UpdateRule::flops(rows, columns);
    return {flops, count * (sizeof(M) * (4 + 2 * UpdateRule::states) + sizeof(G) + (copy.is_absent() ? 0 : sizeof(T))),
            1};
  }
};

}  // namespace op
}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
