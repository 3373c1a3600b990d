// regimen/engine/cuda/copies.hpp — copies between the host and a device, through pinned memory.
#pragma once

#include <regimen/engine/cuda/runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <vector>

namespace regimen::cuda {

/// The copies of an engine. Those of upload and download are in the order of the operations; those of feed run on a
/// stream of their own. The host waits in finish, in feed for the slot's last copy, and in upload if many are on their
/// way.
template <Runtime R>
class Copies final {
 public:
  Copies(R& runtime, typename R::Stream compute)
      : runtime_(runtime), compute_(compute), stream_(runtime.make_stream()) {}
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

  /// Returns the number of the copy, for finish; 0: there is nothing to copy. `from` may change after the call.
  std::uint64_t upload(std::byte* to, std::span<const std::byte> from) {
    if (from.empty()) return 0;
    Staging& staging = stagings_[staging_for(from.size())];
    std::memcpy(staging.at, from.data(), from.size());
    runtime_.upload(to, staging.at, from.size(), compute_);
    return fly(staging, {});
  }
  /// The same for a copy to the host; of no bytes: for a wait.
  std::uint64_t download(const std::byte* from, std::span<std::byte> to) {
    Staging& staging = stagings_[staging_for(to.size())];
    if (!to.empty()) runtime_.download(staging.at, from, to.size(), compute_);
    return fly(staging, to);
  }
  /// Waits for a copy; a download's target is written here.
  void finish(std::uint64_t copy) {
    if (copy == 0) return;
    for (Staging& staging : stagings_) {
      if (staging.copy != copy) continue;
      runtime_.synchronize(staging.event);
      if (!staging.to.empty()) std::memcpy(staging.to.data(), staging.at, staging.to.size());
      staging.to = {};
      staging.copy = 0;
      return;
    }
  }

  /// Copies while earlier work computes: after the operations that read the slot's last content, and before those that
  /// are queued from now on.
  template <class Write>
  void feed(std::size_t index, std::byte* to, std::size_t bytes, const Write& write) {
    Slot& slot = slot_of(index, bytes);
    if (slot.is_fed) taken(slot);  // by operations outside of a recording
    if (slot.was_sent) runtime_.synchronize(slot.sent);
    write(std::span(slot.at, bytes));
    runtime_.wait(stream_, slot.taken);
    runtime_.upload(to, slot.at, bytes, stream_);
    runtime_.record(slot.sent, stream_);
    runtime_.wait(compute_, slot.sent);
    slot.is_fed = slot.was_sent = true;
  }
  /// What is queued by now reads the slots that were fed.
  void taken() {
    for (Slot& slot : slots_)
      if (slot.is_fed) taken(slot);
  }

 private:
  /// Pinned memory that a copy uses until its event.
  struct Staging {
    std::byte* at = nullptr;
    std::size_t bytes = 0;
    typename R::Event event{};
    std::uint64_t copy = 0;     // the copy that uses it; 0: free
    std::span<std::byte> to{};  // of a download
  };
  /// Pinned memory of a slot of the ring for inputs.
  struct Slot {
    std::byte* at = nullptr;
    typename R::Event sent{}, taken{};      // its copy to the device; the operations that read it there
    bool is_fed = false, was_sent = false;  // fed: `taken` is not yet recorded
  };
  /// So many uploads may wait before the host waits for the oldest.
  static constexpr std::size_t most_in_flight = 8, none = ~std::size_t{0};

  std::size_t staging_for(std::size_t bytes) {
    std::size_t flying = 0, oldest = none;
    for (std::size_t i = 0; i < stagings_.size(); ++i) {
      Staging& staging = stagings_[i];
      if (staging.bytes < bytes || staging.bytes / 4 > bytes + 4096) continue;
      if (staging.copy != 0 && staging.to.empty() && runtime_.is_done(staging.event)) staging.copy = 0;
      if (staging.copy == 0) return i;
      if (!staging.to.empty()) continue;
      ++flying;
      if (oldest == none || staging.copy < stagings_[oldest].copy) oldest = i;
    }
    if (flying >= most_in_flight) {
      finish(stagings_[oldest].copy);
      return oldest;
    }
    const std::size_t held = bytes / 4096 * 4096 + 4096;
    stagings_.push_back(
        {.at = runtime_.allocate_pinned(held, "a copy"), .bytes = held, .event = runtime_.make_event()});
    return stagings_.size() - 1;
  }
  std::uint64_t fly(Staging& staging, std::span<std::byte> to) {
    runtime_.record(staging.event, compute_);
    staging.copy = ++copies_;
    staging.to = to;
    return staging.copy;
  }
  Slot& slot_of(std::size_t index, std::size_t bytes) {
    while (slots_.size() <= index) {
      slots_.push_back({.at = runtime_.allocate_pinned(bytes, "a slot for inputs"),
                        .sent = runtime_.make_event(),
                        .taken = runtime_.make_event()});
      runtime_.record(slots_.back().taken, compute_);
    }
    return slots_[index];
  }
  void taken(Slot& slot) {
    runtime_.record(slot.taken, compute_);
    slot.is_fed = false;
  }

  R& runtime_;
  typename R::Stream compute_, stream_;
  std::deque<Staging> stagings_;
  std::vector<Slot> slots_;
  std::uint64_t copies_ = 0;
};

}  // namespace regimen::cuda
// SPDX-License-Identifier: Apache-2.0
