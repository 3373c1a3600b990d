// regimen/rule/writer_takes_sample.hpp — the function that writes samples takes the dataset's values and the model's samples.
#pragma once

#include <regimen/data/dataset.hpp>

#include <type_traits>
#include <utility>

namespace regimen::rule {

/// Sample   Sample<Trainer::Input, Trainer::Label>
/// docs/errors/data.md#writer_takes_sample
template <class Write, class D, class Sample>
struct writer_takes_sample {
  using Value = decltype(std::declval<const D&>().at(std::declval<const data::Key&>()));
  static constexpr bool alone = std::is_invocable_v<const Write&, Value, Sample>;
  static constexpr bool holds = alone || std::is_invocable_v<const Write&, Value, Sample, const data::Key&>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: samples(write) calls write(value, sample), const; let it take the model's Sample<Input, Label>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
