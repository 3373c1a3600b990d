// tests/engine/cpu/arena.hpp — tensors between guards, deterministic values, and tolerances for kernel tests.
#pragma once

#include <catch2/catch.hpp>

#include <regimen/core/number.hpp>
#include <regimen/core/philox.hpp>
#include <regimen/core/threads.hpp>
#include <regimen/core/view.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/traits.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

namespace test {

using Values = std::vector<double>;
using Sizes = std::initializer_list<std::size_t>;

template <class T>
T rounded(double value) {
  if constexpr (sizeof(T) == 2) return T(static_cast<float>(value));
  else return static_cast<T>(value);
}
template <class T>
double number(T value) {
  if constexpr (sizeof(T) == 2) return double(static_cast<float>(value));
  else return static_cast<double>(value);
}

/// Reproducible values in [-size, size), already rounded to T.
template <class T>
Values values(std::size_t count, double size = 1, std::uint64_t seed = 1) {
  Values result(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double unit = double(regimen::Philox::draw(seed, i, 0).word[0]) / 4294967296.0;
    result[i] = number(rounded<T>((2 * unit - 1) * size));
  }
  return result;
}

/// An arena whose every byte is 0xFF, which is NaN in all formats, before a tensor is put there. Nothing but tensors
/// may change: 64 bytes of guard lie between them.
class Arena {
 public:
  explicit Arena(std::size_t bytes = std::size_t{1} << 20) : bytes_(bytes, std::byte{0xFF}) {}

  template <class T>
  regimen::View<T> room(std::size_t count) {
    const regimen::View<T> view{used_};
    used_ += count * sizeof(T);
    guards_.push_back(used_);
    used_ = (used_ + 64 + 7) / 8 * 8;
    REQUIRE(used_ <= bytes_.size());
    return view;
  }
  /// The next tensor begins so many bytes past a multiple of 16, fewer than 16.
  void begin_past(std::size_t bytes) { used_ = (used_ + 15) / 16 * 16 + bytes; }
  template <class T>
  regimen::View<T> put(const Values& values) {
    const regimen::View<T> view = room<T>(values.size());
    T* const to = memory()(view);
    for (std::size_t i = 0; i < values.size(); ++i) to[i] = rounded<T>(values[i]);
    return view;
  }
  template <class T>
  Values get(regimen::View<T> view, std::size_t count) const {
    Values result(count);
    for (std::size_t i = 0; i < count; ++i) {
      T value;
      std::memcpy(&value, bytes_.data() + view.offset + i * sizeof(T), sizeof value);
      result[i] = number(value);
    }
    return result;
  }
  regimen::View<regimen::Scalars> scalars(const regimen::Scalars& value = {}) {
    const auto view = room<regimen::Scalars>(1);
    // Not the padding, whose bytes differ from one object to the next: arenas are compared byte by byte. No anomaly was
    // found.
    void* const to = memory()(view);
    std::memset(to, 0, sizeof value);
    std::memcpy(to, &value, offsetof(regimen::Scalars, apply) + sizeof value.apply);
    return view;
  }

  regimen::cpu::Memory memory() { return {bytes_.data(), bytes_.size()}; }
  /// With the scratch of an operation.
  template <class Operation>
  regimen::cpu::Memory memory_for(const Operation& operation) {
    regimen::cpu::Memory memory = this->memory();
    memory.scratch = room<std::byte>(regimen::cpu::Traits::scratch(operation)).offset;
    return memory;
  }
  regimen::op::Drop drop(std::uint32_t threshold, std::uint64_t stream, const regimen::op::Random& random = {}) {
    const auto view = room<regimen::op::Random>(1);
    *memory()(view) = random;
    return {threshold, stream, view};
  }
  bool guards_hold() const {
    for (const std::size_t begin : guards_) {
      for (std::size_t i = begin; i < begin + 56; ++i) {
        if (bytes_[i] != std::byte{0xFF}) return false;
      }
    }
    return true;
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
  std::vector<std::size_t> guards_;
  std::size_t used_ = 0;
};

/// Rounding a number of this size to T: half a unit in the last place, and half the smallest subnormal of fp16.
template <class T>
double rounding_of(double value) {
  return regimen::epsilon_of<T> / 2 * std::fabs(value) + (std::is_same_v<T, regimen::fp16> ? 0x1p-25 : 0);
}

/// How often |actual − expected| exceeds tolerance(i), NaN included. 0 is a pass.
template <class Tolerance>
std::size_t misses(const Values& actual, const Values& expected, const Tolerance& tolerance) {
  REQUIRE(actual.size() == expected.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (std::fabs(actual[i] - expected[i]) <= tolerance(i)) continue;
    if (wrong++ == 0)
      UNSCOPED_INFO("element " << i << ": " << actual[i] << " instead of " << expected[i] << " ± " << tolerance(i));
  }
  return wrong;
}

/// The arena after `run(arena)`, computed by this many threads.
template <class Run>
std::vector<std::byte> bytes_after(int threads, const Run& run, std::size_t bytes = std::size_t{1} << 24) {
  const int before = regimen::thread_count();
  regimen::set_threads(threads);
  Arena arena(bytes);
  run(arena);
  regimen::set_threads(before);
  CHECK(arena.guards_hold());
  return arena.bytes();
}
template <class Run>
bool same_for_any_threads(const Run& run, std::size_t bytes = std::size_t{1} << 24) {
  const auto one = bytes_after(1, run, bytes);
  return one == bytes_after(2, run, bytes) && one == bytes_after(3, run, bytes);
}

}  // namespace test
// SPDX-License-Identifier: Apache-2.0
