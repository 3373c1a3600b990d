// regimen/trainers/shared_weights.ipp — the bodies of shared_weights.hpp.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/trainers/shared_weights.hpp>

#include <algorithm>

namespace regimen::trainers {

REGIMEN_INLINE void SharedWeights::join(OneThread& member) {
  const std::lock_guard lock(mutex_);
  members_.push_back(&member);
}

REGIMEN_INLINE void SharedWeights::leave(OneThread& member) {
  const std::lock_guard lock(mutex_);
  members_.erase(std::find(members_.begin(), members_.end(), &member));
}

REGIMEN_INLINE void SharedWeights::refuse(const char* who, OneThread::Admission admission) {
  if (admission == OneThread::Admission::refused_by_writer)
    throw Error(who, "weights that nobody writes", "another thread that writes them",
                "load them before the threads begin, or when they have ended");
  refuse_second_thread(who, "Inference", "give each thread an Inference of its own, which share() makes");
}

REGIMEN_INLINE SharedWeights::Writing::Writing(SharedWeights& weights, const char* who)
    : weights_(weights), lock_(weights.mutex_) {
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

REGIMEN_INLINE void SharedWeights::Writing::leave() {
  for (OneThread* const member : entered_) member->leave();
}

}  // namespace regimen::trainers
// SPDX-License-Identifier: Apache-2.0
