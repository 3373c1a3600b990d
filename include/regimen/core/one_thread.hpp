// regimen/core/one_thread.hpp — admits one thread at a time to an object.
#pragma once

#include <regimen/core/error.hpp>

#include <atomic>
#include <cstdint>
#include <string>

namespace regimen {

namespace detail {
inline thread_local std::uint64_t mark_of_thread = 0;  // its address tells threads apart
}  // namespace detail

/// The thread that is inside an object whose members one thread at a time may call. That thread may enter again, as a
/// callback of fit does.
///
/// cost   to enter and to leave: one exchange and one store
class alignas(64) OneThread final {
 public:
  OneThread() = default;
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

  /// refused_by_writer: the thread inside has said that it writes what others read.
  enum class Admission : unsigned char { entered, was_inside, refused, refused_by_writer };
  /// Who has entered must leave.
  Admission enter(bool writes = false) {
    const auto self = reinterpret_cast<std::uintptr_t>(&detail::mark_of_thread);
    std::uintptr_t inside = inside_.load(std::memory_order_relaxed);
    if ((inside & ~writer) == self) return Admission::was_inside;
    inside = 0;
    if (inside_.compare_exchange_strong(inside, self | (writes ? writer : 0), std::memory_order_acquire,
                                        std::memory_order_relaxed))
      return Admission::entered;
    return (inside & writer) != 0 ? Admission::refused_by_writer : Admission::refused;
  }
  void leave() { inside_.store(0, std::memory_order_release); }

  /// Inside until the end of the scope.   failure   refuse(admission), which throws, if another thread is inside
  class Scope final {
   public:
    template <class Refuse>
    Scope(OneThread& of, const Refuse& refuse) : of_(of), admission_(of.enter()) {
      if (admission_ != Admission::entered && admission_ != Admission::was_inside) refuse(admission_);
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
  static constexpr std::uintptr_t writer = 1;  // a bit that no address of a mark has

  std::atomic<std::uintptr_t> inside_{0};
};

/// `object`: "Inference", "Trainer"
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_second_thread(const char* who, const char* object,
                                                                        const char* cure) {
  throw Error(who, "one thread at a time", std::string("a second one, while the first is in a call of this ") + object,
              cure);
}

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
