// regimen/watch/events.hpp — files of events that TensorBoard reads: scalars, histograms, texts, images.
#pragma once

#include <regimen/core/mapped_file.hpp>  // Descriptor

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace regimen {

/// The distribution of values, in TensorFlow's buckets: each limit is 10 % larger than the one before, from 1e-12 on,
/// on both sides of 0. Numbers that are not finite are left out.
class EventHistogram final {
 public:
  EventHistogram();
  void add(double value);
  /// The histogram as a HistogramProto; neighbouring empty buckets become one.
  std::string message() const;

 private:
  static const std::vector<double>& limits();
  double least_ = 0, most_ = 0, count_ = 0, sum_ = 0, squares_ = 0;
  std::vector<double> counts_;
};

/// A file of events, which grows during a run: when write returns, the whole event is in the file.
///
///   EventFile events("runs/1/events.out.tfevents.1700000000.host", time);
///   events.write(time, step, EventFile::scalar("loss", 2.5) + EventFile::scalar("learning_rate", 1e-3));
///
///   time    seconds since 1970        step   at most 2^63 - 1
///
/// The file has TensorFlow's format: records of length, masked CRC-32C, an Event of tensorflow/core/util/event.proto,
/// and its checksum; the first one has the version of the format.
///
/// failure  Error with the system's reason. An existing file is refused
class EventFile final {
 public:
  EventFile(const std::string& path, double time);

  static std::string scalar(const std::string& tag, double value);
  static std::string histogram(const std::string& tag, const EventHistogram& values);
  /// Markdown.
  static std::string text(const std::string& tag, const std::string& words);
  /// pixels (height, width, channels)   channels 1 to 4: gray, gray and alpha, colour, colour and alpha
  static std::string image(const std::string& tag, std::size_t width, std::size_t height, std::size_t channels,
                           std::span<const std::uint8_t> pixels);
  /// values   the results of scalar and the other functions, one after the other
  void write(double time, std::uint64_t step, const std::string& values);

 private:
  void put(const std::string& event);
  [[noreturn]] void fail(const std::string& what) const;

  std::string path_;
  detail::Descriptor file_;
};

}  // namespace regimen

#if !REGIMEN_COMPILED
#include <regimen/watch/events.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
