// regimen/data/loader_options.hpp — the options of a Loader, and the memory of its batches.
#pragma once

#include <regimen/data/batching.hpp>
#include <regimen/data/source.hpp>

#include <cstddef>
#include <cstdint>

namespace regimen {

struct LoaderOptions {
  std::size_t batch = 1;  // samples
  Order order = Order::Shuffled;
  Remainder remainder = Remainder::Short;
  std::uint64_t seed = 0;
  DataPlace first{};                // where to begin: place() of any loader of these data
  std::uint64_t epochs = 0;         // 0: without end
  std::size_t workers = 1;          // prefetching threads; 0: next() reads by itself; data::automatic
  std::size_t ahead = 2;            // prefetched batches, besides the one in use; automatic workers: at least one each
  std::size_t rank = 0, ranks = 1;  // the loader reads part `rank` of each batch of batch · ranks samples
};

namespace detail {

/// Batches that a Loader holds from its start.
constexpr std::size_t batches_held(const LoaderOptions& options) {
  return options.workers == 0 ? 1 : (options.ahead > 1 ? options.ahead : 1) + 1;
}
/// Bytes of the inputs, or of the targets, of a batch: `values` of a sample, of `bytes` each. False: too many to count.
constexpr bool count_batch(std::size_t batch, std::size_t values, std::size_t bytes, std::size_t& sum) {
  return !__builtin_mul_overflow(batch, values, &sum) && !__builtin_mul_overflow(sum, bytes, &sum);
}

}  // namespace detail

namespace data {

/// Bytes of the batches that a Loader of such samples holds on its rank from its start, in its own memory.
/// Loader::bytes() adds a few numbers for each batch and thread, and the batches of added automatic workers.
///
///   static_assert(data::staged_bytes<float, std::int32_t>(Train::sample_shape(), {.batch = 512}) < 1_GiB);
///
/// failure  Error if the number overflows; then it is no constant
template <class In, class Label>
constexpr std::size_t staged_bytes(const SampleShape& shape, const LoaderOptions& options) {
  std::size_t input = 0, target = 0, all = 0;
  if (!regimen::detail::count_batch(options.batch, shape.input, sizeof(In), input) ||
      !regimen::detail::count_batch(options.batch, shape.target, sizeof(Label), target) ||
      __builtin_add_overflow(input, target, &all) ||
      __builtin_mul_overflow(all, regimen::detail::batches_held(options), &all))
    throw Error("staged_bytes", "batches that fit memory", regimen::detail::counted(options.batch, "sample"));
  return all;
}

}  // namespace data
}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
