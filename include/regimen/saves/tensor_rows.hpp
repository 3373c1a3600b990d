// regimen/saves/tensor_rows.hpp — the rows of a tensor in a safetensors file, as a dataset.
#pragma once

#include <regimen/data/array_rows.hpp>
#include <regimen/saves/safetensors.hpp>

#include <cstdint>
#include <memory>
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
/// failure  Error for a damaged file, a tensor that is absent, of another type or without dimensions, or whose elements
///          lie at no multiple of their size
/// cost     as safetensors::File: mapped; opening reads all of a file with checksums, reported to `report`
template <class T>
  requires(!std::is_same_v<T, bool>)  // a byte of a file may be neither true nor false
class TensorRows final : public ArrayRows<T> {
 public:
  TensorRows(const std::string& path, const std::string& tensor, const Report& report = {})
      : TensorRows(std::make_shared<const safetensors::File>(path, report), tensor) {}
  TensorRows(std::shared_ptr<const safetensors::File> file, const std::string& tensor) {
    const safetensors::Tensor& found = file->tensor(tensor);
    (void)file->template expect<T>(tensor, found.shape);
    const std::string name = file->path() + ", tensor \"" + found.name + "\"";
    if (found.shape.empty()) throw Error(name, "a tensor of one dimension or more", "a single number");
    if (reinterpret_cast<std::uintptr_t>(found.bytes.data()) % alignof(T) != 0)
      throw Error(name, "elements at a multiple of " + std::to_string(alignof(T)) + " bytes", "others",
                  "write the file again with safetensors::write");
    this->keep(name, found.shape, {reinterpret_cast<const T*>(found.bytes.data()), found.bytes.size() / sizeof(T)},
               std::move(file));
  }
};

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
