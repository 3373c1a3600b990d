// regimen/watch/events.ipp — files of events that TensorBoard reads, written.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/core/crc32c.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/finite.hpp>
#include <regimen/core/little.hpp>
#include <regimen/watch/events.hpp>

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <limits>
#include <new>
#include <string_view>

namespace regimen {

namespace detail {

/// The bytes of an unsigned number; the lowest comes first.
template <class T>
std::string little_bytes(T value) {
  std::string bytes(sizeof value, '\0');
  put_little(reinterpret_cast<std::byte*>(bytes.data()), value);
  return bytes;
}

/// A message of protocol buffers, version 3: fields in the order of the calls; a number that is 0 is left out.
///
/// source   protobuf.dev/programming-guides/encoding
class Message final {
 public:
  Message& whole(unsigned field, std::uint64_t value) {
    if (value == 0) return *this;
    varint(field << 3);
    varint(value);
    return *this;
  }
  Message& real(unsigned field, double value) {
    if (std::bit_cast<std::uint64_t>(value) == 0) return *this;
    varint(field << 3 | 1);
    bytes_ += little_bytes(std::bit_cast<std::uint64_t>(value));
    return *this;
  }
  /// A member of a oneof, written also if 0.
  Message& real_of_one(unsigned field, float value) {
    varint(field << 3 | 5);
    bytes_ += little_bytes(std::bit_cast<std::uint32_t>(value));
    return *this;
  }
  Message& reals(unsigned field, std::span<const double> values) {
    if (values.empty()) return *this;
    varint(field << 3 | 2);
    varint(values.size() * 8);
    for (const double value : values) bytes_ += little_bytes(std::bit_cast<std::uint64_t>(value));
    return *this;
  }
  /// Text, bytes or a message.
  Message& text(unsigned field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 128; value >>= 7) bytes_ += static_cast<char>(value | 128);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

/// A number in four bytes, the highest first.
inline std::string big_bytes(std::uint64_t value) {
  std::string bytes;
  for (unsigned i = 4; i-- > 0;) bytes += static_cast<char>(value >> 8 * i);
  return bytes;
}

/// A picture as PNG, not compressed.   pixels (height, width, channels)
inline std::string png(std::size_t width, std::size_t height, std::size_t channels,
                       std::span<const std::uint8_t> pixels) {
  const auto chunk = [](const std::string& name_and_data) {
    const auto* const data = reinterpret_cast<const Bytef*>(name_and_data.data());
    return big_bytes(name_and_data.size() - 4) + name_and_data +
           big_bytes(::crc32(0, data, static_cast<uInt>(name_and_data.size())));
  };
  std::string raw;  // each row behind its filter, which is none
  for (std::size_t row = 0; row < height; ++row) {
    raw += '\0';
    for (const std::uint8_t value : pixels.subspan(row * width * channels, width * channels))
      raw += static_cast<char>(value);
  }
  ::uLongf size = ::compressBound(raw.size());
  std::string stored(size, '\0');
  if (::compress2(reinterpret_cast<Bytef*>(stored.data()), &size, reinterpret_cast<const Bytef*>(raw.data()),
                  raw.size(), Z_NO_COMPRESSION) != Z_OK)
    throw std::bad_alloc();
  stored.resize(size);
  constexpr std::array<char, 5> colours{0, 0, 4, 2, 6};  // by channels: gray, gray and alpha, colour, colour and alpha
  const std::string header = big_bytes(width) + big_bytes(height) + '\x08' + colours[channels] + std::string(3, '\0');
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR" + header) + chunk("IDAT" + stored) + chunk("IEND");
}

}  // namespace detail

REGIMEN_INLINE EventHistogram::EventHistogram() : counts_(limits().size()) {}
REGIMEN_INLINE void EventHistogram::add(double value) {
  if (!is_finite(value)) return;
  least_ = count_ == 0 ? value : (std::min)(least_, value);
  most_ = count_ == 0 ? value : (std::max)(most_, value);
  count_ += 1;
  sum_ += value;
  squares_ += value * value;
  const std::vector<double>& all = limits();
  const auto bucket = std::upper_bound(all.begin(), all.end() - 1, value) - all.begin();
  counts_[static_cast<std::size_t>(bucket)] += 1;
}
REGIMEN_INLINE std::string EventHistogram::message() const {
  std::vector<double> ends, counts;
  for (std::size_t i = 0; i < counts_.size();) {
    double end = limits()[i];
    const double count = counts_[i++];
    while (count == 0 && i < counts_.size() && counts_[i] == 0) end = limits()[i++];
    ends.push_back(end);
    counts.push_back(count);
  }
  return detail::Message()
      .real(1, least_)
      .real(2, most_)
      .real(3, count_)
      .real(4, sum_)
      .real(5, squares_)
      .reals(6, ends)
      .reals(7, counts)
      .bytes();
}
REGIMEN_INLINE const std::vector<double>& EventHistogram::limits() {
  static const std::vector<double> all = [] {
    std::vector<double> positive, found;
    for (double limit = 1e-12; limit < 1e20; limit *= 1.1) positive.push_back(limit);
    positive.push_back((std::numeric_limits<double>::max)());
    for (std::size_t i = positive.size(); i-- > 0;) found.push_back(-positive[i]);
    found.push_back(0);
    found.insert(found.end(), positive.begin(), positive.end());
    return found;
  }();
  return all;
}
REGIMEN_INLINE EventFile::EventFile(const std::string& path, double time)
    : path_(path), file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666)) {
  if (*file_ < 0) fail("to create it");
  put(detail::Message().real(1, time).text(3, "brain.Event:2").bytes());
}
namespace detail {
inline std::string value_of(const Message& value) { return Message().text(1, value.bytes()).bytes(); }
}  // namespace detail
REGIMEN_INLINE std::string EventFile::scalar(const std::string& tag, double value) {
  return detail::value_of(detail::Message().text(1, tag).real_of_one(2, static_cast<float>(value)));
}
REGIMEN_INLINE std::string EventFile::histogram(const std::string& tag, const EventHistogram& values) {
  return detail::value_of(detail::Message().text(1, tag).text(5, values.message()));
}
REGIMEN_INLINE std::string EventFile::text(const std::string& tag, const std::string& words) {
  constexpr std::uint64_t string = 7;
  const std::string shape = detail::Message().text(2, detail::Message().whole(1, 1).bytes()).bytes(),
                    tensor = detail::Message().whole(1, string).text(2, shape).text(8, words).bytes(),
                    plugin = detail::Message().text(1, detail::Message().text(1, "text").bytes()).bytes();
  return detail::value_of(detail::Message().text(1, tag + "/text_summary").text(8, tensor).text(9, plugin));
}
REGIMEN_INLINE std::string EventFile::image(const std::string& tag, std::size_t width, std::size_t height,
                                            std::size_t channels, std::span<const std::uint8_t> pixels) {
  if (channels < 1 || channels > 4 || width < 1 || height < 1 || pixels.size() != width * height * channels)
    throw Error("EventFile::image " + tag, "1 to 4 channels of height times width pixels",
                std::to_string(pixels.size()) + " values of " + std::to_string(width) + " x " + std::to_string(height) +
                    " x " + std::to_string(channels));
  return detail::value_of(
      detail::Message().text(1, tag).text(4, detail::Message()
                                                 .whole(1, height)
                                                 .whole(2, width)
                                                 .whole(3, channels)
                                                 .text(4, detail::png(width, height, channels, pixels))
                                                 .bytes()));
}
REGIMEN_INLINE void EventFile::write(double time, std::uint64_t step, const std::string& values) {
  put(detail::Message().real(1, time).whole(2, step).text(5, values).bytes());
}
REGIMEN_INLINE void EventFile::put(const std::string& event) {
  const detail::RecordEnds ends(std::as_bytes(std::span(event)));
  const auto text = [](std::span<const std::byte> bytes) {
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  const std::string record = text(ends.before) + event + text(ends.behind);
  for (std::string_view left = record; !left.empty();) {
    const ::ssize_t written = ::write(*file_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("to write " + std::to_string(record.size()) + " bytes");
    left.remove_prefix(static_cast<std::size_t>(written));
  }
}
REGIMEN_INLINE void EventFile::fail(const std::string& what) const {
  throw Error(path_, what, regimen::detail::system_words(errno));
}

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
