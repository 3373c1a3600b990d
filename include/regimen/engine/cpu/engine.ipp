// regimen/engine/cpu/engine.ipp — what the CPU engine does besides operations, and which path products take, as text.
#pragma once

#include <regimen/engine/cpu/engine.hpp>
#include <regimen/engine/cpu/product.hpp>
#include <regimen/engine/cpu/region.hpp>
#include <regimen/engine/cpu/vector.hpp>

#include <cstdio>
#include <cstring>

namespace regimen::cpu {

REGIMEN_INLINE Engine::Engine(const engines::Resources<Ranks>& resources, const Engine* lender)
    : threads_(threads_for(resources.threads)),
      ranks_(resources.ranks),
      region_(std::make_shared<const Region>(resources.bytes)),
      memory_{region_->base(), region_->bytes()} {
  if (lender == nullptr) return;
  lent_ = lender->lent_ ? lender->lent_ : lender->region_;
  memory_.lent = lent_->base();
  memory_.lent_bytes = lent_->bytes();
}

REGIMEN_INLINE std::size_t Engine::all_gather(const engines::Transfer& transfer) {
  const std::byte* const own = memory_.base + transfer.own;
  std::byte* const all = memory_.base + transfer.all;
  return transfer.small ? ranks_->start_all_gather_small(own, all, transfer.bytes)
                        : ranks_->start_all_gather(own, all, transfer.bytes, transfer.teams);
}
REGIMEN_INLINE std::size_t Engine::reduce_scatter(const engines::Transfer& transfer) {
  return ranks_->start_reduce_scatter(
      transfer.element, memory_.base + transfer.all, transfer.count(),
      transfer.staging == View<char>::absent ? nullptr : memory_.base + transfer.staging, transfer.teams);
}

REGIMEN_INLINE Engine::Fence Engine::upload(std::size_t at, std::span<const std::byte> from) {
  if (!from.empty()) std::memcpy(memory_(View<std::byte>{at}), from.data(), from.size());
  return {};
}
REGIMEN_INLINE Engine::Fence Engine::download(std::size_t at, std::span<std::byte> to) const {
  if (!to.empty()) std::memcpy(to.data(), memory_(View<std::byte>{at}), to.size());
  return {};
}
REGIMEN_INLINE std::uint64_t Engine::hash(std::size_t at, std::size_t bytes) const {
  return hash_of_bytes({memory_.base + at, bytes});
}
REGIMEN_INLINE void Engine::dies(std::size_t offset, std::size_t bytes) const { region_->dies(offset, bytes); }
REGIMEN_INLINE void Engine::lives(std::size_t offset, std::size_t bytes) const { region_->lives(offset, bytes); }

template <class Compute>
std::string path_text() {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  constexpr const char* fused = ", fused multiply-add";
#else
  constexpr const char* fused = "";
#endif
#if defined(__FAST_MATH__)
  constexpr const char* fast = ", -ffast-math";
#else
  constexpr const char* fast = "";
#endif
  char text[512];  // not a sum of strings: g++ 12 warns about the insides of those
  std::snprintf(text, sizeof text, "products: %s; registers: %zu bytes%s%s",
                product_path<Compute, Compute, Compute>().c_str(), vector_bytes, fused, fast);
  return text;
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
