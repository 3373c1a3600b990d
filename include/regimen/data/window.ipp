// regimen/data/window.ipp — the bodies of window.hpp.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/data/window.hpp>

namespace regimen::detail {

REGIMEN_INLINE std::size_t Windows::size(const std::string& name, const SampleShape& shape) const {
  if (shape.input != shape.target || shape.input == 0) {
    throw Error(name, "a model with as many targets as inputs, as text has",
                counted(shape.input, "input") + " and " + counted(shape.target, "target"),
                "use Input<Tokens<T>> and a loss for each position");
  }
  if (length() <= shape.input) {
    throw Error(name, "more than " + counted(shape.input, "token") + ", the length of the model's input",
                counted(length(), "token"), "use a longer text, another split, or a shorter input");
  }
  return count(shape.input);
}

REGIMEN_INLINE std::size_t Windows::count(std::size_t extent) const {
  if (extent == 0 || length() <= extent) return 0;
  return blocks ? (length() - 2) / extent + 1 : length() - extent;
}

REGIMEN_INLINE void Windows::split(const std::string& name, double fraction, Windows& front, Windows& back) const {
  expect_fraction(name, fraction);
  const std::size_t border = begin + static_cast<std::size_t>(static_cast<double>(length()) * fraction);
  front = {begin, border, blocks};
  back = {border, end, blocks};
}

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
