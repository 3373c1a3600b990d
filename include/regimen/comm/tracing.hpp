// regimen/comm/tracing.hpp — records when each collective began and ended.
#pragma once

#include <regimen/comm/detail/around.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace regimen::comm {

/// The times of a collective on this rank's clock: from its call, in any thread, to its return. Numbered in order.
struct Span final {
  using Time = std::chrono::steady_clock::time_point;
  CollectiveKind kind = CollectiveKind::Barrier;
  std::uint64_t number = 0;  // counts this tracer's collectives, from 0
  std::uint64_t bytes = 0;   // sent by this rank
  Time begin, end;
};

/// Wraps C and records its first `most` collectives, without allocation; seen() counts all of them.
/// Background<Tracing<C>> shows what ran while this thread computed.
template <Collectives C>
class Tracing final : public detail::Around<Tracing<C>, C> {
 public:
  explicit Tracing(C& inner, std::size_t most = 65536) : detail::Around<Tracing, C>(inner) { spans_.reserve(most); }

  std::vector<Span> spans() const {
    const std::lock_guard lock(mutex_);
    return spans_;
  }
  std::uint64_t seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  void reset() {
    const std::lock_guard lock(mutex_);
    spans_.clear();
    seen_ = 0;
  }

 private:
  friend detail::Around<Tracing, C>;
  void observe(CollectiveKind kind, std::size_t sent, const auto& body) {
    const Span::Time begin = std::chrono::steady_clock::now();
    body();
    const Span::Time end = std::chrono::steady_clock::now();
    const std::lock_guard lock(mutex_);
    const std::uint64_t number = seen_++;
    if (spans_.size() < spans_.capacity())
      spans_.push_back({.kind = kind, .number = number, .bytes = sent, .begin = begin, .end = end});
  }

  mutable std::mutex mutex_;
  std::vector<Span> spans_;
  std::uint64_t seen_ = 0;
};

}  // namespace regimen::comm
// SPDX-License-Identifier: Apache-2.0
