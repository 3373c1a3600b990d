// tests/train/other_names.hpp — a model whose weights another library wrote: it gives the same output, and the same file.
#pragma once

#include "../temporary.hpp"
#include "train/recorded.hpp"

#include <regimen/models/names.hpp>
#include <regimen/train/inference.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

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

/// The bundles of two texts that were recorded as "source" and "target".
inline constexpr auto two_texts = []<class Sample>(const Recorded& recorded, Sample sample) {
  const auto first = recorded.values<std::int32_t>("source"), second = recorded.values<std::int32_t>("target");
  const std::size_t source = sample.template get<0>().size(), target = sample.template get<1>().size();
  std::vector<Sample> samples(first.size() / source);
  for (std::size_t s = 0; s < samples.size(); ++s) {
    std::copy_n(first.data() + s * source, source, samples[s].template get<0>().begin());
    std::copy_n(second.data() + s * target, target, samples[s].template get<1>().begin());
  }
  return samples;
};

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
