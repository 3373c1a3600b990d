// regimen/engine/cuda/copies.hpp — copies between the host and a device, through pinned memory.
#pragma once

#include <regimen/engine/cuda/runtime.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <utility>
#include <vector>

namespace regimen::cuda {

/// The copies of an engine. Those of upload and download are in the order of the operations; those of feed run on a
/// stream of their own. The host waits in finish, in feed for the slot's last copy, in upload if many are on their way,
/// and in a download of several pieces: by `Waits`, as a Transport does.
///
/// memory   pinned, until the engine ends: a slot for each input that is fed ahead by `write`; for all other copies
///          less than 64 MiB, however much they copy, and what downloads hold that wait to be finished
template <Runtime R, class Waits>
class Copies final {
 public:
  Copies(R& runtime, typename R::Stream compute, Waits& waits)
      : runtime_(runtime), waits_(waits), compute_(compute), stream_(runtime.make_stream()) {}
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

  /// Pinned memory is scarce, so what is larger goes in pieces. While one is on its way, the host copies another: two
  /// are enough. A piece takes a third of a millisecond at 50 GB/s, so that starting it costs nothing beside it.
  static constexpr std::size_t piece = std::size_t{16} << 20;

  /// Returns the number of the copy, for finish; 0: there is nothing to copy. `from` may change after the call.
  std::uint64_t upload(std::byte* to, std::span<const std::byte> from) {
    for (; from.size() > piece; to += piece, from = from.subspan(piece)) upload_piece(to, from.first(piece));
    return from.empty() ? 0 : upload_piece(to, from);  // the last one to be done
  }
  /// A copy to the host: returns its number, for finish; also if it has no bytes, so that one can wait for what came
  /// before it. After the call `to` has all pieces except the last.
  std::uint64_t download(const std::byte* from, std::span<std::byte> to) {
    std::uint64_t before = 0;
    for (; to.size() > piece; from += piece, to = to.subspan(piece)) {
      const std::uint64_t next = download_piece(from, to.first(piece));
      finish(std::exchange(before, next));
    }
    const std::uint64_t last = download_piece(from, to);
    finish(before);
    return last;
  }
  /// Waits for a copy, by upload, download or feed; a download's target is written here.
  void finish(std::uint64_t copy) {
    if (copy == 0) return;
    for (Staging& staging : stagings_) {
      if (staging.copy != copy) continue;
      waits_.synchronize(staging.event);
      if (!staging.to.empty()) std::memcpy(staging.to.data(), staging.at, staging.to.size());
      staging.to = {};
      staging.copy = 0;
      return;
    }
    for (Slot& slot : slots_) {
      if (slot.copy != copy) continue;
      waits_.synchronize(slot.sent);
      slot.copy = 0;
      return;
    }
  }

  /// Copies while earlier work computes: after the operations that read the slot's last content, and before those that
  /// are queued from now on. Returns the number of the copy, as upload does.
  template <class Write>
  std::uint64_t feed(std::size_t index, std::byte* to, std::size_t bytes, const Write& write) {
    Slot& slot = free_slot(index);
    if (slot.at == nullptr) slot.at = runtime_.allocate_pinned(bytes, "a slot for inputs");
    write(std::span(slot.at, bytes));
    return send(slot, to, {slot.at, bytes});
  }
  /// As above, from pinned memory, which must stay as it is until the copy is finished.
  std::uint64_t feed(std::size_t index, std::byte* to, std::span<const std::byte> from) {
    return send(free_slot(index), to, from);
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
  /// A slot of the ring for inputs, and the pinned memory of what is written to it.
  struct Slot {
    std::byte* at = nullptr;
    typename R::Event sent{}, taken{};  // its copy to the device; the operations that read it there
    std::uint64_t copy = 0;             // the last one to it; 0: none that the host has not waited for
    bool is_fed = false;                // `taken` is not yet recorded
  };
  /// Sizes of stagings: 4 KiB and its multiples by powers of four, up to a piece.
  static constexpr std::size_t held_for(std::size_t bytes) {
    std::size_t held = 4096;
    while (held < bytes) held *= 4;
    return held;
  }
  static_assert(held_for(piece) == piece);
  /// So many copies of a size may be on their way before the host waits for the oldest upload.
  static constexpr std::size_t most_in_flight(std::size_t held) {
    return held == piece ? 2 : held * 4 == piece ? 4 : 8;
  }

  std::uint64_t upload_piece(std::byte* to, std::span<const std::byte> from) {
    Staging& staging = staging_for(from.size());
    std::memcpy(staging.at, from.data(), from.size());
    runtime_.upload(to, staging.at, from.size(), compute_);
    return fly(staging, {});
  }
  std::uint64_t download_piece(const std::byte* from, std::span<std::byte> to) {
    Staging& staging = staging_for(to.size());
    if (!to.empty()) runtime_.download(staging.at, from, to.size(), compute_);
    return fly(staging, to);
  }
  Staging& staging_for(std::size_t bytes) {
    const std::size_t held = held_for(bytes);
    std::size_t flying = 0;
    Staging* oldest = nullptr;
    for (Staging& staging : stagings_) {
      if (staging.bytes != held) continue;
      if (staging.copy != 0 && staging.to.empty() && runtime_.is_done(staging.event)) staging.copy = 0;
      if (staging.copy == 0) return staging;
      ++flying;
      if (staging.to.empty() && (oldest == nullptr || staging.copy < oldest->copy)) oldest = &staging;
    }
    if (oldest != nullptr && flying >= most_in_flight(held)) {
      finish(oldest->copy);
      return *oldest;
    }
    stagings_.push_back(
        {.at = runtime_.allocate_pinned(held, "a copy"), .bytes = held, .event = runtime_.make_event()});
    return stagings_.back();
  }
  std::uint64_t fly(Staging& staging, std::span<std::byte> to) {
    runtime_.record(staging.event, compute_);
    staging.copy = ++copies_;
    staging.to = to;
    return staging.copy;
  }
  /// The slot, whose last copy has ended: one event tells of one copy.
  Slot& free_slot(std::size_t index) {
    while (slots_.size() <= index) {
      slots_.push_back({.sent = runtime_.make_event(), .taken = runtime_.make_event()});
      runtime_.record(slots_.back().taken, compute_);
    }
    Slot& slot = slots_[index];
    if (slot.is_fed) taken(slot);  // by operations outside of a recording
    finish(slot.copy);
    return slot;
  }
  std::uint64_t send(Slot& slot, std::byte* to, std::span<const std::byte> from) {
    runtime_.wait(stream_, slot.taken);
    runtime_.upload(to, from.data(), from.size(), stream_);
    runtime_.record(slot.sent, stream_);
    runtime_.wait(compute_, slot.sent);
    slot.is_fed = true;
    return slot.copy = ++copies_;
  }
  void taken(Slot& slot) {
    runtime_.record(slot.taken, compute_);
    slot.is_fed = false;
  }

  R& runtime_;
  Waits& waits_;
  typename R::Stream compute_, stream_;
  std::deque<Staging> stagings_;
  std::vector<Slot> slots_;
  std::uint64_t copies_ = 0;
};

/// Copies of tensors that leave the device between forward and backward, to pinned memory and back, on a stream of
/// their own: beside the operations, in the order of their starts. Who starts a copy waits for it before the next but
/// seven.
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
