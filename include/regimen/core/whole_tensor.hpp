// regimen/core/whole_tensor.hpp — updates one parameter tensor by a rule that needs all of it (norms, matrices).
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/core/view.hpp>

#include <array>
#include <cstddef>
#include <span>

namespace regimen {

/// A tensor as an update rule of whole tensors that computes on the host reads it, row-major; a vector is one row.
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

namespace detail {
/// Elements of each of a rule's scratch tensors; none, if it declares none.
template <class UpdateRule>
constexpr auto scratch_counts(std::size_t rows, std::size_t columns) {
  if constexpr (requires { UpdateRule::scratch(rows, columns).size(); }) return UpdateRule::scratch(rows, columns);
  else return std::array<std::size_t, 0>{};
}
template <class UpdateRule>
inline constexpr std::size_t scratch_tensors = scratch_counts<UpdateRule>(1, 1).size();
template <class UpdateRule>
inline constexpr std::size_t scratch_numbers = [] {
  if constexpr (requires { UpdateRule::numbers; }) return UpdateRule::numbers;
  else return std::size_t{0};
}();
}  // namespace detail

/// A tensor as an update rule reads it that is written by operations: views, for walk.run(...); row-major, a vector
/// is one row.
///   weight, state   to be updated, only by operations that respect scalars.apply
///   gradient        divided, unscaled and clipped, in Master; the rule may write over it
///   scratch         a tensor for each number of elements that UpdateRule::scratch(rows, columns) declares,
///                   uninitialised; absent where that is 0
///   numbers         UpdateRule::numbers doubles, uninitialised: sums, norms, factors
///   scalars         the step's: learning_rate_of(scalars), ...
template <class M, class UpdateRule>
struct TensorViews final {
  View<M> weight, gradient;
  std::array<View<M>, UpdateRule::states> state{};
  std::array<View<M>, detail::scratch_tensors<UpdateRule>> scratch{};
  View<double> numbers{};
  View<Scalars> scalars;
  std::size_t rows = 0, columns = 0;
  bool decays = false;

  constexpr std::size_t count() const { return rows * columns; }
};

namespace detail {
/// Stands for an engine in the concept below.
struct NoEngine {
  template <class Operation>
  constexpr void run(const Operation&) {}
};
}  // namespace detail

/// Whether a rule of whole tensors is written by operations: update_tensor(walk, TensorViews, options). Otherwise it
/// computes on spans, on the host.
template <class UpdateRule>
concept UpdatesByOperations =
    requires(detail::NoEngine& engine, const TensorViews<fp64, UpdateRule>& tensor,
             const typename UpdateRule::Options& options) { UpdateRule::update_tensor(engine, tensor, options); };

namespace op {

/// UpdateRule::update_tensor on one tensor, if scalars.apply; the rule sees a copy of gradient · scalars.factor.
/// Code of the host: no GPU has it. A rule that is written by operations runs them in its place
/// (programs/update_whole_tensor.hpp).
///   master, gradient, copy (rows,columns); scratch (rows · columns + scratch_count()) M;
///   state: UpdateRule::states arrays (rows,columns), `state_stride` elements apart
/// cost  flops(rows, columns) of the rule, if it has that member; memory is counted as read once and written once
template <class UpdateRule, class M, class T, class G>
struct UpdateTensor final {
  static constexpr const char* name = "update tensor";
  View<M> master, state{};
  View<T> copy{};
  View<G> gradient;
  View<Scalars> scalars;
  View<M> scratch{};
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
