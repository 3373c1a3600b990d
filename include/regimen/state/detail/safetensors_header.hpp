// regimen/state/detail/safetensors_header.hpp — the header of a safetensors file: parsed, checked, written.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/number.hpp>

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace regimen::safetensors {

/// Element types of the format, in the order of DtypeInfo.
enum class Dtype { F64, F32, F16, BF16, I64, I32, I16, I8, U8, U16, U32, U64, BOOL };

namespace detail {

struct DtypeInfo {
  const char* name;
  std::size_t bytes;
};
inline constexpr std::array<DtypeInfo, 13> dtypes{{{"F64", 8},
                                                   {"F32", 4},
                                                   {"F16", 2},
                                                   {"BF16", 2},
                                                   {"I64", 8},
                                                   {"I32", 4},
                                                   {"I16", 2},
                                                   {"I8", 1},
                                                   {"U8", 1},
                                                   {"U16", 2},
                                                   {"U32", 4},
                                                   {"U64", 8},
                                                   {"BOOL", 1}}};

template <class T>
consteval Dtype find_dtype() {
  if constexpr (std::is_same_v<T, fp64>) return Dtype::F64;
  else if constexpr (std::is_same_v<T, fp32>) return Dtype::F32;
  else if constexpr (std::is_same_v<T, fp16>) return Dtype::F16;
  else if constexpr (std::is_same_v<T, bf16>) return Dtype::BF16;
  else if constexpr (std::is_same_v<T, bool>) return Dtype::BOOL;
  else {
    static_assert(std::is_integral_v<T>,
                  "regimen: safetensors holds numbers; use fp64, fp32, fp16, bf16, bool or an integer type");
    constexpr bool is_signed = std::is_signed_v<T>;
    if constexpr (sizeof(T) == 8) return is_signed ? Dtype::I64 : Dtype::U64;
    else if constexpr (sizeof(T) == 4) return is_signed ? Dtype::I32 : Dtype::U32;
    else if constexpr (sizeof(T) == 2) return is_signed ? Dtype::I16 : Dtype::U16;
    else return is_signed ? Dtype::I8 : Dtype::U8;
  }
}

}  // namespace detail

template <class T>
inline constexpr Dtype dtype_of = detail::find_dtype<T>();

constexpr const char* name_of_dtype(Dtype dtype) { return detail::dtypes[static_cast<std::size_t>(dtype)].name; }
constexpr std::size_t bytes_of_dtype(Dtype dtype) { return detail::dtypes[static_cast<std::size_t>(dtype)].bytes; }

/// A tensor in a file, or to be written to one. `bytes` are its elements, row-major, little-endian; not necessarily
/// aligned in files of other writers. They belong to the File, or to the caller of write().
///   read(tensor, offset, to)   replaces `bytes` for a tensor to be written that the host cannot read: copies
///                              the bytes from `offset` on, of `size`; called piece by piece, in order,
///                              twice. `owner` and `at` locate it
///   at, size                   of a tensor that was read: where its bytes begin in the file's data, and how many
struct Tensor {
  std::string name;
  Dtype dtype = Dtype::F32;
  std::vector<std::size_t> shape;  // empty: one element
  std::span<const std::byte> bytes;
  void (*read)(const Tensor& tensor, std::size_t offset, std::span<std::byte> to) = nullptr;
  void* owner = nullptr;
  std::size_t at = 0, size = 0;

  std::size_t byte_count() const { return read != nullptr ? size : bytes.size(); }
  /// Calls f(piece) for all bytes in order; a piece that `read` copies has at most 4 MiB.
  void for_each_piece(auto&& f) const {
    if (read == nullptr) return f(bytes);
    constexpr std::size_t most = std::size_t{4} << 20;
    std::vector<std::byte> piece(size < most ? size : most);
    for (std::size_t done = 0; done < size; done += piece.size()) {
      if (size - done < piece.size()) piece.resize(size - done);
      read(*this, done, piece);
      f(std::span<const std::byte>(piece));
    }
  }
};

/// "[2, 3]"
[[gnu::cold]] inline std::string shape_text(std::span<const std::size_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

namespace detail {

inline constexpr std::size_t most_header_bytes = 100'000'000;  // the reference implementation's limit
inline constexpr const char* checksum_key = "crc32";
inline constexpr const char* damaged = "the file is damaged, cut off, or no safetensors file";

/// Tensors that others keep, in an order. All orders are one function, as sorting is much code.
using Pointers = std::vector<const Tensor*>;
[[gnu::cold]] inline Pointers in_order(Pointers tensors, bool (*is_before)(const Tensor&, const Tensor&)) {
  std::sort(tensors.begin(), tensors.end(),
            [is_before](const Tensor* a, const Tensor* b) { return is_before(*a, *b); });
  return tensors;
}
[[gnu::cold]] inline bool is_before_by_name(const Tensor& a, const Tensor& b) { return a.name < b.name; }
[[gnu::cold]] inline Pointers pointers(std::span<const Tensor> tensors) {
  Pointers all;
  for (const Tensor& tensor : tensors) all.push_back(&tensor);
  return all;
}
[[gnu::cold]] inline Pointers by_name(std::span<const Tensor> tensors) {
  return in_order(pointers(tensors), is_before_by_name);
}
/// A tensor whose name another one has, too; or null.
[[gnu::cold]] inline const Tensor* name_of_two(const Pointers& by_name) {
  for (std::size_t i = 1; i < by_name.size(); ++i)
    if (by_name[i]->name == by_name[i - 1]->name) return by_name[i];
  return nullptr;
}

[[gnu::cold]] inline std::string checksum_key_of(const Tensor& tensor) {
  return std::string(checksum_key) + "." + tensor.name;
}
[[gnu::cold]] inline bool is_checksum(std::string_view key) {
  return key == checksum_key || key.substr(0, 6) == "crc32.";
}

/// CRC-32 (zlib's, IEEE 802.3), as eight hexadecimal digits.   heard   is called with the bytes of each part
[[gnu::cold]] inline std::string checksum(const Tensor& tensor, const std::function<void(std::size_t)>& heard = {}) {
  unsigned long sum = 0;
  tensor.for_each_piece([&](std::span<const std::byte> piece) {
    while (!piece.empty()) {
      const std::size_t some = (std::min)(piece.size(), std::size_t{1} << 24);
      sum = ::crc32_z(sum, reinterpret_cast<const unsigned char*>(piece.data()), some);
      piece = piece.subspan(some);
      if (heard) heard(some);
    }
  });
  std::string text(8, '0');
  for (std::size_t i = 0; i < 8; ++i) text[i] = "0123456789abcdef"[sum >> (28 - 4 * i) & 15];
  return text;
}
[[gnu::cold]] inline std::string checksum(std::span<const std::byte> bytes) {
  Tensor tensor;
  tensor.bytes = bytes;
  return checksum(tensor);
}

/// The checksum of the header's contents without itself, independent of the JSON text: tensors by name; the length of
/// each value precedes it.
[[gnu::cold]] inline std::string header_checksum(Pointers tensors, const std::map<std::string, std::string>& metadata) {
  std::string all;
  const auto add = [&all](std::string_view text) {
    all += std::to_string(text.size());
    all += ':';
    all += text;
  };
  for (const Tensor* const tensor : in_order(std::move(tensors), is_before_by_name)) {
    add(tensor->name);
    add(name_of_dtype(tensor->dtype));
    add(shape_text(tensor->shape));
    add(std::to_string(tensor->byte_count()));
  }
  for (const auto& [key, value] : metadata) {
    if (key != checksum_key) add(key), add(value);
  }
  return checksum(std::as_bytes(std::span(all)));
}

/// Bytes of a shape; nullopt if the product does not fit 64 bits.
[[gnu::cold]] inline std::optional<std::size_t> bytes_of(Dtype dtype, std::span<const std::size_t> shape) {
  std::size_t product = bytes_of_dtype(dtype);
  for (const std::size_t extent : shape) {
    if (__builtin_mul_overflow(product, extent, &product)) return std::nullopt;
  }
  return product;
}

/// Fills `tensors`, in the order of their data, and `metadata` (with its checksums).
[[gnu::cold]] void parse_header(const std::string& path, std::span<const std::byte> file,
                                                 std::vector<Tensor>& tensors,
                                                 std::map<std::string, std::string>& metadata);

/// The tensors in the order of the file: widest elements first, then by name, like the reference implementation. Checks
/// the caller's tensors.
[[gnu::cold]] Pointers lay_out(const std::string& path, std::span<const Tensor> tensors);

/// The header's text for tensors in the order of the file, padded with spaces so that data
/// begin at a multiple of 64 bytes.
[[gnu::cold]] std::string write_header(const std::string& path, const Pointers& tensors,
                                                        std::map<std::string, std::string> metadata);

/// The file of each tensor, from the text of an index (state/sharded_file.hpp); and that text.
[[gnu::cold]] std::map<std::string, std::string> parse_index(const std::string& path,
                                                                              std::span<const std::byte> file);
[[gnu::cold]] std::string write_index(const std::string& path,
                                                       const std::map<std::string, std::string>& files,
                                                       std::size_t bytes);

}  // namespace detail

}  // namespace regimen::safetensors

#if !REGIMEN_COMPILED
#include <regimen/state/detail/safetensors_header.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
