// regimen/data/source.hpp — the concept of a data source.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/data/dataset.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <string>

namespace regimen {

/// The place of one sample, for a source to write: `input` and `target` have exactly the model's extents.
///
///   tokens            Sample<std::int32_t, std::int32_t>    input (T), target (T)
///   vectors, images   Sample<float, std::int32_t>           input (N) or (H,W,C), target (1), a class
///   regression        Sample<float, float>                  input (N), target (M)
///   several values    Sample<Bundled<...>, Bundled<...>>    input (1), target (1): Trainer::Input, Trainer::Label; one
///                     of the two may also be as in the lines above
template <class In, class Label>
struct Sample {
  std::span<In> input;
  std::span<Label> target;
};

/// The extents of one sample of a model.
struct SampleShape {
  std::size_t input = 0, target = 0;      // elements
  std::size_t vocabulary_or_classes = 0;  // exclusive upper bound of integer inputs and targets; 0: none
  std::size_t classes = 0;                // bound of integer targets if it differs from the inputs' bound; 0: the same
};

/// A source gives the number of its samples for a model's shape, and writes the sample of a given index.
///
///   size(shape)          the number of samples; throws Error if it cannot serve the shape, with the extents of the
///                        data and of the model
///   read(index, sample)  writes all of `sample`; a pure function of index < size(shape), called from several threads
///   read(key, sample)    instead of read(index, sample), for samples that change with the epoch: a pure function of a
///                        data::Key, whose index is the sample's; data::samples gives a pipeline of stages this form
///   read(keys, samples)  optional, std::span<const data::Key>: several samples at once, inputs one after the other,
///                        and targets one after the other. A loader then asks for a whole batch: for sources on other
///                        machines
///   name()               optional: the file's name, for a loader's errors about a sample
///
/// Element types must be equal: a source of doubles is no source for a model in float; convert in read().
///
/// valid, in ten lines: sums of two numbers
///
///   struct Sums {
///     std::size_t size(const SampleShape& shape) const {
///       if (shape.input != 2 || shape.target != 1)
///         throw Error("Sums", "a model with 2 inputs and 1 output", "another");
///       return 10'000;
///     }
///     void read(std::size_t index, Sample<float, float> sample) const {
///       sample.input[0] = static_cast<float>(index % 100), sample.input[1] = static_cast<float>(index / 100);
///       sample.target[0] = sample.input[0] + sample.input[1];
///     }
///   };
///   static_assert(Source<Sums, float, float>);
///
/// invalid: `Source<Sums, double, double>`, since its read() writes no doubles; a read() that is not const.
template <class S, class In, class Label>
concept KeyedSource =
    requires(const S& source, const data::Key& key, Sample<In, Label> sample) { source.read(key, sample); };
template <class S, class In, class Label>
concept BatchSource = requires(const S& source, std::span<const data::Key> keys, Sample<In, Label> samples) {
  source.read(keys, samples);
};
template <class S, class In, class Label>
concept Source = requires(const S& source, const SampleShape& shape) {
  { source.size(shape) } -> std::same_as<std::size_t>;
} && (KeyedSource<S, In, Label> || requires(const S& source, std::size_t index, Sample<In, Label> sample) {
                   source.read(index, sample);
                 });

namespace detail {

/// Writes the sample of a key, or of its index.
template <class S, class In, class Label>
void read_sample(const S& source, const data::Key& key, const Sample<In, Label>& sample) {
  if constexpr (KeyedSource<S, In, Label>) source.read(key, sample);
  else source.read(key.index, sample);
}

/// The name of a source in errors.
template <class S>
std::string name_of_source(const S& source) {
  if constexpr (requires { std::string(source.name()); }) return source.name();
  else return "the data source";
}

void expect_extents(const std::string& name, const SampleShape& shape, std::size_t input, std::size_t target);

/// `classes`: the number of classes of the source, even if these data lack some; `why` is for the error.
void expect_classes(const std::string& name, std::size_t bound, std::size_t classes, const char* why = "",
                    const char* other = "other data");

void expect_index(const std::string& name, std::size_t index, std::size_t size);

/// A split's fraction.
void expect_fraction(const std::string& name, double fraction);

}  // namespace detail

}  // namespace regimen

#if !REGIMEN_COMPILED
#include <regimen/data/source.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
