// bench/gpu/timing.hpp — an engine with random numbers in its memory, and the time that operations take on it.
#pragma once

#include <regimen/core/philox.hpp>
#include <regimen/engine/engine.hpp>
#include <regimen/policy/device.hpp>

#if defined(__CUDACC__)
#include <regimen/engine/cuda/device.cuh>
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

/// Operations run as graphs, so that gaps between launches cost nothing; the clock is the host's, around tens of
/// milliseconds of work.
class Timing {
 public:
  using Engine = engine::Of<Where>::type;

  explicit Timing(std::size_t bytes) : engine_(engine::Resources<Engine::Ranks>{.bytes = bytes}), bytes_(bytes) {}

  /// Forgets what was put.
  void clear() { used_ = 0; }

  /// Numbers in [low, high), the same for equal counts. A block of them repeats.
  template <class T>
  View<T> put(std::size_t count, double low, double high) {
    constexpr std::size_t block = std::size_t{1} << 20;
    std::vector<T> numbers(std::min(count, block));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const double number = low + (high - low) * double(Philox::draw(17, i, 0).word[0]) / 4294967296.0;
      if constexpr (std::is_integral_v<T>) numbers[i] = static_cast<T>(number);
      else numbers[i] = T(static_cast<float>(number));
    }
    const View<T> view{take(count * sizeof(T))};
    for (std::size_t at = 0; at < count; at += block)
      engine_.upload(view.offset + at * sizeof(T),
                     std::as_bytes(std::span(numbers).first(std::min(block, count - at))));
    return view;
  }
  View<Scalars> put(const Scalars& scalars) {
    const View<Scalars> view{take(sizeof scalars)};
    engine_.upload(view.offset, std::as_bytes(std::span(&scalars, 1)));
    return view;
  }

  /// Seconds of one operation: the median of five rounds.
  template <class Operation>
  double seconds(const Operation& operation) {
    const std::size_t before = used_, scratch = take(Engine::Traits::scratch(operation));
    const engine::Recording key{engine::Recording::Piece::step, ++recordings_};
    const auto launch = [&](std::size_t times) {
      for (std::size_t i = 0; i < times; ++i)
        engine_.replay(key, [&] {
          for (int repeat = 0; repeat < in_graph; ++repeat) engine_.run(operation, scratch);
        });
      std::array<std::byte, 8> word{};
      engine_.download(0, word).wait();
    };
    launch(3);
    double once = now();
    launch(1);
    once = now() - once;
    const auto times = std::clamp<std::size_t>(static_cast<std::size_t>(0.03 / once), 1, 1000);
    std::array<double, 5> rounds{};
    for (double& round : rounds) {
      const double began = now();
      launch(times);
      round = (now() - began) / double(times * in_graph);
    }
    std::sort(rounds.begin(), rounds.end());
    used_ = before;
    return rounds[2];
  }

 private:
  static constexpr int in_graph = 4;

  std::size_t take(std::size_t bytes) {
    const std::size_t at = used_;
    used_ = (used_ + bytes + 255) / 256 * 256;
    if (used_ > bytes_) throw Error("bench", "at most " + std::to_string(bytes_) + " bytes", std::to_string(used_));
    return at;
  }

  Engine engine_;
  std::size_t bytes_, used_ = 0, recordings_ = 0;
};

/// main of a benchmark: `--small` for a test. Exit code 77, and one sentence, without a device.
inline int run(int argc, char** argv, void (*body)(bool)) try {
  body(argc == 2 && std::string_view(argv[1]) == "--small");
  return 0;
} catch (const std::exception& error) { return exit_code(error); }

}  // namespace bench
// SPDX-License-Identifier: Apache-2.0
