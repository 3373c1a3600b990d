// regimen/rule/source_writes_samples.hpp — a source writes samples that the model reads.
#pragma once

#include <regimen/data/source.hpp>

namespace regimen::rule {

/// Element types agree exactly: nothing is rounded between the data and the model.
/// docs/errors/source_writes_samples.md
template <class S, class In, class Label>
struct source_writes_samples {
  static constexpr bool holds = Source<S, In, Label>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: this source writes other samples; give it size(SampleShape) const and read(index, Sample<In, Label>) const");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
