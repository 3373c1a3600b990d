// regimen/engine/engine.hpp — what an engine is: where bytes lie, and how an operation is carried out.
#pragma once

#include <regimen/comm/teams.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/core/path.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <string>

namespace regimen {

namespace engine {

/// A collective over memory of the arena. Slices lie one behind the other, as many as the team has members.
///
///   own         all_gather: this rank's slice, which may lie in its place in `all`
///   all         of every member; reduce_scatter leaves this rank's sum in its place of it
///   bytes       of a slice          element   of what reduce_scatter adds
///   staging     what the transport needs beside it; absent where it needs none
///   small       a few numbers: what counts the bytes of tensors leaves it out
///   path        of the unit, for logs
struct Transfer {
  std::size_t own = View<char>::absent, all = View<char>::absent, bytes = 0;
  ElementType element = ElementType::float32;
  std::size_t staging = View<char>::absent;
  comm::Teams teams{};
  bool small = false;
  Path path{};

  constexpr std::size_t count() const { return bytes / bytes_of(element); }
};

/// Which piece of a step a recording is of. Equal keys mean the same operations on the same memory; what differs between two
/// steps is data in the arena.
///   piece   of a step of one micro-batch all of it; else a micro-batch, whose gradients are assigned (the first), added, or, with the last one,
///           reduced; the update; a batch that is evaluated
///   rows    samples of the batch, on this rank; the last batch of an epoch may be short
struct Recording {
  enum class Piece : unsigned char { step, first_micro_batch, further_micro_batch, last_micro_batch, update, evaluation };
  Piece piece = Piece::step;
  std::size_t rows = 0;

  constexpr bool operator==(const Recording&) const = default;
};

/// For an engine that carries out every iteration: a plan skips those that repeat what it has seen.
struct EveryIteration {
  struct Mark {};
  static constexpr bool may_skip() { return false; }
  static constexpr Mark mark(const auto&) { return {}; }
  static constexpr bool repeats(const auto&, Mark) { return false; }
  static constexpr void skip(auto&, std::size_t, std::size_t, bool, Mark) {}
  static constexpr void repeat(std::size_t count, auto&& body) {
    for (std::size_t i = 0; i < count; ++i) body(i);
  }
  /// Buckets of gradients travel when they have this many bytes.
  static constexpr std::size_t bucket(std::size_t bytes) { return bytes; }
};

/// What a walk asks of an engine: a plan answers it, too.
///
///   Traits::scratch(operation)   bytes that this engine's kernels need beside the operation's tensors. The walk takes them from
///                                the arena for the time of the operation, so that they are exact in the engine's own plan
///   Traits::is_host_memory       may the host read and write the arena between calls, by data(view)?
///   phase                        the part of the step that operations belong to; the walk says it
///   run(operation, scratch)      may return before it is done; operations are carried out in the order in which they were run
///   all_gather, reduce_scatter   return a ticket; begin after all that was run before them
///   await(ticket)                what is run from now on begins after that transfer. Does not block the host
template <class E>
concept Walked = requires(E& e, const op::Begin& operation, const Transfer& transfer, std::size_t ticket) {
  { E::Traits::scratch(operation) } -> std::convertible_to<std::size_t>;
  { E::Traits::is_host_memory } -> std::convertible_to<bool>;
  { e.phase } -> std::convertible_to<op::Phase>;
  e.run(operation, std::size_t{});
  { e.all_gather(transfer) } -> std::convertible_to<std::size_t>;
  { e.reduce_scatter(transfer) } -> std::convertible_to<std::size_t>;
  e.await(ticket);
  e.may_skip();
};

/// What a Trainer asks of an engine beside that. Offsets are those of the arena, which is the engine's memory, zero at the start.
///
///   upload(at, from)     copies from the host; `from` is read until the fence
///   download(at, to)     copies to the host; `to` is written before the fence. Both are in the order of operations
///   hash(at, bytes)      of what lies there; equal bytes have equal hashes on all ranks. Waits
///   Fence::wait()        the one place where the host waits; throws what went wrong before it, and then nothing that waited is carried out
///   replay(key, body)    body() runs operations: the first time it is called; later the engine may carry out what it recorded
///   poison_dead()        what no one may read is filled with NaN from now on, when the walk says so by dies() and lives()
///   scope()              alive while the host calls the engine: how many threads it has, which device is current
///   numerics<T>()        what decides bits beside the program, where T is the compute type: libraries, instruction set
///   description<T>()     the same and more, for people
template <class E>
concept Engine = Walked<E> && requires(E& e, const E& constant, std::size_t at, std::span<const std::byte> from, std::span<std::byte> to) {
  { e.upload(at, from) } -> std::same_as<typename E::Fence>;
  { e.download(at, to) } -> std::same_as<typename E::Fence>;
  { e.hash(at, at) } -> std::same_as<std::uint64_t>;
  e.replay(Recording{}, [] {});
  e.poison_dead();
  e.dies(at, at);
  e.lives(at, at);
  { constant.operations() } -> std::convertible_to<std::size_t>;
  constant.scope();
};

/// How a Trainer makes an engine.
///   bytes   of its arena      ranks   the collectives of other ranks; null: there are none      threads   0: as many as the machine has
template <class Ranks>
struct Resources {
  std::size_t bytes = 0;
  Ranks* ranks = nullptr;
  int threads = 0;
};

/// The engine of a device: `type`, its `Traits`, and `profiled`, which measures what it does. Specialised where the device is declared.
template <class Where>
struct Of;

}  // namespace engine

/// Does what Engine does, and measures it; see engine/timed.hpp.
template <class Engine>
class Timed;
class OperationTimes;

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
