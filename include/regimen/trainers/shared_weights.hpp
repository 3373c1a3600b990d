// regimen/trainers/shared_weights.hpp — the common state of Inferences with one set of weights.
#pragma once

#include <regimen/core/one_thread.hpp>

#include <cstdint>
#include <mutex>
#include <vector>

namespace regimen::trainers {

/// The Inferences that read one set of weights, and the state of these weights. One thread at a time is inside an
/// Inference: a thread that predicts enters its own Inference, a thread that writes the weights enters all of them. So
/// a prediction takes no lock, and shares no cache line with a prediction by another Inference.
///
///   loaded    whether there are weights        version   counts changes; caches of older ones are invalid.
///             Both are read inside one Inference and written inside all
class SharedWeights final {
 public:
  bool loaded = false;
  std::uint64_t version = 0;

  /// Waits while the weights are written.
  [[gnu::cold]] void join(OneThread& member);
  [[gnu::cold]] void leave(OneThread& member);

  /// `member` has another thread inside.
  [[noreturn, gnu::cold]] static void refuse(const char* who, OneThread::Admission admission);

  /// Inside all Inferences until the end of the scope.   failure   Error if another thread is in one of them
  class Writing final {
   public:
    [[gnu::cold]] Writing(SharedWeights& weights, const char* who);
    Writing(const Writing&) = delete;
    Writing& operator=(const Writing&) = delete;
    [[gnu::cold]] ~Writing() { leave(); }

   private:
    void leave();

    SharedWeights& weights_;
    const std::lock_guard<std::recursive_mutex> lock_;  // recursive: names::load calls parameters_changed
    std::vector<OneThread*> entered_{};
  };

 private:
  std::recursive_mutex mutex_{};
  std::vector<OneThread*> members_{};
};

}  // namespace regimen::trainers

#if !REGIMEN_COMPILED
#include <regimen/trainers/shared_weights.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
