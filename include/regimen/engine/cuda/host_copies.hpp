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

  /// To the host, or back from there. Returns a ticket.
  std::size_t move(std::byte* device, std::size_t host, std::size_t bytes, bool to_host) {
    runtime_.record(before_, compute_);
    runtime_.wait(stream_, before_);
    if (to_host) runtime_.download(host_ + host, device, bytes, stream_);
    else runtime_.upload(device, host_ + host, bytes, stream_);
    runtime_.record(copied(copies_), stream_);
    return copies_++;
  }
  /// What is queued from now on comes after that copy.
  void await(std::size_t ticket) { runtime_.wait(compute_, copied(ticket)); }
  typename R::Event copied(std::size_t ticket) const { return copied_[ticket % copied_.size()]; }

 private:
  R& runtime_;
  typename R::Stream compute_, stream_{};
  std::byte* host_ = nullptr;
  typename R::Event before_{};
  std::array<typename R::Event, 8> copied_{};  // by tickets
  std::size_t copies_ = 0;
};

}  // namespace regimen::cuda
// SPDX-License-Identifier: Apache-2.0
