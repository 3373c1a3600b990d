// regimen/core/one_thread.hpp — admits one thread at a time to an object.
#pragma once

#include <regimen/core/error.hpp>

#include <atomic>
#include <string>
#include <thread>

namespace regimen {

/// The thread that is inside an object whose members one thread at a time may call. That thread may enter again, as a
/// callback of fit does.
///
/// cost   to enter and to leave: one exchange and one store
class alignas(64) OneThread final {
 public:
  OneThread() = default;
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

  enum class Admission : unsigned char { entered, was_inside, refused };
  /// Who has entered must leave.
  Admission enter() {
    const std::thread::id self = std::this_thread::get_id();
    if (inside_.load(std::memory_order_relaxed) == self) return Admission::was_inside;
    std::thread::id nobody{};
    return inside_.compare_exchange_strong(nobody, self, std::memory_order_acquire, std::memory_order_relaxed)
               ? Admission::entered
               : Admission::refused;
  }
  void leave() { inside_.store(std::thread::id{}, std::memory_order_release); }

  /// Inside until the end of the scope.   failure   refuse(), which throws, if another thread is inside
  class Scope final {
   public:
    template <class Refuse>
    Scope(OneThread& of, const Refuse& refuse) : of_(of), admission_(of.enter()) {
      if (admission_ == Admission::refused) refuse();
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() {
      if (admission_ == Admission::entered) of_.leave();
    }

   private:
    OneThread& of_;
    Admission admission_;
  };

 private:
  std::atomic<std::thread::id> inside_{};
};

/// `object`: "Inference", "Trainer"
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_second_thread(const char* who, const char* object,
                                                                        const char* cure) {
  throw Error(who, "one thread at a time", std::string("a second one, while the first is in a call of this ") + object,
              cure);
}

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
