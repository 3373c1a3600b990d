// regimen/service/unpacked.hpp — makes the model's samples on this machine from smaller samples on the wire.
#pragma once

#include <regimen/data/stage.hpp>
#include <regimen/service/remote.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace regimen::data {

/// See unpacked().
template <class In, class Label, class Write>
class Unpacking final {
 public:
  Unpacking(Remote<In, Label> remote, Write write, const SampleShape& sent)
      : remote_(std::move(remote)), write_(std::move(write)), sent_(sent) {}

  std::size_t size(const SampleShape& shape) const { return remote_.size(sent(shape.input, shape.target)); }
  std::string name() const { return remote_.name(); }
  template <class ToIn, class ToLabel>
    requires std::invocable<const Write&, Sample<const In, const Label>, Sample<ToIn, ToLabel>>
  void read(const Key& key, Sample<ToIn, ToLabel> sample) const {
    read(std::span<const Key>(&key, 1), sample);
  }
  template <class ToIn, class ToLabel>
    requires std::invocable<const Write&, Sample<const In, const Label>, Sample<ToIn, ToLabel>>
  void read(std::span<const Key> keys, Sample<ToIn, ToLabel> samples) const {
    if (keys.empty()) return;
    const std::size_t inputs = samples.input.size() / keys.size(), targets = samples.target.size() / keys.size();
    const SampleShape from = sent(inputs, targets);
    std::vector<In> input(keys.size() * from.input);
    std::vector<Label> target(keys.size() * from.target);
    remote_.read(keys, Sample<In, Label>{input, target});
    const std::span<const In> all_inputs(input);
    const std::span<const Label> all_targets(target);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const Sample<const In, const Label> one{all_inputs.subspan(i * from.input, from.input),
                                              all_targets.subspan(i * from.target, from.target)};
      const Sample<ToIn, ToLabel> to{samples.input.subspan(i * inputs, inputs),
                                     samples.target.subspan(i * targets, targets)};
      try {
        write_(one, to);
      } catch (...) { detail::refuse_value(name() + " | unpacked, value " + std::to_string(keys[i].index)); }
    }
  }

 private:
  /// Without bounds of ids: the loader checks written samples.
  SampleShape sent(std::size_t input, std::size_t target) const {
    return {.input = sent_.input != 0 ? sent_.input : input, .target = sent_.target != 0 ? sent_.target : target};
  }

  Remote<In, Label> remote_;
  Write write_;
  SampleShape sent_;
};

/// A source that computes samples on this machine from the samples that workers send: write(sent, sample), for example
/// floats from bytes.
///
///   write   called with a Sample<const In, const Label> and the model's Sample; const, and from several threads
///   sent    extents of a sent sample; an extent of 0 stands for the model's
///
///   data::Remote<std::uint8_t, std::int32_t> bytes({"10.0.0.7:7000"});     // a quarter of the floats' bytes
///   trainer.fit(data::unpacked(bytes, [](Sample<const std::uint8_t, const std::int32_t> sent,
///                                        Sample<float, std::int32_t> sample) {
///     for (std::size_t i = 0; i < sent.input.size(); ++i) sample.input[i] = float(sent.input[i]) / 255;
///     sample.target[0] = sent.target[0];
///   }));
///
/// failure  an exception of write becomes an Error that names the pipeline and the sample
/// cost     memory for the sent samples of a batch while it is read
template <class In, class Label, class Write>
auto unpacked(Remote<In, Label> remote, Write write, const SampleShape& sent = {}) {
  return Unpacking<In, Label, Write>(std::move(remote), std::move(write), sent);
}

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
