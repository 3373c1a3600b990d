// One thread at a time is inside; the same thread may enter again.
#include "support/catch.hpp"

#include <regimen/core/one_thread.hpp>

#include <stdexcept>
#include <thread>

using regimen::OneThread;

namespace {
OneThread::Admission of_another_thread(OneThread& one) {
  OneThread::Admission found{};
  std::thread([&] {
    found = one.enter();
    if (found == OneThread::Admission::entered) one.leave();
  }).join();
  return found;
}
}  // namespace

TEST_CASE("a second thread is refused until the first has left, also by an exception") {
  OneThread one;
  CHECK(of_another_thread(one) == OneThread::Admission::entered);
  const auto refuse = [](OneThread::Admission) { throw std::runtime_error("refused"); };
  {
    const OneThread::Scope outer(one, refuse);
    {
      const OneThread::Scope inner(one, refuse);
      CHECK(one.enter() == OneThread::Admission::was_inside);
    }
    CHECK(of_another_thread(one) == OneThread::Admission::refused);  // the inner scope left nothing
    std::thread([&] { CHECK_THROWS(OneThread::Scope(one, refuse)); }).join();
    CHECK(of_another_thread(one) == OneThread::Admission::refused);  // whoever was refused has not freed it
  }
  CHECK(of_another_thread(one) == OneThread::Admission::entered);
  try {
    const OneThread::Scope scope(one, refuse);
    throw 1;
  } catch (int) {}
  CHECK(of_another_thread(one) == OneThread::Admission::entered);
  CHECK(one.enter(true) == OneThread::Admission::entered);
  CHECK(one.enter() == OneThread::Admission::was_inside);
  CHECK(of_another_thread(one) == OneThread::Admission::refused_by_writer);
  one.leave();
  CHECK(of_another_thread(one) == OneThread::Admission::entered);
}
// SPDX-License-Identifier: Apache-2.0
