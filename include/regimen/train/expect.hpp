// regimen/train/expect.hpp — what a step expects of its batch, and of its results.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/operation.hpp>

#include <cstddef>
#include <string>

namespace regimen::train {

/// The next call of a hand-written loop; at forward also a whole step; in with_average none that trains or saves.
enum class Waiting { forward, backward, apply, average };

[[noreturn, gnu::cold]] inline void in_average(const std::string& who) {
  throw Error(who, "a call outside of with_average", "one inside of it", "evaluate, predict or generate there");
}
[[noreturn, gnu::cold]] inline void out_of_order(Waiting waiting, const char* what) {
  if (waiting == Waiting::average) in_average(std::string("Trainer::") + what);
  const char* const due = waiting == Waiting::forward    ? "forward"
                          : waiting == Waiting::backward ? "backward"
                                                         : "apply, or another forward,";
  throw Error(
      std::string("Trainer::") + what, "the order forward, backward, apply",
      std::string(what) + " where " + due + " is due",
      "finish the step that has begun, or call abandon(); several forward-backward pairs may precede one apply");
}

/// Throws Error unless Hybrid's groups divide the ranks.   group   ranks of one; 0: there are none
inline void check_groups(std::size_t group, std::size_t ranks) {
  if (group > 0 && ranks % group != 0)
    throw Error("Trainer", "a multiple of " + std::to_string(group) + " ranks, as Hybrid says", std::to_string(ranks),
                "start that many, or write Hybrid<N> with an N that divides them");
}

/// The number of samples of a batch; throws Error unless it is 1 to `limit` whole samples.
template <class Session>
std::size_t check_batch(const char* where, std::size_t inputs, std::size_t targets, std::size_t limit) {
  constexpr std::size_t input_size = Session::input_size, target_size = Session::target_size;
  const std::size_t samples = inputs / input_size;
  if (inputs == samples * input_size && targets == samples * target_size && samples > 0 && samples <= limit)
    return samples;
  throw Error(where,
              "1 to " + regimen::detail::counted(limit, "sample") + " of " +
                  regimen::detail::counted(input_size, "input") + " and " +
                  regimen::detail::counted(target_size, "target"),
              regimen::detail::counted(inputs, "input") + " and " + regimen::detail::counted(targets, "target"));
}

/// Throws Error if Debug<Anomaly> found something.
inline void expect_finite(const Scalars& s) {
  if (!s.anomaly.found) return;
  const std::string element = std::to_string(s.anomaly.element);
  throw Error("step " + std::to_string(s.random.step + 1) + ", " +
                  (s.anomaly.phase == op::Phase::forward ? "output" : "gradient") + " of layer " +
                  s.anomaly.path.text(),
              "finite numbers", (s.anomaly.is_nan ? "a NaN at element " : "an infinity at element ") + element,
              "this is the first layer where one appears; look at its input, its weights and the learning rate");
}

}  // namespace regimen::train
// SPDX-License-Identifier: Apache-2.0
