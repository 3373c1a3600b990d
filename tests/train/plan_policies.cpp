// The plan under more policies: as a constant, at run time, and with every iteration evaluated, it is one and the same.
#include "train/plan_agrees.hpp"

using namespace regimen;
using namespace regimen::test;

TEST_CASE("GPTs under more policies") {
  agrees<Gpt<7>, Checkpoint<Every<2>>, Accumulate<3>, Precision<bf16, fp32>>("every 2, bf16, three micro-batches");
  agrees<Gpt<7>, Freeze<Table, PositionEmbedding, LayerNorm>, Fusion<Unfused>>("frozen, not fused");
  agrees<Gpt<1>, Checkpoint<Every<1>>>("depth 1");
  agrees<Gpt<2>, Checkpoint<Every<2>>>("depth 2");
}
TEST_CASE("a tied table") {
  agrees<Tied<6>>("none");
  agrees<Tied<6>, Checkpoint<Every<2>>, Precision<bf16, fp32>>("every 2, bf16");
  agrees<Tied<6>, Checkpoint<Selective<LayerNorm, Drop>>, Accumulate<2>>("selective");
}
TEST_CASE("layers in another element type") { agrees_under_all<Mixed>("mixed"); }
TEST_CASE("no Repeat at all") {
  agrees<Mlp>("mlp");
  agrees<Mlp, Optimizer<Sgd>, Checkpoint<Selective<Relu>>>("mlp");
}
