// regimen/core/weights.hpp — where the parameters of a layer lie.
#pragma once

#include <regimen/core/path.hpp>
#include <regimen/core/view.hpp>

#include <cstddef>

namespace regimen {

/// Parameters and their gradients, as offsets into the arena. The first use of a parameter assigns the gradient, a
/// second use (tied weights, a further micro-batch) adds to it.
///   buffers   state that is not trained
struct WeightPlaces {
  std::size_t values = View<char>::absent, gradients = View<char>::absent;
  bool add = false;
  std::size_t buffers = View<char>::absent;
};

/// The ticket of no collective: there is nothing to wait for.
inline constexpr std::size_t no_ticket = ~std::size_t{0};

/// The gathered parameters of a unit: prefetched, or kept since their last use.
///   unit     the offset of the unit's persistent parameters, which identifies the unit
///   values   the gathered copy
struct GatheredUnit {
  std::size_t unit = View<char>::absent, values = View<char>::absent, ticket = no_ticket;

  constexpr bool is_of(std::size_t other) const { return unit != View<char>::absent && unit == other; }
};

/// The gradients of a unit, while a reduction sums them over all ranks.
///   whole   the slices of all ranks, one after the other
///   own     where this rank keeps its sum; absent: in place
struct ReducingUnit {
  std::size_t whole = View<char>::absent, own = View<char>::absent, staging = View<char>::absent, slice = 0,
              ticket = no_ticket;
  bool add = false, on_stack = false;  // added to `own`?   does `whole` lie on the saved stack?

  constexpr bool is_absent() const { return whole == View<char>::absent; }
};

/// Gradients of neighbouring units that wait to be reduced together.
///   begin     the lowest offset among them
///   staging   the transport's memory, kept for the whole step
struct GradientBucket {
  std::size_t begin = View<char>::absent, bytes = 0, staging = View<char>::absent, ticket = no_ticket;
  LayerPath path{};  // of the unit that joined last
};

/// The unit that will be used next: where its values lie, and the bytes of the slice that this rank sends.
struct NextUnit {
  std::size_t values = View<char>::absent, slice_bytes = 0;
  LayerPath path{};

  constexpr bool is_absent() const { return values == View<char>::absent; }
};

/// A value with a name, and its gradient.
struct NamedTensor {
  std::size_t value = View<char>::absent, gradient = View<char>::absent;
};
/// Names that a model may have.
inline constexpr std::size_t named_limit = 32;

/// Tied tables and Shared sets that a model may have.
inline constexpr std::size_t tied_limit = 16;

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
