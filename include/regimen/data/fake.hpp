// regimen/data/fake.hpp — synthetic samples that a model can learn, for tests, benchmarks and first programs.
#pragma once

#include <regimen/core/bundled.hpp>
#include <regimen/core/philox.hpp>
#include <regimen/data/source.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace regimen {

/// Samples as a pure function of (seed, index), in the model's shape. With c = classes:
///
///   floats, class    label = index mod c; input[e] nearly normal, plus 1 where e mod c = label
///   floats, floats   input nearly normal; target[k] = mean of the input[e] with e mod targets = k, 0 if there is no
///                    such e
///   tokens, tokens   an arithmetic sequence modulo c, of random start and a step of 1 to 7:
///                    any two tokens determine the next
///   tokens, class    the same sequence; label = index mod c
///
/// If the input or the target is a Bundle, label = index mod c: each value of the input is as above for a class; each
/// value of the target is label for classes and tokens, and label / c for floats.
///
/// failure  Error when the model has fewer ids than `classes`
/// error    nearly normal: mean 0, variance 1, kurtosis 2.7, within 3.47 of 0; computed from integers, so the same on
///          every machine; float inputs are the double inputs, rounded to nearest
/// cost     one draw of Philox per two numbers
class Fake final {
 public:
  struct Options {
    std::size_t samples = 1024, classes = 10;
    std::uint64_t seed = 0;
  };

  Fake() : Fake(Options{}) {}
  explicit Fake(const Options& options) : options_(options) {
    constexpr std::size_t most = 0x7FFF'FFFF;
    if (options.samples == 0) throw Error("Fake", "at least one sample", "0");
    if (options.classes == 0 || options.classes > most)
      throw Error("Fake", "1 to 2147483647 classes", std::to_string(options.classes));
  }

  std::string name() const { return "Fake"; }

  std::size_t size(const SampleShape& shape) const {
    if (shape.input == 0 || shape.target == 0) throw Error("Fake", "a model with inputs and targets", "none");
    detail::expect_classes("Fake", shape.vocabulary_or_classes, options_.classes);
    detail::expect_classes("Fake", shape.classes, options_.classes);
    return options_.samples;
  }

  template <std::floating_point In>
  void read(std::size_t index, Sample<In, std::int32_t> sample) const {
    normals(index, sample.input);
    const std::size_t label = index % options_.classes;
    for (std::size_t i = label; i < sample.input.size(); i += options_.classes) sample.input[i] += 1;
    for (std::int32_t& target : sample.target) target = static_cast<std::int32_t>(label);
  }

  template <class In, class Label>
    requires(detail::is_bundle<In> || detail::is_bundle<Label>)
  void read(std::size_t index, Sample<In, Label> sample) const {
    for_each_value(sample.input,
                   [&]<class T>(std::span<T> values) { read(index, Sample<T, std::int32_t>{values, {}}); });
    const std::size_t label = index % options_.classes;
    for_each_value(sample.target, [&]<class T>(std::span<T> values) {
      for (T& value : values)
        if constexpr (std::floating_point<T>)
          value = static_cast<T>(static_cast<double>(label) / static_cast<double>(options_.classes));
        else value = static_cast<T>(label);
    });
  }

  template <std::floating_point In, std::floating_point Label>
  void read(std::size_t index, Sample<In, Label> sample) const {
    normals(index, sample.input);
    const std::size_t targets = sample.target.size();
    for (std::size_t k = 0; k < targets; ++k) {
      double sum = 0, count = 0;
      for (std::size_t i = k; i < sample.input.size(); i += targets)
        sum += static_cast<double>(sample.input[i]), count += 1;
      sample.target[k] = static_cast<Label>(count == 0 ? 0 : sum / count);
    }
  }

  void read(std::size_t index, Sample<std::int32_t, std::int32_t> sample) const {
    const Philox::Words words = Philox::draw(options_.seed, index, stream);
    const std::uint64_t start = words.word[0] % options_.classes, step = 1 + words.word[1] % 7;
    const auto token = [&](std::size_t i) {
      return static_cast<std::int32_t>((start + (i % options_.classes) * step) % options_.classes);
    };
    for (std::size_t i = 0; i < sample.input.size(); ++i) sample.input[i] = token(i);
    const bool sequence = sample.target.size() == sample.input.size() && sample.input.size() > 1;
    for (std::size_t i = 0; i < sample.target.size(); ++i) {
      sample.target[i] = sequence ? token(i + 1) : static_cast<std::int32_t>(index % options_.classes);
    }
  }

 private:
  static constexpr std::uint64_t stream = 0xFA4E;  // differs from other streams of this seed

  /// f(the values of a part) for all parts of a sample.
  template <class T>
  static void for_each_value(std::span<T> sample, auto&& f) {
    if constexpr (detail::is_bundle<T>) {
      for (T& bundle : sample)
        [&]<std::size_t... i>(std::index_sequence<i...>) {
          (f(std::span(bundle.template get<i>().data(), bundle.template get<i>().size())), ...);
        }(std::make_index_sequence<T::count>{});
    } else {
      f(sample);
    }
  }

  /// Sums of four uniform 16-bit integers, shifted and scaled to mean 0 and variance 1 (Irwin 1927, Hall 1927).
  template <class T>
  void normals(std::size_t index, std::span<T> to) const {
    constexpr double mean = 2 * 65535, deviation = 37837.22723720648;  // 2 sqrt((65536^2 - 1) / 12)
    const std::uint64_t key = Philox::mix(options_.seed, stream);
    const auto number = [](std::uint32_t a, std::uint32_t b) {
      const std::uint32_t sum = (a & 0xFFFFu) + (a >> 16) + (b & 0xFFFFu) + (b >> 16);
      return static_cast<T>((static_cast<double>(sum) - mean) / deviation);
    };
    for (std::size_t i = 0; i < to.size(); i += 2) {
      const Philox::Words words = Philox::draw(key, index, i / 2);
      to[i] = number(words.word[0], words.word[1]);
      if (i + 1 < to.size()) to[i + 1] = number(words.word[2], words.word[3]);
    }
  }

  Options options_;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
