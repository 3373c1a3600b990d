// regimen/core/crc32c.hpp — the checksum of TFRecord files: CRC-32C, plain and masked; what frames their records.
#pragma once

#include <regimen/core/little.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace regimen {

namespace detail {

/// For each byte, the remainder of that byte followed by zeros, of the reflected polynomial 0x82F63B78.
inline constexpr std::array<std::uint32_t, 256> crc32c_table = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest & 1) != 0 ? rest >> 1 ^ 0x82F6'3B78u : rest >> 1;
    table[byte] = rest;
  }
  return table;
}();

/// The register, after these bytes, by the table.
constexpr std::uint32_t crc32c_by_table(std::uint32_t crc, std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) crc = crc >> 8 ^ crc32c_table[(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xFF];
  return crc;
}

#if defined(__x86_64__) && !defined(__CUDACC__)
#define REGIMEN_CRC32C_BY_HARDWARE 1
/// The register, after these bytes, by the instruction of SSE 4.2, which a processor must have.
[[gnu::target("sse4.2")]] inline std::uint32_t crc32c_by_hardware(std::uint32_t crc, std::span<const std::byte> bytes) {
  std::uint64_t wide = crc;
  const std::byte* at = bytes.data();
  std::size_t rest = bytes.size();
  for (; rest >= 8; rest -= 8, at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    wide = __builtin_ia32_crc32di(wide, word);
  }
  crc = static_cast<std::uint32_t>(wide);
  for (; rest > 0; --rest, ++at) crc = __builtin_ia32_crc32qi(crc, std::to_integer<unsigned char>(*at));
  return crc;
}
#endif

}  // namespace detail

/// CRC-32C (Castagnoli) of the bytes: "123456789" gives 0xE3069283.
///
/// source   RFC 3720, appendix B.4
/// cost     8 bytes in the 3 cycles of an instruction where the processor has SSE 4.2; otherwise a byte in about as
///          many
inline std::uint32_t crc32c(std::span<const std::byte> bytes) {
#ifdef REGIMEN_CRC32C_BY_HARDWARE
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return ~detail::crc32c_by_hardware(~std::uint32_t{0}, bytes);
#endif
  return ~detail::crc32c_by_table(~std::uint32_t{0}, bytes);
}

/// crc32c, rotated and shifted, as TFRecord files store it, since the checksum of data that contain their own checksum
/// says little.
inline std::uint32_t masked_crc32c(std::span<const std::byte> bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xA282'EAD8u;
}

namespace detail {

/// What stands before and behind the data of a record in TFRecord files: their length, in 8 bytes, little-endian, and
/// its masked sum; the masked sum of the data.
struct RecordEnds final {
  std::array<std::byte, 12> before{};
  std::array<std::byte, 4> behind{};

  explicit RecordEnds(std::span<const std::byte> data) {
    put_little(before.data(), std::uint64_t{data.size()});
    put_little(before.data() + 8, masked_crc32c(std::span(before).first(8)));
    put_little(behind.data(), masked_crc32c(data));
  }
};

}  // namespace detail

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
