// Frozen layers keep their weights and cost neither gradients nor state; the others train as if nothing were frozen.
#include "support/catch.hpp"
#include "train/same_work.hpp"

using namespace regimen;
using namespace regimen::test;

namespace {

template <class... Layers>
using Freezing = Trainer<Gpt<2>, Batch<4>, Optimizer<Sgd>, Freeze<Layers...>>;

/// Against a run that trains everything, but whose gradients of frozen tensors are made zero: plain descent then leaves
/// them.
template <class Train>
void check_frozen() {
  Train frozen;
  Freezing<> reference;
  frozen.poison_dead_memory();
  const Work<Train> work(4);
  const auto names = frozen.parameters();
  std::vector<std::vector<float>> before;
  for (const auto& parameter : names) before.emplace_back(parameter.values.begin(), parameter.values.end());
  for (int i = 0; i < 5; ++i) {
    const StepResult result = frozen.step(work.inputs, work.targets);
    const auto loss = reference.forward(work.inputs, work.targets);
    CHECK(loss.value() == result.loss);
    const auto gradients = reference.backward(loss);
    for (std::size_t t = 0; t < names.size(); ++t)
      if (!names[t].trains)
        std::fill(reference.gradients()[t].values.begin(), reference.gradients()[t].values.end(), 0.0f);
    CHECK(reference.apply(gradients).gradient_norm == Approx(result.gradient_norm));
  }
  std::size_t kept = 0, trained = 0;
  const auto after = frozen.parameters(), expected = reference.parameters();
  for (std::size_t t = 0; t < names.size(); ++t) {
    INFO(after[t].name);
    const std::vector<float> now(after[t].values.begin(), after[t].values.end());
    CHECK(std::equal(now.begin(), now.end(), expected[t].values.begin()));
    CHECK((now == before[t]) == !after[t].trains);
    (after[t].trains ? trained : kept) += now.size();
  }
  CHECK(kept > 0);
  CHECK(Train::plan().trained == trained);
  CHECK(Train::plan().parameters == trained + kept);
  CHECK(frozen.gradients().size() < reference.gradients().size());
  CHECK(Train::plan().bytes(MemoryKind::gradient) < Freezing<>::plan().bytes(MemoryKind::gradient));
  CHECK(Train::plan().bytes(MemoryKind::optimizer) < Freezing<>::plan().bytes(MemoryKind::optimizer));
}

}  // namespace

TEST_CASE("the first layers frozen: backward ends before them") {
  check_frozen<Freezing<Table, PositionEmbedding>>();
  // What trains: two blocks, a norm, a Linear; a gradient and one state each, in units of whole lines.
  constexpr std::size_t block = 32 + 816 + 272 + 32 + 1088 + 1040, norm = 32, output = 187;
  constexpr std::size_t expected =
      2 * TensorArena::align(4 * block) + TensorArena::align(4 * norm) + TensorArena::align(4 * output);
  static_assert(Freezing<Table, PositionEmbedding>::plan().bytes(MemoryKind::gradient) == expected);
  static_assert(Freezing<Table, PositionEmbedding>::plan().bytes(MemoryKind::optimizer) ==
                expected + TensorArena::align(sizeof(Scalars)));
}
TEST_CASE("layers in the middle frozen, a fused bias among them") { check_frozen<Freezing<LayerNorm, Linear<64>>>(); }
TEST_CASE("a tied table frozen in both uses") {
  using Train = Trainer<Tied<2>, Batch<4>, Freeze<Table>>;
  Train trainer;
  const std::vector<double> before = flat(std::vector{trainer.parameters().back()});
  const Work<Train> work(4);
  for (int i = 0; i < 3; ++i) CHECK(trainer.step(work.inputs, work.targets).applied);
  CHECK_FALSE(trainer.parameters().back().trains);
  CHECK(flat(std::vector{trainer.parameters().back()}) == before);
}
