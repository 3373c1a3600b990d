// NtXent: its definition, in loops; ranks compute what one computes with their batches together, also where batches are
// short; towers with one set of weights train with it.
#include <regimen/comm/launch.hpp>
#include <regimen/comm/tracing.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/engine/emulated/device.hpp>
#include <regimen/loss/nt_xent.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/trainers/gradient_check.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"
#include "support/weights.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace regimen;

namespace {

struct Tower;
using Encode = Shared<Tower, Linear<16>, Gelu, Linear<6>>;
/// Two views of six numbers, and the embeddings that one tower gives them.
struct Siamese final
    : Model<Input<Vector<12>>, Fork<Concat, Sequential<Slice<0, 6>, Encode>, Sequential<Slice<6, 6>, Encode>>> {};
using Contrast = Loss<NtXent<Ratio<1, 5>>>;

/// Two noisy views of a point; where every[i] samples are one, they are to be left out.
struct Views {
  std::size_t samples = 0, leave_out = 0;
  std::size_t size(const SampleShape&) const { return samples; }
  template <class T>
  void read(std::size_t index, Sample<T, std::int32_t> sample) const {
    for (std::size_t i = 0; i < 12; ++i)
      sample.input[i] = static_cast<T>(normal(index, i % 6) + 0.25 * normal(1000 + index, i));
    sample.target[0] = leave_out > 0 && index % leave_out == 1 ? ignore_index : 0;
  }
  static double normal(std::uint64_t key, std::uint64_t i) {
    return (double(Philox::mix(key, i) >> 11) * 0x1p-53 - 0.5) * 3;
  }
};

/// The loss and the share of rows whose nearest row is their other view, of rows that all exist.
struct Expected {
  double loss = 0, accuracy = 0;
};
Expected by_definition(const std::vector<std::vector<double>>& rows, double temperature) {
  Expected found;
  const auto similarity = [&](std::size_t i, std::size_t k) {
    double product = 0, a = 0, b = 0;
    for (std::size_t c = 0; c < rows[i].size(); ++c) {
      product += rows[i][c] * rows[k][c];
      a += rows[i][c] * rows[i][c];
      b += rows[k][c] * rows[k][c];
    }
    return product / std::sqrt(a * b) / temperature;
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    double sum = 0, most = -1e9;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      if (k == i) continue;
      sum += std::exp(similarity(i, k));
      if (k / 2 != i / 2) most = std::max(most, similarity(i, k));
    }
    found.loss += (std::log(sum) - similarity(i, i ^ 1)) / double(rows.size());
    found.accuracy += (similarity(i, i ^ 1) >= most ? 1 : 0) / double(rows.size());
  }
  return found;
}

struct Outcome {
  std::vector<double> losses, weights;
  bool as_planned = true;
  bool operator==(const Outcome&) const = default;
};
/// An epoch of 20 samples has 8, 8 and 4: of four ranks the last two have none, of two the last one none.
template <class... Policies, class... Ranks>
Outcome trained(Ranks&... ranks) {
  using Train = Trainer<Siamese, Contrast, Precision<fp64>, Optimizer<Sgd>, Policies...>;
  Train trainer(ranks..., typename Train::Options{.optimizer = {.learning_rate = 0.2}});
  trainer.poison_dead_memory();
  Outcome found;
  trainer.fit(Views{20, 7}, {.steps = 12, .progress = false},
              [&](auto&, const StepResult& step) { found.losses.push_back(step.loss); });
  found.losses.push_back(trainer.evaluate(Views{11, 0}).loss);
  found.as_planned = trainer.used().peak == trainer.planned().peak;
  found.weights = support::weights_of<double>(trainer);
  return found;
}
template <class... Policies>
Outcome on(std::size_t count) {
  std::vector<Outcome> all(count);
  launch(count, [&](comm::Threads& ranks) { all[ranks.rank()] = trained<Communicator<Threads>, Policies...>(ranks); });
  CHECK(all[0].as_planned);
  for (const Outcome& each : all) CHECK(each == all[0]);
  return all[0];
}

// Tolerances, with u = 2^-53 and a temperature of 1/5.
constexpr double u = 0x1p-53, inverse_temperature = 5;
/// Between two computations of the loss of so many rows, from the same embeddings. A similarity is a sum of six products of
/// numbers below 1 that were divided by lengths, over the temperature: off by 6 + 8 roundings. A row's loss is the logarithm
/// of a sum of exponentials of them, less one: off by three times that, and a rounding for each term. The mean is a sum of
/// rows, each at most log(rows) + 2 · 5 < 13. All that in both of them.
constexpr double apart(double rows) { return 2 * (3 * (6 + 8) * inverse_temperature + rows + 13 * rows) * u; }
/// Of an element of a gradient: each row's is a sum over pairs of probabilities, in sum at most 4 over the temperature, and
/// there are at most 16 rows, 16 columns and 32 roundings of a pair one behind the other.
constexpr double gradient_apart = (16 + 16 + 32) * 4 * inverse_temperature * u;

}  // namespace

TEST_CASE("NtXent is its definition, of the rows that there are") {
  Trainer<Siamese, Contrast, Precision<fp64>, Batch<8>> trainer;
  const Views data{5, 4};  // of eight places four samples exist: a short batch, without sample 1
  std::vector<double> x(5 * 12);
  std::vector<std::int32_t> targets(5);
  for (std::size_t i = 0; i < 5; ++i) data.read(i, Sample<double, std::int32_t>{{&x[i * 12], 12}, {&targets[i], 1}});
  const std::vector<double> y = trainer.predict(x);
  std::vector<std::vector<double>> rows;
  for (std::size_t i = 0; i < 10; ++i)
    if (targets[i / 2] == 0)
      rows.emplace_back(y.begin() + std::ptrdiff_t(i * 6), y.begin() + std::ptrdiff_t(i * 6 + 6));
  const Expected expected = by_definition(rows, 0.2);
  CHECK(rows.size() == 8);
  const Evaluation evaluation = trainer.evaluate(data);
  CHECK(evaluation.targets == 8);
  CHECK(std::abs(evaluation.loss - expected.loss) < apart(8));
  CHECK(evaluation.accuracy == expected.accuracy);  // a sum of eighths
  CHECK(std::abs(trainer.step(x, targets).loss - expected.loss) < apart(8));
  targets[2] = 3;  // no class is known here
  CHECK_THROWS_AS(trainer.step(x, targets), Error);
}

TEST_CASE("NtXent has the gradients of calculus") {
  CHECK(gradient_check<Siamese, Contrast, Batch<7>, Precision<fp64>>().worst < 1e-7);
}

TEST_CASE("ranks compare their samples with those of all, in whole batches and short ones") {
  const Outcome alone = trained<Batch<8>>(), two = on<Batch<4>>(2);
  CHECK(alone.as_planned);
  CHECK(alone.losses[11] < 0.8 * alone.losses[0]);
  CHECK(on<Batch<4>, Shard<ZeRO1>, Checkpoint<Selective<Gelu>>>(2) == two);
  CHECK(on<Batch<4>, Shard<ZeRO3>>(2) == two);
  // Twelve steps at a rate of 0.2, each with gradients that are apart; what that changes in later ones has a factor of 2.
  // The gradient's own elements are below 1.
  const double most = apart(16) + 2 * 12 * 0.2 * gradient_apart;
  for (const Outcome& ranks : {two, on<Batch<2>>(4)})
    for (std::size_t i = 0; i < alone.losses.size(); ++i) CHECK(std::abs(ranks.losses[i] - alone.losses[i]) < most);
}

TEST_CASE("the plan counts what ranks send, collective by collective") {
  using Train = Trainer<Siamese, Contrast, Batch<4>, Communicator<Threads>>;
  std::vector<std::size_t> sent(2);
  launch(2, [&](comm::Threads& threads) {
    comm::Tracing<comm::Threads> tracing(threads);
    Train trainer(tracing);
    trainer.fit(Views{8, 0}, {.steps = 1, .progress = false});
    tracing.reset();
    trainer.fit(Views{8, 0}, {.steps = 2, .progress = false});
    for (const comm::Span& span : tracing.spans())
      if (span.kind != comm::CollectiveKind::AllGatherSmall) sent[threads.rank()] += span.bytes;
  });
  CHECK(sent == std::vector<std::size_t>(2, Train::plan(4, 2).wire()));
  // Beyond what the gradients need: eight rows of seven numbers, and eight numbers, in whole lines.
  using Other = Trainer<Siamese, Loss<MeanSquaredError>, Batch<4>, Communicator<Threads>>;
  CHECK(Train::plan(4, 2).wire() - Other::plan(4, 2).wire() ==
        TensorArena::align(8 * 7 * 4) + TensorArena::align(8 * 2 * 4));
}

TEST_CASE("NtXent on the emulated device is that of the CPU") {
  Trainer<Siamese, Contrast, Precision<fp64>, Batch<8>> here;
  Trainer<Siamese, Contrast, Precision<fp64>, Batch<8>, Device<Emulated>> there;
  const Views data{20, 7};
  here.fit(data, {.steps = 6, .progress = false});
  there.fit(data, {.steps = 6, .progress = false});
  CHECK(there.used().peak == there.planned().peak);
  // AdamW divides a gradient by its size: of six steps at a rate of 1e-3, each moves a weight by up to 2 · rate / size ·
  // what the gradient is off by, and the loss by `size` of that. There are 6 · 16 + 16 + 16 · 6 + 6 weights.
  const Evaluation a = here.evaluate(data), b = there.evaluate(data);
  CHECK(std::abs(a.loss - b.loss) < apart(16) + 6 * 2 * 1e-3 * gradient_apart * (6 * 16 + 16 + 16 * 6 + 6));
  CHECK(a.targets == b.targets);
}
