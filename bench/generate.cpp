// bench/generate.cpp — what a token of generate costs near the beginning and near the end of the window, beside a pass
// over the window.
//
// A GPT of 4 layers x 256 over 1,024 tokens, in fp32 and with bf16 weights. A token is Inference::next and the draw
// from its logits.
#include "models.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

namespace {
using namespace bench;

constexpr std::size_t window = 1024, early = 10, late = 1000;
struct Gpt : Model<Input<Tokens<window>>, Embedding<Vocabulary<256>, 256>, PositionEmbedding, Repeat<4, Block<256, 8>>,
                   LayerNorm, Linear<256>> {};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}
template <class Work>
double milliseconds_of(const Work& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
}

template <class Inference>
void measure(const char* name) {
  Inference model;
  std::uint64_t index = 0;
  for (const HeldParameter& parameter : model.parameters())
    parameter.visit([&]<class T>(std::span<T> values) {
      for (T& value : values) value = T((static_cast<float>(Philox::mix(7, index++) >> 40) * 0x1p-24f - 0.5f) * 0.1f);
    });
  model.parameters_changed();
  std::vector<std::int32_t> text(window);
  for (std::size_t i = 0; i < window; ++i) text[i] = static_cast<std::int32_t>(Philox::mix(3, i) % 256);

  std::vector<double> whole, at_early, at_late;
  const auto tokens_at = [&](std::size_t position, std::vector<double>& times) {
    auto logits = model.start(std::span<const std::int32_t>(text).first(position));
    for (std::size_t i = 0; i < 16; ++i)
      times.push_back(milliseconds_of([&] { logits = model.next(draw_token(logits, {.temperature = 0.8}, i)); }));
  };
  model.predict(text);
  for (int round = 0; round < 7; ++round) {  // alternately: what else the machine does meets all
    whole.push_back(milliseconds_of([&] { model.predict(text); }));
    tokens_at(early, at_early);
    tokens_at(late, at_late);
  }
  const double pass = median(whole), first = median(at_early), last = median(at_late);
  std::printf(
      "%-6s a pass over %zu tokens %8.3f ms   a token at %zu %7.3f ms, at %zu %7.3f ms: %.2f times it, 1/%.0f of the pass   cache %zu bytes\n",
      name, window, pass, early, first, late, last, last / first, pass / last,
      Inference::plan().bytes(MemoryKind::cache));
}

}  // namespace

int main(int argc, char**) try {
  if (argc > 1) return std::puts("usage: generate (no options)"), 2;
  measure<Inference<Gpt, Batch<1>>>("fp32");
  measure<Inference<Gpt, Batch<1>, Precision<bf16>>>("bf16");
} catch (const std::exception& error) { return std::fprintf(stderr, "%s\n", error.what()), 1; }
// SPDX-License-Identifier: Apache-2.0
