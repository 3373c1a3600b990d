// bench/gpu/timing.hpp — an engine with random numbers in its memory, and the time that operations take on it.
#pragma once

#include <regimen/core/philox.hpp>
#include <regimen/engine/engine.hpp>
#include <regimen/policy/device.hpp>

#if defined(__CUDACC__)
#include <regimen/engine/cuda/device.hpp>
#else
// Without nvcc the same programs run on the host: for tests, not for timing.
#include <regimen/engine/emulated/device.hpp>
#endif

#include "exit_code.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <time.h>

namespace bench {
using namespace regimen;

#if defined(__CUDACC__)
using Where = Cuda;
#else
using Where = Emulated;
#endif

/// Whether an attempt has failed.
inline bool any_failed = false;

inline double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

template <class T>
inline constexpr const char* name_of = [] {
  if constexpr (std::is_same_v<T, bf16>) return "bf16";
  else if constexpr (std::is_same_v<T, fp16>) return "fp16";
  else if constexpr (std::is_same_v<T, tf32>) return "tf32";
  else return sizeof(T) == 8 ? "fp64" : "fp32";
}();

/// At most `count` numbers in [low, high), always the same; at most a block of them.
template <class T>
std::vector<T> random_numbers(std::size_t count, double low, double high) {
  std::vector<T> numbers(std::min(count, std::size_t{1} << 20));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double number = low + (high - low) * double(Philox::draw(17, i, 0).word[0]) / 4294967296.0;
    if constexpr (std::is_integral_v<T>) numbers[i] = static_cast<T>(number);
    else numbers[i] = T(static_cast<float>(number));
  }
  return numbers;
}

/// Seconds of one of the `each` parts of a launch: the median of five rounds of some tens of milliseconds. The clock is
/// the host's.
///   launch(times)   queues so many launches, and waits for the last
template <class Launch>
double median_seconds(std::size_t each, const Launch& launch) {
  launch(3);
  double once = now();
  launch(1);
  once = now() - once;
  const auto times = std::clamp<std::size_t>(static_cast<std::size_t>(0.03 / once), 1, 1000);
  std::array<double, 5> rounds{};
  for (double& round : rounds) {
    const double began = now();
    launch(times);
    round = (now() - began) / double(times * each);
  }
  std::sort(rounds.begin(), rounds.end());
  return rounds[2];
}

/// Operations in one graph, so that gaps between launches cost nothing.
inline constexpr int in_graph = 4;

/// Operations of an engine, in memory that holds random numbers.
template <class Engine>
class TimingOn {
 public:
  explicit TimingOn(std::size_t bytes)
      : engine_(engines::Resources<typename Engine::Ranks>{.bytes = bytes}), bytes_(bytes) {}

  /// Forgets what was put.
  void clear() { used_ = 0; }

  /// Numbers in [low, high), the same for equal counts. A block of them repeats.
  template <class T>
  View<T> put(std::size_t count, double low, double high) {
    const std::vector<T> numbers = random_numbers<T>(count, low, high);
    const View<T> view{take(count * sizeof(T))};
    for (std::size_t at = 0; at < count; at += numbers.size())
      engine_.upload(view.offset + at * sizeof(T),
                     std::as_bytes(std::span(numbers).first(std::min(numbers.size(), count - at))));
    return view;
  }
  View<Scalars> put(const Scalars& scalars) {
    const View<Scalars> view{take(sizeof scalars)};
    engine_.upload(view.offset, std::as_bytes(std::span(&scalars, 1)));
    return view;
  }

  template <class Operation>
  double seconds(const Operation& operation) {
    const std::size_t before = used_, scratch = take(Engine::Traits::scratch(operation));
    const engines::Recording key{engines::Recording::Piece::step, ++recordings_};
    const double found = median_seconds(in_graph, [&](std::size_t times) {
      for (std::size_t i = 0; i < times; ++i)
        engine_.replay(key, [&] {
          for (int repeat = 0; repeat < in_graph; ++repeat) engine_.run(operation, scratch);
        });
      std::array<std::byte, 8> word{};
      engine_.download(0, word).wait();
    });
    used_ = before;
    return found;
  }

 private:
  std::size_t take(std::size_t bytes) {
    const std::size_t at = used_;
    used_ = (used_ + bytes + 255) / 256 * 256;
    if (used_ > bytes_) throw Error("bench", "at most " + std::to_string(bytes_) + " bytes", std::to_string(used_));
    return at;
  }

  Engine engine_;
  std::size_t bytes_, used_ = 0, recordings_ = 0;
};
using Timing = TimingOn<engines::Of<Where>::type>;

/// f(), in whose place an Error is one JSON object: what one row cannot do hides no other. True if it succeeded.
template <class F>
bool attempt(const std::string& what, const F& f) {
  try {
    f();
    return true;
  } catch (const std::exception& error) {
    if (exit_code_of(error) == skipped) throw;  // there is no device: no row can do anything
    std::printf("{\"failed\":\"%s\",\"error\":\"%s\"}\n", in_json(what).c_str(), in_json(error.what()).c_str());
    std::fflush(stdout);
    any_failed = true;
    return false;
  }
}

/// main of a benchmark: `--small` for a test. Exit code 77, and one sentence, without a device; 1 if a row has failed.
inline int run(int argc, char** argv, void (*body)(bool)) try {
  body(argc == 2 && std::string_view(argv[1]) == "--small");
  return any_failed ? 1 : 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return exit_code_of(error);
}

}  // namespace bench
// SPDX-License-Identifier: Apache-2.0
