// regimen/state/detail/safetensors_json.hpp — the header of a safetensors file is JSON: how it is read and written.
#pragma once

#include <regimen/state/detail/safetensors_header.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace regimen::safetensors::detail {

/// Receives the header's JSON event by event: builds no tree, finds repeated keys, and stops at nesting
/// that the format does not have.
class HeaderReader final : public nlohmann::json::json_sax_t {
 public:
  struct Entry {
    std::string name;
    std::optional<Dtype> dtype;
    std::optional<std::vector<std::size_t>> shape, offsets;
  };

  HeaderReader(std::string where, std::map<std::string, std::string>& metadata)
      : where_(std::move(where)), metadata_(metadata) {}

  std::vector<Entry> entries;

  bool null() override { return refuse("null"); }
  bool boolean(bool) override { return refuse("a truth value"); }
  bool number_integer(number_integer_t number) override { return refuse(std::to_string(number)); }
  bool number_float(number_float_t, const string_t& text) override { return refuse(text); }
  bool binary(binary_t&) override { return refuse("binary data"); }

  bool number_unsigned(number_unsigned_t number) override {
    if (place_ != Place::Shape && place_ != Place::Offsets) return refuse(std::to_string(number));
    (place_ == Place::Shape ? entries.back().shape : entries.back().offsets)->push_back(number);
    return true;
  }

  bool string(string_t& text) override {
    if (place_ == Place::Metadata) {
      if (!metadata_.emplace(key_, text).second)
        throw Error(where_ + ", __metadata__", "each key once", "\"" + key_ + "\" twice", damaged);
      return true;
    }
    if (place_ != Place::Tensor || key_ != "dtype") return refuse("\"" + text + "\"");
    for (std::size_t i = 0; i < dtypes.size(); ++i) {
      if (text == dtypes[i].name) entries.back().dtype = static_cast<Dtype>(i);
    }
    if (!entries.back().dtype)
      throw Error(here(), "an element type of F64, F32, F16, BF16, I64 to I8, U64 to U8, BOOL", "\"" + text + "\"",
                  "convert the file");
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::Outside) {
      place_ = Place::Top;
    } else if (place_ == Place::Top && key_ == "__metadata__") {
      place_ = Place::Metadata;
    } else if (place_ == Place::Top) {
      entries.push_back({key_, {}, {}, {}});
      place_ = Place::Tensor;
    } else {
      return refuse("an object");
    }
    return true;
  }

  bool key(string_t& text) override {
    key_ = text;
    if (place_ == Place::Top && !names_.insert(text).second)
      throw Error(where_, "each tensor once", "\"" + text + "\" twice", damaged);
    if (place_ == Place::Tensor) {
      const Entry& entry = entries.back();
      if (text != "dtype" && text != "shape" && text != "data_offsets")
        throw Error(here(), "dtype, shape and data_offsets", "\"" + text + "\"", damaged);
      if ((text == "dtype" && entry.dtype) || (text == "shape" && entry.shape) ||
          (text == "data_offsets" && entry.offsets)) {
        throw Error(here(), "each key once", "\"" + text + "\" twice", damaged);
      }
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::Tensor) {
      const Entry& entry = entries.back();
      if (!entry.dtype || !entry.shape || !entry.offsets)
        throw Error(here(), "dtype, shape and data_offsets", "only some of them", damaged);
    }
    place_ = place_ == Place::Top ? Place::Outside : Place::Top;
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::Tensor || key_ == "dtype") return refuse("an array");
    (key_ == "shape" ? entries.back().shape : entries.back().offsets).emplace();
    place_ = key_ == "shape" ? Place::Shape : Place::Offsets;
    return true;
  }

  bool end_array() override {
    place_ = Place::Tensor;
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& exception) override {
    throw Error(where_, "well-formed JSON", exception.what(), damaged);
  }

 private:
  enum class Place { Outside, Top, Metadata, Tensor, Shape, Offsets };

  std::string here() const { return where_ + ", tensor \"" + entries.back().name + "\""; }

  bool refuse(const std::string& found) const {
    switch (place_) {
      case Place::Outside:
        throw Error(where_, "a JSON object", found, damaged);
      case Place::Top:
        throw Error(where_ + ", \"" + key_ + "\"", "an object", found, damaged);
      case Place::Metadata:
        throw Error(where_ + ", __metadata__, \"" + key_ + "\"", "text", found, damaged);
      case Place::Tensor:
        throw Error(here() + ", " + key_, key_ == "dtype" ? "text" : "an array", found, damaged);
      default:
        throw Error(here() + ", " + key_, "integers from 0 to 2^64 - 1", found, damaged);
    }
  }

  std::string where_, key_;
  std::map<std::string, std::string>& metadata_;
  std::set<std::string> names_;
  Place place_ = Place::Outside;
};

REGIMEN_COMPILED void parse_header(const std::string& path, std::span<const std::byte> file,
                                   std::vector<Tensor>& tensors, std::map<std::string, std::string>& metadata) {
  const std::string where = path + ", header";
  if (file.size() < 8) throw Error(where, "at least 8 bytes", std::to_string(file.size()), damaged);
  std::uint64_t length = 0;
  for (std::size_t i = 8; i-- > 0;) length = length << 8 | std::to_integer<std::uint64_t>(file[i]);
  if (length > most_header_bytes)
    throw Error(where, "a length of at most 100000000 bytes", std::to_string(length), damaged);
  if (length > file.size() - 8)
    throw Error(where, std::to_string(length) + " bytes, its length",
                std::to_string(file.size() - 8) + " bytes in the file", damaged);
  const char* const text = reinterpret_cast<const char*>(file.data()) + 8;
  const char* end = text + length;
  while (end != text && end[-1] == ' ') --end;  // padding
  if (end == text || *text != '{' || end[-1] != '}')
    throw Error(where, "JSON from { to }, then spaces", "other bytes", damaged);
  if (std::find(text, end, '\0') != end)
    throw Error(where, "JSON", "a zero byte in it", damaged);  // the parser would stop there
  HeaderReader reader(where, metadata);
  nlohmann::json::sax_parse(text, end, &reader);

  const std::span<const std::byte> data = file.subspan(8 + static_cast<std::size_t>(length));
  std::vector<HeaderReader::Entry>& entries = reader.entries;
  for (const HeaderReader::Entry& entry : entries) {
    const std::string here = where + ", tensor \"" + entry.name + "\"";
    const std::vector<std::size_t>& offsets = *entry.offsets;
    if (offsets.size() != 2) throw Error(here, "2 data_offsets", std::to_string(offsets.size()), damaged);
    const std::string found = shape_text(offsets);
    if (offsets[0] > offsets[1] || offsets[1] > data.size()) {
      throw Error(
          here,
          "data_offsets that ascend to at most " + std::to_string(data.size()) + ", the bytes of data in the file",
          found, damaged);
    }
    const std::optional<std::size_t> bytes = bytes_of(*entry.dtype, *entry.shape);
    if (!bytes) throw Error(here, "a shape whose bytes fit 64 bits", shape_text(*entry.shape), damaged);
    if (*bytes != offsets[1] - offsets[0]) {
      throw Error(here,
                  std::to_string(*bytes) + " bytes between its data_offsets, for " + name_of_dtype(*entry.dtype) + " " +
                      shape_text(*entry.shape),
                  found, damaged);
    }
  }
  std::vector<HeaderReader::Entry*> in_order;  // pointers: g++ 12 warns that optionals moved by sort are uninitialised
  for (HeaderReader::Entry& entry : entries) in_order.push_back(&entry);
  std::sort(in_order.begin(), in_order.end(), [](const HeaderReader::Entry* a, const HeaderReader::Entry* b) {
    const auto &left = *a->offsets, &right = *b->offsets;
    return std::tie(left[0], left[1], a->name) < std::tie(right[0], right[1], b->name);
  });
  std::size_t reached = 0;
  for (HeaderReader::Entry* const found : in_order) {
    HeaderReader::Entry& entry = *found;
    const std::size_t begin = (*entry.offsets)[0], size = (*entry.offsets)[1] - begin;
    if (begin != reached) {
      throw Error(where + ", tensor \"" + entry.name + "\"",
                  "data from offset " + std::to_string(reached) + ", where the tensor before it ends",
                  std::to_string(begin), damaged);
    }
    reached += size;
    tensors.push_back({std::move(entry.name), *entry.dtype, std::move(*entry.shape), data.subspan(begin, size)});
  }
  if (reached != data.size())
    throw Error(path, std::to_string(reached) + " bytes of data, as the header says", std::to_string(data.size()),
                damaged);
}

REGIMEN_COMPILED std::vector<Tensor> lay_out(const std::string& path, std::span<const Tensor> tensors) {
  std::vector<Tensor> ordered(tensors.begin(), tensors.end());
  std::sort(ordered.begin(), ordered.end(), [](const Tensor& a, const Tensor& b) {
    const std::size_t wide_a = bytes_of_dtype(a.dtype), wide_b = bytes_of_dtype(b.dtype);
    return wide_a != wide_b ? wide_a > wide_b : a.name < b.name;
  });
  std::set<std::string_view> names;
  for (const Tensor& tensor : ordered) {
    const std::string here = path + ", tensor \"" + tensor.name + "\" to write";
    if (tensor.name == "__metadata__" || !names.insert(tensor.name).second)
      throw Error(here, "a name of its own", "one that is taken", "rename it");
    const std::optional<std::size_t> bytes = bytes_of(tensor.dtype, tensor.shape);
    if (!bytes || *bytes != tensor.byte_count()) {
      throw Error(here, std::string("the bytes of ") + name_of_dtype(tensor.dtype) + " " + shape_text(tensor.shape),
                  std::to_string(tensor.byte_count()) + " bytes");
    }
  }
  return ordered;
}

REGIMEN_COMPILED std::string write_header(const std::string& path, std::span<const Tensor> tensors,
                                          std::map<std::string, std::string> metadata) {
  for (const auto& [key, value] : metadata) {
    if (is_checksum(key))
      throw Error(path + ", metadata to write", "keys other than crc32 and crc32.*, which hold checksums",
                  "\"" + key + "\"", "rename it");
  }
  for (const Tensor& tensor : tensors) metadata[checksum_key_of(tensor)] = checksum(tensor);
  metadata[checksum_key] = header_checksum({tensors.begin(), tensors.end()}, metadata);
  std::string text;
  try {
    const auto quoted = [](const std::string& plain) { return nlohmann::json(plain).dump(); };
    text = "{\"__metadata__\":{";
    for (const auto& [key, value] : metadata) {
      if (text.back() != '{') text += ',';
      text += quoted(key) + ":" + quoted(value);
    }
    text += '}';
    std::size_t offset = 0;
    for (const Tensor& tensor : tensors) {
      const std::size_t begin = offset;
      offset += tensor.byte_count();
      text += ',';  // separate: g++ 12 warns about an overlap in "," + string
      text += quoted(tensor.name) + ":{\"dtype\":\"" + name_of_dtype(tensor.dtype) + "\",\"shape\":[";
      for (const std::size_t extent : tensor.shape) {
        if (text.back() != '[') text += ',';
        text += std::to_string(extent);
      }
      text += "],\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(offset) + "]}";
    }
  } catch (const nlohmann::json::exception& exception) {
    throw Error(path + ", header to write", "names and metadata in UTF-8", exception.what());
  }
  text += "}";
  while ((text.size() + 8) % 64 != 0) text += ' ';
  if (text.size() > most_header_bytes)
    throw Error(path, "a header of at most 100000000 bytes", std::to_string(text.size()),
                "use fewer tensors or less metadata");
  return text;
}

/// Receives an index's JSON event by event.
class IndexReader final : public nlohmann::json::json_sax_t {
 public:
  explicit IndexReader(std::string where) : where_(std::move(where)) {}

  std::map<std::string, std::string> files;
  bool has_map = false;

  bool null() override { return scalar("null"); }
  bool boolean(bool) override { return scalar("a truth value"); }
  bool number_integer(number_integer_t number) override { return scalar(std::to_string(number)); }
  bool number_unsigned(number_unsigned_t number) override { return scalar(std::to_string(number)); }
  bool number_float(number_float_t, const string_t& text) override { return scalar(text); }
  bool binary(binary_t&) override { return scalar("binary data"); }
  bool string(string_t& text) override {
    if (place_ != Place::Map) return scalar("\"" + text + "\"");
    if (!files.emplace(key_, text).second)
      throw Error(where_ + ", weight_map", "each tensor once", "\"" + key_ + "\" twice", damaged);
    return true;
  }
  bool start_object(std::size_t) override {
    if (place_ == Place::Outside) place_ = Place::Top;
    else if (place_ == Place::Top && key_ == "metadata") place_ = Place::Metadata;
    else if (place_ == Place::Top && key_ == "weight_map" && !has_map) place_ = Place::Map, has_map = true;
    else throw Error(where_ + ", \"" + key_ + "\"", "metadata and one weight_map", "another object", damaged);
    return true;
  }
  bool key(string_t& text) override {
    key_ = text;
    return true;
  }
  bool end_object() override {
    place_ = place_ == Place::Top ? Place::Outside : Place::Top;
    return true;
  }
  bool start_array(std::size_t) override { return refuse("an array"); }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& exception) override {
    throw Error(where_, "well-formed JSON", exception.what(), damaged);
  }

 private:
  enum class Place { Outside, Top, Metadata, Map };
  bool scalar(const std::string& found) const { return place_ == Place::Metadata || refuse(found); }
  bool refuse(const std::string& found) const {
    throw Error(where_ + (key_.empty() ? "" : ", \"" + key_ + "\""),
                place_ == Place::Map ? "the name of a file" : "an index with metadata and weight_map", found, damaged);
  }

  std::string where_, key_;
  Place place_ = Place::Outside;
};

REGIMEN_COMPILED std::map<std::string, std::string> parse_index(const std::string& path,
                                                                std::span<const std::byte> file) {
  if (file.size() > most_header_bytes)
    throw Error(path, "an index of at most 100000000 bytes", std::to_string(file.size()), damaged);
  const char *const text = reinterpret_cast<const char*>(file.data()), *const end = text + file.size();
  if (std::find(text, end, '\0') != end) throw Error(path, "JSON", "a zero byte in it", damaged);
  IndexReader reader(path);
  nlohmann::json::sax_parse(text, end, &reader);
  if (!reader.has_map) throw Error(path, "a weight_map", "none", damaged);
  return std::move(reader.files);
}

REGIMEN_COMPILED std::string write_index(const std::string& path, const std::map<std::string, std::string>& files,
                                         std::size_t bytes) {
  try {
    return "{\"metadata\":{\"total_size\":" + std::to_string(bytes) +
           "},\"weight_map\":" + nlohmann::json(files).dump() + "}\n";
  } catch (const nlohmann::json::exception& exception) {
    throw Error(path + ", index to write", "names in UTF-8", exception.what());
  }
}

}  // namespace regimen::safetensors::detail
// SPDX-License-Identifier: Apache-2.0
