// tests/train/other_names.hpp — a model whose weights another library wrote: it gives the same output, and the same file.
#pragma once

#include "../temporary.hpp"
#include "train/recorded.hpp"

#include <regimen/models/names.hpp>
#include <regimen/trainers/inference.hpp>

#include <algorithm>
#include <cmath>
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

/// A step moves each weight of folder/model.safetensors by its gradient in folder/gradients.safetensors, all of which it has.
///   Trainer   in fp64, by Sgd, whose rate is 1 here
///   still     tensors of the file that have none, running statistics aside
/// The record rounds a gradient to fp32, 2^-24 of it; angles of Rotary are off by at most 2^-34, which 2^-32 of the largest
/// gradient covers; 1e-12 are some five thousand roundings of sums in fp64 below 1.
template <const auto& map, class Trainer, class Inputs, class Targets>
void has_their_gradients(const std::string& folder, const Inputs& inputs, const Targets& targets,
                         std::size_t still = 0) {
  INFO(folder);
  const Recorded recorded(folder + "/gradients");
  const ::test::Directory directory;
  Trainer trainer{{.optimizer = {.learning_rate = 1}}};
  trainer.poison_dead_memory();
  names::load<map>(trainer, support::recorded(folder + "/model.safetensors").string());
  names::save<map>(trainer, directory / "before");
  const double loss = trainer.step(inputs, targets).loss;
  CHECK(trainer.used().peak == trainer.planned().peak);
  names::save<map>(trainer, directory / "after");
  CHECK(std::abs(loss - recorded.values<double>("loss")[0]) <= 0x1p-32 * loss);
  const safetensors::File before(directory / "before"), after(directory / "after");
  std::size_t compared = 0;
  for (const safetensors::Tensor& tensor : before.tensors()) {
    const auto found = std::find_if(recorded.file.tensors().begin(), recorded.file.tensors().end(),
                                    [&](const auto& one) { return one.name == "gradient." + tensor.name; });
    if (tensor.name.ends_with(".running_mean") || tensor.name.ends_with(".running_var")) ++still;
    if (found == recorded.file.tensors().end()) continue;
    ++compared;
    const auto truth = recorded.values<float>(found->name);
    std::vector<double> start(truth.size()), end(truth.size());
    before.copy<double>(tensor.name, found->shape, start);
    after.copy<double>(tensor.name, found->shape, end);
    double largest = 0, worst = 0;
    for (const float value : truth) largest = std::max(largest, std::abs(double(value)));
    for (std::size_t i = 0; i < truth.size(); ++i) {
      const double distance = std::abs(start[i] - end[i] - double(truth[i])) /
                              (0x1p-24 * std::abs(double(truth[i])) + 0x1p-32 * largest + 1e-12);
      worst = distance <= worst ? worst : distance;  // keeps a NaN
    }
    INFO(tensor.name << ": " << worst << " of the bound, the largest gradient " << largest);
    CHECK(worst <= 1);
  }
  std::size_t given = 0;
  for (const safetensors::Tensor& tensor : recorded.file.tensors()) given += tensor.name.starts_with("gradient.");
  CHECK(compared == given);
  CHECK(compared + still == before.tensors().size());
}

}  // namespace regimen::test
// SPDX-License-Identifier: Apache-2.0
