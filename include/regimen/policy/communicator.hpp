// regimen/policy/communicator.hpp — how ranks communicate.
#pragma once

#include <regimen/comm/communicator.hpp>
#include <regimen/policy/policy.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen {

namespace comm {
class Threads;
class Tcp;
class Mpi;
}  // namespace comm

namespace detail {
/// Ranks with a communicator of type Object; void: the policy names none.   in_chunks   collectives stage chunks
template <class Object, bool in_chunks = false>
struct BuiltRanks : OptionOf<axis::communicator> {
  using type = Object;
  static constexpr bool is_built = true, is_alone = false;
  static constexpr std::size_t staging_bytes(std::size_t ranks, std::size_t slice_bytes) {
    return in_chunks ? comm::chunked_staging_bytes(ranks, slice_bytes) : 0;
  }
};
}  // namespace detail

/// A single rank, which owns everything: gathering and reducing cost nothing.
struct Solo final : detail::BuiltRanks<void> {
  static constexpr bool is_alone = true;
};

/// Ranks that are threads of this process; see comm/launch.hpp.
struct Threads final : detail::BuiltRanks<comm::Threads> {};
/// Ranks that are processes connected by TCP, as torchrun, Slurm or comm/launch.hpp start them.
struct Tcp final : detail::BuiltRanks<comm::Tcp, true> {};
/// Ranks that mpirun starts.
struct Mpi final : detail::BuiltRanks<comm::Mpi, true> {};
/// Ranks with a GPU each: NCCL copies tensors from GPU to GPU. Give the Trainer the communicator of the ranks' hosts:
/// comm::Tcp or comm::Mpi; for emulated devices comm::Threads.
struct Nccl final : detail::BuiltRanks<void> {};
/// Refused: Tcp takes the place of Gloo; comm/tcp.hpp has reasons.
struct Gloo final : detail::OptionOf<axis::communicator> {
  static constexpr bool is_built = false;
};

/// Decides who the other ranks are.
///
///   choices   Communicator<Solo>, Threads, Tcp, Mpi, Nccl
///   default   Communicator<Solo>
///   refuses   Gloo, since Tcp replaces it; Nccl without GPUs; Tcp and Mpi with Device<Cuda>
///   effect    programs/facts.hpp (communicator), trainers/session.hpp (all_ranks), engine/cuda/engine.hpp
///             (communicator)
template <class Ranks>
struct Communicator final {
  using axis = regimen::axis::communicator;
  using ranks = Ranks;
};

/// Whether tensors go from GPU to GPU, and never through the communicator of the hosts.
template <class Ranks>
inline constexpr bool connects_gpus = std::is_same_v<Ranks, Nccl>;

/// Whether a Trainer with Communicator<Ranks> takes an object of type C.
template <class C, class Ranks>
inline constexpr bool is_given_for = std::is_same_v<comm::transport_t<C>, typename Ranks::type>;
template <class C>
inline constexpr bool is_given_for<C, Nccl> = is_given_for<C, Threads> || is_given_for<C, Tcp> || is_given_for<C, Mpi>;

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
