// regimen/train/shared_weights.hpp — what Inferences with one set of weights have in common.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/one_thread.hpp>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <vector>

namespace regimen::train {

/// The Inferences that read one set of weights, and the state of these. Whoever predicts is inside one Inference; whoever
/// writes the weights is inside all of them. So a prediction takes no lock and shares no cache line with another one.
///
///   loaded    whether there are weights        version   counts changes; caches of older ones are invalid.
///             Both are read inside one Inference and written inside all
class SharedWeights final {
 public:
  bool loaded = false;
  std::uint64_t version = 0;

  /// Waits while the weights are written.
  [[gnu::cold]] void join(OneThread& member) {
    const std::lock_guard lock(mutex_);
    members_.push_back(&member);
  }
  [[gnu::cold]] void leave(OneThread& member) {
    const std::lock_guard lock(mutex_);
    members_.erase(std::find(members_.begin(), members_.end(), &member));
  }

  /// `member` has another thread inside.
  [[noreturn, gnu::cold, gnu::noinline]] static void refuse(const char* who, OneThread::Admission admission) {
    if (admission == OneThread::Admission::refused_by_writer)
      throw Error(who, "weights that nobody writes", "another thread that writes them",
                  "load them before the threads begin, or when they have ended");
    refuse_second_thread(who, "Inference", "give each thread an Inference of its own, which share() makes");
  }

  /// Inside all Inferences until the end of the scope.   failure   Error if another thread is in one of them
  class Writing final {
   public:
    [[gnu::cold]] Writing(SharedWeights& weights, const char* who) : weights_(weights), lock_(weights.mutex_) {
      entered_.reserve(weights_.members_.size());
      for (OneThread* const member : weights_.members_) switch (member->enter(true)) {
          case OneThread::Admission::entered:
            entered_.push_back(member);
            break;
          case OneThread::Admission::was_inside:
            break;
          default:
            leave();
            throw Error(who, "no call of an Inference that reads these weights", "one in another thread",
                        "let the threads end before, or load into another Inference that they share next");
        }
    }
    Writing(const Writing&) = delete;
    Writing& operator=(const Writing&) = delete;
    [[gnu::cold]] ~Writing() { leave(); }

   private:
    void leave() {
      for (OneThread* const member : entered_) member->leave();
    }

    SharedWeights& weights_;
    const std::lock_guard<std::recursive_mutex> lock_;  // recursive: names::load calls parameters_changed
    std::vector<OneThread*> entered_{};
  };

 private:
  std::recursive_mutex mutex_{};
  std::vector<OneThread*> members_{};
};

}  // namespace regimen::train
// SPDX-License-Identifier: Apache-2.0
