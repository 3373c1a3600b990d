// regimen/kernel/block.hpp — the interface of kernels and of thread blocks, and the block of one thread.
#pragma once

#include <regimen/core/hd.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/core/view.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace regimen::kernel {

/// Lanes of a warp, on every device and in the emulation.
inline constexpr unsigned warp_lanes = 32;

/// The memory of an operation's tensors. Trivially copyable; `base` need not point to host memory.
struct Memory {
  std::byte* base = nullptr;
  std::size_t scratch = View<char>::absent;  // of the running operation

  template <class T>
  REGIMEN_HD T* operator()(View<T> view) const {
    return reinterpret_cast<T*>(base + view.offset);
  }
  /// Null if the view is absent, which the operation must allow.
  template <class T>
  REGIMEN_HD T* optional(View<T> view) const {
    return view.offset == View<T>::absent ? nullptr : (*this)(view);
  }
  /// Null if the operation has none.
  template <class T>
  REGIMEN_HD T* scratch_of() const {
    return scratch == View<char>::absent ? nullptr : reinterpret_cast<T*>(base + scratch);
  }
};

/// The kernel of an operation, for blocks of threads. This folder specialises it for each operation, or for all that
/// have certain functions: pieces and compute, or decide (below), add_up (step.hpp), sums_left (column_sum.hpp), a Body
/// (body.hpp). Specialise it in your header for an operation of your own. An operation with several launches, one after
/// another, has a Kernel for each.
///
///   passes              optional: the number of launches, default 1
///   threads             threads per block; a multiple of warp_lanes
///   shared_bytes        optional: shared memory per block
///   resident            optional: blocks that a multiprocessor holds at once, at least; the compiler takes no more
///                       registers than that allows. 0: as many as it likes
///   scratch(operation)  optional, in the first Kernel: bytes of workspace that all launches share
///   blocks()            blocks of the launch
///   operator()(block)   the work of one thread
///   as_launched()       optional: the kernel that is launched in its place, by which several are compiled once
///
/// A block offers
///
///   thread() threads() index() blocks()   indices and numbers of threads and blocks
///   sync()                                a barrier: afterwards all threads of the block see earlier writes
///   shared<T>(offset, count)              an array in the block's shared memory, from byte `offset` on
///   warp<Combine>(value)                  the values of all lanes of the warp, combined as a tree; every lane gets it
///
/// Rules: no atomics, and a fixed order for every sum, so that the same launch gives the same
/// bits. No block waits for another.
template <class Operation, unsigned pass = 0>
struct Kernel;

template <class Operation>
inline constexpr unsigned passes = [] {
  if constexpr (requires { Kernel<Operation>::passes; }) return Kernel<Operation>::passes;
  else return 1u;
}();
template <class Operation>
constexpr std::size_t scratch_of(const Operation& operation) {
  if constexpr (requires { Kernel<Operation>::scratch(operation); }) return Kernel<Operation>::scratch(operation);
  else return 0;
}
template <class K>
inline constexpr std::size_t shared_bytes = [] {
  if constexpr (requires { K::shared_bytes; }) return K::shared_bytes;
  else return std::size_t{0};
}();

template <class K>
inline constexpr unsigned resident = [] {
  if constexpr (requires { K::resident; }) return K::resident;
  else return 0u;
}();

/// f(kernel) for each launch of the operation that has blocks, in order.
template <class Operation, unsigned pass = 0, class F>
void for_each_launch(const Operation& operation, const Memory& memory, const F& f) {
  if constexpr (pass < passes<Operation>) {
    const Kernel<Operation, pass> kernel{operation, memory};
    if constexpr (requires { kernel.as_launched(); }) {
      if (const auto launched = kernel.as_launched(); launched.blocks() > 0) f(launched);
    } else if (kernel.blocks() > 0) {
      f(kernel);
    }
    for_each_launch<Operation, pass + 1>(operation, memory, f);
  }
}

/// One thread that does the work of a whole block: loops over threads have one iteration, and a warp is one thread. The
/// bits differ from those of a block of many threads, which sums in another order. Kernels are for host and device and
/// call its members, so these are for both, too.
class Serial final {
 public:
  constexpr Serial(unsigned index, unsigned blocks, std::byte* shared)
      : shared_(shared), index_(index), blocks_(blocks) {}
  REGIMEN_HD static constexpr unsigned thread() { return 0; }
  REGIMEN_HD static constexpr unsigned threads() { return 1; }
  REGIMEN_HD constexpr unsigned index() const { return index_; }
  REGIMEN_HD constexpr unsigned blocks() const { return blocks_; }
  REGIMEN_HD constexpr void sync() const {}
  template <class T>
  REGIMEN_HD T* shared(std::size_t offset, std::size_t) const {
    return reinterpret_cast<T*>(shared_ + offset);
  }
  template <class Combine, class T>
  REGIMEN_HD constexpr T warp(T value) const {
    return value;
  }

 private:
  std::byte* shared_;
  unsigned index_, blocks_;
};

/// All blocks of a kernel on the calling thread.
template <class K>
void run_serial(const K& kernel) {
  alignas(16) std::byte shared[shared_bytes<K> == 0 ? 16 : shared_bytes<K>];
  const unsigned blocks = kernel.blocks();
  for (unsigned index = 0; index < blocks; ++index) kernel(Serial(index, blocks, shared));
}

// ---- common parts of kernels

struct Sum final {
  template <class T>
  REGIMEN_HD constexpr T operator()(T a, T b) const {
    return a + b;
  }
};
/// NaN if either is.
struct Largest final {
  template <class T>
  REGIMEN_HD constexpr T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};

/// Bytes of shared memory that `combined` needs.
template <class T>
inline constexpr std::size_t combined_bytes = warp_lanes * sizeof(T);

/// The warps' values, each of which all lanes of its warp have, combined warp by warp. Every thread gets it.
/// Two barriers, the second of which makes the shared memory free again.   offset   of the shared memory that it may use
REGIMEN_HD_UNCHECKED
template <class Combine, class Block, class T>
REGIMEN_HD T combined_warps(const Block& block, T value, std::size_t offset = 0) {
  const unsigned warps = (block.threads() + warp_lanes - 1) / warp_lanes;
  if (warps == 1) return value;
  auto parts = block.template shared<T>(offset, warps);
  if (block.thread() % warp_lanes == 0) parts[block.thread() / warp_lanes] = value;
  block.sync();
  T all = parts[0];
  for (unsigned warp = 1; warp < warps; ++warp) all = Combine{}(all, static_cast<T>(parts[warp]));
  block.sync();
  return all;
}
/// The values of all threads of the block, combined in one order: a tree in each warp, then as combined_warps.
REGIMEN_HD_UNCHECKED
template <class Combine, class Block, class T>
REGIMEN_HD T combined(const Block& block, T value, std::size_t offset = 0) {
  return combined_warps<Combine>(block, block.template warp<Combine>(value), offset);
}

/// x in another element type, rounded once. fp64 has no way to 16 bits.
template <class To, class From>
REGIMEN_HD To converted(From x) {
  if constexpr (std::is_same_v<To, From>) return x;
  else if constexpr (sizeof(From) == 2) return static_cast<To>(static_cast<float>(x));
  else {
    static_assert(sizeof(To) != 2 || std::is_same_v<From, float>,
                  "regimen: fp64 has no cast to 16 bits; cast to fp32 first");
    return static_cast<To>(x);
  }
}

/// A number of neighbouring elements, read and written 16 bytes at a time.
template <class T, unsigned count>
struct alignas(sizeof(T) * count < 16 ? sizeof(T) * count : 16) Pack {
  T at[count];
};

/// Elements of a pack such that the narrowest of these types fills 16 bytes.
template <class... T>
inline constexpr unsigned pack_of = [] {
  unsigned narrowest = 8;
  ((narrowest = sizeof(T) < narrowest ? unsigned(sizeof(T)) : narrowest), ...);
  return 16 / narrowest;
}();

template <class... T>
REGIMEN_HD bool are_aligned(const T*... pointers) {
  return ((reinterpret_cast<std::uintptr_t>(pointers) % 16 == 0) && ...);
}

/// Blocks for one thread a piece of work, as many as a device keeps busy; beyond, threads take several pieces.
inline constexpr unsigned most_blocks = 4096;
constexpr unsigned blocks_for(std::size_t pieces, unsigned threads) {
  const std::size_t wanted = (pieces + threads - 1) / threads;
  return wanted == 0 ? 1 : wanted < most_blocks ? static_cast<unsigned>(wanted) : most_blocks;
}

/// body(i) for this thread's pieces: neighbouring threads take neighbouring pieces.
REGIMEN_HD_UNCHECKED
template <class Block, class Body>
REGIMEN_HD void for_pieces(const Block& block, std::size_t pieces, const Body& body) {
  const std::size_t stride = std::size_t{block.blocks()} * block.threads();
  for (std::size_t i = std::size_t{block.index()} * block.threads() + block.thread(); i < pieces; i += stride) body(i);
}

/// body<1>(i) for begin ... end − 1 by one block; where everything lies at multiples of 16 bytes, body<width>(i) for runs
/// of `width` elements instead. A thread takes the same elements in the same order, wherever they begin.
REGIMEN_HD_UNCHECKED
template <unsigned width, class Block, class Body>
REGIMEN_HD void for_runs(const Block& block, std::size_t begin, std::size_t end, bool aligned, const Body& body) {
  for (std::size_t i = begin + block.thread() * width; i < end; i += std::size_t{block.threads()} * width) {
    if (aligned && end - i >= width) {
      body.template operator()<width>(i);
    } else {
      for (std::size_t k = i; k < end && k < i + width; ++k) body.template operator()<1>(k);
    }
  }
}

// ---- kernels of operations that need no block

/// The number of a launch, as a type: the functions of each launch take another one. As an argument it also makes the
/// compiler look for a function in this namespace, whatever the operation's is.
template <unsigned pass>
struct Launch final {};

/// An operation whose pieces do not depend on each other has two functions in place of a Kernel:
///
///   pieces(operation, Launch<pass>)                how many there are; no launch if there are none
///   compute(operation, memory, i, Launch<pass>)    piece i
///
/// The first of several launches is a Kernel of its own, which has `passes`: without them no other is launched.
template <class Operation, unsigned pass>
  requires requires(const Operation& o) { pieces(o, Launch<pass>{}); }
struct Kernel<Operation, pass> final {
  static constexpr unsigned threads = pass == 1 ? 128 : 256;  // a second launch takes columns, of which there are few
  Operation o;
  Memory at;

  constexpr unsigned blocks() const {
    const std::size_t count = pieces(o, Launch<pass>{});
    return count == 0 ? 0 : blocks_for(count, threads);
  }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    // As for_pieces, without functions of its own for each operation.
    const std::size_t count = pieces(o, Launch<pass>{}), stride = std::size_t{block.blocks()} * block.threads();
    for (std::size_t i = std::size_t{block.index()} * block.threads() + block.thread(); i < count; i += stride)
      compute(o, at, i, Launch<pass>{});
  }
};

/// An operation of a single thread has decide(operation, memory).
template <class Operation>
  requires requires(const Operation& o, const Memory& at) { decide(o, at); }
struct Kernel<Operation> final {
  static constexpr unsigned threads = warp_lanes;
  Operation o;
  Memory at;

  static constexpr unsigned blocks() { return 1; }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    if (block.thread() == 0) decide(o, at);
  }
};

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
