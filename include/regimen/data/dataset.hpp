// regimen/data/dataset.hpp — the concept of a dataset: values by index, for stages and sources; times of its stages.
#pragma once

#include <regimen/core/philox.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace regimen::data {

namespace detail {
/// Whether T is an Of<...>, such as a std::optional.
template <class T, template <class...> class Of>
inline constexpr bool is_of = false;
template <template <class...> class Of, class... Arguments>
inline constexpr bool is_of<Of<Arguments...>, Of> = true;
}  // namespace detail

/// The index of a value, its epoch, and the seed of the run. A stage draws random numbers only from its key: a value
/// does not depend on the thread, the rank or the run that computes it, and each epoch has other numbers.
struct Key final {
  std::size_t index = 0;  // below the dataset's size()
  std::uint64_t epoch = 0;
  std::uint64_t seed = 0;  // the run's

  /// Random bits of this key; different `stage`s draw different bits from the same key.
  constexpr std::uint64_t bits(std::uint64_t stage) const {
    return Philox::mix(Philox::mix(Philox::mix(seed, stage), epoch), index);
  }
};

/// A dataset gives its number of values, the value of a key, and its name.
///
///   size()    the number of values; does not change
///   at(key)   the value, a pure function of the key with key.index < size(); called from several threads. A value may
///             point into the dataset (a std::span of a mapped file). Throws Error that names the file and the place
///   name()    for errors: the file, or the stage and its dataset
///
/// It may have place(key) const -> std::string, the place of a value for errors: "houses.csv, line 17".
///
/// Values can be read in any order. So an order is a function of an index (data/batching.hpp), a pipeline resumes
/// anywhere without reading earlier values, and a rank reads only its own share.
///
/// valid    struct Squares {
///            std::size_t size() const { return 100; }
///            float at(const data::Key& key) const { return float(key.index * key.index); }
///            std::string name() const { return "squares"; }
///          };
/// invalid  an at() that is not const
template <class D>
concept Dataset = requires(const D& dataset, const Key& key) {
  { dataset.size() } -> std::same_as<std::size_t>;
  dataset.at(key);
  { dataset.name() } -> std::convertible_to<std::string>;
};

/// The place of a value by its reader's place(key); without one the name and the index.
template <Dataset D>
[[gnu::cold]] std::string place_of(const D& dataset, const Key& key) {
  if constexpr (requires { std::string(dataset.place(key)); }) return dataset.place(key);
  else return std::string(dataset.name()) + ", value " + std::to_string(key.index);
}

/// Whether the value of an index changes with the epoch: because a stage draws, or because a mixture continues its
/// datasets. A dataset of your own that draws has `static constexpr bool varies = true;`
template <class D>
inline constexpr bool varies = false;
template <class D>
  requires requires { D::varies; }
inline constexpr bool varies<D> = D::varies;

/// The type of a dataset's values, without references.
template <Dataset D>
using value_of = std::remove_cvref_t<decltype(std::declval<const D&>().at(std::declval<const Key&>()))>;

/// The two parts of a dataset: `auto [train, validation] = values | data::split(0.9);`
template <class Train, class Validation = Train>
struct Split final {
  Train train;
  Validation validation;
};

/// How long a stage has worked: only its own work, without the stages before it, summed over all threads.
struct Timing final {
  std::string stage;         // its name; of a reader, its file
  std::uint64_t values = 0;  // that it has made
  double seconds = 0;        // estimated: the first 64 values are timed, then each eighth
};

/// Appends how long each stage has worked, the reader first. Nothing for sources without stages.
template <class D>
void add_timings(const D& dataset, std::vector<Timing>& all) {
  if constexpr (requires { dataset.timings(all); }) dataset.timings(all);
}

/// How long each stage has worked, the reader first. Stages that only choose values are not listed. Empty for sources
/// without stages.
template <class D>
std::vector<Timing> timings(const D& dataset) {
  std::vector<Timing> all;
  add_timings(dataset, all);
  return all;
}

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
