// regimen/trainers/expect.hpp — checks of a step's batch, and of its results.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/operation.hpp>

#include <cstddef>
#include <string>

namespace regimen::trainers {

/// The call that a hand-written loop must make next. forward: or a whole step. average: inside with_average no call
/// that trains or saves is possible.
enum class Waiting { forward, backward, apply, average };

[[noreturn, gnu::cold]] void in_average(const std::string& who);
[[noreturn, gnu::cold]] void out_of_order(Waiting waiting, const char* what);

/// Throws Error unless Hybrid's groups divide the ranks.   group   ranks of one; 0: there are none
void check_groups(std::size_t group, std::size_t ranks);

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
void expect_finite(const Scalars& s);

}  // namespace regimen::trainers

#if !REGIMEN_COMPILED
#include <regimen/trainers/expect.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
