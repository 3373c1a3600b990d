// regimen/data/npy.hpp — arrays of NumPy (.npy): rows of a mapped file, and a writer.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/mapped_file.hpp>
#include <regimen/data/array_rows.hpp>
#include <regimen/data/files.hpp>

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace regimen::data {

namespace detail {

/// NumPy's name of a type.
template <class T>
inline constexpr const char* npy_type = std::same_as<T, float>           ? "<f4"
                                        : std::same_as<T, double>        ? "<f8"
                                        : std::same_as<T, std::int32_t>  ? "<i4"
                                        : std::same_as<T, std::int64_t>  ? "<i8"
                                        : std::same_as<T, std::uint8_t>  ? "|u1"
                                        : std::same_as<T, std::uint16_t> ? "<u2"
                                                                         : nullptr;

template <class T>
concept NpyElement = npy_type<T> != nullptr;

struct NpyHeader {
  std::string type;
  bool fortran_order = false;
  std::vector<std::size_t> extents;
  std::size_t data = 0;  // where the elements begin
};

/// The header's dictionary, a literal of Python with exactly the keys descr, fortran_order and shape.
class NpyDictionary final {
 public:
  NpyDictionary(const std::string& path, std::string_view text) : where_(path + ", header"), rest_(text) {}

  NpyHeader read() {
    std::optional<std::string> type;
    std::optional<bool> order;
    std::optional<std::vector<std::size_t>> shape;
    expect('{');
    while (!accept('}')) {
      const std::string key = text();
      expect(':');
      if (key == "descr" && !type) {
        skip_blanks();
        if (rest_.starts_with('['))
          throw Error(where_, "elements of one type", "a structured array, " + std::string(rest_.substr(0, 24)) + "...",
                      "save each of its fields as an array");
        type = text();
      } else if (key == "fortran_order" && !order) order = truth();
      else if (key == "shape" && !shape) shape = extents();
      else refuse("the keys descr, fortran_order and shape, each once", "'" + key + "'");
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (!rest_.empty()) refuse("nothing after the dictionary", "'" + std::string(rest_.substr(0, 16)) + "'");
    if (!type || !order || !shape) refuse("the keys descr, fortran_order and shape", "fewer");
    return {std::move(*type), *order, std::move(*shape), 0};
  }

 private:
  [[noreturn, gnu::cold]] void refuse(const std::string& expected, const std::string& found) const {
    throw Error(where_, expected, found, "is it a .npy file?");
  }
  void skip_blanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) rest_.remove_prefix(1);
  }
  bool accept(char c) {
    skip_blanks();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c))
      refuse("'" + std::string(1, c) + "'", rest_.empty() ? "the end" : "'" + std::string(rest_.substr(0, 16)) + "'");
  }
  std::string text() {
    const char quote = accept('"') ? '"' : '\'';
    if (quote == '\'') expect('\'');
    const std::size_t end = rest_.find(quote);
    if (end == std::string_view::npos) refuse("the end of a string", "the end of the header");
    const std::string result(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return result;
  }
  bool truth() {
    skip_blanks();
    for (const std::string_view word : {"False", "True"})
      if (rest_.starts_with(word)) {
        rest_.remove_prefix(word.size());
        return word == "True";
      }
    refuse("True or False", "'" + std::string(rest_.substr(0, 16)) + "'");
  }
  std::vector<std::size_t> extents() {
    std::vector<std::size_t> result;
    expect('(');
    while (!accept(')')) {
      skip_blanks();
      std::size_t extent = 0;
      const auto [end, code] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
      if (code != std::errc{}) refuse("an extent", "'" + std::string(rest_.substr(0, 24)) + "'");
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      if (rest_.starts_with('L')) rest_.remove_prefix(1);  // Python 2 wrote its long integers so: (3L, 4L)
      result.push_back(extent);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return result;
  }

  std::string where_;
  std::string_view rest_;
};

inline NpyHeader read_npy_header(const std::string& path, std::span<const std::byte> bytes) {
  const std::string where = path + ", header";
  const std::string_view all = text_of(bytes);
  if (!all.starts_with("\x93NUMPY") || bytes.size() < 10)
    throw Error(where, "a NumPy array, which begins with 93 'NUMPY'", "another file", "save it with numpy.save");
  const int version = std::to_integer<int>(bytes[6]);
  if (version < 1 || version > 3 || bytes[7] != std::byte{0})
    throw Error(where, "version 1.0, 2.0 or 3.0",
                std::to_string(version) + "." + std::to_string(std::to_integer<int>(bytes[7])));
  const std::size_t begin = version == 1 ? 10 : 12;
  if (bytes.size() < begin) throw Error(where, "12 bytes", std::to_string(bytes.size()), "the file is cut off");
  const std::size_t length =
      version == 1 ? little<std::uint16_t>(bytes.data() + 8) : little<std::uint32_t>(bytes.data() + 8);
  if (length > bytes.size() - begin)
    throw Error(where, std::to_string(length) + " bytes, as it says", std::to_string(bytes.size() - begin),
                "the file is damaged or cut off");
  NpyHeader header = NpyDictionary(path, all.substr(begin, length)).read();
  header.data = begin + length;
  return header;
}

}  // namespace detail

/// The rows of an array in a .npy file, mapped.
///
///   T       float, double, std::int32_t, std::int64_t, std::uint8_t or std::uint16_t, as the file has it
///   value   std::span<const T> of the array (N, ...): all values of one index of the first dimension, in C order
///
///   data::Npy<float> features("features.npy");   // (60000, 784)
///   features.at({.index = 7})                    // 784 floats
///
/// failure  Error for a file that is no .npy file of version 1 to 3, another element type, big-endian or structured
///          elements, Fortran order, an array without dimensions, data whose size does not fit the shape, or that lie
///          at no multiple of the element's size
/// source   numpy.org/doc/stable/reference/generated/numpy.lib.format.html
/// cost     no memory beyond the page cache. Opening reads only the header, so it reports no progress
template <detail::NpyElement T>
class Npy final : public ArrayRows<T> {
 public:
  explicit Npy(const std::string& path) {
    auto file = std::make_shared<const MappedFile>(path);
    const std::span<const std::byte> bytes = file->bytes();
    detail::NpyHeader header = detail::read_npy_header(path, bytes);
    if (header.type != detail::npy_type<T>)
      throw Error(path, std::string("elements of type '") + detail::npy_type<T> + "', as Npy's T says",
                  "'" + header.type + "'", "change T, or convert the array with astype()");
    if (header.fortran_order)
      throw Error(path, "an array in C order", "one in Fortran order", "save numpy.ascontiguousarray(array)");
    if (header.extents.empty())
      throw Error(path, "an array of one dimension or more", "a single number", "save a row of it");
    std::size_t elements = 1, row = 1, need = 0;
    for (std::size_t i = 0; i < header.extents.size(); ++i) {
      if (__builtin_mul_overflow(elements, header.extents[i], &elements) ||
          (i > 0 && __builtin_mul_overflow(row, header.extents[i], &row)))
        throw Error(path + ", header", "extents whose product fits 64 bits", std::to_string(header.extents[i]));
    }
    if (__builtin_mul_overflow(elements, sizeof(T), &need) || need != bytes.size() - header.data)
      throw Error(path, std::to_string(elements) + " elements, as its header says",
                  std::to_string(bytes.size() - header.data) + " bytes", "the file is damaged or cut off");
    if (header.data % alignof(T) != 0)
      throw Error(path, "elements at a multiple of " + std::to_string(alignof(T)) + " bytes",
                  "at " + std::to_string(header.data), "save it again with numpy.save");
    this->keep(path, std::move(header.extents), {reinterpret_cast<const T*>(bytes.data() + header.data), elements},
               std::move(file));
  }
};

/// Writes an array as NumPy does, version 1, atomically.
///
///   data::write_npy<float>("features.npy", values, {60'000, 784});
///
/// failure  Error if the extents do not fit the number of values; Error with the system's reason
template <detail::NpyElement T>
void write_npy(const std::string& path, std::span<const T> values, const std::vector<std::size_t>& extents) {
  std::size_t elements = 1;
  std::string shape;
  for (const std::size_t extent : extents) {
    if (__builtin_mul_overflow(elements, extent, &elements)) elements = ~std::size_t{0};
    shape += std::to_string(extent) + (extents.size() == 1 ? "," : ", ");
  }
  if (elements != values.size())
    throw Error(path, regimen::detail::counted(values.size(), "value") + ", as there are", "a shape (" + shape + ")");
  if (extents.size() > 1) shape.resize(shape.size() - 2);
  std::string header =
      std::string("{'descr': '") + detail::npy_type<T> + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.append(63 - (10 + header.size()) % 64, ' ');  // the elements begin at a multiple of 64
  header += '\n';
  if (header.size() > 0xFFFF) throw Error(path, "a shape whose text fits 64 KB", "more dimensions");
  std::array<std::byte, 2> length{};
  detail::put_little(length.data(), static_cast<std::uint16_t>(header.size()));
  detail::FileWriter file(path);
  file.put(std::string_view("\x93NUMPY\x01\x00", 8));
  file.put(length);
  file.put(header);
  file.put(std::as_bytes(values));
  file.commit();
}

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
