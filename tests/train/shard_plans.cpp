// Over many GPTs, batches and ranks: what is cut into more slices never takes more; a step at any number of ranks is
// the plan's
// shortcut and its whole walk alike; where a model makes ZeRO-3 larger, the plan names the unit.
#include <regimen/layer/activation.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/programs/recipe.hpp>

#include "support/catch.hpp"

#include <string>

using namespace regimen;

namespace {

template <std::size_t Width>
using Block = Sequential<Residual<LayerNorm, SelfAttention<Heads<4>, Causal>>,
                         Residual<LayerNorm, Linear<4 * Width>, GeluTanh, Linear<Width>>>;
template <std::size_t Depth, std::size_t Width, std::size_t Words>
struct Gpt : Model<Input<Tokens<256>>, Embedding<Vocabulary<Words>, Width>, PositionEmbedding,
                   Repeat<Depth, Block<Width>>, LayerNorm, Linear<Words>> {};
template <std::size_t Depth, std::size_t Width, std::size_t Words>
struct Tied : Model<Input<Tokens<256>>, Embedding<Vocabulary<Words>, Width>, PositionEmbedding,
                    Repeat<Depth, Block<Width>>, LayerNorm, TiedLinear<Embedding<Vocabulary<Words>, Width>>> {};

template <class Network, class Stage, class... Policies>
using Sharded = programs::Recipe<Network, ConfigurationOf<Communicator<Threads>, Shard<Stage>, Policies...>>;

std::size_t plans = 0;

template <class Network, class... Policies>
void descends(const char* name) {
  for (const std::size_t ranks : {2u, 4u, 8u, 64u}) {
    for (const std::size_t batch : {1u, 4u, 16u, 64u}) {
      INFO(name << ", " << ranks << " ranks, batch " << batch);
      const MemoryPlan one = Sharded<Network, ZeRO1, Policies...>::make_plan(batch, ranks),
                       two = Sharded<Network, ZeRO2, Policies...>::make_plan(batch, ranks),
                       three = Sharded<Network, ZeRO3, Policies...>::make_plan(batch, ranks);
      CHECK(two.peak <= one.peak);
      CHECK(three.peak <= two.peak);
      CHECK(three.kept < two.kept);
      ++plans;
    }
  }
}

template <class Recipe>
void walks_alike(std::size_t ranks) {
  INFO(ranks << " ranks");
  const typename Recipe::PlanWalk skipped = Recipe::walk_step(3, false, nullptr, ranks),
                                  whole = Recipe::walk_step(3, true, nullptr, ranks);
  CHECK(skipped.arena.peak == whole.arena.peak);
  for (std::size_t phase = 0; phase < 3; ++phase) {
    CHECK(skipped.engine.cost[phase].wire == whole.engine.cost[phase].wire);
    CHECK(skipped.engine.cost[phase].operations == whole.engine.cost[phase].operations);
  }
}

}  // namespace

TEST_CASE("ZeRO-3 never takes more than ZeRO-2, nor that more than ZeRO-1, in more than a hundred plans of GPTs") {
  descends<Gpt<6, 256, 512>>("characters");
  descends<Gpt<12, 768, 50257>>("GPT-2");
  descends<Tied<12, 768, 50257>>("GPT-2, tied");
  descends<Tied<24, 1024, 50257>, Precision<bf16, fp32>, Checkpoint<Every<1>>>("GPT-2 medium, tied, bf16, every 1");
  descends<Gpt<12, 768, 50257>, Precision<bf16, fp32>>("GPT-2, bf16");
  descends<Gpt<12, 768, 50257>, Checkpoint<Every<3>>>("GPT-2, every 3");
  descends<Gpt<48, 1600, 50257>, Checkpoint<Every<1>>, Precision<bf16, fp32>>("GPT-2 XL, bf16, every 1");
  CHECK(plans > 100);
}

TEST_CASE("iterations that a plan skips are those that it would have walked") {
  for (const std::size_t ranks : {1u, 2u, 3u, 8u}) {
    walks_alike<Sharded<Gpt<12, 256, 512>, ZeRO3>>(ranks);
    walks_alike<Sharded<Tied<12, 256, 512>, ZeRO3, Checkpoint<Every<1>>, Accumulate<4>>>(ranks);
    walks_alike<Sharded<Tied<12, 256, 512>, ZeRO3, Checkpoint<Every<5>>, Precision<bf16, fp32>>>(ranks);
    walks_alike<Sharded<Gpt<12, 256, 512>, ZeRO2, Accumulate<4>>>(ranks);
    walks_alike<Sharded<Gpt<12, 256, 512>, Replicated, Accumulate<4, ReduceEach>>>(ranks);
    walks_alike<Sharded<Gpt<12, 256, 512>, ZeRO1, Accumulate<4>>>(ranks);
  }
}

TEST_CASE("where ZeRO-3 takes more, the plan names the unit that is gathered") {
  struct TwoLarge : Model<Input<Vector<2048>>, Linear<2048>, Relu, Linear<2048>, Relu, Linear<16>> {};
  const MemoryPlan two = Sharded<TwoLarge, ZeRO2, Optimizer<AdamW>>::make_plan(1, 2),
                   three = Sharded<TwoLarge, ZeRO3, Optimizer<AdamW>>::make_plan(1, 2);
  CHECK(three.kept < two.kept);
  CHECK(three.peak > two.peak);
  std::string gathered;
  for (const detail::LiveTensors::Line& line : three.largest)
    if (line.item.kind == MemoryKind::communication) gathered += line.item.path.name;
  CHECK(gathered.find("linear") != std::string::npos);
}
// SPDX-License-Identifier: Apache-2.0
