// regimen/data/dataset.hpp — the concept of a dataset: values by index, of which stages and sources are made.
#pragma once

#include <regimen/core/philox.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

namespace regimen::data {

/// Which value of which epoch. A stage that draws random numbers draws them from its key alone, so that a value does not
/// depend on the thread, the rank or the run that computes it, and each epoch has others.
struct Key final {
  std::size_t index = 0;  // below the dataset's size()
  std::uint64_t epoch = 0;
  std::uint64_t seed = 0;  // the run's

  /// Random bits of this key; `stage` tells apart those who draw from the same key.
  constexpr std::uint64_t bits(std::uint64_t stage) const { return mix(mix(mix(seed, stage), epoch), index); }
};

/// A dataset gives its number of values, the value of a key, and its name.
///
///   size()    the number of values; does not change
///   at(key)   the value, a pure function of the key with key.index < size(); called from several threads. A value may
///             point into the dataset (a std::span of a mapped file). Throws Error that names the file and the place
///   name()    in errors: the file, or the stage with what it stands on
///
/// It may have place(key) const -> std::string, which says in errors where the value lies: "houses.csv, line 17".
///
/// Since a value can be asked for in any order, an order is a function of an index (data/order.hpp), a pipeline resumes
/// anywhere without reading what came before, and a rank reads its own share alone.
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

/// Where a value of a dataset lies, in the words of its reader; the name and the index, if it has none.
template <Dataset D>
[[gnu::cold]] std::string place_of(const D& dataset, const Key& key) {
  if constexpr (requires { std::string(dataset.place(key)); }) return dataset.place(key);
  else return std::string(dataset.name()) + ", value " + std::to_string(key.index);
}

/// What a dataset gives, without references.
template <Dataset D>
using value_of = std::remove_cvref_t<decltype(std::declval<const D&>().at(std::declval<const Key&>()))>;

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
