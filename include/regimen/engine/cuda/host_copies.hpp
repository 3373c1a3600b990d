// regimen/engine/cuda/host_copies.hpp — memory of the host for tensors that leave the device between forward and backward.
#pragma once

#include <regimen/engine/cuda/runtime.hpp>

#include <array>
#include <cstddef>

namespace regimen::cuda {

/// Copies between a device and pinned memory, on a stream of their own: beside the operations, in the order of their
/// starts. Who starts a copy waits for it before the next but seven.
///
/// memory   pinned, until the engine ends: exactly the plan's bytes (MemoryPlan::host)
/// failure  Error if the host cannot pin so much
template <Runtime R>
class HostCopies final {
 public:
  HostCopies(R& runtime, typename R::Stream compute, std::size_t bytes) : runtime_(runtime), compute_(compute) {
    if (bytes == 0) return;
    host_ = runtime_.allocate_pinned(bytes, "tensors between forward and backward");
    stream_ = runtime_.make_stream();
    before_ = runtime_.make_event();
    for (typename R::Event& event : copied_) event = runtime_.make_event();
  }
  HostCopies(const HostCopies&) = delete;
  HostCopies& operator=(const HostCopies&) = delete;

  /// Both return a ticket.
  std::size_t offload(const std::byte* from, std::size_t to, std::size_t bytes) {
    begin();
    runtime_.download(host_ + to, from, bytes, stream_);
    return end();
  }
  std::size_t fetch(std::byte* to, std::size_t from, std::size_t bytes) {
    begin();
    runtime_.upload(to, host_ + from, bytes, stream_);
    return end();
  }
  /// What is queued from now on comes after that copy.
  void await(std::size_t ticket) { runtime_.wait(compute_, copied(ticket)); }
  typename R::Event copied(std::size_t ticket) const { return copied_[ticket % copied_.size()]; }

 private:
  void begin() {
    runtime_.record(before_, compute_);
    runtime_.wait(stream_, before_);
  }
  std::size_t end() {
    const std::size_t ticket = copies_++;
    runtime_.record(copied(ticket), stream_);
    return ticket;
  }

  R& runtime_;
  typename R::Stream compute_, stream_{};
  std::byte* host_ = nullptr;
  typename R::Event before_{};
  std::array<typename R::Event, 8> copied_{};  // by tickets
  std::size_t copies_ = 0;
};

}  // namespace regimen::cuda
// SPDX-License-Identifier: Apache-2.0
