// SPDX-License-Identifier: Apache-2.0
// bench/token_batches.cpp — what a batch costs that is read from a mapped file of tokens, beside a step of the smallest GPT
// that takes it: bench/data.sh
//
//   token_batches FILE STEPS THREADS    writes FILE, of ten million tokens; STEPS steps after ten to warm up
//
// Prints one JSON object: percent of a step.
#include "clock.hpp"
#include "models.hpp"

#include <regimen/data/token_file.hpp>
#include <regimen/data/token_writer.hpp>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

using namespace regimen;

namespace {

constexpr std::size_t vocabulary = 65, warmup = 10;
// As lesson 1 and bench/gpt_nano train.
using Train = Trainer<bench::GptNano, Optimizer<AdamW>, Loss<CrossEntropy>, Batch<12>, Init<Gpt2>>;
static_assert(bench::measurable<Batch<12>>);

void write(const std::string& path) {
  data::TokenWriter writer(path, vocabulary);
  std::vector<std::int32_t> tokens(100'000);
  for (std::uint64_t piece = 0; piece < 100; ++piece) {
    for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = std::int32_t(Philox::mix(piece, i) % vocabulary);
    writer.write(tokens);
  }
  writer.commit();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Seconds of a batch: read by the loader itself, without a thread that reads ahead.
double seconds_of_a_batch(const TokenFile& file) {
  constexpr std::size_t context = 64;
  Loader<std::int32_t, std::int32_t, TokenFile> loader(
      file, {.input = context, .target = context, .vocabulary_or_classes = vocabulary, .classes = vocabulary},
      {.batch = 12, .order = Order::Random, .workers = 0});
  const bench::Clock clock(false);
  std::vector<double> all;
  for (int i = 0; i < 20'000; ++i) {
    const double begun = clock.seconds();
    if (!loader.next()) throw Error("token_batches", "a loader without end", "its end");
    all.push_back(clock.seconds() - begun);
  }
  return median(all);
}

}  // namespace

int main(int argc, char** argv) {
  return program::run([&] {
    if (argc != 4) {
      std::fprintf(stderr, "token_batches FILE STEPS THREADS\n");
      return int(program::bad_arguments);
    }
    write(argv[1]);
    const TokenFile file(argv[1]);
    const double batch = seconds_of_a_batch(file);
    Train trainer({.threads = std::atoi(argv[3])});
    std::vector<double> steps;
    double waited = 0;
    trainer.fit(file,
                {.steps = warmup + std::strtoull(argv[2], nullptr, 10), .order = Order::Random, .progress = false},
                [&](auto&, const StepResult& step) {
                  if (step.step <= warmup) return;
                  steps.push_back(step.milliseconds * 1e-3);
                  waited += step.waited * 1e-3;
                });
    const double step = median(steps), all = step * double(steps.size());
    std::printf("{\"rate\":%.4f,\"batch_microseconds\":%.2f,\"step_milliseconds\":%.3f,\"waited_percent\":%.3f}\n",
                100 * batch / step, 1e6 * batch, 1e3 * step, 100 * waited / all);
    return int(program::ok);
  });
}
