// regimen/saves/tensor_rows.hpp — the rows of a tensor in a safetensors file, as a dataset.
#pragma once

#include <regimen/data/dataset.hpp>
#include <regimen/saves/safetensors.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace regimen::data {

/// The rows of one tensor of a safetensors file, mapped.
///
///   T       the element type, as the file has it; not bool
///   value   std::span<const T> of the tensor (N, ...): all values of one index of the first dimension
///
///   data::TensorRows<float> images("digits.safetensors", "images");   // (1797, 64)
///   const auto file = std::make_shared<const safetensors::File>("digits.safetensors");
///   data::TensorRows<std::uint8_t> labels(file, "labels");            // the file is checked once for both
///
/// failure  Error for a damaged file, a tensor that is absent, of another type or without dimensions, or whose elements lie at
///          no multiple of their size
/// cost     as safetensors::File: mapped; opening reads all of a file that has checksums, which `report` hears
template <class T>
  requires(!std::is_same_v<T, bool>)  // a byte of a file may be neither true nor false
class TensorRows final {
 public:
  TensorRows(const std::string& path, const std::string& tensor, const Report& report = {})
      : TensorRows(std::make_shared<const safetensors::File>(path, report), tensor) {}
  TensorRows(std::shared_ptr<const safetensors::File> file, const std::string& tensor)
      : file_(std::move(file)), tensor_(&file_->tensor(tensor)) {
    (void)file_->template expect<T>(tensor, tensor_->shape);
    if (tensor_->shape.empty()) throw Error(name(), "a tensor of one dimension or more", "a single number");
    if (reinterpret_cast<std::uintptr_t>(tensor_->bytes.data()) % alignof(T) != 0)
      throw Error(name(), "elements at a multiple of " + std::to_string(alignof(T)) + " bytes", "others",
                  "write the file again with safetensors::write");
    row_ = size() == 0 ? 0 : tensor_->bytes.size() / sizeof(T) / size();
  }

  std::size_t size() const { return tensor_->shape.front(); }
  /// Of the whole tensor.
  std::span<const std::size_t> extents() const& { return tensor_->shape; }
  std::vector<std::size_t> extents() const&& {
    const auto own = extents();
    return {own.begin(), own.end()};
  }
  std::string name() const { return file_->path() + ", tensor \"" + tensor_->name + "\""; }

  std::string place(const Key& key) const { return name() + ", row " + std::to_string(key.index); }
  std::span<const T> at(const Key& key) const& {
    if (key.index >= size())
      throw Error(name(), "a row below " + std::to_string(size()), "row " + std::to_string(key.index));
    return {reinterpret_cast<const T*>(tensor_->bytes.data()) + key.index * row_, row_};
  }
  std::vector<T> at(const Key& key) const&& {
    const auto own = at(key);
    return {own.begin(), own.end()};
  }

 private:
  std::shared_ptr<const safetensors::File> file_;
  const safetensors::Tensor* tensor_;
  std::size_t row_ = 0;
};

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
