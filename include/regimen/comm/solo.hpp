// regimen/comm/solo.hpp — collectives of one rank: copies, if input and output differ.
#pragma once

#include <regimen/comm/communicator.hpp>
#include <regimen/core/error.hpp>

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace regimen::comm {

/// The communicator of a program of one rank. A sum of one summand is the summand: in place nothing is written.
///
/// failure  after leave() every collective throws Error
class Solo final {
 public:
  static constexpr std::size_t rank() { return 0; }
  static constexpr std::size_t size() { return 1; }
  static constexpr std::size_t staging_bytes(std::size_t /*ranks*/, std::size_t /*slice_bytes*/) { return 0; }

  void all_gather(const std::byte* own, std::byte* all, std::size_t slice_bytes, Teams = {}) const {
    copy(own, all, slice_bytes);
  }
  void all_gather_small(const std::byte* own, std::byte* all, std::size_t bytes) const { copy(own, all, bytes); }
  template <Number T>
  void reduce_scatter(const T* all, T* own, std::size_t count, std::byte* /*staging*/, Teams = {}) const {
    copy(all, own, count * sizeof(T));
  }
  void barrier() const { check(); }
  void leave(std::string_view reason) {
    if (left_.empty()) left_ = "rank 0 failed: " + std::string(reason);
  }

 private:
  void check() const {
    if (!left_.empty()) throw Error("rank 0 of 1", "no collective after leave()", left_);
  }
  void copy(const void* from, void* to, std::size_t bytes) const {
    check();
    if (bytes != 0 && from != to) std::memcpy(to, from, bytes);
  }

  std::string left_;
};

static_assert(Collectives<Solo>);

}  // namespace regimen::comm
// SPDX-License-Identifier: Apache-2.0
