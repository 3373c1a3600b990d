// regimen/data/idx_array.hpp — arrays in IDX format, of all its element types, and their writer.
#pragma once

#include <regimen/data/array_rows.hpp>
#include <regimen/data/files.hpp>
#include <regimen/data/idx.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace regimen::data {

namespace detail {

/// The number and the name of an element type in the magic number of IDX.
struct IdxType {
  std::uint8_t code = 0;
  const char* name = nullptr;
};
template <class T>
inline constexpr IdxType idx_type = std::same_as<T, std::uint8_t>   ? IdxType{8, "unsigned bytes"}
                                    : std::same_as<T, std::int8_t>  ? IdxType{9, "signed bytes"}
                                    : std::same_as<T, std::int16_t> ? IdxType{11, "integers of 16 bits"}
                                    : std::same_as<T, std::int32_t> ? IdxType{12, "integers of 32 bits"}
                                    : std::same_as<T, float>        ? IdxType{13, "floats"}
                                    : std::same_as<T, double>       ? IdxType{14, "doubles"}
                                                                    : IdxType{};

template <class T>
concept IdxElement = idx_type<T>.code != 0;

/// An element as it lies in the file, or from there: big-endian.
template <class T>
T big_endian(T value) {
  auto bytes = std::bit_cast<std::array<std::uint8_t, sizeof(T)>>(value);
  if constexpr (std::endian::native == std::endian::little) std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<T>(bytes);
}

}  // namespace detail

/// The rows of an array in IDX format, plain or gzipped. Idx (data/idx.hpp) is for MNIST's pairs of files.
///
///   T       std::uint8_t, std::int8_t, std::int16_t, std::int32_t, float or double, as the file has it
///   value   std::span<const T> of the array (N, ...): all values of one index of the first dimension
///
/// failure  Error for a missing, truncated or damaged file, another magic number or element type, dimensions that do
///          not match the data, and a gzip file that expands to more than 1 GiB and more than 32 times its size
/// source   LeCun, Cortes, Burges, "The MNIST database", file formats
/// cost     the array in memory, read at construction, with twice this memory meanwhile; `report` gets the progress
template <detail::IdxElement T>
class IdxArray final : public ArrayRows<T> {
 public:
  explicit IdxArray(const std::string& path, const Report& report = {}) {
    auto file = regimen::detail::read_idx(path, detail::idx_type<T>.code, sizeof(T), detail::idx_type<T>.name, report);
    auto values = std::make_shared<std::vector<T>>(file.data.size() / sizeof(T));
    for (std::size_t i = 0; i < values->size(); ++i) {
      T value;
      std::memcpy(&value, file.data.data() + i * sizeof(T), sizeof(T));
      (*values)[i] = detail::big_endian(value);
    }
    this->keep(path, std::move(file.extents), *values, values);
  }
};

/// Writes an array in IDX format, atomically and not compressed.
///
///   data::write_idx<std::uint8_t>("images.idx", pixels, {60'000, 28, 28});
///
/// failure  Error if the extents do not fit the number of values, for more than 255 dimensions or an extent of 2^32 or
///          more; with the system's reason
template <detail::IdxElement T>
void write_idx(const std::string& path, std::span<const T> values, const std::vector<std::size_t>& extents) {
  std::size_t elements = 1;
  bool fits = !extents.empty() && extents.size() < 256;
  for (const std::size_t extent : extents)
    fits = fits && extent >> 32 == 0 && !__builtin_mul_overflow(elements, extent, &elements);
  if (!fits || elements != values.size())
    throw Error(path, "1 to 255 extents below 2^32 whose product is " + std::to_string(values.size()), "others");
  detail::FileWriter file(path);
  const std::byte magic[4] = {std::byte{0}, std::byte{0}, static_cast<std::byte>(detail::idx_type<T>.code),
                              static_cast<std::byte>(extents.size())};
  file.put(magic);
  for (const std::size_t extent : extents) {
    const std::uint32_t big = detail::big_endian(static_cast<std::uint32_t>(extent));
    file.put(std::as_bytes(std::span(&big, 1)));
  }
  for (const T value : values) {
    const T big = detail::big_endian(value);
    file.put(std::as_bytes(std::span(&big, 1)));
  }
  file.commit();
}

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
