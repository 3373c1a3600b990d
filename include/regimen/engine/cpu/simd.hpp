// regimen/engine/cpu/simd.hpp — registers from memory and back in every number format, and loops over them.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/engine/cpu/narrow.hpp>
#include <regimen/engine/cpu/vector.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace regimen::cpu {

/// How many lanes a load or a store touches: all of them, or as many as a std::size_t says. The rest is never accessed;
/// a load sets it to 0.
struct Whole final {};

/// The number of lanes that are accessed.
template <class S>
constexpr std::size_t lanes_used(Whole) {
  return lanes<S>;
}
template <class S>
constexpr std::size_t lanes_used(std::size_t count) {
  return count;
}

namespace detail {

/// Loads and stores a register's worth of `Element` in its memory format.
template <class Raw, class Element>
Raw read(const Element* from, Whole) {
  Raw raw;
  std::memcpy(&raw, from, sizeof raw);
  return raw;
}
template <class Raw, class Element>
void write(Raw raw, Element* to, Whole) {
  std::memcpy(to, &raw, sizeof raw);
}

template <class Raw, class Element>
Raw read(const Element* from, std::size_t count) {
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
  const unsigned mask = (1u << count) - 1u;
  if constexpr (sizeof(Raw) == 64 && sizeof(Element) == 4)
    return reinterpret_cast<Raw>(_mm512_maskz_loadu_epi32(static_cast<__mmask16>(mask), from));
  if constexpr (sizeof(Raw) == 64 && sizeof(Element) == 8)
    return reinterpret_cast<Raw>(_mm512_maskz_loadu_epi64(static_cast<__mmask8>(mask), from));
  if constexpr (sizeof(Raw) == 32 && sizeof(Element) == 4)
    return reinterpret_cast<Raw>(_mm256_maskz_loadu_epi32(static_cast<__mmask8>(mask), from));
  if constexpr (sizeof(Raw) == 32 && sizeof(Element) == 2)
    return reinterpret_cast<Raw>(_mm256_maskz_loadu_epi16(static_cast<__mmask16>(mask), from));
#endif
  constexpr std::size_t room = sizeof(Raw) / sizeof(Element);
  std::uint8_t buffer[sizeof(Raw)] = {};
  for (std::size_t i = 0; i < room && i < count; ++i)
    std::memcpy(buffer + i * sizeof(Element), from + i, sizeof(Element));
  return read<Raw>(buffer, Whole{});
}
template <class Raw, class Element>
void write(Raw raw, Element* to, std::size_t count) {
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
  const unsigned mask = (1u << count) - 1u;
  if constexpr (sizeof(Raw) == 64) {
    __m512i bits;
    std::memcpy(&bits, &raw, sizeof bits);
    if constexpr (sizeof(Element) == 4) return _mm512_mask_storeu_epi32(to, static_cast<__mmask16>(mask), bits);
    if constexpr (sizeof(Element) == 8) return _mm512_mask_storeu_epi64(to, static_cast<__mmask8>(mask), bits);
  }
  if constexpr (sizeof(Raw) == 32) {
    __m256i bits;
    std::memcpy(&bits, &raw, sizeof bits);
    if constexpr (sizeof(Element) == 4) return _mm256_mask_storeu_epi32(to, static_cast<__mmask8>(mask), bits);
    if constexpr (sizeof(Element) == 2) return _mm256_mask_storeu_epi16(to, static_cast<__mmask16>(mask), bits);
  }
#endif
  constexpr std::size_t room = sizeof(Raw) / sizeof(Element);
  std::uint8_t buffer[sizeof(Raw)];
  write(raw, buffer, Whole{});
  for (std::size_t i = 0; i < room && i < count; ++i)
    std::memcpy(to + i, buffer + i * sizeof(Element), sizeof(Element));
}

template <class S, class T>
inline constexpr bool reads_as =
    std::is_same_v<S, T> || (std::is_same_v<S, double> ? std::is_same_v<T, float> : sizeof(T) == 2);

}  // namespace detail

/// The numbers at `from`, as S: fp32 from fp32, bf16, fp16 (exactly); fp64 from fp64, fp32.
template <class S, class T, class Count = Whole>
Vector<S> load(const T* from, Count count = {}) {
  using R = detail::Register<S>;
  static_assert(
      detail::reads_as<S, T>,
      "regimen: fp32 kernels read no fp64, fp64 kernels no 16 bits; a layer in As<T, ...> needs masters that T fits");
  if constexpr (std::is_same_v<S, T>) return Vector<S>(detail::read<typename R::Native>(from, count));
  else if constexpr (std::is_same_v<S, double>)
    return Vector<S>(__builtin_convertvector(detail::read<typename R::Single>(from, count), typename R::Native));
  else if constexpr (std::is_same_v<T, bf16>) return detail::widen<8>(detail::read<typename R::Short>(from, count));
  else return detail::widen<5>(detail::read<typename R::Short>(from, count));
}

/// `value` to `to`, rounded to nearest even: to fp32, bf16, fp16 from fp32; to fp64, fp32 from fp64.
template <class S, class T, class Count = Whole>
void store(Vector<S> value, T* to, Count count = {}) {
  using R = detail::Register<S>;
  static_assert(
      detail::reads_as<S, T>,
      "regimen: fp32 kernels write no fp64, fp64 kernels no 16 bits; a layer in As<T, ...> needs masters that T fits");
  if constexpr (std::is_same_v<S, T>) detail::write(value.native, to, count);
  else if constexpr (std::is_same_v<S, double>)
    detail::write(__builtin_convertvector(value.native, typename R::Single), to, count);
  else if constexpr (std::is_same_v<T, bf16>) detail::write(detail::narrow<8>(value), to, count);
  else detail::write(detail::narrow<5>(value), to, count);
}

/// The first `count` lanes of a, and 0 in the others, for sums over a short register.
template <class S>
Vector<S> zero_tail(Vector<S> a, Whole) {
  return a;
}
template <class S>
Vector<S> zero_tail(Vector<S> a, std::size_t count) {
  typename Vector<S>::Signed lane{};
  for (std::size_t i = 0; i < lanes<S>; ++i) lane[i] = static_cast<std::int32_t>(i);
  const auto used = lane < static_cast<std::int32_t>(count);
  return Vector<S>(used ? a.native : typename Vector<S>::Native{});
}

/// body(i, count) for i = begin, begin + lanes, ... below end: count is Whole{}, and for the last, short register the
/// number of elements left. Loads and stores take both, so a loop is written once.
template <class S, class Body>
[[gnu::always_inline]] inline void for_each_vector(std::size_t begin, std::size_t end, const Body& body) {
  std::size_t i = begin;
  for (; i + lanes<S> <= end; i += lanes<S>) body(i, Whole{});
  if (i < end) body(i, end - i);
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
