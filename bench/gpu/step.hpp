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
#include <regimen/train/trainer.hpp>

namespace bench {

/// Steps for `seconds` seconds, after five that prepare products and capture graphs. AdamW with the betas of the peers.
template <class Train>
void step(const char* name, const char* type, double seconds) {
  constexpr std::size_t vocabulary = Train::output_size / Train::input_size;
  constexpr std::uint64_t warmup = 5;
  typename Train::Options options{};
  options.optimizer.beta2 = 0.99;
  options.optimizer.weight_decay = 0.1;
  Train trainer(options);
  double began = 0, loss = 0;
  std::uint64_t steps = 0;
  trainer.fit(Fake({.samples = 64 * Train::plan().batch, .classes = vocabulary}), {.steps = 100'000, .progress = false},
              [&](Train&, const StepResult& result) {
                loss = result.loss;
                if (result.step == warmup) began = now();
                else if (result.step > warmup) steps = result.step - warmup;
                return result.step <= warmup || now() - began < seconds;
              });
  const double spent = now() - began;
  const double tokens = double(steps * Train::plan().batch * Train::input_size);
  std::printf(
      "{\"step\":\"%s\",\"type\":\"%s\",\"by\":\"regimen\",\"batch\":%zu,\"steps\":%llu,\"milliseconds\":%.3f,"
      "\"tokens_per_second\":%.0f,\"tflop_per_s\":%.2f,\"loss\":%.4f,\"planned_bytes\":%zu,\"used_bytes\":%zu}\n",
      name, type, std::size_t{Train::plan().batch}, static_cast<unsigned long long>(steps), spent / double(steps) * 1e3,
      tokens / spent, Train::plan().flops() * double(steps) / spent * 1e-12, loss, Train::plan().peak,
      trainer.used().peak);
}

}  // namespace bench
// SPDX-License-Identifier: Apache-2.0
