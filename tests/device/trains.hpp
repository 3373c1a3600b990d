// tests/device/trains.hpp — a GPT trains on Device<Cuda> what it trains on the CPU, by graphs and by single launches.
#pragma once

#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/engine/cuda/device.hpp>
#include <regimen/trainers/trainer.hpp>

#include "../support/muon.hpp"
#include "../support/rounding.hpp"
#include "../support/small_gpt.hpp"
#include "attempt.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <type_traits>
#include <vector>

#include <cuda_runtime_api.h>

namespace regimen::test {

using support::SmallGpt;

inline std::size_t steps = 52;  // of which four go in one launch

template <class Train>
std::vector<double> losses() {
  typename Train::Options options;
  if constexpr (requires { options.optimizer.schedules; })  // of a group by itself
    options.optimizer.schedules.rest = Schedule::warmup_cosine(4, 40, 0.1);
  Train trainer(options);
  const std::size_t before = trainer.used().operations;  // copies of the weights for kernels
  std::vector<double> all;
  trainer.fit(Fake({.samples = 64, .classes = 7, .seed = 2}), {.steps = steps, .progress = false},
              [&](Train&, trainers::TrainingEvent<Train> event) {
                const auto add = [&](const StepResult& result) {
                  all.push_back(result.loss);
                  all.push_back(result.gradient_norm);
                };
                if constexpr (Train::Configuration::steps::count == 1) add(event);
                else
                  for (const StepResult& result : event) add(result);
              });
  if (trainer.used().peak != Train::plan().peak ||
      trainer.used().operations - before != steps * Train::plan().operations())
    throw Error("used()", "what was planned", "something else");
  return all;
}

template <class Format, class... Policies>
struct In {
  using type = Trainer<SmallGpt, Batch<4>, Format, Policies...>;
};
template <class... Policies>
struct In<Precision<fp16, fp32>, Policies...> {
  using type = Trainer<SmallGpt, Batch<4>, Precision<fp16, fp32>, LossScale<Static<64>>, Policies...>;
};
template <class Format, class... Policies>
std::vector<double> losses_in() {
  return losses<typename In<Format, Policies...>::type>();
}

/// Without the norms between them.
inline void print_losses(const char* name, const std::vector<double>& all) {
  std::printf(",\"%s\":", name);
  for (std::size_t i = 0; i < all.size(); i += 2)
    if (std::printf("%s", i == 0 ? "[" : ","); std::isfinite(all[i])) std::printf("%.6g", all[i]);
    else std::printf("null");
  std::printf("]");
}

/// Every loss and norm, beside those of the CPU in fp64 (support/rounding.hpp): by graphs, once more, without them, and
/// by graphs of four steps. A JSON object, with the losses.
template <class Format, class... Policies>
bool agrees(const char* what) {
  const std::vector<double> exact = losses_in<Precision<fp64>, Policies...>();
  constexpr bool is_wide = std::is_same_v<Format, Precision<fp64>>;
  using Rounded = std::conditional_t<is_wide, Precision<fp32>, Format>;
  double may = support::as_far_as(support::distance(exact, losses_in<Rounded, Policies...>()));
  if constexpr (is_wide) may *= support::fp64_to_fp32;
  const std::vector<double> there = losses_in<Format, Policies..., Device<Cuda>>();
  const std::vector<double> again = losses_in<Format, Policies..., Device<Cuda>>();
  const std::vector<double> single = losses_in<Format, Policies..., Device<Cuda>, Graph<Off>>();
  const std::vector<double> fours = losses_in<Format, Policies..., Device<Cuda>, Steps<4>>();
  const double found = support::distance(exact, there);
  std::printf("{\"trains\":\"%s\",\"distance\":%.3g,\"may\":%.3g,\"repeats\":%s,\"by_calls\":%s,\"four_steps\":%s",
              what, (std::min)(found, 1e300), may, there == again ? "true" : "false",
              there == single ? "true" : "false", there == fours ? "true" : "false");
  print_losses("exact_losses", exact);
  print_losses("losses", there);
  std::puts("}");
  std::fflush(stdout);
  return found < may && there == again && there == single && there == fours;
}
template <class Format, class... Policies>
bool agree(const char* what) {
  return attempt(what, [&] { return agrees<Format, Policies...>(what); });
}

/// Whether there is a device; else says so.
inline bool is_there() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0) return true;
  std::printf("no CUDA device: the engine was compiled, and did not run\n");
  return false;
}

}  // namespace regimen::test
// SPDX-License-Identifier: Apache-2.0
