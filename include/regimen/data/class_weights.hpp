// regimen/data/class_weights.hpp — gives each sample the weight of its class.
#pragma once

#include <regimen/core/bundled.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/core/shape.hpp>
#include <regimen/data/dataset.hpp>
#include <regimen/data/source.hpp>
#include <regimen/data/stage.hpp>  // bytes

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace regimen::data {

/// A source of classes that gives each sample the weight of its class, for Loss<SampleWeighted<CrossEntropy>>:
/// PyTorch's CrossEntropyLoss(weight=...), Keras' class_weight.
///
///   using Train = Trainer<Net, Loss<SampleWeighted<CrossEntropy>>>;
///   const data::ClassWeights weighted(data, {1, 5, 5});
///   trainer.fit(weighted, {.epochs = 3});
///
///   source    writes one class for each sample, or ignore_index
///   weights   one for each class, in their order; an evaluation may have other weights, for example all 1
///
/// failure  Error for a weight that is negative or not finite; from size() for a model with another number of classes;
///          for a class without a weight, when its sample is read
template <class Source>
class ClassWeights final {
  using Class = Value<std::int32_t, Shape<1>>;
  using Weight = Value<fp32, Shape<1>>;

 public:
  ClassWeights(Source source, std::vector<float> weights) : source_(std::move(source)), weights_(std::move(weights)) {
    for (std::size_t i = 0; i < weights_.size(); ++i)
      if (!(weights_[i] >= 0 && weights_[i] <= (std::numeric_limits<float>::max)()))
        throw Error("ClassWeights of " + name() + ", class " + std::to_string(i), "a finite weight of at least 0",
                    regimen::detail::digits_of(double(weights_[i])));
  }

  std::string name() const { return regimen::detail::name_of_source(source_); }
  std::size_t size(const SampleShape& shape) const {
    const std::size_t classes = shape.classes != 0 ? shape.classes : shape.vocabulary_or_classes;
    if (classes != 0 && classes != weights_.size())
      throw Error("ClassWeights of " + name(),
                  regimen::detail::counted(classes, "weight") + ", one for each class of the model",
                  std::to_string(weights_.size()), "give ClassWeights a weight for each class, in their order");
    return source_.size(shape);
  }
  template <class In>
    requires regimen::Source<Source, In, std::int32_t>
  void read(const Key& key, Sample<In, Bundled<Class, Weight>> sample) const {
    auto& of = sample.target.front();
    regimen::detail::read_sample(source_, key, Sample<In, std::int32_t>{sample.input, std::span(of.template get<0>())});
    weigh(key, of);
  }
  template <class In>
    requires BatchSource<Source, In, std::int32_t>
  void read(std::span<const Key> keys, Sample<In, Bundled<Class, Weight>> samples) const {
    std::vector<std::int32_t> classes(keys.size());
    source_.read(keys, Sample<In, std::int32_t>{samples.input, classes});
    for (std::size_t i = 0; i < keys.size(); ++i) {
      samples.target[i].template get<0>()[0] = classes[i];
      weigh(keys[i], samples.target[i]);
    }
  }
  void timings(std::vector<Timing>& all) const { add_timings(source_, all); }
  std::size_t bytes() const { return data::bytes(source_); }

 private:
  /// Writes the weight of the class.
  void weigh(const Key& key, Bundled<Class, Weight>& of) const {
    const std::int32_t found = of.get<0>()[0];
    if (found == ignore_index) {
      of.get<1>()[0] = 0;
      return;
    }
    if (found < 0 || static_cast<std::size_t>(found) >= weights_.size())
      throw Error(name() + ", sample " + std::to_string(key.index),
                  "a class with a weight, 0 to " + std::to_string(std::ptrdiff_t(weights_.size()) - 1),
                  std::to_string(found), "give ClassWeights a weight for each class");
    of.get<1>()[0] = weights_[static_cast<std::size_t>(found)];
  }

  Source source_;
  std::vector<float> weights_;
};

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
