// regimen/comm/detail/sha256.hpp — SHA-256 and HMAC, with which ranks prove that they know the secret.
#pragma once

#include <regimen/core/compiled.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace regimen::comm::detail {

using Digest = std::array<std::uint8_t, 32>;

/// Computes the digest of all bytes that were added.
///
/// source  FIPS 180-4, section 6.2
/// cost    some 200 MB/s: for handshakes, not for tensors
class Sha256 final {
 public:
  Sha256& add(const void* bytes, std::size_t count);
  Digest finish();

 private:
  void compress();

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> block_{};
  std::size_t filled_ = 0;
  std::uint64_t length_ = 0;
};

/// HMAC-SHA-256 of all bytes that were added, under a key of any length.   source   RFC 2104
class Hmac final {
 public:
  explicit Hmac(std::string_view key);

  Hmac& add(const void* bytes, std::size_t count);
  template <class Record>
    requires std::has_unique_object_representations_v<Record>
  Hmac& add(const Record& record) {
    return add(&record, sizeof record);
  }

  Digest finish();

 private:
  Sha256 inner_, outer_;
};

/// Compares in a time that does not depend on where the digests differ.
bool is_equal(const Digest& a, const Digest& b);

}  // namespace regimen::comm::detail

#if !REGIMEN_COMPILED
#include <regimen/comm/detail/sha256.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
