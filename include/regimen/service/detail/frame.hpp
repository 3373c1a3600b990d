// regimen/service/detail/frame.hpp — what a trainer and a worker of the data service say to each other.
#pragma once

#include <regimen/comm/detail/handshake.hpp>
#include <regimen/core/bundled.hpp>
#include <regimen/core/crc32c.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/data/dataset.hpp>
#include <regimen/data/source.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace regimen::data::service {

/// After the handshake of ranks (comm/detail/handshake.hpp), with which both sides prove that they know the secret,
/// both send frames. A worker answers each, in any order.
///
///   trainer → worker   Open: Extents, then the words of the types      Read: an array of data::Key
///   worker → trainer   Opened: PipelineFacts, then the pipeline's name      Samples: all inputs, then all targets
///                      Failed: why not, in words
inline constexpr std::uint64_t protocol = 1;
/// The number that a trainer calls: more than any rank, so that a rank and a worker never take each other for one of
/// their own.
inline constexpr std::uint32_t addressee = 0xDA7A'5E4F, channel = 2;

enum class Kind : std::uint32_t { Open = 1, Opened, Read, Samples, Failed };

/// Stands before each message. It has sums of both parts of the message, and of itself: a damaged frame, or bytes of
/// another program, are recognised before a length is believed.
struct Frame final {
  Kind kind{};
  std::uint32_t bytes = 0;   // that follow
  std::uint32_t first = 0;   // of them: the inputs
  std::uint32_t number = 0;  // of the trainer's request; its answer has the same number
  std::array<std::uint32_t, 2> sums{};
  std::uint32_t own = 0;

  std::uint32_t sum() const { return masked_crc32c(std::as_bytes(std::span(this, 1)).first(offsetof(Frame, own))); }
  bool is_whole() const { return own == sum() && first <= bytes; }
};
static_assert(sizeof(Frame) == 28 && std::has_unique_object_representations_v<Frame>);

inline Frame frame_of(Kind kind, std::uint32_t number, std::span<const std::byte> first,
                      std::span<const std::byte> second = {}) {
  Frame frame{.kind = kind,
              .bytes = static_cast<std::uint32_t>(first.size() + second.size()),
              .first = static_cast<std::uint32_t>(first.size()),
              .number = number,
              .sums = {crc32c(first), crc32c(second)}};
  frame.own = frame.sum();
  return frame;
}

/// What a trainer may ask at once, and the words that a worker may say.
inline constexpr std::size_t most_keys = 256, most_words = 4096, most_bytes_asked = most_keys * sizeof(Key);
/// Limits of a worker's facts. A million samples a second come to the end of most_samples after nine years.
inline constexpr std::uint64_t most_samples = std::uint64_t{1} << 48, least_memory = std::uint64_t{1} << 16;
inline constexpr std::uint32_t most_threads = 1024;
static_assert(sizeof(Key) == 24 && std::has_unique_object_representations_v<Key>);

struct Extents final {
  std::uint64_t input = 0, target = 0, bound = 0, classes = 0;  // a SampleShape
  std::uint64_t input_bytes = 0, target_bytes = 0;              // of one element

  SampleShape sample_shape() const {
    return {.input = static_cast<std::size_t>(input),
            .target = static_cast<std::size_t>(target),
            .vocabulary_or_classes = static_cast<std::size_t>(bound),
            .classes = static_cast<std::size_t>(classes)};
  }
  std::size_t bytes_of_input() const { return static_cast<std::size_t>(input * input_bytes); }
  std::size_t bytes_of_target() const { return static_cast<std::size_t>(target * target_bytes); }
  /// Bytes of one sample; the largest number if they cannot be counted.
  std::size_t bytes() const {
    std::uint64_t inputs = 0, targets = 0, all = 0;
    return __builtin_mul_overflow(input, input_bytes, &inputs) ||
                   __builtin_mul_overflow(target, target_bytes, &targets) ||
                   __builtin_add_overflow(inputs, targets, &all)
               ? (std::numeric_limits<std::size_t>::max)()
               : static_cast<std::size_t>(all);
  }
  /// Whether a worker of these samples may serve a trainer's. A bound that is 0 is none: a loader checks ids against
  /// its own.
  bool serve(const Extents& wanted) const {
    const auto agree = [](std::uint64_t here, std::uint64_t there) { return here == 0 || there == 0 || here == there; };
    return input == wanted.input && target == wanted.target && input_bytes == wanted.input_bytes &&
           target_bytes == wanted.target_bytes && agree(bound, wanted.bound) && agree(classes, wanted.classes);
  }
  /// "33 inputs of 4 bytes and 1 target of 4 bytes, ids below 1000"
  std::string words() const {
    const auto values = [](std::uint64_t count, const char* noun, std::uint64_t bytes) {
      return regimen::detail::counted(static_cast<std::size_t>(count), noun) + " of " +
             regimen::detail::counted(static_cast<std::size_t>(bytes), "byte");
    };
    return values(input, "input", input_bytes) + " and " + values(target, "target", target_bytes) +
           (bound == 0 ? "" : ", ids below " + std::to_string(bound)) +
           (classes == 0 || classes == bound ? "" : ", classes below " + std::to_string(classes));
  }
  bool operator==(const Extents&) const = default;
};
template <class In, class Label>
Extents extents_of(const SampleShape& shape) {
  return {.input = shape.input,
          .target = shape.target,
          .bound = shape.vocabulary_or_classes,
          .classes = shape.classes,
          .input_bytes = sizeof(In),
          .target_bytes = sizeof(Label)};
}

/// What identifies a pipeline, beside its name. `print` is a sum over the first, the middle and the last sample.
struct PipelineFacts final {
  std::uint64_t size = 0, memory = 0;  // samples; bytes of answers that the worker keeps at most
  std::uint32_t threads = 0, print = 0;
};

struct Pipeline final {
  std::string name, from;
  PipelineFacts opened;
};

/// A record and words after it.
template <class Record>
std::string packed(const Record& record, std::string_view words) {
  static_assert(std::has_unique_object_representations_v<Record>);
  std::string bytes(sizeof record, '\0');
  std::memcpy(bytes.data(), &record, sizeof record);
  return bytes.append(words.substr(0, most_words));
}
template <class Record>
bool unpack(std::string_view bytes, Record& record, std::string& words) {
  if (bytes.size() < sizeof record || bytes.size() > sizeof record + most_words) return false;
  std::memcpy(&record, bytes.data(), sizeof record);
  words = bytes.substr(sizeof record);
  return true;
}
inline std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// A pipeline as errors name it: "flowers | decode" (1000 samples, the first of which have the sum 1a2b3c4d).
inline std::string words_of_pipeline(const std::string& name, const PipelineFacts& opened) {
  return "\"" + name + "\" of " + regimen::detail::counted(static_cast<std::size_t>(opened.size), "sample") +
         " (a sum of three of them: " + regimen::detail::printed("%08x", opened.print) + ")";
}

/// "fp32", "uint8", "(int32[64], fp32[8])".
template <class T>
struct words_of_type final {
  static std::string text() {
    if constexpr (std::is_integral_v<T>) return (std::is_signed_v<T> ? "int" : "uint") + std::to_string(8 * sizeof(T));
    else if constexpr (std::string_view(name_of<T>) != "int32") return name_of<T>;
    else return "a type of " + regimen::detail::counted(sizeof(T), "byte");
  }
};
template <class... Values>
struct words_of_type<Bundled<Values...>> final {
  static std::string text() {
    std::string all;
    ((all += (all.empty() ? "(" : ", ") + words_of_type<typename Values::Element>::text() + "[" +
             std::to_string(Values::size) + "]"),
     ...);
    return all + ")";
  }
};
/// "inputs of fp32, targets of int32"
template <class In, class Label>
std::string words_of_types() {
  return "inputs of " + words_of_type<In>::text() + ", targets of " + words_of_type<Label>::text();
}

/// A source without its types: samples as bytes.
class Samples {
 public:
  Samples(const Samples&) = delete;
  Samples& operator=(const Samples&) = delete;
  virtual ~Samples() = default;

  virtual std::string name() const = 0;
  virtual std::string types() const = 0;
  /// The number of samples of that shape; the source's Error if it has none such.
  virtual std::size_t size(const SampleShape& shape) const = 0;
  /// Inputs one behind the other, and targets.
  virtual void read(std::span<const Key> keys, const SampleShape& shape, std::byte* input, std::byte* target) const = 0;

 protected:
  Samples() = default;
};

template <class In, class Label, Source<In, Label> S>
class SamplesOf final : public Samples {
  static_assert(std::is_trivially_copyable_v<In> && std::is_trivially_copyable_v<Label>);

 public:
  explicit SamplesOf(S source) : source_(std::move(source)) {}

  std::string name() const override { return regimen::detail::name_of_source(source_); }
  std::string types() const override { return words_of_types<In, Label>(); }
  std::size_t size(const SampleShape& shape) const override { return source_.size(shape); }
  void read(std::span<const Key> keys, const SampleShape& shape, std::byte* input, std::byte* target) const override {
    auto* const inputs = reinterpret_cast<In*>(input);
    auto* const targets = reinterpret_cast<Label*>(target);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const Sample<In, Label> sample{{inputs + i * shape.input, shape.input},
                                     {targets + i * shape.target, shape.target}};
      regimen::detail::read_sample(source_, keys[i], sample);
    }
  }

 private:
  const S source_;
};

/// What identifies a pipeline; throws what the source throws at one of the three samples.
[[gnu::cold]] inline PipelineFacts identify(const Samples& samples, const Extents& shape) {
  PipelineFacts opened;
  const SampleShape extents = shape.sample_shape();
  const std::size_t size = samples.size(extents);
  opened.size = size;
  if (size > most_samples)
    throw Error(samples.name(), "at most 2^48 samples, which a data service can number", std::to_string(size));
  std::vector<std::byte> input(shape.bytes_of_input()), target(shape.bytes_of_target());
  for (const std::size_t index : {std::size_t{0}, size / 2, size == 0 ? 0 : size - 1}) {
    if (size == 0) break;
    const Key key{index, 0, 0};
    samples.read(std::span(&key, 1), extents, input.data(), target.data());
    opened.print = opened.print * 31 + (crc32c(input) ^ masked_crc32c(target));
  }
  return opened;
}

}  // namespace regimen::data::service
// SPDX-License-Identifier: Apache-2.0
