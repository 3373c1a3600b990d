// regimen/programs/plan.hpp — the memory and work of a recipe, known before anything runs.
#pragma once

#include <regimen/core/arena.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/core/path_text.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/engine/plan/engine.hpp>
#include <regimen/policy/target.hpp>

#include <array>
#include <cstddef>
#include <string>

namespace regimen::rule {

/// targets::host, and a TPU in fp32, state no peak: there is no roofline.   docs/errors/targets.md#target_has_rates
template <class Target, class Compute>
struct target_has_rates {
  static constexpr bool holds = TargetWithRates<Target, Compute>;
  struct must_hold {
    static_assert(holds,
                  "regimen: this target states no bandwidth, or no peak in this element type; ask seconds of another");
  };
};

}  // namespace regimen::rule

namespace regimen {

/// Schedules of recomputation: Every<segment>, and Selective of layers by their names, each once, the first twelve; 0:
/// none.
///   whole   the last blocks, which follow the next
struct RecomputationPlan final {
  struct Schedules {
    std::size_t segment = 0, whole = 0;
    std::array<const char*, 12> layers{};
  };
  std::array<Schedules, 2> of{};
};

/// Memory and work of one optimizer step on one rank, or of an evaluation, if that takes more memory.
///
///   peak        bytes; exactly as many as a run uses
///   kept        bytes of parameters, gradients, optimizer state and buffers that persist between steps, on one rank of
///               `ranks`
///   kinds       the bytes of peak by kind (holes of the transient side count as transient)
///   largest     the ten largest tensors at the peak, with the path of the layer that owns them
///   flops       forward and backward of all micro-batches (recomputation counts as backward), and the update
///   bytes_moved bytes that operations must read or write at least once
///   gaps        on a GPU: bytes between parameters, between their gradients and between their state, so that each
///               begins at a multiple of 16 bytes; of all ranks together, where they share these
///   padding     on a GPU: bytes behind the rows of the model's output, so that each begins at a multiple of 16 bytes
///   budget      of Checkpoint<Budget<...>>, or 0; recomputed: the schedule that the compiler has chosen for it
///   host        under Checkpoint<Offload>: bytes of the host's memory, pinned; exactly as many as a run uses
///   unaligned   on a GPU: matrices of products whose rows do not begin at multiples of 16 bytes, which tensor cores
///               read slowly; the first few. unaligned_share: of the flops of products, those of products with such a
///               matrix
struct MemoryPlan final {
  std::size_t batch = 0, micro_batches = 1, ranks = 1, parameters = 0, trained = 0;
  std::size_t peak = 0, peak_of_live = 0, kept = 0, gaps = 0, padding = 0;
  std::array<std::size_t, memory_kinds> kinds{};
  std::array<regimen::detail::LiveTensors::Line, 10> largest{};
  Cost forward{}, backward{}, update{};
  std::array<planning::UnalignedRows, 4> unaligned{};
  std::size_t budget = 0;
  RecomputationPlan recomputed{};
  std::size_t host = 0;

  constexpr std::size_t bytes(MemoryKind kind) const { return kinds[static_cast<std::size_t>(kind)]; }
  constexpr double flops() const { return forward.flops + backward.flops + update.flops; }
  constexpr double bytes_moved() const { return forward.bytes + backward.bytes + update.bytes; }
  /// Bytes that one rank sends to others in a step: for gathered parameters and reduced gradients; a few
  /// scalars are not counted.
  constexpr std::size_t wire() const { return forward.wire + backward.wire + update.wire; }
  /// Bytes that are copied to the host's memory in a step, and from there.
  constexpr std::size_t to_host() const { return forward.link; }
  constexpr std::size_t from_host() const { return backward.link; }
  constexpr std::size_t operations() const { return forward.operations + backward.operations + update.operations; }

  constexpr double unaligned_share() const {
    const double products = forward.products + backward.products + update.products;
    return products > 0 ? (forward.unaligned + backward.unaligned + update.unaligned) / products : 0;
  }

  /// Whether the plan fits a machine: `plan().fits(targets::h200{})`
  template <class Target>
  constexpr bool fits(const Target&) const {
    return peak <= Target::memory;
  }

  /// Seconds of a step by the roofline model of a target; refused if the target states no
  /// peak or bandwidth. A lower bound:
  /// without launches, caches and imperfect kernels. Copies to the host's memory and back run beside the operations of
  /// forward and of backward.
  ///
  /// failure  Error, for a plan that has such copies: a target that states no link
  template <class Compute, class Target>
  constexpr double seconds(const Target&) const {
    static_assert(sizeof(typename rule::target_has_rates<Target, Compute>::must_hold));
    double sum = 0;
    if constexpr (rule::target_has_rates<Target, Compute>::holds)
      for (const Cost* cost : {&forward, &backward, &update}) {
        const double compute = cost->flops / Target::template flops<Compute>, memory = cost->bytes / Target::bandwidth;
        const double longer = compute > memory ? compute : memory, copies = seconds_of_copies<Target>(cost->link);
        sum += longer > copies ? longer : copies;
      }
    return sum;
  }

  /// Of these, those in which so many bytes cross the link to the host, in one direction.
  template <class Target>
  static constexpr double seconds_of_copies(std::size_t bytes) {
    if (bytes == 0) return 0;
    if constexpr (requires { Target::link; }) return double(bytes) / Target::link;
    else
      throw Error("MemoryPlan::seconds", "a target that states its link to the host, over which Offload copies",
                  Target::name, "give the target a member link, in bytes a second");
  }

  /// The plan as text.
  std::string table() const;
};

namespace programs {

/// Two batches and their peaks; the largest batch that fits lies between or beyond them. The peak grows almost linearly
/// with the batch, so the line through both finds that batch in a few steps.
struct BatchBracket {
  std::size_t low = 1, low_peak = 0, high = 2, high_peak = 0;

  /// The batch to plan next; 0: the lower one is the largest that fits.
  constexpr std::size_t next(std::size_t bytes) const {
    const std::size_t slope = (high_peak - low_peak) / (high - low),
                      guess = low + (bytes - low_peak) / (slope > 0 ? slope : 1);
    if (high_peak <= bytes) return guess >= high ? guess + 1 : high + 1;
    if (high - low <= 1) return 0;
    return guess <= low ? low + 1 : guess >= high ? high - 1 : guess;
  }
  constexpr BatchBracket with(std::size_t batch, std::size_t peak, std::size_t bytes) const {
    if (high_peak <= bytes) return {high, high_peak, batch, peak};
    return peak <= bytes ? BatchBracket{batch, peak, high, high_peak} : BatchBracket{low, low_peak, batch, peak};
  }
};

/// The largest batch whose peak fits; 0 if none does.
///   Peak   Peak::of<batch>: a constant for each batch, since compilers limit the steps of one constant expression
template <class Peak, std::size_t bytes, std::size_t low, std::size_t low_peak, std::size_t high, std::size_t high_peak>
constexpr std::size_t largest_batch_between() {
  constexpr BatchBracket now{low, low_peak, high, high_peak};
  constexpr std::size_t guess = now.next(bytes);
  if constexpr (guess == 0) {
    return low;
  } else {
    constexpr BatchBracket then = now.with(guess, Peak::template of<guess>, bytes);
    return largest_batch_between<Peak, bytes, then.low, then.low_peak, then.high, then.high_peak>();
  }
}
template <class Peak, std::size_t bytes>
constexpr std::size_t largest_batch_within() {
  if constexpr (Peak::template of<1> > bytes) return 0;
  else return largest_batch_between<Peak, bytes, 1, Peak::template of<1>, 2, Peak::template of<2>>();
}

/// The live tensors at the peak, as the log of a walk reports them.
constexpr void describe_peak(MemoryPlan& plan, const auto& arena, const regimen::detail::LiveTensors& live) {
  plan.peak = arena.peak;
  plan.peak_of_live = arena.peak_of_live;
  plan.kinds = live.bytes_by_kind;
  std::size_t sum = 0;
  for (std::size_t bytes : plan.kinds) sum += bytes;
  plan.kinds[static_cast<std::size_t>(MemoryKind::transient)] += plan.peak - sum;  // holes between transient tensors
  plan.largest = live.largest;
}

}  // namespace programs
}  // namespace regimen

#if !REGIMEN_COMPILED
#include <regimen/programs/plan.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
