// tests/comm/conformance.hpp — what every communicator must do, bit for bit; run by each rank, in whatever it is.
#pragma once

#include <regimen/comm/communicator.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace conformance {

/// Ranks are threads or processes: an exception travels where an assertion of Catch2 does not.
template <class What>
void check(bool right, const What& what) {
  if (right) return;
  if constexpr (requires { what(); }) {  // words that are made only when they are needed
    throw std::runtime_error("not conforming: " + what());
  } else {
    throw std::runtime_error(std::string("not conforming: ") + what);
  }
}

/// Element i of rank r: signs and sizes differ enough that the order of a sum shows in its bits.
template <class T>
T value(std::size_t rank, std::size_t i, std::size_t salt) {
  std::uint64_t bits =
      (rank + 1) * 0x9E37'79B9'7F4A'7C15u + (i + 1) * 0xC2B2'AE3D'27D4'EB4Fu + salt * 0x1656'67B1'9E37'79F9u;
  bits = (bits ^ (bits >> 29)) * 0xBF58'476D'1CE4'E5B9u;
  bits ^= bits >> 32;
  const std::uint64_t exponent = 1023 - 6 + (bits >> 40) % 13;  // from 2^-6 to 2^6
  const double number =
      std::bit_cast<double>((bits & 0x8000'0000'0000'0000u) | exponent << 52 | (bits & 0xFFFF'FFFFu) << 20);
  if constexpr (std::is_same_v<T, double>) {
    return number;
  } else {
    return T(static_cast<float>(number));
  }
}

/// The definition: places [first, last) are cut where the left part is the largest power of two that leaves a right
/// part. Place p is rank start + p · stride.
template <class T>
regimen::statistic_t<T> defined_sum(std::size_t first, std::size_t last, std::size_t i, std::size_t salt,
                                    std::size_t start = 0, std::size_t stride = 1) {
  using Sum = regimen::statistic_t<T>;
  if (last == first + 1) return static_cast<Sum>(value<T>(start + first * stride, i, salt));
  std::size_t left = 1;
  while (2 * left < last - first) left *= 2;
  const Sum a = defined_sum<T>(first, first + left, i, salt, start, stride),
            b = defined_sum<T>(first + left, last, i, salt, start, stride);
  return a + b;
}
template <class T>
T expected_sum(std::size_t ranks, std::size_t i, std::size_t salt) {
  return T(defined_sum<T>(0, ranks, i, salt));
}

template <class T>
bool same_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

/// Staging of exactly the promised size, and a guard behind it.
class Staging final {
 public:
  explicit Staging(std::size_t bytes) : bytes_(bytes), memory_(bytes + 128 + 64, std::byte{0x5A}) {}
  std::byte* data() {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    return memory_.data() + ((64 - address % 64) % 64);
  }
  void check_guard() {
    for (std::size_t i = 0; i < 64; ++i)
      check(data()[bytes_ + i] == std::byte{0x5A}, "staging is written beyond staging_bytes");
  }

 private:
  std::size_t bytes_;
  std::vector<std::byte> memory_;
};

template <class C>
void gathers(C& ranks, std::size_t bytes, bool in_place, bool small) {
  const std::size_t n = ranks.size(), me = ranks.rank();
  std::vector<unsigned char> own(bytes), all(n * bytes + 1, 0xEE);
  const auto byte_of = [&](std::size_t r, std::size_t i) {
    return static_cast<unsigned char>(value<float>(r, i, bytes) * 16);
  };
  unsigned char* const from = in_place ? all.data() + me * bytes : own.data();
  for (std::size_t i = 0; i < bytes; ++i) from[i] = byte_of(me, i);
  const auto* const in = reinterpret_cast<const std::byte*>(from);
  auto* const out = reinterpret_cast<std::byte*>(all.data());
  small ? ranks.all_gather_small(in, out, bytes) : ranks.all_gather(in, out, bytes);
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t i = 0; i < bytes; ++i) {
      check(all[r * bytes + i] == byte_of(r, i), [&] {
        return "all_gather of " + std::to_string(bytes) + " bytes: byte " + std::to_string(i) + " of rank " +
               std::to_string(r) + " on rank " + std::to_string(me);
      });
    }
  }
  check(all.back() == 0xEE, "all_gather writes beyond its end");
}

template <class T, class C>
void reduces(C& ranks, std::size_t count, bool in_place) {
  const std::size_t n = ranks.size(), me = ranks.rank(), salt = count + sizeof(T);
  std::vector<T> all(n * count), own(count + 1);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = value<T>(me, i, salt);
  Staging staging(C::staging_bytes(n, count * sizeof(T)));
  T* const out = in_place ? all.data() + me * count : own.data();
  ranks.reduce_scatter(static_cast<const T*>(all.data()), out, count, staging.data());
  const auto what = [&] {
    return std::string("reduce_scatter of ") + regimen::name_of<T> + " x " + std::to_string(count) + " on rank " +
           std::to_string(me);
  };
  for (std::size_t i = 0; i < count; ++i) {
    check(same_bits(out[i], expected_sum<T>(n, me * count + i, salt)),
          [&] { return what() + ": element " + std::to_string(i); });
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (in_place && i / count == me) continue;
    check(same_bits(all[i], value<T>(me, i, salt)), [&] { return what() + ": an input was changed"; });
  }
  staging.check_guard();
}

/// Teams of neighbours and of those at the same place among neighbours: what each team would do alone, the tree over
/// places.
template <class T, class C>
void in_teams(C& ranks, std::size_t count) {
  const std::size_t n = ranks.size(), me = ranks.rank();
  for (std::size_t size = 1; size <= n; ++size) {
    if (n % size != 0) continue;
    for (const bool neighbours : {true, false}) {
      const std::size_t stride = neighbours ? 1 : n / size, first = neighbours ? me / size * size : me % stride;
      const regimen::comm::Teams teams{size, stride};
      const std::size_t place = (me - first) / stride, salt = 7 * count + size + stride;
      check(teams.members(n) == size && teams.place(me) == place && teams.member(me, place) == me,
            "a rank has its place in its team");
      std::vector<T> all(size * count + 1), sums(count), own(count);
      for (std::size_t i = 0; i < size * count; ++i) all[i] = value<T>(me, i, salt);
      Staging staging(C::staging_bytes(size, count * sizeof(T)));
      ranks.reduce_scatter(static_cast<const T*>(all.data()), sums.data(), count, staging.data(), teams);
      staging.check_guard();
      for (std::size_t i = 0; i < count; ++i) {
        const T expected = T(defined_sum<T>(0, size, place * count + i, salt, first, stride));
        check(same_bits(sums[i], expected), "reduce_scatter in teams");
      }
      for (std::size_t i = 0; i < count; ++i) own[i] = value<T>(me, i, salt + 1);
      all.back() = T(7.0f);
      ranks.all_gather(reinterpret_cast<const std::byte*>(own.data()), reinterpret_cast<std::byte*>(all.data()),
                       count * sizeof(T), teams);
      for (std::size_t p = 0; p < size; ++p)
        for (std::size_t i = 0; i < count; ++i)
          check(same_bits(all[p * count + i], value<T>(first + p * stride, i, salt + 1)), "all_gather in teams");
      check(same_bits(all.back(), T(7.0f)), "all_gather in teams writes beyond its end");
    }
  }
}

template <class T, class C>
void sums(C& ranks) {
  for (const std::size_t count : {0u, 1u, 3u, 64u, 513u, 1000u}) {
    for (const bool in_place : {false, true}) reduces<T>(ranks, count, in_place);
  }
}

/// Many in a row, of all kinds, without a pause: ranks run apart, and a message of one must not be taken for another's.
template <class C>
void row(C& ranks, std::size_t turns) {
  for (std::size_t turn = 0; turn < turns; ++turn) {
    switch (turn % 5) {
      case 0:
        gathers(ranks, turn % 37, turn % 2 == 0, false);
        break;
      case 1:
        reduces<float>(ranks, turn % 23, turn % 2 == 0);
        break;
      case 2:
        gathers(ranks, turn % 11, turn % 2 == 0, true);
        break;
      case 3:
        in_teams<float>(ranks, turn % 19);
        break;
      default:
        ranks.barrier();
        break;
    }
  }
}

/// The whole suite. `turns` and `large` are smaller where a sanitizer or a process per rank makes things slow.
template <regimen::comm::Collectives C>
void conform(C& ranks, std::size_t turns = 200, std::size_t large = (std::size_t{1} << 18) + 777) {
  check(ranks.rank() < ranks.size(), "rank() < size()");
  for (const std::size_t bytes : {0u, 1u, 64u, 1001u}) {
    for (const bool in_place : {false, true}) {
      gathers(ranks, bytes, in_place, false);
      gathers(ranks, bytes, in_place, true);
    }
  }
  sums<float>(ranks);
  sums<double>(ranks);
  sums<regimen::bf16>(ranks);
  sums<regimen::fp16>(ranks);
  for (const std::size_t count : {0u, 1u, 513u}) {
    in_teams<float>(ranks, count);
    in_teams<regimen::bf16>(ranks, count);
  }
  row(ranks, turns);
  // Larger than a chunk of 1 MiB, and no multiple of it.
  gathers(ranks, 5 * large, true, false);
  reduces<float>(ranks, large, true);
  reduces<double>(ranks, large, false);
  ranks.barrier();
}

/// How many ranks a world has in these tests.
inline constexpr std::array<std::size_t, 6> worlds{1, 2, 3, 4, 6, 8};

}  // namespace conformance
