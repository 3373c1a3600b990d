// regimen/data/proto.hpp — the wire format of protocol buffers, read strictly, and written.
#pragma once

#include <regimen/data/records.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace regimen::data::detail {

/// Reads a message in the wire format of protocol buffers, field by field.
///
/// failure  Error for a number of more than 64 bits, a length beyond the message's end, field 0
class ProtoReader final {
 public:
  enum Wire : unsigned { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

  ProtoReader(std::span<const std::byte> message, const Record& record) : rest_(message), record_(&record) {}

  bool ended() const { return rest_.empty(); }
  const std::byte* place() const { return rest_.data(); }

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
// SPDX-License-Identifier: Apache-2.0
