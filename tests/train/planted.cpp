// Defects that are planted between the CUDA engine and its device are found: an Error, or other results in some order
// of the device's work.
#include "support/planted.hpp"
#include "support/on_runtime.hpp"
#include "train/deferred.hpp"
#include "train/planted_run.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

using namespace regimen;
using namespace regimen::test;

namespace {

constexpr std::uint64_t seeds = 8;  // two of each temper of the device

/// Seven steps, the last of which is short, without a callback, so that the host is ahead; then an evaluation.
template <class Train>
Found result_of(Train& trainer) {
  Found found;
  trainer.poison_dead_memory();
  found.numbers = {trainer.fit(fake_data(), {.steps = 7, .progress = false}).loss, trainer.evaluate(fake_data()).loss};
  for (const double weight : support::weights_of<double>(trainer)) found.numbers.push_back(weight);
  return found;
}

template <class... Policies>
Found run(std::uint64_t seed) {
  emulated::Runtime::defaults = {.seed = seed, .memory = std::size_t{64} << 20};
  return in_a_process(Planted::spoilt, [](Found& found) {
    Trainer<Gpt<1>, Batch<4>, Policies..., Device<OnRuntime<Planted>>> trainer(
        {.schedule = Schedule::warmup_linear(3, 12)});
    found = result_of(trainer);
  });
}

/// In how many orders a defect is found.
template <class Run>
std::size_t finds(const Planted::Plant& plant, const Run& run, std::vector<std::string>* errors = nullptr) {
  const std::size_t found = orders_that_find(
      seeds, run, [&](bool now) { Planted::planted = now ? plant : Planted::Plant{Defect::none, 0}; }, errors);
  emulated::Runtime::defaults = {};
  return found;
}

template <class... Policies>
void in_some_order(Defect what, std::size_t which = 0) {
  CAPTURE(int(what), which);
  CHECK(finds({what, which}, run<Policies...>) > 0);
}
template <class... Policies>
void in_every_order(Defect what, const char* words, std::size_t which = 0) {
  CAPTURE(int(what), which);
  std::vector<std::string> errors;
  CHECK(finds({what, which}, run<Policies...>, &errors) == seeds);
  all_say(errors, words);
}

/// Two ranks, whose units are gathered and reduced on a stream of their own.
Found run_ranks(std::uint64_t seed) {
  emulated::Runtime::defaults = {.seed = seed, .memory = std::size_t{64} << 20};
  return in_a_process(Planted::spoilt, [](Found& found) {
    launch(2, [&](comm::Threads& communicator) {
      Trainer<Gpt<2>, Batch<2>, Communicator<Nccl>, Shard<ZeRO3>, Device<OnRuntime<Planted>>> trainer(communicator);
      const Found own = result_of(trainer);
      if (communicator.rank() == 0) found = own;
    });
  });
}

/// Ten numbers through one slot, faster than any step would come.
Found run_feed(std::uint64_t seed) {
  emulated::Runtime::defaults = {.seed = seed, .memory = std::size_t{64} << 20};
  return in_a_process(Planted::spoilt, [](Found& found) {
    constexpr std::size_t count = 10, apart = 64;
    cuda::Engine<Planted> engine({.bytes = 256 + count * apart * sizeof(float)});
    for (std::size_t i = 0; i < count; ++i) {
      engine.feed(0, 0, sizeof(float), [&](std::span<std::byte> to) {
        const auto number = static_cast<float>(i + 1);
        std::memcpy(to.data(), &number, sizeof number);
      });
      engine.run(op::Copy<float>{.x = {0}, .y = {256 + i * apart * sizeof(float)}, .count = 1});
    }
    std::vector<float> numbers(count * apart);
    engine.download(256, std::as_writable_bytes(std::span(numbers))).wait();
    for (std::size_t i = 0; i < count; ++i) found.numbers.push_back(double(numbers[i * apart]));
  });
}

constexpr std::size_t compute = 0, copies = 1, ranks = 2;  // the streams of an engine

}  // namespace

TEST_CASE("without a defect every order has the same results") {
  const Found first = run<>(0);
  CHECK(first.error.empty());
  for (std::uint64_t seed = 1; seed < seeds; ++seed) CHECK(run<>(seed) == first);
  CHECK(run<Graph<Off>>(0) == first);
}

TEST_CASE("an event that an engine leaves out is found") {
  in_some_order(Defect::wait_left_out, compute);
  in_some_order<Graph<Off>>(Defect::wait_left_out, compute);
  in_some_order(Defect::record_left_out, compute);
  in_some_order(Defect::record_left_out, copies);
  in_some_order(Defect::host_synchronises_late);
}

TEST_CASE("a slot that is filled before its last input was read is found") {
  CHECK(run_feed(0).numbers == std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  for (const std::size_t stream : {compute, copies}) {
    CHECK(finds({Defect::wait_left_out, stream}, run_feed) > 0);
    CHECK(finds({Defect::record_left_out, stream}, run_feed) > 0);
  }
}

TEST_CASE("an event that is left out between operations and the ranks' collectives is found") {
  for (const std::size_t stream : {compute, ranks}) CHECK(finds({Defect::wait_left_out, stream}, run_ranks) > 0);
  CHECK(finds({Defect::record_left_out, compute}, run_ranks) > 0);
}

TEST_CASE("memory that is given back at issue is found") { in_some_order(Defect::memory_free_at_issue); }

TEST_CASE("a launch or a product that is left out, or on another stream, is found") {
  for (const std::size_t which : {0u, 1u, 5u, 9u}) {
    in_some_order(Defect::launch_left_out, which);
    in_some_order(Defect::product_left_out, which);
    in_some_order(Defect::launch_on_another_stream, which);
  }
}

TEST_CASE("memory of the host in a kernel, a product or a copy is found") {
  for (const std::size_t which : {0u, 5u, 9u}) in_some_order(Defect::host_pointer, which);
  in_every_order(Defect::workspace_of_the_host, "the library's workspace");
  in_every_order(Defect::workspace_misaligned, "the library's workspace");
  in_every_order(Defect::pageable_upload, "the source of an upload");
  in_every_order(Defect::pageable_download, "the target of a download");
}

TEST_CASE("a value that a graph has from its capture is found") {
  in_some_order(Defect::frozen_slot);
  in_some_order(Defect::frozen_values);
  in_some_order<Steps<3>>(Defect::frozen_values);
}

TEST_CASE("a product that is described wrongly is found") {
  for (const std::size_t which : {0u, 1u, 3u, 6u}) {
    in_some_order(Defect::leading_dimension, which);
    in_some_order(Defect::small_leading_dimension, which);  // of matrices side by side it is long enough
  }
  in_every_order(Defect::small_leading_dimension, "a leading dimension of A");
  in_some_order(Defect::transposed);
}

TEST_CASE("what a capture does not allow is found") {
  in_every_order(Defect::product_made_late, "cublasLtMatmulAlgoGetHeuristic");
  in_every_order(Defect::wait_in_capture, "cudaEventSynchronize");
  in_every_order(Defect::event_from_outside, "cudaErrorStreamCaptureIsolation");
}
// SPDX-License-Identifier: Apache-2.0
