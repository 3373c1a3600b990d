// tests/comm/failing.hpp — one rank fails in a way, at a collective; what the failure suites share.
#pragma once

#include <regimen/comm/communicator.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace failing {

/// The memory of a rank lies on its own heap and goes with its exception: a sanitizer sees who still reads it.
template <class C>
void collective(C& ranks, regimen::comm::CollectiveKind kind, std::size_t count = 1000) {
  using regimen::comm::CollectiveKind;
  const std::size_t n = ranks.size(), me = ranks.rank();
  std::vector<float> values(n * count, static_cast<float>(me)), sum(count);
  std::vector<std::byte> staging(C::staging_bytes(n, count * sizeof(float)) + 64);
  std::byte* const aligned = staging.data() + (64 - reinterpret_cast<std::uintptr_t>(staging.data()) % 64) % 64;
  auto* const bytes = reinterpret_cast<std::byte*>(values.data());
  const std::size_t slice = count * sizeof(float);
  switch (kind) {
    case CollectiveKind::AllGather:
      return ranks.all_gather(bytes + me * slice, bytes, slice);
    case CollectiveKind::AllGatherSmall:
      return ranks.all_gather_small(bytes + me * 8, bytes, 8);
    case CollectiveKind::ReduceScatter:
      return ranks.reduce_scatter(static_cast<const float*>(values.data()), sum.data(), count, aligned);
    case CollectiveKind::Barrier:
      return ranks.barrier();
  }
}

enum class Way { Throw, End, Hang, Kill };

inline bool says(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

inline std::string rank_name(std::size_t rank) { return "rank " + std::to_string(rank); }

}  // namespace failing
