// regimen/trainers/expect.ipp — the bodies of expect.hpp.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/trainers/expect.hpp>

#include <cstddef>
#include <string>

namespace regimen::trainers {

REGIMEN_INLINE void in_average(const std::string& who) {
  throw Error(who, "a call outside of with_average", "one inside of it", "evaluate, predict or generate there");
}

REGIMEN_INLINE void out_of_order(Waiting waiting, const char* what) {
  if (waiting == Waiting::average) in_average(std::string("Trainer::") + what);
  const char* const due = waiting == Waiting::forward    ? "forward"
                          : waiting == Waiting::backward ? "backward"
                                                         : "apply, or another forward,";
  throw Error(
      std::string("Trainer::") + what, "the order forward, backward, apply",
      std::string(what) + " where " + due + " is due",
      "finish the step that has begun, or call abandon(); several forward-backward pairs may precede one apply");
}

REGIMEN_INLINE void check_groups(std::size_t group, std::size_t ranks) {
  if (group > 0 && ranks % group != 0)
    throw Error("Trainer", "a multiple of " + std::to_string(group) + " ranks, as Hybrid says", std::to_string(ranks),
                "start that many, or write Hybrid<N> with an N that divides them");
}

REGIMEN_INLINE void expect_finite(const Scalars& s) {
  if (!s.anomaly.found) return;
  const std::string element = std::to_string(s.anomaly.element);
  throw Error("step " + std::to_string(s.random.step + 1) + ", " +
                  (s.anomaly.phase == op::Phase::forward ? "output" : "gradient") + " of layer " +
                  s.anomaly.path.text(),
              "finite numbers", (s.anomaly.is_nan ? "a NaN at element " : "an infinity at element ") + element,
              "this is the first layer where one appears; look at its input, its weights and the learning rate");
}

}  // namespace regimen::trainers
// SPDX-License-Identifier: Apache-2.0
