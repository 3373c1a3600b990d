// regimen/data/source.ipp — the bodies of source.hpp.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/data/source.hpp>

namespace regimen::detail {

REGIMEN_INLINE void expect_extents(const std::string& name, const SampleShape& shape, std::size_t input,
                                   std::size_t target) {
  if (shape.input == input && shape.target == target) return;
  throw Error(name,
              "a model that takes " + counted(input, "input") + " and " + counted(target, "target") +
                  " a sample, as the data have",
              counted(shape.input, "input") + " and " + counted(shape.target, "target"),
              "change the model's Input or the data");
}

REGIMEN_INLINE void expect_classes(const std::string& name, std::size_t bound, std::size_t classes, const char* why,
                                   const char* other) {
  if (bound == 0 || classes <= bound) return;
  throw Error(name, "ids below " + std::to_string(bound) + ", the model's vocabulary or number of classes",
              "ids up to " + std::to_string(classes - 1) + why,
              "give the model " + std::to_string(classes) + ", or " + other);
}

REGIMEN_INLINE void expect_index(const std::string& name, std::size_t index, std::size_t size) {
  if (index >= size) throw Error(name, "a sample below " + std::to_string(size), "sample " + std::to_string(index));
}

REGIMEN_INLINE void expect_fraction(const std::string& name, double fraction) {
  if (!(fraction > 0 && fraction < 1))
    throw Error(name + ", split", "a fraction between 0 and 1", digits_of(fraction), "0.9 is usual");
}

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
