// tests/train/other_names.hpp — a model whose weights another library wrote: it gives the same output, and the same file.
#pragma once

#include "../temporary.hpp"
#include "train/recorded.hpp"

#include <regimen/models/names.hpp>
#include <regimen/train/inference.hpp>

#include <algorithm>
#include <string>

namespace regimen::test {

/// The output of folder/model.safetensors is that of folder/<file>.safetensors, where it is called `name`.
///   make(input type)   the inputs that were recorded
template <const auto& map, class Network, class T, class Make>
void reads_what_was_written(const std::string& folder, const std::string& file, const std::string& name,
                            const Make& make) {
  const Recorded recorded(folder + "/" + file);
  Inference<Network, Precision<T>, Batch<2>> model;
  names::load<map>(model, support::recorded(folder + "/model.safetensors").string());
  using Input = typename decltype(model)::Input;
  compare<T>(recorded, name, model.predict(make(recorded, Input{})));
}

/// What a Trainer has read it writes: tensors of the same names, shapes and bytes.
template <const auto& map, class Trainer>
void writes_what_was_read(const std::string& folder) {
  const ::test::Directory directory;
  const std::string path = support::recorded(folder + "/model.safetensors").string();
  Trainer trainer;
  names::load<map>(trainer, path);
  names::save<map>(trainer, directory / "model.safetensors");
  const safetensors::File ours(directory / "model.safetensors"), theirs(path);
  REQUIRE(ours.tensors().size() == theirs.tensors().size());
  for (const safetensors::Tensor& tensor : theirs.tensors()) {
    const safetensors::Tensor& found = ours.tensor(tensor.name);
    INFO(tensor.name);
    CHECK(found.shape == tensor.shape);
    CHECK(std::equal(found.bytes.begin(), found.bytes.end(), tensor.bytes.begin(), tensor.bytes.end()));
  }
}

}  // namespace regimen::test
// SPDX-License-Identifier: Apache-2.0
