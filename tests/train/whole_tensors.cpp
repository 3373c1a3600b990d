// Update rules that see norms and matrices: whole tensors, on one rank and on several that keep everything.
#include "support/whole_tensor_rules.hpp"
#include "train/shard.hpp"

#include <regimen/engine/cpu/kernels.hpp>
#include <regimen/optimizer/lamb.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace regimen;

namespace {

struct Net : Model<Input<Vector<6>>, Linear<12>, Gelu, Linear<8>, Gelu, Linear<5>> {};
template <class Rule, std::size_t samples, class... Policies>
using Train = Trainer<Net, Precision<fp64>, Batch<samples>, Optimizer<Rule>, Policies...>;

const Fake& fake_data() {
  static const Fake fake({.samples = 40, .classes = 5, .seed = 9});
  return fake;
}

/// One step by hand: what the weights were, the gradient of the mean loss, and what they became.
template <class T>
struct Moved {
  std::vector<std::string> names;
  std::vector<std::vector<std::size_t>> shapes;
  std::vector<bool> decays;
  std::vector<std::vector<double>> before, gradient, after;
  explicit Moved(T& trainer) {
    auto loader = trainer.batches(fake_data(), {.epochs = 1});
    const auto next = loader.next();
    for (const auto& parameter : trainer.parameters()) {
      names.push_back(parameter.name);
      shapes.push_back(parameter.shape);
      decays.push_back(parameter.decays);
      before.emplace_back(parameter.values.begin(), parameter.values.end());
    }
    const auto gradients = trainer.backward(trainer.forward(next.input, next.target));
    for (const auto& one : trainer.gradients()) {
      gradient.emplace_back(one.values.begin(), one.values.end());
      for (double& value : gradient.back()) value /= trainer.gradient_divisor();
    }
    trainer.apply(gradients);
    for (const auto& parameter : trainer.parameters())
      after.emplace_back(parameter.values.begin(), parameter.values.end());
  }
};

double norm(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x * x;
  return std::sqrt(sum);
}

/// Roundings of a tensor of a few hundred elements: each of n sums adds one of epsilon / 2, the rest a dozen.
constexpr double roundings(std::size_t n) {
  return static_cast<double>(n + 12) * std::numeric_limits<double>::epsilon();
}

/// The first step of LAMB, from its definition.
template <class Rule>
void lamb_moves_by_norms(const char* what) {
  INFO(what);
  Train<Rule, 8> trainer;
  const Moved moved(trainer);
  const typename Rule::Options o;
  for (std::size_t t = 0; t < moved.names.size(); ++t) {
    INFO(moved.names[t]);
    // In the first step m / (1 - beta1) = g and v / (1 - beta2) = g².
    std::vector<double> step(moved.before[t].size());
    for (std::size_t i = 0; i < step.size(); ++i) {
      const double g = moved.gradient[t][i];
      step[i] = g / (std::abs(g) + o.epsilon) + (moved.decays[t] ? o.weight_decay * moved.before[t][i] : 0);
    }
    const double size = norm(moved.before[t]), ratio = size > 0 ? size / norm(step) : 1;
    for (std::size_t i = 0; i < step.size(); ++i) {
      const double expected = moved.before[t][i] - o.learning_rate * ratio * step[i];
      // 1 - beta2 = 0.001 loses three digits, and its root half of that, in g / (|g| + epsilon).
      const double error =
          std::abs(moved.before[t][i]) * roundings(1) + o.learning_rate * ratio * 1000 * roundings(step.size());
      CHECK(std::abs(moved.after[t][i] - expected) <= error);
    }
  }
}

}  // namespace

TEST_CASE("a rule that needs norms gets those of whole tensors") {
  lamb_moves_by_norms<rules::Lamb>("on spans");
  lamb_moves_by_norms<Lamb>("by operations");
}

TEST_CASE("a rule that needs matrices gets matrices") {
  Train<rules::Orthogonal, 8> trainer;
  const Moved moved(trainer);
  std::size_t matrices = 0;
  for (std::size_t t = 0; t < moved.names.size(); ++t) {
    if (moved.shapes[t].size() < 2) continue;
    INFO(moved.names[t]);
    ++matrices;
    // The gradients of five logits sum to zero, so that the last matrix has rank four.
    const std::size_t rank = matrices == 3 ? 4 : std::min(moved.shapes[t][0], moved.shapes[t][1]);
    std::vector<double> step(moved.before[t].size());
    double square = 0, along = 0;
    for (std::size_t i = 0; i < step.size(); ++i) {
      step[i] = (moved.before[t][i] - moved.after[t][i]) / rules::Orthogonal::Options{}.learning_rate;
      square += step[i] * step[i];
      along += step[i] * moved.gradient[t][i];
    }
    // All singular values are 1, so their squares sum to the rank. Thirty cubic steps bring whatever exceeds 1.5^-30 of
    // the norm, 5e-6, near 1.
    CHECK(square == Approx(static_cast<double>(rank)).epsilon(1e-3));
    CHECK(along > 0);
  }
  CHECK(matrices == 3);
}

TEST_CASE("ranks that keep everything make the step of one rank on all samples") {
  const auto weights = [](auto& trainer) {
    trainer.fit(fake_data(), {.steps = 5, .progress = false});
    std::vector<double> all;
    for (const auto& parameter : trainer.parameters())
      all.insert(all.end(), parameter.values.begin(), parameter.values.end());
    return all;
  };
  const auto agree = [&]<class Rule>(const char* what, Rule*) {
    INFO(what);
    Train<Rule, 8> one;
    const std::vector<double> alone = weights(one);
    std::vector<double> together;
    launch(4, [&](comm::Threads& communicator) {
      Train<Rule, 2, Communicator<Threads>> rank(communicator);
      const std::vector<double> own = weights(rank);
      if (communicator.rank() == 0) together = own;
    });
    REQUIRE(together.size() == alone.size());
    double largest = 0, apart = 0;
    for (std::size_t i = 0; i < alone.size(); ++i) {
      largest = std::max(largest, std::abs(alone[i]));
      apart = std::max(apart, std::abs(alone[i] - together[i]));
    }
    // Sums of 40 samples in another order, 1e-14 of a gradient; normalising and five steps may multiply that, not by a
    // million.
    CHECK(apart <= 1e-8 * largest);
  };
  agree("norms", static_cast<rules::Lamb*>(nullptr));
  agree("matrices", static_cast<rules::Orthogonal*>(nullptr));
}

TEST_CASE("the scratch of such a rule is planned, and taken") {
  Train<rules::Orthogonal, 8> trainer;
  trainer.poison_dead_memory();
  trainer.fit(fake_data(), {.steps = 2, .progress = false});
  CHECK(trainer.used().peak == trainer.planned().peak);
  // 12x8 and a copy of the gradient, beside what stays.
  CHECK(trainer.plan().peak >= trainer.plan().kept + (2 * 12 * 8 + 12 * 12) * sizeof(double));
}
// SPDX-License-Identifier: Apache-2.0
