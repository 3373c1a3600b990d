// regimen/data/example.hpp — tf.train.Example: named features of a record, read in place, and written; its wire format.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/rules.hpp>
#include <regimen/data/records.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace regimen::data::detail {

/// Reads a message in the wire format of protocol buffers, field by field.
///
/// failure  Error for a number of more than 64 bits, a length beyond the message's end, field 0
class ProtoReader final {
 public:
  enum Wire : unsigned { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

  ProtoReader(std::span<const std::byte> message, const Record& record) : rest_(message), record_(&record) {}

  bool ended() const { return rest_.empty(); }

  /// The next field's number and the form of its value.
  struct Tag final {
    std::uint64_t field;
    unsigned wire;
    std::string words() const { return "field " + std::to_string(field) + " of wire type " + std::to_string(wire); }
  };
  Tag tag() {
    const std::uint64_t tag = varint();
    if (tag >> 3 == 0) refuse("a field of 1 or more", "field 0");
    return {tag >> 3, static_cast<unsigned>(tag & 7)};
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      if (rest_.empty()) refuse("a whole number", "the end of the message in it");
      const auto byte = std::to_integer<std::uint64_t>(rest_.front());
      if (shift == 63 && byte > 1) refuse("a number of 64 bits", "a longer one");
      rest_ = rest_.subspan(1);
      value |= (byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
  }
  std::span<const std::byte> bytes() {
    const std::uint64_t length = varint();
    if (length > rest_.size()) refuse("a field of " + std::to_string(length) + " bytes", std::to_string(rest_.size()));
    return take(static_cast<std::size_t>(length));
  }
  std::span<const std::byte> take(std::size_t length) {
    if (length > rest_.size()) refuse("a number of " + std::to_string(length) + " bytes", std::to_string(rest_.size()));
    const auto result = rest_.first(length);
    rest_ = rest_.subspan(length);
    return result;
  }
  [[noreturn, gnu::cold]] void refuse(const std::string& expected, const std::string& found) const {
    throw Error(record_->where() + ", byte " + std::to_string(rest_.data() - record_->bytes.data()) + " of its data",
                expected, found, "is the record a tf.train.Example?");
  }

 private:
  std::span<const std::byte> rest_;
  const Record* record_;
};

inline void append_varint(std::string& to, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) to.push_back(static_cast<char>((number & 0x7F) | 0x80));
  to.push_back(static_cast<char>(number));
}
/// A field of bytes: a string, a message, packed numbers.
inline void append_proto(std::string& to, unsigned field, std::string_view bytes) {
  append_varint(to, std::uint64_t{field} << 3 | ProtoReader::Bytes);
  append_varint(to, bytes.size());
  to.append(bytes);
}

}  // namespace regimen::data::detail

namespace regimen::data {

/// The features of a tf.train.Example, by name, without a schema. The record is checked completely when it is parsed;
/// bytes are spans of it, numbers are decoded when the program reads them.
///
///   feature    a name, and a list of byte strings, of 32-bit floats or of 64-bit integers; packed or not; or no list
///
///   const data::Example example(records.at({.index = 7}));
///   example.bytes("image")      std::span<const std::byte>, the only value
///   example.integer("class")    std::int64_t, the only value
///   example.floats("one_hot")   std::vector<float>, all values; also bytes_list() and integers()
///
/// failure  Error that names the record and the byte, if the record is no Example: it has fields that an Example does
///          not have, a name twice, or two lists in one feature. Error that names the feature, if it is absent, of
///          another type, or has another number of values. An empty list fits every type, since protocol buffers do not
///          keep its type
/// source   tensorflow/core/example/example.proto, feature.proto
/// cost     a pass over the record's structure; 48 bytes of memory for each feature
class Example final {
 public:
  explicit Example(const Record& record) : record_(record) { parse(); }
  explicit Example(std::span<const std::byte> bytes) : Example(Record{bytes}) {}
  /// Refuses bytes that nobody else keeps.
  template <class Bytes>
    requires(std::is_convertible_v<Bytes &&, std::span<const std::byte>> && !std::is_lvalue_reference_v<Bytes> &&
             !std::ranges::borrowed_range<Bytes>)
  explicit Example(Bytes&& bytes) : Example(Record{bytes}) {
    static_assert(sizeof(typename rule::borrows_no_temporary<Bytes>::must_hold));
  }

  std::vector<std::string_view> names() const {
    std::vector<std::string_view> result;
    for (const Feature& feature : features_) result.push_back(feature.name);
    return result;
  }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// Values in the feature.
  std::size_t count(std::string_view name) const { return expect(name).count; }

  std::vector<std::span<const std::byte>> bytes_list(std::string_view name) const {
    const Feature& feature = expect(name, Strings);
    std::vector<std::span<const std::byte>> result;
    result.reserve(feature.count);
    for (Reader list(feature.list, record_); !list.ended();) list.tag(), result.push_back(list.bytes());
    return result;
  }
  std::span<const std::byte> bytes(std::string_view name) const { return bytes_list(one(name)).front(); }
  std::string_view text(std::string_view name) const { return detail::text_of(bytes(name)); }

  std::vector<float> floats(std::string_view name) const {
    return numbers_of<float>(name, Floats, [](Reader& list) {
      return std::bit_cast<float>(detail::little<std::uint32_t>(list.take(4).data()));
    });
  }
  float number(std::string_view name) const { return floats(one(name)).front(); }

  std::vector<std::int64_t> integers(std::string_view name) const {
    return numbers_of<std::int64_t>(name, Integers,
                                    [](Reader& list) { return static_cast<std::int64_t>(list.varint()); });
  }
  std::int64_t integer(std::string_view name) const { return integers(one(name)).front(); }

 private:
  enum Kind : unsigned { Absent = 0, Strings = 1, Floats = 2, Integers = 3 };  // fields of Feature
  struct Feature {
    std::string_view name;
    std::span<const std::byte> list;  // the message BytesList, FloatList or Int64List
    std::size_t count = 0;
    Kind kind = Absent;
  };
  using Reader = detail::ProtoReader;

  static const char* words(Kind kind) {
    static constexpr const char* all[] = {"no values", "byte strings", "floats", "integers"};
    return all[kind];
  }

  void parse() {
    for (Reader example(record_.bytes, record_); !example.ended();) {
      message(example, 1, "the field of an Example, 1 (features)");
      for (Reader features(example.bytes(), record_); !features.ended();) {
        message(features, 1, "the field of Features, 1 (feature)");
        features_.push_back(entry(Reader(features.bytes(), record_)));
      }
    }
    std::ranges::sort(features_, {}, &Feature::name);
    const auto twice = std::ranges::adjacent_find(features_, {}, &Feature::name);
    if (twice != features_.end())
      throw Error(record_.where(), "each feature once", "\"" + std::string(twice->name) + "\" twice");
  }
  /// The next field is a message with this number.
  static void message(Reader& reader, std::uint64_t number, const char* expected) {
    const Reader::Tag tag = reader.tag();
    if (tag.field != number || tag.wire != Reader::Bytes) reader.refuse(expected, tag.words());
  }
  /// An entry of the map from names to features.
  Feature entry(Reader entry) const {
    Feature feature;
    bool named = false, valued = false;
    while (!entry.ended()) {
      const Reader::Tag tag = entry.tag();
      if (tag.wire != Reader::Bytes || tag.field > 2 || (tag.field == 1 ? named : valued))
        entry.refuse("a name (1) and a feature (2)", tag.words());
      const std::span<const std::byte> bytes = entry.bytes();
      if (tag.field == 1) named = true, feature.name = detail::text_of(bytes);
      else valued = true, list(Reader(bytes, record_), feature);
    }
    return feature;
  }
  void list(Reader reader, Feature& feature) const {
    if (reader.ended()) return;
    const Reader::Tag tag = reader.tag();
    if (tag.field > 3 || tag.wire != Reader::Bytes)
      reader.refuse("a list of byte strings (1), floats (2) or integers (3)", tag.words());
    feature.kind = static_cast<Kind>(tag.field);
    feature.list = reader.bytes();
    if (!reader.ended()) reader.refuse("one list in a feature", "more");
    if (feature.kind == Strings) {
      for (Reader strings(feature.list, record_); !strings.ended(); ++feature.count) {
        message(strings, 1, "the field of a BytesList, 1 (value)");
        (void)strings.bytes();
      }
    } else {
      for_each_number(feature, [&](Reader& numbers) {
        if (feature.kind == Floats) (void)numbers.take(4);
        else (void)numbers.varint();
        ++feature.count;
      });
    }
    if (feature.count == 0) feature.kind = Absent, feature.list = {};
  }
  /// f(reader before the number) for each number, packed or not.
  void for_each_number(const Feature& feature, auto&& f) const {
    const unsigned single = feature.kind == Floats ? Reader::Fixed32 : Reader::Varint;
    for (Reader list(feature.list, record_); !list.ended();) {
      const Reader::Tag tag = list.tag();
      if (tag.field != 1 || (tag.wire != single && tag.wire != Reader::Bytes))
        list.refuse("the field of a list of numbers, 1 (value)", tag.words());
      if (tag.wire == single) f(list);
      else
        for (Reader packed(list.bytes(), record_); !packed.ended();) f(packed);
    }
  }

  /// All numbers of a feature: read(reader) reads the next number.
  template <class T>
  std::vector<T> numbers_of(std::string_view name, Kind kind, const auto& read) const {
    const Feature& feature = expect(name, kind);
    std::vector<T> result;
    result.reserve(feature.count);
    for_each_number(feature, [&](Reader& list) { result.push_back(read(list)); });
    return result;
  }

  const Feature* find(std::string_view name) const {
    const auto place = std::ranges::lower_bound(features_, name, {}, &Feature::name);
    return place == features_.end() || place->name != name ? nullptr : &*place;
  }
  std::string where(std::string_view name) const { return record_.where() + ", feature \"" + std::string(name) + "\""; }
  const Feature& expect(std::string_view name) const {
    if (const Feature* found = find(name)) return *found;
    std::string names;
    for (std::size_t i = 0; i < features_.size() && i < 8; ++i)
      names += (i == 0 ? "" : ", ") + std::string(features_[i].name);
    throw Error(where(name), "a value",
                features_.empty() ? "no features" : "only " + names + (features_.size() > 8 ? ", ..." : ""),
                "names() lists the features of an Example");
  }
  const Feature& expect(std::string_view name, Kind kind) const {
    const Feature& feature = expect(name);
    if (feature.kind != kind && feature.kind != Absent) throw Error(where(name), words(kind), words(feature.kind));
    return feature;
  }
  /// The name of a feature, which has one value.
  std::string_view one(std::string_view name) const {
    if (const std::size_t values = count(name); values != 1)
      throw Error(where(name), "one value", std::to_string(values), "ask for the whole list");
    return name;
  }

  Record record_;
  std::vector<Feature> features_;  // by name
};

/// Builds a tf.train.Example. Numbers are packed; features are written in the order of their names, so that equal
/// Examples have equal bytes.
///
///   data::ExampleBuilder example;
///   example.bytes("image", jpeg).integers("class", {3}).floats("one_hot", {0, 0, 0, 1});
///   writer.write(example.encode());
class ExampleBuilder final {
 public:
  ExampleBuilder& bytes(const std::string& name, std::span<const std::byte> value) {
    return bytes_list(name, {detail::text_of(value)});
  }
  ExampleBuilder& bytes(const std::string& name, std::string_view value) { return bytes_list(name, {value}); }
  ExampleBuilder& bytes_list(const std::string& name, const std::vector<std::string_view>& values) {
    std::string list;
    for (const std::string_view value : values) detail::append_proto(list, 1, value);
    return add(name, 1, list);
  }
  ExampleBuilder& floats(const std::string& name, std::span<const float> values) {
    std::string packed(4 * values.size(), '\0');
    const std::span<std::byte> bytes = std::as_writable_bytes(std::span(packed));
    for (std::size_t i = 0; i < values.size(); ++i)
      detail::put_little(bytes.data() + 4 * i, std::bit_cast<std::uint32_t>(values[i]));
    return numbers(name, 2, packed);
  }
  ExampleBuilder& floats(const std::string& name, std::initializer_list<float> values) {
    return floats(name, std::span(values.begin(), values.size()));
  }
  ExampleBuilder& integers(const std::string& name, std::span<const std::int64_t> values) {
    std::string packed;
    for (const std::int64_t value : values) detail::append_varint(packed, static_cast<std::uint64_t>(value));
    return numbers(name, 3, packed);
  }
  ExampleBuilder& integers(const std::string& name, std::initializer_list<std::int64_t> values) {
    return integers(name, std::span(values.begin(), values.size()));
  }

  std::string encode() const {
    std::string features, example;
    for (const auto& [name, feature] : features_) {
      std::string entry;
      detail::append_proto(entry, 1, name);
      detail::append_proto(entry, 2, feature);
      detail::append_proto(features, 1, entry);
    }
    detail::append_proto(example, 1, features);
    return example;
  }

 private:
  ExampleBuilder& numbers(const std::string& name, unsigned kind, const std::string& packed) {
    std::string list;
    if (!packed.empty()) detail::append_proto(list, 1, packed);
    return add(name, kind, list);
  }
  ExampleBuilder& add(const std::string& name, unsigned kind, const std::string& list) {
    std::string feature;
    detail::append_proto(feature, kind, list);
    if (!features_.emplace(name, std::move(feature)).second)
      throw Error("an Example, feature \"" + name + "\"", "each feature once", "it twice");
    return *this;
  }

  std::map<std::string, std::string> features_;
};

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
