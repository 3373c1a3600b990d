// regimen/data/array_rows.hpp — the rows of an array, whose elements are in memory or in a mapped file.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/data/dataset.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace regimen::data {

/// The rows of an array (N, ...) as a dataset, for Npy, IdxArray and TensorRows. Row i has all values of index i of the
/// first dimension. Copies share the array.
template <class T>
class ArrayRows {
 public:
  std::size_t size() const { return extents().front(); }
  /// The extents of the whole array.
  std::span<const std::size_t> extents() const& { return array_->extents; }
  std::vector<std::size_t> extents() const&& { return array_->extents; }
  const std::string& name() const& { return array_->name; }
  std::string name() const&& { return name(); }

  std::string place(const Key& key) const { return name() + ", row " + std::to_string(key.index); }
  std::span<const T> at(const Key& key) const& {
    if (key.index >= size())
      throw Error(name(), "a row below " + std::to_string(size()), "row " + std::to_string(key.index));
    return values_.subspan(key.index * row_, row_);
  }
  std::vector<T> at(const Key& key) const&& {
    const auto own = at(key);
    return {own.begin(), own.end()};
  }

 protected:
  ArrayRows() = default;
  /// extents   at least one      owner   of the values
  void keep(std::string name, std::vector<std::size_t> extents, std::span<const T> values,
            std::shared_ptr<const void> owner) {
    array_ = std::make_shared<const Array>(Array{std::move(name), std::move(extents), std::move(owner)});
    values_ = values;
    row_ = size() == 0 ? 0 : values.size() / size();
  }

 private:
  struct Array {
    std::string name;
    std::vector<std::size_t> extents;
    std::shared_ptr<const void> owner;
  };

  std::shared_ptr<const Array> array_;
  std::span<const T> values_;
  std::size_t row_ = 0;
};

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
