// regimen/walk/walk.hpp — the state of a walk over a model: memory, rank, collectives in flight.
#pragma once

#include <regimen/core/arena.hpp>
#include <regimen/core/defect.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/core/weights.hpp>
#include <regimen/engine/engine.hpp>

#include <array>
#include <cstddef>
#include <utility>

namespace regimen::walk {

/// The host's memory for tensors that leave the device between forward and backward: a stack, as the saved stack is.
/// `peak`: exactly the bytes of a run.
struct HostStack {
  std::size_t top = 0, peak = 0;

  constexpr std::size_t push(std::size_t bytes) {
    const std::size_t at = top;
    top += bytes;
    if (top > peak) peak = top;
    return at;
  }
  /// Returns where what is popped began.
  constexpr std::size_t pop(std::size_t bytes) {
    if (bytes > top) defect("pop of more than the host's memory holds");
    return top -= bytes;
  }
};

/// The walk of any engine, the plan's included. Layers and walkers receive it as `walk`.
///
///   capacity   samples for which memory is allocated
///   batch      samples that are computed; the last batch of an epoch may be short
///   scalars    where the step's scalars lie; absent in inference
///   reduces    whether the running backward reduces its gradients over the ranks
///   ahead      the prefetched unit
///   reducing, bucket   gradients that are being reduced, or wait for it
///   after      the unit after the one that computes
///   host       the host's memory, under Checkpoint<Offload>
///   saved      where the layers' saved tensors begin, from forward to the end of backward
template <class E>
struct Walk {
  using Engine = E;
  static constexpr bool prepares = requires(E& device) { device.prepare(regimen::engines::NoOperations{}); };

  E engine;
  std::size_t capacity = 1, batch = 1;
  bool training = true, checks_finite = false;
  bool all_are_whole = true;  // whether every rank has a whole micro-batch; only recordings ask
  TensorArena arena{};
  std::array<WeightPlaces, tied_limit> tied{};
  NamedTensor named[named_limit]{};  // a plain array: an access to a std::array costs steps of a constant expression
  View<Scalars> scalars{};
  std::size_t cache = 0,
              position = 0;  // in decoding: where the next layer's keys and values lie, and the first position
  LayerPath path{};          // of the layer that computes

  std::size_t ranks = 1, rank = 0;
  bool reduces = true;
  GatheredUnit ahead{};
  ReducingUnit reducing{};
  GradientBucket bucket{};
  NextUnit after{};
  HostStack host{};
  std::size_t saved = 0;

  template <class... Arguments>
  explicit constexpr Walk(std::size_t batch_size, std::size_t world, std::size_t own_rank, Arguments&&... arguments)
      : engine(std::forward<Arguments>(arguments)...),
        capacity(batch_size),
        batch(batch_size),
        ranks(world),
        rank(own_rank) {}

  // ---- operations

  constexpr op::Phase phase() const { return engine.phase; }
  constexpr void phase(op::Phase now) { engine.phase = now; }
  /// Runs the operation with the workspace of this engine's kernel.
  template <class Operation>
  constexpr void run(const Operation& operation) {
    if constexpr (requires { engine.look_at(operation, path); }) engine.look_at(operation, path);
    if constexpr (requires { engine.name_layer(path); }) engine.name_layer(path);
    if (const std::size_t bytes = E::Traits::scratch(operation); bytes == 0) engine.run(operation, View<char>::absent);
    else {
      const std::size_t scratch = arena.take(TensorArena::align(bytes), MemoryKind::scratch, path);
      engine.run(operation, scratch);
      arena.give(scratch);
    }
  }
  /// Called when a layer's output or gradient is complete.
  ///   columns, leading   of rows that are not dense
  template <class T>
  constexpr void produced(std::size_t offset, std::size_t count, const LayerPath& of, std::size_t columns = 0,
                          std::size_t leading = 0) {
    if constexpr (Number<T>) {
      if (checks_finite)
        run(op::CheckFinite<T>{.x = {offset},
                               .scalars = scalars,
                               .count = count,
                               .path = of,
                               .phase = engine.phase,
                               .columns = columns,
                               .leading = leading});
    }
  }
  constexpr View<op::Random> random() const { return random_of(scalars); }

  /// body() runs operations that are the same in every step, so the engine may replay a recording instead. body() must
  /// leave the walk unchanged.
  constexpr void replay(engines::Recording::Piece piece, auto&& body) {
    engine.replay({piece, batch, all_are_whole}, [&] {
      path = {};
      body();
    });
  }

  /// body() runs operations that will run later, so that an engine with prepare() has all that they need. Leaves the
  /// walk unchanged.
  constexpr void prepare(auto&& body) {
    if constexpr (prepares) {
      const std::size_t peak = arena.peak, host_peak = host.peak;
      engine.prepare(body);
      arena.peak = peak;  // no memory was used
      host.peak = host_peak;
      engine.phase = op::Phase::forward;
      path = {};
    }
  }

  // ---- the other ranks

  constexpr std::size_t all_gather(const engines::Transfer& transfer) { return engine.all_gather(transfer); }
  constexpr std::size_t reduce_scatter(const engines::Transfer& transfer) { return engine.reduce_scatter(transfer); }
  constexpr void await(std::size_t ticket) { engine.await(ticket); }

  // ---- iterations, which a plan may skip

  /// Inlined also without optimisation, like the small functions of nodes, chains and units: each layer of each model
  /// would have its own copy, and tests compile thousands of them.
  [[gnu::always_inline]] constexpr void repeat(std::size_t count, auto&& body) { engine.repeat(count, body); }
  constexpr auto mark() const { return engine.mark(*this); }
  constexpr bool repeats(const auto& then) const { return engine.repeats(*this, then); }
  constexpr void skip(std::size_t periods, std::size_t stride, bool growing, const auto& then) {
    engine.skip(*this, periods, stride, growing, then);
  }

  // ---- for an engine that computes

  /// After an exception, or if a walk ends before its backward: frees everything above `floor`.
  void abandon(std::size_t floor) {
    ahead = {};
    reducing = {};
    bucket.bytes = 0;
    bucket.ticket = no_ticket;
    host.top = 0;
    while (arena.transients.count > 0) arena.give(arena.transients.items[arena.transients.count - 1].offset);
    if (arena.top > floor) arena.pop_to(floor);
  }
  /// From now on fills freed memory with NaN. The Walk object must not move afterwards.
  void poison_dead() {
    engine.poison_dead();
    witness_ = {&engine,
                [](void* self, std::size_t offset, std::size_t bytes) { static_cast<E*>(self)->dies(offset, bytes); },
                [](void* self, std::size_t offset, std::size_t bytes) { static_cast<E*>(self)->lives(offset, bytes); }};
    arena.witness = &witness_;
    if (arena.capacity > arena.top) engine.dies(arena.top, arena.capacity - arena.top);
  }

 private:
  TensorArena::Witness witness_{};
};

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
