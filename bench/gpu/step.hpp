// bench/gpu/step.hpp — tokens per second of whole training steps; bench/peers/gpt.py does the same work in PyTorch.
#pragma once

#include "timing.hpp"

#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/trainers/trainer.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace bench {

/// Steps for about `seconds` seconds, after ten that capture the graph. Nobody listens, so the host never waits for a
/// step: the peers wait after every ten. AdamW with the betas of the peers.
template <class Train>
void step(const char* name, const char* type, double seconds, const char* by = "regimen") {
  constexpr std::size_t vocabulary = Train::output_size / Train::input_size;
  constexpr std::uint64_t warmup = 10, sample = 10;
  typename Train::Options options{};
  options.optimizer.beta2 = 0.99;
  options.optimizer.weight_decay = 0.1;
  Train trainer(options);
  const Fake data({.samples = 64 * Train::plan().batch, .classes = vocabulary});
  double loss = 0;
  const auto seconds_until = [&](std::uint64_t last) {
    const double began = now();
    loss = trainer.fit(data, {.steps = last, .progress = false}).loss;
    return now() - began;
  };
  seconds_until(warmup);
  const double one = seconds_until(warmup + sample) / double(sample);
  const std::uint64_t steps = seconds > one ? static_cast<std::uint64_t>(seconds / one) : 1;
  const double spent = seconds_until(warmup + sample + steps);
  const double tokens = double(steps * Train::plan().batch * Train::input_size);
  std::printf(
      "{\"step\":\"%s\",\"type\":\"%s\",\"by\":\"%s\",\"batch\":%zu,\"steps\":%llu,\"milliseconds\":%.3f,"
      "\"tokens_per_second\":%.0f,\"tflop_per_s\":%.2f,\"loss\":%.4f,\"planned_bytes\":%zu,\"used_bytes\":%zu,"
      "\"library_bytes\":%zu}\n",
      name, type, by, std::size_t{Train::plan().batch}, static_cast<unsigned long long>(steps),
      spent / double(steps) * 1e3, tokens / spent, Train::plan().flops() * double(steps) / spent * 1e-12, loss,
      Train::plan().peak, trainer.used().peak, trainer.used().library);
  std::fflush(stdout);
}

}  // namespace bench
// SPDX-License-Identifier: Apache-2.0
