// regimen/rule/source_writes_samples.hpp — a source writes samples that the model reads.
#pragma once

#include <regimen/data/source.hpp>

#include <string_view>
#include <type_traits>

namespace regimen::rule {

/// What stands in place of a source.
enum class SourceMistake { samples, number, path, dataset };

template <class S, class In, class Label>
inline constexpr SourceMistake mistake_of_source =
    std::is_arithmetic_v<S>                             ? SourceMistake::number
    : std::is_convertible_v<const S&, std::string_view> ? SourceMistake::path
    : data::Dataset<S>                                  ? SourceMistake::dataset
                                                        : SourceMistake::samples;

/// Element types agree exactly: nothing is rounded between the data and the model.
/// docs/errors/fit.md#source_writes_samples
template <class S, class In, class Label, SourceMistake = mistake_of_source<S, In, Label>>
struct source_writes_samples {
  static constexpr bool holds = Source<S, In, Label>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: this source writes other samples; give it size(SampleShape) const and read(index, Sample<In, Label>) const");
  };
};
template <class S, class In, class Label>
struct source_writes_samples<S, In, Label, SourceMistake::number> {
  static constexpr bool holds = Source<S, In, Label>;
  struct must_hold {
    static_assert(holds,
                  "regimen: a number is no source; give it its name among the options, fit(source, {.steps = 1000})");
  };
};
template <class S, class In, class Label>
struct source_writes_samples<S, In, Label, SourceMistake::path> {
  static constexpr bool holds = Source<S, In, Label>;
  struct must_hold {
    static_assert(holds,
                  "regimen: a path is no source; say what the file holds, as in Text(path), TokenFile(path), Idx(...)");
  };
};
template <class S, class In, class Label>
struct source_writes_samples<S, In, Label, SourceMistake::dataset> {
  static constexpr bool holds = Source<S, In, Label>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a dataset has values, and fit reads samples of this model; end it with | data::samples(write)");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
