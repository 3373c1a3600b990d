// regimen/data/rules.hpp — rules about datasets, their stages and readers, and sources.
#pragma once

#include <regimen/core/rules.hpp>
#include <regimen/data/dataset.hpp>
#include <regimen/data/source.hpp>

#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace regimen::rule {

/// F is called on a const object, from several threads: a lambda is not mutable.
/// docs/errors/data.md#map_takes_value
template <class F, class D>
struct map_takes_value {
  using Value = decltype(std::declval<const D&>().at(std::declval<const data::Key&>()));
  static constexpr bool alone = std::is_invocable_v<const F&, Value>;
  static constexpr bool holds = alone || std::is_invocable_v<const F&, Value, const data::Key&>;
  struct must_hold {
    static_assert(holds,
                  "regimen: map(f) calls f(value) or f(value, key), const; let f take what the stage before it gives");
  };
};

/// A type that was refused as a dataset. Its stages, and a Trainer that trains on it, give no further error.
template <class D>
struct RefusedDataset : D {
  using refused_dataset = D;
};
template <class D>
concept IsRefusedDataset = requires { typename D::refused_dataset; };

/// A type in place of a source.   told: a stage with it as dataset has given the error
enum class SourceMistake { samples, number, path, dataset, told };

template <class S>
inline constexpr SourceMistake mistake_of_source =
    std::is_arithmetic_v<S>                             ? SourceMistake::number
    : std::is_convertible_v<const S&, std::string_view> ? SourceMistake::path
    : data::Dataset<S>                                  ? SourceMistake::dataset
    : IsRefusedDataset<S>                               ? SourceMistake::told
                                                        : SourceMistake::samples;

/// Element types agree exactly: nothing is rounded between the data and the model.
/// docs/errors/fit.md#source_writes_samples
template <class S, class In, class Label>
struct source_writes_samples {
  static constexpr bool holds = Source<S, In, Label> && !IsRefusedDataset<S>;
  template <SourceMistake mistake>
  static constexpr bool holds_of = holds || mistake_of_source<S> != mistake;
  struct must_hold {
    using enum SourceMistake;
    static_assert(
        holds_of<samples>,
        "regimen: this source writes other samples; give it size(SampleShape) const and read(index, Sample<In, Label>) const");
    static_assert(holds_of<number>,
                  "regimen: a number is no source; give it its name among the options, fit(source, {.steps = 1000})");
    static_assert(holds_of<path>,
                  "regimen: a path is no source; say what the file holds, as in Text(path), TokenFile(path), Idx(...)");
    static_assert(
        holds_of<dataset>,
        "regimen: a dataset has values, and fit reads samples of this model; end it with | data::samples(write)");
  };
};

/// The value before a stage is a dataset. docs/errors/data.md#stage_stands_on_dataset
template <class D>
struct stage_stands_on_dataset {
  static constexpr bool holds = data::Dataset<D>;
  struct must_hold {
    static_assert(holds,
                  "regimen: a stage stands on a dataset; give it size() const, at(data::Key) const and name() const");
  };
};
template <IsRefusedDataset D>
struct stage_stands_on_dataset<D> {
  static constexpr bool holds = false;
  struct must_hold {};
};

/// A pipeline has an end; fit and Loader repeat it. docs/errors/data.md#pipeline_has_an_end
template <class... Arguments>
struct pipeline_has_an_end {
  static constexpr bool holds = never<Arguments...>;
  struct must_hold {
    static_assert(holds, "regimen: a dataset has an end, and fit repeats it; leave repeat out, or write {.epochs = N}");
  };
};

/// Sample   Sample<Trainer::Input, Trainer::Label>
/// docs/errors/data.md#writer_takes_sample
template <class Write, class D, class Sample>
struct writer_takes_sample {
  using Value = decltype(std::declval<const D&>().at(std::declval<const data::Key&>()));
  static constexpr bool alone = std::is_invocable_v<const Write&, Value, Sample>;
  static constexpr bool holds = alone || std::is_invocable_v<const Write&, Value, Sample, const data::Key&>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: samples(write) calls write(value, sample), const; let it take the model's Sample<Input, Label>");
  };
};

/// A cache keeps only values that are the same in every epoch. docs/errors/data.md#cache_stands_before_random
template <class D>
struct cache_stands_before_random {
  static constexpr bool holds = !data::varies<D>;
  struct must_hold {
    static_assert(holds, "regimen: cache() would freeze what changes with the epoch; put it before the random stage");
  };
};

/// Known for types without destructors, for vectors and strings, and for pairs and tuples of these.
/// docs/errors/data.md#cached_bytes_are_known
template <class Value, bool are_known>
struct cached_bytes_are_known {
  static constexpr bool holds = are_known;
  struct must_hold {
    static_assert(holds, "regimen: cache() states its bytes; give the value bytes() const, the memory that it owns");
  };
};

/// After a stage that draws, each epoch has other values; after a mixture, each epoch has another value at a place.
/// docs/errors/data.md#choice_stands_before_random
template <class D>
struct choice_stands_before_random {
  static constexpr bool holds = !data::varies<D>;
  struct must_hold {
    static_assert(
        holds, "regimen: filter, by_length and split choose once; put them before a random stage, or before mixture");
  };
};

/// A predicate is called once for all epochs: with a key it would draw for one.
/// docs/errors/data.md#predicate_takes_value
template <class F, class D>
struct predicate_takes_value {
  using Value = decltype(std::declval<const D&>().at(std::declval<const data::Key&>()));
  static constexpr bool holds = std::is_invocable_v<const F&, Value>;
  struct must_hold {
    static_assert(
        holds, "regimen: filter, by_length and split(by) call f(value), const, once; let f take no key, and not draw");
  };
};

/// A function that chooses values returns a type that the stage can read. docs/errors/data.md#predicate_gives_result
template <class Result, bool suits>
struct predicate_gives_result {
  static constexpr bool holds = suits;
  struct must_hold {
    static_assert(
        holds, "regimen: filter wants a bool of f, by_length a number, split(by) a string or an integer; return that");
  };
};

/// Datasets that become one have values of one type.
/// docs/errors/data.md#joined_values_agree
template <class First, class... Others>
struct joined_values_agree {
  static constexpr bool holds = (std::is_same_v<First, Others> && ...);
  struct must_hold {
    static_assert(holds,
                  "regimen: concatenate, interleave and mixture join values of one type; map them to one before");
  };
};

/// A mixture has a weight for each dataset.
/// docs/errors/data.md#weights_match_datasets
template <std::size_t Weights, class... Datasets>
struct weights_match_datasets {
  static constexpr bool holds = Weights == sizeof...(Datasets);
  struct must_hold {
    static_assert(holds, "regimen: mixture takes one weight for each dataset; write mixture({3, 1}, a, b)");
  };
};

/// Images are mixed pixel by pixel, not file by file.
/// docs/errors/data.md#mixed_takes_images
template <class Value, bool is_image>
struct mixed_takes_images {
  static constexpr bool holds = is_image;
  struct must_hold {
    static_assert(holds, "regimen: mixed takes values of data::LabelledImage; decode files before, in a map");
  };
};

/// A row owns its values: text between quotation marks is not in the file as it is read.
/// docs/errors/data.md#column_takes_type
template <class T>
struct column_takes_type {
  static constexpr bool holds = std::is_arithmetic_v<T> || std::same_as<T, std::string>;
  struct must_hold {
    static_assert(holds, "regimen: Csv reads std::string, bool, numbers, or std::optional of these; name one of them");
  };
};
template <class T>
struct column_takes_type<std::optional<T>> : column_takes_type<T> {};

/// A type without a name would read the column named "", which a table of pandas has.
/// docs/errors/data.md#names_match_types
template <std::size_t Names, class... Types>
struct names_match_types {
  static constexpr bool holds = Names == sizeof...(Types);
  struct must_hold {
    static_assert(holds,
                  "regimen: Csv and JsonLines read one name as each type; give as many names as types, in their order");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
