// regimen/data/split_source.hpp — the first share of a source's samples, and the rest.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/data/choose.hpp>
#include <regimen/data/dataset.hpp>
#include <regimen/data/source.hpp>
#include <regimen/data/stage.hpp>  // bytes

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace regimen::data {

/// Samples [first, first + count) of a source that has `all`.
template <class Source>
class PartOfSource final {
 public:
  PartOfSource(Source source, std::size_t first, std::size_t count, std::size_t all, const char* name)
      : source_(std::move(source)), first_(first), count_(count), all_(all), name_(name) {}

  std::string name() const { return regimen::detail::name_of_source(source_) + name_; }
  std::size_t size(const SampleShape& shape) const {
    if (const std::size_t all = source_.size(shape); all != all_)
      throw Error(
          name(), "a model whose samples are those that were split, " + regimen::detail::counted(all_, "sample"),
          "one for which there are " + std::to_string(all), "give data::split the sample_shape() of this Trainer");
    return count_;
  }
  template <class In, class Label>
    requires regimen::Source<Source, In, Label>
  void read(const Key& key, Sample<In, Label> sample) const {
    Key of = key;
    of.index += first_;
    regimen::detail::read_sample(source_, of, sample);
  }
  template <class In, class Label>
    requires BatchSource<Source, In, Label>
  void read(std::span<const Key> keys, Sample<In, Label> samples) const {
    std::vector<Key> of(keys.begin(), keys.end());
    for (Key& key : of) key.index += first_;
    source_.read(std::span<const Key>(of), samples);
  }
  void timings(std::vector<Timing>& all) const { add_timings(source_, all); }
  std::size_t bytes() const { return data::bytes(source_); }

 private:
  Source source_;
  std::size_t first_, count_, all_;
  const char* name_;
};

/// The first ⌊fraction · size⌋ samples of any source, and the rest. The rest is the last share, like Keras'
/// validation_split. For files and arrays; for a pipeline write `| data::split(0.9)`, after a shuffle if you like.
///
///   auto [train, held_out] = data::split(Rows(pixels, labels, 784), 0.9, Train::sample_shape());
///   trainer.fit(train, held_out, {.epochs = 5});
///
/// shape    of the model's samples, which may decide how many there are
/// failure  Error for a fraction that is not between 0 and 1
template <class Source>
  requires requires(const Source& source, const SampleShape& shape) { source.size(shape); }
Split<PartOfSource<Source>> split(Source source, double fraction, const SampleShape& shape) {
  regimen::detail::expect_fraction(regimen::detail::name_of_source(source), fraction);
  const std::size_t all = source.size(shape), first = static_cast<std::size_t>(std::floor(double(all) * fraction));
  return {PartOfSource<Source>(source, 0, first, all, " | train"),
          PartOfSource<Source>(source, first, all - first, all, " | validation")};
}

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
