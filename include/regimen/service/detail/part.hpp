// regimen/service/detail/part.hpp — a batch that a trainer reads, and its parts, which workers are asked for.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/service/detail/frame.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <span>
#include <string>
#include <vector>

namespace regimen::data::service {

/// Samples that somebody waits for, and where they belong.
struct Reading final {
  Reading(std::span<const Key> asked, const Extents& extents, std::byte* inputs, std::byte* targets)
      : keys(asked), shape(extents), input(inputs), target(targets), left(asked.size()) {}

  const std::span<const Key> keys;
  const Extents& shape;
  std::byte *const input, *const target;
  std::size_t left;      // samples that have not come
  std::size_t held = 0;  // parts that a thread is writing
  std::exception_ptr error;
};

struct Part final {
  /// A sample may end the program that computes it: after so many lost connections it is not asked for again, or worker
  /// after worker would be lost, without an end.
  static constexpr std::size_t most_losses = 8;

  Part(Reading& reading, std::size_t begin, std::size_t samples) : job(&reading), first(begin), count(samples) {}

  std::span<const Key> keys() const { return job->keys.subspan(first, count); }
  std::span<std::byte> input() const { return at(job->input, job->shape.bytes_of_input()); }
  std::span<std::byte> target() const { return at(job->target, job->shape.bytes_of_target()); }
  bool has_failed_at(const void* worker) const {
    return std::find(failed.begin(), failed.end(), worker) != failed.end();
  }
  [[gnu::cold]] void give_up(const char* expected, const std::string& found, const char* cure = "") const {
    if (job->error) return;
    const std::string where = "the data service, " + regimen::detail::counted(count, "sample") +
                              ", the first of index " + std::to_string(keys()[0].index);
    job->error = std::make_exception_ptr(Error(where, expected, found, cure));
  }

  Reading* job;
  std::size_t first, count;
  std::size_t losses = 0;           // of workers that had it
  std::vector<const void*> failed;  // the workers whose source has failed at it
  std::string failure;              // what the last of them said

 private:
  std::span<std::byte> at(std::byte* all, std::size_t bytes) const { return {all + first * bytes, count * bytes}; }
};

}  // namespace regimen::data::service
// SPDX-License-Identifier: Apache-2.0
