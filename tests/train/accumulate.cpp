// Accumulation is the larger batch, whatever is valid in its parts; fusion changes rounding only.
#include "support/catch.hpp"
#include "train/same_work.hpp"

using namespace regimen;
using namespace regimen::test;

namespace {

constexpr std::size_t samples = 32, part = 8;

template <class T>
using Whole = Trainer<Gpt<2>, Precision<T>, Batch<samples>>;
template <class T>
using Parts = Trainer<Gpt<2>, Precision<T>, Batch<part>, Accumulate<4>>;

/// Parts with 64, about 21, 0 and 1 valid targets: a mean of means would be far off.
template <class Train>
Work<Train> uneven() {
  Work<Train> work(samples);
  const std::size_t size = part * Train::target_size;
  for (std::size_t i = size; i < 2 * size; ++i)
    if (i % 3 != 0) work.targets[i] = ignore_index;
  for (std::size_t i = 2 * size; i + 1 < 4 * size; ++i) work.targets[i] = ignore_index;
  return work;
}

template <class Train>
std::vector<double> gradients_of_one_step(Train& trainer, const Work<Train>& work) {
  trainer.step(work.inputs, work.targets);
  std::vector<double> all = flat(trainer.gradients());
  for (double& value : all) value /= trainer.gradient_divisor();
  return all;
}

}  // namespace

// A gradient is a sum of at most 256 rows, rounded in two orders: √256 roundings each, of terms that cancel by a factor
// of a few.
TEST_CASE("four micro-batches are one batch, within rounding") {
  Whole<fp32> whole;
  Parts<fp32> parts;
  parts.poison_dead_memory();
  CHECK(distance(gradients_of_one_step(whole, uneven<Whole<fp32>>()),
                 gradients_of_one_step(parts, uneven<Parts<fp32>>())) < 4 * 16 * epsilon_of<fp32>);
}

// In fp64 a wrong weight would stand out of the rounding by twelve digits, and ten steps of Adam do not hide it.
TEST_CASE("also over ten steps in fp64") {
  Whole<fp64> whole;
  Parts<fp64> parts;
  const auto whole_work = uneven<Whole<fp64>>();
  const auto parts_work = uneven<Parts<fp64>>();
  for (int i = 0; i < 10; ++i) {
    const StepResult a = whole.step(whole_work.inputs, whole_work.targets),
                     b = parts.step(parts_work.inputs, parts_work.targets);
    CHECK(std::abs(a.loss - b.loss) < 1e-12);
    CHECK(std::abs(a.gradient_norm - b.gradient_norm) < 1e-11);
  }
  CHECK(distance(flat(whole.parameters()), flat(parts.parameters())) < 1e-10);
}

TEST_CASE("a hand-written loop over micro-batches is a step, bit for bit") {
  Parts<fp64> by_step, by_hand;
  Trainer<Gpt<2>, Precision<fp64>, Batch<part>> open_ended;  // its scale is another power of two: exact
  const auto work = uneven<Parts<fp64>>();
  for (int i = 0; i < 3; ++i) {
    const StepResult stepped = by_step.step(work.inputs, work.targets);
    const auto drive = [&](auto& trainer) {
      for (std::size_t m = 0;; m += part) {
        const auto gradients = trainer.backward(trainer.forward(work.input(m, part), work.target(m, part)));
        if (m + part == samples) return trainer.apply(gradients);
      }
    };
    CHECK(drive(by_hand).loss == stepped.loss);
    CHECK(drive(open_ended).gradient_norm == stepped.gradient_norm);
  }
  CHECK(flat(by_hand.parameters()) == flat(by_step.parameters()));
  CHECK(flat(open_ended.parameters()) == flat(by_step.parameters()));
}

// Fused, a bias is added inside the activation: one rounding less in each of four places per block.
TEST_CASE("fusion changes rounding only") {
  Whole<fp32> fused;
  Trainer<Gpt<2>, Batch<samples>, Fusion<Unfused>> apart;
  const Work<Whole<fp32>> work(samples);
  const StepResult a = fused.step(work.inputs, work.targets), b = apart.step(work.inputs, work.targets);
  CHECK(std::abs(a.loss - b.loss) < 8 * epsilon_of<fp32> * a.loss);
  CHECK(distance(flat(fused.gradients()), flat(apart.gradients())) < 4 * 16 * epsilon_of<fp32>);
  for (std::size_t i = 0; i < fused.parameters().size(); ++i)
    CHECK(fused.parameters()[i].name == apart.parameters()[i].name);
}
