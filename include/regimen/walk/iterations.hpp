// regimen/walk/iterations.hpp — the iterations of a Repeat: how they are run, and where the weights of each are kept.
#pragma once

#include <regimen/walk/sequential.hpp>

#include <cstddef>

namespace regimen::walk {

/// Runs body(0) ... body(count - 1); each moves the saved stack by `stride`. A plan skips iterations once one begins
/// with the same transient side as one or two iterations before: from there all repeats, and the peak lies in the
/// period where the stack is highest, which is evaluated. `unit` is the distance between the units of two iterations.
constexpr void iterate(auto& walk, std::size_t count, std::size_t stride, std::size_t unit, bool growing, auto&& body) {
  if (!walk.may_skip()) {
    for (std::size_t i = 0; i < count; ++i) body(i);
    return;
  }
  auto one_before = walk.mark(), two_before = one_before;
  bool skipped = false;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t period = i >= 1 && walk.repeats(one_before) ? 1 : i >= 2 && walk.repeats(two_before) ? 2 : 0;
    if (!skipped && period > 0 && count - i > period) {
      const std::size_t periods = (count - i - period) / period;  // leaves one whole period to run at the end
      walk.skip(periods, period * stride, growing, period == 1 ? one_before : two_before);
      i += periods * period;
      if (walk.ahead.unit != absent)
        walk.ahead.unit =
            growing ? walk.ahead.unit + periods * period * unit : walk.ahead.unit - periods * period * unit;
      skipped = true;
    }
    if (!skipped) {
      two_before = one_before;
      one_before = walk.mark();
    }
    body(i);
  }
}

/// The weights of a Repeat.   Of   a Repetition
template <class Of>
struct Iterations {
  using Body = typename Of::Body;
  using Context = typename Of::Context;
  using UnitOfIteration = Unit<Body, Context>;
  static constexpr std::size_t iterations = Of::count;

  static constexpr bool holds_units = Context::units && Body::layout.count > 0;
  static constexpr ParameterLayout body_layout = [] {  // one iteration, padded so that the next begins aligned
    ParameterLayout one = Body::layout;
    if (!holds_units) one.value_bytes = ParameterLayout::align(one.value_bytes, one.value_alignment);
    return one;
  }();
  static constexpr ParameterLayout layout{.value_bytes = body_layout.value_bytes * iterations,
                                          .value_alignment = body_layout.value_alignment,
                                          .count = body_layout.count * iterations,
                                          .trained = body_layout.trained * iterations,
                                          .tensors = body_layout.tensors * iterations,
                                          .all_master = body_layout.all_master,
                                          .gaps = body_layout.gaps * iterations,
                                          .trained_gaps = body_layout.trained_gaps * iterations,
                                          .gap_bytes = body_layout.gap_bytes * iterations,
                                          .buffer_bytes = body_layout.buffer_bytes * iterations};

  /// The unit of iteration i, for prefetching.
  static constexpr NextUnit unit(const auto& walk, WeightPlaces weights, std::size_t i, LayerPath path) {
    if constexpr (holds_units)
      return unit_at<UnitOfIteration>(walk, resident_of(walk, weights, i).values, path.repeated(i, iterations));
    else return {};
  }
  /// Where the parameters and gradients of iteration i are kept.
  static constexpr WeightPlaces resident_of(const auto& walk, WeightPlaces weights, std::size_t i) {
    using Reduce = typename Context::Roles::reduce;
    if constexpr (holds_units) {
      const UnitOffsets size = UnitOfIteration::size(walk.ranks);
      return {weights.values + i * size.parameters, weights.gradients + i * size.gradients, weights.add,
              weights.buffers + i * body_layout.buffer_bytes};
    } else {
      return {weights.values + i * body_layout.value_bytes,
              weights.gradients + i * body_layout.trained * sizeof(Reduce), weights.add,
              weights.buffers + i * body_layout.buffer_bytes};
    }
  }

  static constexpr void place_tensors(TensorPlace*& out, TensorPlace at) {
    for (std::size_t i = 0; i < iterations; ++i)
      Body::place_tensors(out, {at.values + i * body_layout.value_bytes, at.master + i * body_layout.count,
                                at.gradient + i * body_layout.trained});
  }
  [[gnu::cold]] static constexpr void name_tensors(const auto& prefix, bool, auto& visit) {
    for (std::size_t i = 0; i < iterations; ++i) Body::name_tensors(name_inside(prefix, i), false, visit);
  }

 protected:
  static constexpr std::size_t unit_bytes(const auto& walk) {
    if constexpr (holds_units) return UnitOfIteration::size(walk.ranks).parameters;
    else return 0;
  }
};

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
