// examples/gpt.hpp — a transformer learns a text and generates some: the lesson, its tests and its benchmarks.
#pragma once

#include <regimen/regimen.hpp>

#include "session.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace gpt_lesson {

/// For a run without --data: text in which each symbol has four possible successors, so that the loss falls from
/// ln(vocabulary) towards ln 4 = 1.386. It contains each of the first `vocabulary` bytes.
inline std::string made_up(std::size_t vocabulary, std::size_t length) {
  std::string text;
  std::size_t symbol = 0;
  for (std::size_t i = 0; i < length; ++i) {
    text.push_back(static_cast<char>(symbol));
    symbol = i < vocabulary ? i : (5 * symbol + 1 + regimen::Philox::draw(1, i, 0).word[0] % 4) % vocabulary;
  }
  return text;
}

}  // namespace gpt_lesson

/// Trains Model, a causal model of tokens, with Policies; the policies below are the defaults.
template <class Model, class... Policies>
int gpt(int argc, char** argv) {
  using namespace regimen;
  using Own = boost::mp11::mp_list<Optimizer<AdamW>, Loss<CrossEntropy>, Batch<16>, Init<Gpt2>>;
  using Train = program::Recipe<Model, Own, Policies...>;
  constexpr std::size_t vocabulary = Train::output_size / Train::input_size;

  program::Options options{.steps = 1500, .validate_every = 250, .learning_rate = 1e-3};
  std::string alphabet = vocabulary >= 256 ? "bytes" : "characters", prompt = "\n";
  std::uint64_t sample = 400, top_k = 40;
  double temperature = 0.8;
  program::CommandLine line("A transformer learns a text, byte by byte or character by character, and then writes some.", options,
                            "The text; nine tenths are learnt, the rest validates. Without it: made-up symbols, and no sample");
  line.add("--alphabet", alphabet, "What a token is: one of all bytes, or one of the text's own", {"bytes", "characters"})
      .add("--sample", sample, "Tokens to write at the end")
      .add("--prompt", prompt, "What the sample goes on from (default: a line feed)")
      .add("--temperature", temperature, "Of the sample; 0: always the likeliest token", 0, 100)
      .add("--top-k", top_k, "Likeliest tokens that the sample draws from; 0: all");
  const program::Ranks<Train> ranks(line, options);
  if (const auto code = line.parse(argc, argv)) return *code;

  return program::run([&] {
    const Text::Units units = alphabet == "bytes" ? Text::Bytes : Text::Characters;
    const Text text = options.data.empty() ? Text::from_string(gpt_lesson::made_up(vocabulary, 100'000), units, "made-up text") : Text(options.data, units);
    const auto parts = text.split(0.9);
    const Text &learnt = parts.train, &held_out = parts.validation;
    const bool writes = !options.data.empty() && sample > 0;
    const auto beginning = writes ? text.encode(prompt) : std::vector<std::int32_t>();   // checked before the training

    auto settings = options.trainer<Train>();
    if constexpr (requires { settings.optimizer.beta2; }) settings.optimizer.beta2 = 0.99;                  // small batches: a shorter memory
    if constexpr (requires { settings.optimizer.weight_decay; }) settings.optimizer.weight_decay = 0.1;
    settings.schedule = Schedule::warmup_cosine(std::min<std::uint64_t>(100, options.steps / 10), options.steps, 0.1);

    return ranks.train(settings, [&](Train& trainer) -> int {
      program::Session<Train> session(trainer, options);
      trainer.fit(learnt, held_out.blocks(), options.run(), session);

      const int code = session.finish();   // saves before sampling, which may fail
      if (code != program::ok || !writes) return code;

      const Sampling drawn{.temperature = temperature, .top_k = top_k, .seed = trainer.seed(), .vocabulary = text.vocabulary()};
      const auto written = trainer.generate(beginning, sample, drawn);
      if (session.tells())
        std::fprintf(session.out(), "---- %llu tokens that it writes after %s\n%s%s\n----\n", static_cast<unsigned long long>(sample),
                     prompt == "\n" ? "a line feed" : "the prompt", prompt == "\n" ? "" : prompt.c_str(), text.decode(written).c_str());
      return code;
    });
  });
}
// SPDX-License-Identifier: Apache-2.0
