// regimen/data/rows.hpp — samples from arrays in memory.
#pragma once

#include <regimen/data/source.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace regimen {

/// Samples from two arrays, row after row, shared by all copies.
///
///   inputs    (samples, input)    In, the type of the model's inputs
///   targets   (samples, target)   Label
///
///   Rows<float, std::int32_t> set(pixels, labels, 784);
///
/// failure  Error for an input extent of 0, inputs that are not a whole number of rows, or targets that do not divide
///          by the number of rows
template <class In, class Label>
class Rows final {
 public:
  Rows(std::vector<In> inputs, std::vector<Label> targets, std::size_t input) : input_(input) {
    if (input == 0 || inputs.empty() || inputs.size() % input != 0) {
      throw Error("Rows", "one or more rows of " + detail::counted(input, "input"),
                  detail::counted(inputs.size(), "input"));
    }
    samples_ = inputs.size() / input;
    if (targets.empty() || targets.size() % samples_ != 0) {
      throw Error("Rows", "the same number of targets for each of " + detail::counted(samples_, "sample"),
                  detail::counted(targets.size(), "target"));
    }
    target_ = targets.size() / samples_;
    content_ = std::make_shared<const Content>(Content{std::move(inputs), std::move(targets)});
  }

  std::string name() const { return "Rows"; }

  std::size_t size(const SampleShape& shape) const {
    detail::expect_extents("Rows", shape, input_, target_);
    return samples_;
  }

  void read(std::size_t index, Sample<In, Label> sample) const {
    detail::expect_extents("Rows", {sample.input.size(), sample.target.size()}, input_, target_);
    detail::expect_index("Rows", index, samples_);
    std::copy_n(content_->inputs.data() + index * input_, input_, sample.input.data());
    std::copy_n(content_->targets.data() + index * target_, target_, sample.target.data());
  }

 private:
  struct Content {
    std::vector<In> inputs;
    std::vector<Label> targets;
  };

  std::shared_ptr<const Content> content_;
  std::size_t samples_ = 0, input_, target_ = 0;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
