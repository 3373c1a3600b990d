// regimen/engine/engine.hpp — the concept of an engine: it owns the arena's memory and executes operations.
#pragma once

#include <regimen/comm/teams.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/core/path.hpp>
#include <regimen/policy/communicator.hpp>

#include <boost/mp11/utility.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

namespace regimen {

/// Engine with measurements; see engine/timed.hpp.
template <class Engine>
class TimedEngine;
class OperationTimes;

namespace engines {

/// A collective over memory of the arena. The slices of all members of the team lie one after the other.
///
///   own         all_gather: this rank's slice; may be its slice of `all`
///   all         the slices of all members; reduce_scatter leaves this rank's sum in this rank's slice
///   bytes       of a slice
///   element     the type that reduce_scatter sums
///   staging     the transport's scratch; absent if it needs none
///   small       a few numbers, left out of counts of tensor bytes
///   path        of the unit, for logs
struct Transfer {
  std::size_t own = View<char>::absent, all = View<char>::absent, bytes = 0;
  ElementType element = ElementType::float32;
  std::size_t staging = View<char>::absent;
  comm::Teams teams{};
  bool small = false;
  LayerPath path{};

  constexpr std::size_t count() const { return bytes / bytes_of(element); }
};

/// A copy between the arena and memory of the host that the engine has for it.
///   at      offset into the arena          host   offset into the host's memory
struct HostCopy {
  std::size_t at = 0, host = 0, bytes = 0;
  LayerPath path{};
};

/// Identifies a recorded piece of a step. Equal keys mean the same operations on the same memory; only data in the
/// arena differ between two steps.
///   piece   the whole step, if it has one micro-batch; otherwise a micro-batch (the first assigns gradients, later
///           ones add, the last one also reduces), or the update; or a batch of an evaluation; or all steps of a
///           launch of several
///   rows    samples of the batch on this rank; the last batch of an epoch may be short
///   is_common   whether every rank has a whole batch. Otherwise ranks have other rows, and one may have a recording
///           where another has none; NCCL wants all or none of a collective's ranks in a graph
struct Recording {
  enum class Piece : unsigned char {
    step,
    first_micro_batch,
    further_micro_batch,
    last_micro_batch,
    update,
    evaluation,
    launch
  };
  Piece piece = Piece::step;
  std::size_t rows = 0;
  bool is_common = true;

  constexpr bool operator==(const Recording&) const = default;
};

/// The loop of an engine that executes every iteration; a plan skips iterations that repeat earlier ones.
struct EveryIteration {
  struct Mark {};
  static constexpr bool may_skip() { return false; }
  static constexpr Mark mark(const auto&) { return {}; }
  static constexpr bool repeats(const auto&, Mark) { return false; }
  static constexpr void skip(auto&, std::size_t, std::size_t, bool, Mark) {}
  [[gnu::always_inline]] static constexpr void repeat(std::size_t count, auto&& body) {
    for (std::size_t i = 0; i < count; ++i) body(i);
  }
  /// A bucket of gradients is reduced when it has this many bytes.
  static constexpr std::size_t bucket(std::size_t bytes) { return bytes; }
};

/// The Traits of an engine derive from these, and say what differs.
///   has_graphs      whether replay may capture a graph
///   offloads        whether it has offload, fetch and await_copy
///   takes_ranks<Ranks>   whether ranks of Communicator<Ranks> may use the device
///   Epilogues       which op::ProductEpilogue there are, and whether operations add the sums of residual branches
///   is_checked      whether a plan looks for operations that the device lacks, and for rows of products that are not
///                   aligned
///   computes<T>     whether the device computes in T
///   runs<O>         whether the device has a form of the operation O
///   parameter_alignment   bytes, a power of two: parameters, their gradients, master weights and state begin at
///                         multiples
///   row_alignment         bytes, a power of two: rows of the model's output, and of its gradient, begin at multiples,
///                         if its last layer and its loss can have them so. Products with such rows are not the CPU's
struct DefaultTraits {
  static constexpr bool has_graphs = false, is_checked = false, offloads = false;
  template <class Ranks>
  static constexpr bool takes_ranks = !connects_gpus<Ranks>;
  static constexpr std::size_t parameter_alignment = 1, row_alignment = 1;
  using Epilogues = op::NoEpilogues;
  template <class T>
  static constexpr bool computes = true;
  template <class Operation>
  static constexpr bool runs = true;
};

/// What every operation says of itself: a plan adds its cost up, a profile shows its name.
template <class Operation>
concept SaysNameAndCost = requires(const Operation& operation, Cost& sum) {
  static_cast<const char*>(Operation::name);
  sum += operation.cost();
};

/// The part of an engine that a walk uses; the plan's engine has it, too. Its Traits derive from DefaultTraits.
///
///   Traits::scratch(operation)   workspace of this engine's kernel, in bytes. The walk allocates it from the arena for
///                                the duration of the operation, so that the engine's plan counts it exactly
///   Traits::input_slots(n)       slots of the ring for inputs, if n micro-batches run in one recording; 0: no ring
///   Traits::is_host_memory       whether the host may read and write the arena between calls, by data(view)
///   phase                        the part of the step that operations belong to; the walk sets it
///   run(operation, scratch)      may return before the operation is done; operations execute in the order of the calls
///   all_gather, reduce_scatter   return a ticket; begin after all operations run before them
///   await(ticket)                later operations begin after that collective has ended. Does not block the host
template <class E>
concept WalkEngine = requires(E& e, const op::Begin& operation, const Transfer& transfer, std::size_t ticket) {
  { E::Traits::scratch(operation) } -> std::convertible_to<std::size_t>;
  { E::Traits::input_slots(std::size_t{}) } -> std::convertible_to<std::size_t>;
  requires std::derived_from<typename E::Traits, engines::DefaultTraits>;
  { E::Traits::is_host_memory } -> std::convertible_to<bool>;
  { e.phase } -> std::convertible_to<op::Phase>;
  e.run(operation, std::size_t{});
  { e.all_gather(transfer) } -> std::convertible_to<std::size_t>;
  { e.reduce_scatter(transfer) } -> std::convertible_to<std::size_t>;
  e.await(ticket);
  e.may_skip();
};

/// Stands for the body of a recording, and for what writes a slot, in the concept below: nvcc 13.0 finds no concept
/// true that has a lambda.
struct NoOperations {
  constexpr void operator()(const auto&...) const {}
};

/// The part of an engine that a Trainer uses besides. Offsets are those of the arena: the
/// engine's memory, initially zero.
///
///   upload(at, from)     copies from the host, in the order of operations; `from` must stay valid until the fence
///   download(at, to)     copies to the host, in the order of operations; `to` is written before the fence
///   feed(slot, at, bytes, write)
///                        write(to) fills `to`, host memory, with what slot number `slot` of the ring, at `at`, holds
///                        for the operations that run from now on. Those that ran before may still need other slots
///   pin(bytes), feed_pinned(slot, at, from)
///                        optional: memory of the host, until the engine ends, aligned as tensors are; and feed that
///                        copies from there, without `write`. `from` must stay as it is until the fence
///   hash(at, bytes)      of the bytes there; equal bytes have equal hashes on all ranks. Waits
///   Fence::wait()        the one place where the host waits; throws earlier errors, and
///                        then pending operations never run
///   replay(key, body)    runs body(), which runs operations and has no other effect: an engine may replay a recording
///                        of them, and may call body() more than once to make it
///   offload(copy), fetch(copy), await_copy(ticket)
///                        optional: copies from the arena to memory of the host, and back. A copy begins after all
///                        operations, and all copies, that were run before it, and ends before those that are run after
///                        the wait for its ticket
///   Engine(resources, lender)   optional: offsets from lent_memory on lead to the memory of another engine, which
///                        lives as long as one that has borrowed it
///   prepare(body)        optional: body() runs operations that will run later; what they need is made now
///   poison_dead()        from now on fills dead memory with NaN; the walk reports it by dies() and lives()
///   scope()              held while the host calls the engine: sets the number of threads, the current device
///   numerics<T>()        what decides bits besides the program, for the compute type T: libraries, instruction set
///   description<T>()     the same with more detail, for people
template <class E>
concept Engine = WalkEngine<E> && requires(E& e, const E& constant, std::size_t at, std::span<const std::byte> from,
                                           std::span<std::byte> to) {
  { e.upload(at, from) } -> std::same_as<typename E::Fence>;
  { e.download(at, to) } -> std::same_as<typename E::Fence>;
  { e.hash(at, at) } -> std::same_as<std::uint64_t>;
  e.feed(at, at, at, NoOperations{});
  e.replay(Recording{}, NoOperations{});
  e.poison_dead();
  e.dies(at, at);
  e.lives(at, at);
  { constant.operations() } -> std::convertible_to<std::size_t>;
  constant.scope();
};

/// Whether an engine's copies of inputs read the host's memory where it lies.
template <class E>
concept PinsInputs = requires(E& e, std::size_t at, std::span<const std::byte> from) {
  { e.pin(at) } -> std::same_as<std::byte*>;
  { e.feed_pinned(at, at, from) } -> std::same_as<typename E::Fence>;
};

/// The arguments with which a Trainer constructs an engine.
///   bytes     of the arena
///   ranks     the others, by the interface that the engine names Ranks; null: a single rank
///   threads   0: as core/threads.hpp says
///   captures  whether replay may capture graphs
///   host_bytes   of the host's memory, for offload
///   waits     whether the host waits for every operation, so that an error, and a measurement, are of that operation
template <class Ranks>
struct Resources {
  std::size_t bytes = 0;
  Ranks* ranks = nullptr;
  int threads = 0;
  bool captures = true, waits = false;
  std::size_t host_bytes = 0;
};

/// Whether an engine can read parameters that lie in the memory of another one.
template <class E>
concept BorrowsMemory = std::constructible_from<E, const Resources<typename E::Ranks>&, const E&>;

/// The plan. An engine that has a device of its own for each rank takes it; one that knows how much memory is free
/// refuses, before anything is allocated, a plan with more.
template <class Engine, class Plan>
const Plan& with_room(const Plan& plan, [[maybe_unused]] typename Engine::Ranks* ranks = nullptr) {
  if constexpr (requires { Engine::take_device(*ranks); })
    if (ranks != nullptr) Engine::take_device(*ranks);
  if constexpr (requires { Engine::expect_room(plan, ranks); }) Engine::expect_room(plan, ranks);
  return plan;
}

/// The engine of a device: `type`, and its `Traits`. Specialised for each device.
///
/// An engine that reads further policies has both members also in `template <class Choices> struct with`. Choices
/// has these policies by the names of their axes, as a PolicyConfiguration: `Choices::attention`.
template <class Where>
struct Of;
template <class Engine>
inline constexpr bool runs_here = !requires { Engine::only_plans; };
/// The engine itself, or the one that measures, unless the program only plans.
template <class Engine, bool profiles>
using ProfiledEngine = std::conditional_t<profiles && runs_here<Engine>, TimedEngine<Engine>, Engine>;

/// The Traits of a device. One without an engine is refused by itself (rule/options.hpp), and by no rule
/// about an engine.
struct NoEngine final : DefaultTraits {
  static constexpr bool has_graphs = true, is_checked = true, offloads = true;
  template <class Ranks>
  static constexpr bool takes_ranks = true;
  struct Epilogues final : op::NoEpilogues {
    static constexpr bool any = true;
  };
};
template <class Where>
using NamedTraits = typename Of<Where>::Traits;
template <class Where>
using TraitsOf = boost::mp11::mp_eval_or<NoEngine, NamedTraits, Where>;

/// The engine of a device, with the policies that it reads. No constraint: g++ 12 finds none true that names a template
/// of a template's member.
template <class Where, class Choices>
using WithChoices = typename Of<Where>::template with<Choices>;
template <class Where, class Choices>
struct With : boost::mp11::mp_eval_or<Of<Where>, WithChoices, Where, Choices> {};

}  // namespace engines

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
