// regimen/comm/threads.ipp — the bodies of threads.hpp.
#pragma once

#include <regimen/comm/threads.hpp>
#include <regimen/comm/tree.hpp>
#include <regimen/core/compiled.hpp>
#include <regimen/core/error.hpp>

#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace regimen::comm {

REGIMEN_INLINE Threads::Threads(std::shared_ptr<ThreadsWorld> world, std::size_t rank)
    : world_(std::move(world)), rank_(rank), exceptions_(std::uncaught_exceptions()) {
  if (rank_ >= world_->size())
    throw Error("Threads", "a rank below " + std::to_string(world_->size()), std::to_string(rank_));
}

REGIMEN_INLINE Threads::~Threads() {
  if (std::uncaught_exceptions() > exceptions_) leave("an exception");
  world_->end(rank_);
}

template <Number T>
void Threads::reduce_scatter(const T* all, T* own, std::size_t count, std::byte* /*staging*/, Teams teams) {
  world_->arrive(rank_, CollectiveKind::ReduceScatter, count * sizeof(T), sizeof(T),
                 reinterpret_cast<const std::byte*>(all));
  const auto summand = [world = world_.get(), rank = rank_, at = teams.place(rank_) * count, teams](std::size_t p) {
    return reinterpret_cast<const T*>(world->shown(teams.member(rank, p))) + at;
  };
  tree_sum(summand, teams.members(size()), own, count);
  world_->barrier();
}

#if REGIMEN_COMPILED
template void Threads::reduce_scatter(const fp64*, fp64*, std::size_t, std::byte*, Teams);
template void Threads::reduce_scatter(const fp32*, fp32*, std::size_t, std::byte*, Teams);
template void Threads::reduce_scatter(const bf16*, bf16*, std::size_t, std::byte*, Teams);
template void Threads::reduce_scatter(const fp16*, fp16*, std::size_t, std::byte*, Teams);
#endif

REGIMEN_INLINE void Threads::barrier() {
  world_->arrive(rank_, CollectiveKind::Barrier, 0, 0, nullptr);
  world_->barrier();
}

REGIMEN_INLINE void Threads::gather(CollectiveKind kind, const std::byte* own, std::byte* all, std::size_t bytes,
                                    Teams teams) {
  world_->arrive(rank_, kind, bytes, 0, own);
  std::byte* const place = all + teams.place(rank_) * bytes;
  const auto copy = [bytes](const std::byte* from, std::byte* to) {
    if (bytes != 0) std::memcpy(to, from, bytes);
  };
  if (own != place) copy(own, place);
  teams.for_each_other(rank_, size(), [&](std::size_t p, std::size_t r) { copy(world_->shown(r), all + p * bytes); });
  world_->barrier();
}

}  // namespace regimen::comm
// SPDX-License-Identifier: Apache-2.0
