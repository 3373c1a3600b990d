// regimen/saves/detail/safetensors_header.hpp — the header of a safetensors file: parsed, checked, written.
#pragma once

#include <regimen/core/number.hpp>

#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <type_traits>
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
};

/// The metadata of a file, and of one to be written.
using Metadata = std::map<std::string, std::string>;

/// "[2, 3]"
[[gnu::cold]] std::string shape_text(std::span<const std::size_t> shape);

}  // namespace regimen::safetensors

#if !REGIMEN_COMPILED
#include <regimen/saves/detail/safetensors_header.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
