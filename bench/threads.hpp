// bench/threads.hpp — an Inference in threads: what refusing a second thread costs a call, and what two threads serve.
#pragma once

#include <regimen/core/one_thread.hpp>
#include <regimen/regimen.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bench {

struct Controller : regimen::Model<regimen::Input<regimen::Vector<24>>, regimen::Linear<256>, regimen::Relu,
                                   regimen::Linear<256>, regimen::Relu, regimen::Linear<6>> {};
using Predictor = regimen::Inference<Controller, regimen::Batch<1>>;

inline Predictor controller() {
  Predictor model(1);
  std::uint64_t index = 0;
  for (const regimen::HeldParameter& parameter : model.parameters())
    for (float& value : parameter.values<float>()) value = float(regimen::Philox::mix(7, index++) % 2001) / 2000 - 0.5f;
  model.parameters_changed();
  return model;
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Seconds of this thread on a processor: what else the machine does matters little to them.
template <class Work>
double processor_seconds(const Work& work) {
  const auto now = [] {
    std::timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
  };
  const double began = now();
  work();
  return now() - began;
}

/// To enter a OneThread and to leave it, as every call does once, and a call.   Seconds on a processor, in turns.
struct Check final {
  std::vector<double> check{}, call{};

  double share() const { return median(check) / median(call); }

  explicit Check(std::size_t rounds) {
    Predictor model = controller();
    const std::vector<float> input(24, 0.5f);
    regimen::OneThread one;
    for (std::size_t round = 0; round <= rounds; ++round) {
      constexpr std::size_t calls = 100, checks = 20'000;
      const double of_calls = processor_seconds([&] {
                                for (std::size_t i = 0; i < calls; ++i) model.predict(input);
                              }) /
                              calls,
                   of_checks = processor_seconds([&] {
                                 for (std::size_t i = 0; i < checks; ++i) {
                                   const regimen::OneThread::Scope scope(one, [](regimen::OneThread::Admission) {});
                                   std::atomic_signal_fence(std::memory_order_seq_cst);
                                 }
                               }) /
                               checks;
      if (round == 0) continue;  // touches all memory
      call.push_back(of_calls);
      check.push_back(of_checks);
    }
  }
};

/// Two threads with Inferences that share weights beside one alone, and two processes, which share nothing and show how much of
/// two processors there was. A round has all three, one after the other.
///   calls, apart_calls   how many times as much two do in a second
///   …by_processor        how much each of two does in a second on a processor, in parts of what one alone does
///   waits                how often one of two threads gave up its processor: for a lock, if there were one
struct Pair final {
  std::vector<double> calls{}, apart_calls{}, by_processor{}, apart_by_processor{};
  std::size_t waits = 0, served = 0;

  explicit Pair(std::size_t rounds) {
    Predictor first = controller(), second = first.share(1);
    const auto serve = [](Predictor& model, const std::atomic<bool>& stop) {
      const std::vector<float> input(24, 0.5f);
      std::uint64_t done = 0;
      for (; !stop.load(std::memory_order_relaxed); ++done) model.predict(input);
      return done;
    };
    for (std::size_t round = 0; round < rounds; ++round) {
      const Done alone = done_by([&](const auto& stop) { return serve(first, stop); }),
                 both = done_by([&](const auto& stop) { return serve(first, stop); },
                                [&](const auto& stop) { return serve(second, stop); }),
                 both_apart = done_by_processes([&](const auto& stop) { return serve(first, stop); });
      calls.push_back(both.a_second / alone.a_second);
      apart_calls.push_back(both_apart.a_second / alone.a_second);
      by_processor.push_back(both.a_processor_second / alone.a_processor_second);
      apart_by_processor.push_back(both_apart.a_processor_second / alone.a_processor_second);
      waits += both.waits;
      served += both.count;
    }
  }

 private:
  struct Done {
    double a_second, a_processor_second;
    std::size_t waits, count;
  };
  /// What all works do in a tenth of a second.
  template <class... Work>
  static Done done_by(const Work&... work) {
    std::atomic<bool> stop{false};
    std::mutex mutex;
    Done all{0, 0, 0, 0};
    double processor = 0;
    std::vector<std::thread> threads;
    const auto began = std::chrono::steady_clock::now();
    const auto count = [&](const auto& one) {
      const auto times_waited = [] {
        ::rusage usage{};
        ::getrusage(RUSAGE_THREAD, &usage);
        return static_cast<std::size_t>(usage.ru_nvcsw);
      };
      const std::size_t before = times_waited();
      std::uint64_t done = 0;
      const double seconds = processor_seconds([&] { done = one(stop); });
      const std::size_t waited = times_waited() - before;
      const std::lock_guard lock(mutex);
      processor += seconds;
      all.waits += waited;
      all.count += done;
    };
    (threads.emplace_back([&] { count(work); }), ...);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop = true;
    for (std::thread& thread : threads) thread.join();
    all.a_second = double(all.count) / std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    all.a_processor_second = double(all.count) / processor;
    return all;
  }
  /// What a work does in each of two processes.
  template <class Work>
  static Done done_by_processes(const Work& work) {
    struct Shared {
      std::atomic<bool> stop{false};
      double processor[2]{};
      std::uint64_t done[2]{};
    };
    const auto unmap = [](Shared* at) { ::munmap(at, sizeof(Shared)); };
    void* const memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw regimen::Error("bench::Pair", "memory for two processes", "none");
    const std::unique_ptr<Shared, decltype(unmap)> shared(new (memory) Shared, unmap);
    const auto began = std::chrono::steady_clock::now();
    ::pid_t processes[2];
    for (std::size_t i = 0; i < 2; ++i) {
      processes[i] = ::fork();
      if (processes[i] < 0) throw regimen::Error("bench::Pair", "another process", "none");
      if (processes[i] == 0) {
        shared->processor[i] = processor_seconds([&] { shared->done[i] = work(shared->stop); });
        std::_Exit(0);
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    shared->stop = true;
    for (const ::pid_t process : processes) ::waitpid(process, nullptr, 0);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    const auto count = static_cast<std::size_t>(shared->done[0] + shared->done[1]);
    return {double(count) / seconds, double(count) / (shared->processor[0] + shared->processor[1]), 0, count};
  }
};

}  // namespace bench
// SPDX-License-Identifier: Apache-2.0
