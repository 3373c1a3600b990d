// regimen/saves/detail/safetensors_header.ipp — the header of a safetensors file is JSON: how it is read and written.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/json.hpp>
#include <regimen/core/little.hpp>
#include <regimen/saves/safetensors.hpp>

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace regimen::safetensors {

REGIMEN_INLINE std::string shape_text(std::span<const std::size_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

namespace detail {

using Pointers = std::vector<const Tensor*>;  // tensors that others keep

inline constexpr std::size_t most_header_bytes = 100'000'000;  // the reference implementation's limit
inline constexpr const char* checksum_key = "crc32";
inline constexpr const char* damaged = "the file is damaged, cut off, or no safetensors file";

/// All orders are one function, as sorting is much code.
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

/// Calls f(piece) for all bytes of a tensor in order; a piece that `read` copies has at most 4 MiB.
void for_each_piece(const Tensor& tensor, auto&& f) {
  if (tensor.read == nullptr) return f(tensor.bytes);
  constexpr std::size_t most = std::size_t{4} << 20;
  std::vector<std::byte> piece(tensor.size < most ? tensor.size : most);
  for (std::size_t done = 0; done < tensor.size; done += piece.size()) {
    if (tensor.size - done < piece.size()) piece.resize(tensor.size - done);
    tensor.read(tensor, done, piece);
    f(std::span<const std::byte>(piece));
  }
}

/// CRC-32 (zlib's, IEEE 802.3), as eight hexadecimal digits.   heard   is called with the bytes of each part
[[gnu::cold]] inline std::string checksum(const Tensor& tensor, const std::function<void(std::size_t)>& heard = {}) {
  unsigned long sum = 0;
  for_each_piece(tensor, [&](std::span<const std::byte> piece) {
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

/// The checksum of the header's contents without itself, independent of the JSON text: tensors by name; the length of
/// each value precedes it.
[[gnu::cold]] inline std::string header_checksum(Pointers tensors, const Metadata& metadata) {
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
  Tensor whole;
  whole.bytes = std::as_bytes(std::span(all));
  return checksum(whole);
}

/// Bytes of a shape; nullopt if the product does not fit 64 bits.
[[gnu::cold]] inline std::optional<std::size_t> bytes_of(Dtype dtype, std::span<const std::size_t> shape) {
  std::size_t product = bytes_of_dtype(dtype);
  for (const std::size_t extent : shape) {
    if (__builtin_mul_overflow(product, extent, &product)) return std::nullopt;
  }
  return product;
}

using regimen::detail::JsonReader;

/// "file, header, tensor "name""
[[gnu::cold]] inline std::string place_of(const std::string& where, const std::string& name) {
  return where + ", tensor \"" + name + "\"";
}
/// Throws Error unless a value is of this kind, which the sentence calls `expected`.
[[gnu::cold]] inline void expect_kind(const JsonReader::Value& value, JsonReader::Kind kind, const std::string& where,
                                      const char* expected) {
  if (value.kind != kind) throw Error(where, expected, value.words(), damaged);
}

[[gnu::cold]] inline Dtype read_dtype(JsonReader& json, const std::string& here) {
  const JsonReader::Value value = json.value();
  expect_kind(value, JsonReader::Kind::text, here + ", dtype", "text");
  for (std::size_t i = 0; i < dtype_names.size(); ++i)
    if (value.text == dtype_names[i]) return static_cast<Dtype>(i);
  throw Error(here, "an element type of F64, F32, F16, BF16, I64 to I8, U64 to U8, BOOL", value.words(),
              "convert the file");
}
[[gnu::cold]] inline std::vector<std::size_t> read_list(JsonReader& json, const std::string& where) {
  expect_kind(json.value(), JsonReader::Kind::array, where, "an array");
  std::vector<std::size_t> list;
  while (json.element()) {
    const JsonReader::Value value = json.value();
    expect_kind(value, JsonReader::Kind::whole, where, "integers from 0 to 2^64 - 1");
    list.push_back(value.whole);
  }
  return list;
}
/// One tensor of the header: its data begin at `at` and have `size` bytes.
[[gnu::cold]] inline Tensor read_tensor(JsonReader& json, const std::string& where, std::string name,
                                        std::size_t data) {
  const std::string here = place_of(where, name);
  Tensor tensor;
  tensor.name = std::move(name);
  std::vector<std::size_t> offsets;
  bool has[3] = {};
  constexpr std::string_view keys[3] = {"dtype", "shape", "data_offsets"};
  for (std::string key; json.key(key);) {
    const std::size_t place = static_cast<std::size_t>(std::find(keys, keys + 3, key) - keys);
    if (place == 3) throw Error(here, "dtype, shape and data_offsets", "\"" + key + "\"", damaged);
    if (std::exchange(has[place], true)) throw Error(here, "each key once", "\"" + key + "\" twice", damaged);
    if (place == 0) tensor.dtype = read_dtype(json, here);
    else (place == 1 ? tensor.shape : offsets) = read_list(json, here + ", " + key);
  }
  if (!has[0] || !has[1] || !has[2]) throw Error(here, "dtype, shape and data_offsets", "only some of them", damaged);
  if (offsets.size() != 2) throw Error(here, "2 data_offsets", std::to_string(offsets.size()), damaged);
  const std::string found = shape_text(offsets);
  if (offsets[0] > offsets[1] || offsets[1] > data)
    throw Error(here, "data_offsets that ascend to at most " + std::to_string(data) + ", the bytes of data in the file",
                found, damaged);
  const std::optional<std::size_t> bytes = bytes_of(tensor.dtype, tensor.shape);
  if (!bytes) throw Error(here, "a shape whose bytes fit 64 bits", shape_text(tensor.shape), damaged);
  tensor.at = offsets[0];
  tensor.size = offsets[1] - offsets[0];
  if (*bytes != tensor.size)
    throw Error(here,
                std::to_string(*bytes) + " bytes between its data_offsets, for " + name_of_dtype(tensor.dtype) + " " +
                    shape_text(tensor.shape),
                found, damaged);
  return tensor;
}
[[gnu::cold]] inline void read_metadata(JsonReader& json, const std::string& where, Metadata& metadata) {
  for (std::string key; json.key(key);) {
    JsonReader::Value value = json.value();
    expect_kind(value, JsonReader::Kind::text, where + ", __metadata__, \"" + key + "\"", "text");
    if (!metadata.emplace(key, std::move(value.text)).second)
      throw Error(where + ", __metadata__", "each key once", "\"" + key + "\" twice", damaged);
  }
}

/// Fills `tensors`, in the order of their data, and `metadata` (with its checksums).
[[gnu::cold]] inline void parse_header(const std::string& path, std::span<const std::byte> file,
                                       std::vector<Tensor>& tensors, Metadata& metadata) {
  const std::string where = path + ", header";
  if (file.size() < 8) throw Error(where, "at least 8 bytes", std::to_string(file.size()), damaged);
  const auto length = regimen::detail::little<std::uint64_t>(file.data());
  if (length > most_header_bytes)
    throw Error(where, "a length of at most 100000000 bytes", std::to_string(length), damaged);
  if (length > file.size() - 8)
    throw Error(where, std::to_string(length) + " bytes, its length",
                std::to_string(file.size() - 8) + " bytes in the file", damaged);
  const std::span<const std::byte> data = file.subspan(8 + static_cast<std::size_t>(length));
  std::string_view text(reinterpret_cast<const char*>(file.data()) + 8, static_cast<std::size_t>(length));
  text = text.substr(0, text.find_last_not_of(' ') + 1);  // padding
  if (!text.starts_with('{') || !text.ends_with('}'))
    throw Error(where, "JSON from { to }, then spaces", "other bytes", damaged);
  if (text.find('\0') != text.npos) throw Error(where, "JSON", "a zero byte in it", damaged);

  JsonReader json(where, text, damaged);
  json.value();
  std::vector<Tensor> found;
  bool has_metadata = false;
  for (std::string key; json.key(key);) {
    expect_kind(json.value(), JsonReader::Kind::object, where + ", \"" + key + "\"", "an object");
    if (key != "__metadata__") found.push_back(read_tensor(json, where, std::move(key), data.size()));
    else if (std::exchange(has_metadata, true))
      throw Error(where, "each tensor once", "\"" + key + "\" twice", damaged);
    else read_metadata(json, where, metadata);
  }
  json.end();
  if (const Tensor* const twice = name_of_two(by_name(found)))
    throw Error(where, "each tensor once", "\"" + twice->name + "\" twice", damaged);

  std::size_t reached = 0;
  for (const Tensor *const tensor : in_order(pointers(found), [](const Tensor& a, const Tensor& b) {
         return std::tie(a.at, a.size, a.name) < std::tie(b.at, b.size, b.name);
       })) {
    if (tensor->at != reached)
      throw Error(place_of(where, tensor->name),
                  "data from offset " + std::to_string(reached) + ", where the tensor before it ends",
                  std::to_string(tensor->at), damaged);
    reached += tensor->size;
    tensors.push_back(*tensor);
    tensors.back().bytes = data.subspan(tensor->at, tensor->size);
  }
  if (reached != data.size())
    throw Error(path, std::to_string(reached) + " bytes of data, as the header says", std::to_string(data.size()),
                damaged);
}

/// The tensors in the order of the file: widest elements first, then by name, like the reference implementation. Checks
/// the caller's tensors.
[[gnu::cold]] inline Pointers lay_out(const std::string& path, std::span<const Tensor> tensors) {
  if (const Tensor* const twice = name_of_two(by_name(tensors)))
    throw Error(place_of(path, twice->name) + " to write", "a name of its own", "one that is taken", "rename it");
  for (const Tensor& tensor : tensors) {
    const std::string here = place_of(path, tensor.name) + " to write";
    if (tensor.name == "__metadata__") throw Error(here, "a name of its own", "one that is taken", "rename it");
    const std::optional<std::size_t> bytes = bytes_of(tensor.dtype, tensor.shape);
    if (!bytes || *bytes != tensor.byte_count()) {
      throw Error(here, std::string("the bytes of ") + name_of_dtype(tensor.dtype) + " " + shape_text(tensor.shape),
                  std::to_string(tensor.byte_count()) + " bytes");
    }
  }
  return in_order(pointers(tensors), [](const Tensor& a, const Tensor& b) {
    const std::size_t wide_a = bytes_of_dtype(a.dtype), wide_b = bytes_of_dtype(b.dtype);
    return wide_a != wide_b ? wide_a > wide_b : a.name < b.name;
  });
}

/// Appends a JSON string.
[[gnu::cold]] inline void append_quoted(std::string& to, const std::string& plain, const std::string& where,
                                        const char* expected) {
  if (!regimen::detail::append_json(to, plain)) throw Error(where, expected, "other bytes in \"" + plain + "\"");
}
/// Appends a JSON object of strings.
[[gnu::cold]] inline void append_object(std::string& to, const std::map<std::string, std::string>& members,
                                        const std::string& where, const char* expected) {
  to += '{';
  for (const auto& [key, value] : members) {
    if (to.back() != '{') to += ',';
    append_quoted(to, key, where, expected);
    to += ':';
    append_quoted(to, value, where, expected);
  }
  to += '}';
}

/// The header's text for tensors in the order of the file, padded with spaces so that data
/// begin at a multiple of 64 bytes.
[[gnu::cold]] inline std::string write_header(const std::string& path, const Pointers& tensors, Metadata metadata) {
  for (const auto& [key, value] : metadata) {
    if (is_checksum(key))
      throw Error(path + ", metadata to write", "keys other than crc32 and crc32.*, which hold checksums",
                  "\"" + key + "\"", "rename it");
  }
  for (const Tensor* const tensor : tensors) metadata[checksum_key_of(*tensor)] = checksum(*tensor);
  metadata[checksum_key] = header_checksum(tensors, metadata);
  const std::string where = path + ", header to write";
  const char* const expected = "names and metadata in UTF-8";
  std::string text = "{\"__metadata__\":";
  append_object(text, metadata, where, expected);
  std::size_t offset = 0;
  for (const Tensor* const tensor : tensors) {
    const std::size_t begin = offset;
    offset += tensor->byte_count();
    text += ',';
    append_quoted(text, tensor->name, where, expected);
    text.append(":{\"dtype\":\"").append(name_of_dtype(tensor->dtype)).append("\",\"shape\":[");
    for (const std::size_t extent : tensor->shape) {
      if (text.back() != '[') text += ',';
      text += std::to_string(extent);
    }
    text.append("],\"data_offsets\":[").append(std::to_string(begin)).append(",");
    text.append(std::to_string(offset)).append("]}");
  }
  text += '}';
  while ((text.size() + 8) % 64 != 0) text += ' ';
  if (text.size() > most_header_bytes)
    throw Error(path, "a header of at most 100000000 bytes", std::to_string(text.size()),
                "use fewer tensors or less metadata");
  return text;
}

/// The file of each tensor, from the text of an index (saves/sharded_file.hpp); and that text.
[[gnu::cold]] inline std::map<std::string, std::string> parse_index(const std::string& path,
                                                                    std::span<const std::byte> file) {
  using Kind = JsonReader::Kind;
  if (file.size() > most_header_bytes)
    throw Error(path, "an index of at most 100000000 bytes", std::to_string(file.size()), damaged);
  JsonReader json(path, {reinterpret_cast<const char*>(file.data()), file.size()}, damaged);
  const char* const both = "an index with metadata and weight_map";
  expect_kind(json.value(), Kind::object, path, both);
  std::map<std::string, std::string> files;
  bool has_map = false;
  for (std::string part; json.key(part);) {
    const std::string here = path + ", \"" + part + "\"";
    expect_kind(json.value(), Kind::object, here, both);
    const bool is_map = part == "weight_map";
    if (is_map ? std::exchange(has_map, true) : part != "metadata")
      throw Error(here, "metadata and one weight_map", "another object", damaged);
    for (std::string key; json.key(key);) {
      JsonReader::Value value = json.value();
      const std::string place = path + ", \"" + key + "\"";
      if (value.kind == Kind::object) throw Error(place, "metadata and one weight_map", "another object", damaged);
      if (is_map) expect_kind(value, Kind::text, place, "the name of a file");
      else if (value.kind == Kind::array) expect_kind(value, Kind::text, place, both);
      if (is_map && !files.emplace(key, std::move(value.text)).second)
        throw Error(path + ", weight_map", "each tensor once", "\"" + key + "\" twice", damaged);
    }
  }
  json.end();
  if (!has_map) throw Error(path, "a weight_map", "none", damaged);
  return files;
}

[[gnu::cold]] inline std::string write_index(const std::string& path, const std::map<std::string, std::string>& files,
                                             std::size_t bytes) {
  std::string text = "{\"metadata\":{\"total_size\":" + std::to_string(bytes) + "},\"weight_map\":";
  append_object(text, files, path + ", index to write", "names in UTF-8");
  return text + "}\n";
}

}  // namespace detail

}  // namespace regimen::safetensors
// SPDX-License-Identifier: Apache-2.0
