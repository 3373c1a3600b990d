// regimen/trainers/launches.hpp — the steps of a Trainer: checks of their thread, their order and their batches; steps
// that have started and may still be running, and their results.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/function_ref.hpp>
#include <regimen/core/one_thread.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/data/batching.hpp>
#include <regimen/trainers/result.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace regimen::trainers {

/// The call that a hand-written loop must make next. forward: or a whole step. average: inside with_average no call
/// that trains or saves is possible.
enum class Waiting { forward, backward, apply, average };

[[noreturn, gnu::cold]] void in_average(const std::string& who);
[[noreturn, gnu::cold]] void out_of_order(Waiting waiting, const char* what);

[[noreturn, gnu::cold]] void in_callback(const char* who);

/// Runs body(), and throws what it throws; before that, gives the words of it to give_up.
void guard(FunctionRef<void()> body, FunctionRef<void(const std::string&)> give_up);

/// Held while a member of a Trainer runs.   failure   Error, if another thread is in one
[[nodiscard]] inline OneThread::Scope enter_trainer(OneThread& one, const char* who) {
  return {one, [who](OneThread::Admission) {
            refuse_second_thread(
                who, "Trainer",
                "let one thread call it; for predictions give each other thread an Inference of a saved state");
          }};
}

/// Held while a member of the Trainer runs operations, or accesses memory of the engine: no other thread is in a
/// member, and this thread has the engine's device and number of threads. fit holds only enter_trainer between its
/// steps, so that callbacks run with the thread's own.
template <class Session, class Scope>
struct Entry final {
  Session& session;
  OneThread::Scope thread;
  Scope scope;
};

/// Throws Error unless Hybrid's groups divide the ranks.   group   ranks of one; 0: there are none
void check_groups(std::size_t group, std::size_t ranks);
/// Throws Error unless there are as many ranks as World says.
[[gnu::cold]] void check_world(std::size_t world, std::size_t ranks);
/// Says with which kernels and libraries this rank computes.
[[gnu::cold]] void say_arithmetic(std::size_t rank, std::size_t ranks, const std::string& description);

/// The number of samples of a batch; throws Error unless it is 1 to `limit` whole samples.
template <class Session>
std::size_t check_batch(const char* where, std::size_t inputs, std::size_t targets, std::size_t limit) {
  constexpr std::size_t input_size = Session::input_size, target_size = Session::target_size;
  const std::size_t samples = inputs / input_size;
  if (inputs == samples * input_size && targets == samples * target_size && samples > 0 && samples <= limit)
    return samples;
  throw Error(where,
              "1 to " + regimen::detail::counted(limit, "sample") + " of " +
                  regimen::detail::counted(input_size, "input") + " and " +
                  regimen::detail::counted(target_size, "target"),
              regimen::detail::counted(inputs, "input") + " and " + regimen::detail::counted(targets, "target"));
}

/// A batch of so many samples for which the device lacks something.
[[noreturn, gnu::cold]] void refuse_rows(std::size_t rows, std::size_t batch, const Error& error, const char* cure);

/// Throws Error if Debug<Anomaly> found something.
void expect_finite(const Scalars& s);

/// Steps that started together.
struct StartedSteps {
  std::uint64_t last = 0;  // the number of the last step
  std::size_t count = 0, samples = 0;
  DataPlace place{};               // where they began to read
  double started = 0, waited = 0;  // seconds; for data
};
/// The host gets each step's scalars when it has run.
template <class Engine, std::size_t most>
struct Launch final : StartedSteps {
  std::array<Scalars, most> scalars{};
  typename Engine::Fence read{};
};
/// The last two launches, of up to `most` steps each: the newer one may start before the results of the older one are
/// read.
template <class Engine, std::size_t most>
struct Launches final {
  Launch<Engine, most> of[2]{};
  std::size_t count = 0;                         // since the beginning
  std::array<StepResult, most> results{};        // of the last that was read
  double started = 0, waited = 0, finished = 0;  // waited: of the step that begins, for data

  Launch<Engine, most>& next() { return of[count++ % 2]; }
};

/// Resident bytes of this process; 0 if unknown.
[[gnu::cold]] std::size_t resident_bytes();

/// The results of steps that have run; Error if Debug<Anomaly> found something in them.
///   before, end   the times when the steps before them ended, and when these steps ended
void write_results(const StartedSteps& steps, std::span<const Scalars> scalars, std::size_t ranks, double before,
                   double end, std::span<StepResult> results);

}  // namespace regimen::trainers

#if !REGIMEN_COMPILED
#include <regimen/trainers/launches.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
