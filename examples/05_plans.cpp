// examples/05_plans.cpp — lesson 5: the cost of a policy, computed by the compiler. Nothing here trains.
#include <regimen/regimen.hpp>

#include "session.hpp"

#include <cstdio>

using namespace regimen;

// GPT-2 small: 124 million parameters (here 163 million, since the output layer has its own weights).
using Block = Sequential<
    Residual<LayerNorm, SelfAttention<Heads<12>, Causal>>,
    Residual<LayerNorm, Linear<3072>, GeluTanh, Linear<768>>>;
struct Gpt2Small : Model<Input<Tokens<1024>>, Embedding<Vocabulary<50257>, 768>, PositionEmbedding, Repeat<12, Block>, LayerNorm, Linear<50257>> {};

// Memory limits can be static_asserts: this one stops the build when a change makes the recipe too large.
static_assert(Trainer<Gpt2Small, Batch<8>, Precision<bf16, fp32>, Checkpoint<Every<1>>>::plan().fits(targets::a100_40g{}));

/// One line of the table: the cost of Policies at a batch of 8, and the largest batch that fits the machine.
template <class Machine, class... Policies>
void row(const char* policies) {
  constexpr const MemoryPlan& plan = Trainer<Gpt2Small, Batch<8>, Policies...>::plan();
  constexpr std::size_t largest = Trainer<Gpt2Small, Batch<Largest>, Target<Machine>, Policies...>::batch;
  constexpr double gib = 1024.0 * 1024 * 1024;
  const auto of = [&](MemoryKind kind) { return double(plan.bytes(kind)) / gib; };
  std::printf("%-52s %7.2f %7.2f %7.2f %7.2f %7.2f %7.2f %7.2f %8zu\n", policies, double(plan.peak) / gib, of(MemoryKind::parameter), of(MemoryKind::gradient),
              of(MemoryKind::optimizer), of(MemoryKind::saved), of(MemoryKind::transient), plan.flops() / 1e12, largest);
}

template <class Machine>
void table() {
  std::printf("GPT-2 small, T 1024, batch 8, GiB; the last column: the largest batch on one %s\n", Machine::name);
  std::printf("%-52s %7s %7s %7s %7s %7s %7s %7s %8s\n", "policies", "peak", "weights", "grads", "state", "saved", "other", "Tflop", "largest");
  row<Machine>("(the defaults: fp32, AdamW)");
  row<Machine, Optimizer<Sgd>>("Optimizer<Sgd>");
  row<Machine, Precision<bf16, fp32>>("Precision<bf16, fp32>");
  row<Machine, Precision<bf16, fp32>, Checkpoint<Every<3>>>("Precision<bf16, fp32>, Checkpoint<Every<3>>");
  row<Machine, Precision<bf16, fp32>, Checkpoint<Every<1>>>("Precision<bf16, fp32>, Checkpoint<Every<1>>");
  row<Machine, Checkpoint<Selective<GeluTanh>>, Precision<bf16, fp32>>("Checkpoint<Selective<GeluTanh>>, Precision<bf16, fp32>");
  row<Machine, Freeze<Embedding<Vocabulary<50257>, 768>>, Precision<bf16, fp32>>("Freeze<Embedding<...>>, Precision<bf16, fp32>");
}

/// One of eight ranks that train together, each with a batch of 8.
template <class Stage>
void rank_row(const char* shard) {
  constexpr const MemoryPlan& plan = Trainer<Gpt2Small, Batch<8>, Precision<bf16, fp32>, Checkpoint<Every<1>>, Communicator<Threads>, World<8>, Shard<Stage>>::plan();
  constexpr double gib = 1024.0 * 1024 * 1024;
  std::printf("%-12s %7.2f %7.2f %7.2f\n", shard, double(plan.kept) / gib, double(plan.peak) / gib, double(plan.wire()) / gib);
}

int main(int argc, char** argv) {
  program::CommandLine line("Memory and work of GPT-2 small under a table of policies, planned by the compiler.");
  if (const auto code = line.parse(argc, argv)) return *code;
  table<targets::a100_40g>();
  std::puts("");
  std::fputs(Trainer<Gpt2Small, Batch<8>, Precision<bf16, fp32>, Checkpoint<Every<1>>>::plan().table().c_str(), stdout);
  std::puts("\nOne of eight ranks, GiB: what it keeps from step to step, its peak, and what it sends in a step");
  std::printf("%-12s %7s %7s %7s\n", "policy", "keeps", "peak", "sends");
  rank_row<Replicated>("Replicated");
  rank_row<ZeRO1>("ZeRO1");
  rank_row<ZeRO2>("ZeRO2");
  rank_row<ZeRO3>("ZeRO3");
  return program::finished(program::ok);
}
// SPDX-License-Identifier: Apache-2.0
