// tests/train/global_batch.hpp — ranks against one rank on the global batch, in two widths of number.
#pragma once

#include "support/catch.hpp"
#include "support/weights.hpp"
#include "train/ranks.hpp"

#include <cmath>
#include <cstdio>
#include <vector>

namespace regimen::test {

inline constexpr std::size_t global_batch = 8;  // samples of a step, of all ranks

struct Trained {
  std::vector<double> losses, weights;
};

/// Twenty steps, dropout and all. 43 samples: the last batch of an epoch has 3, none for some ranks.
template <class Network, class Rule, class Number, std::size_t ranks>
Trained train_global_batch(const typename Rule::Options& options) {
  using Train = Trainer<Network, Batch<global_batch / ranks>, Communicator<Threads>, Shard<ZeRO3>, Optimizer<Rule>,
                        Precision<Number, Number>>;
  static const Fake data({.samples = 43, .classes = 11, .seed = 3});
  Trained outcome;
  launch(ranks, [&](comm::Threads& communicator) {
    typename Train::Options all;
    all.optimizer = options;
    Train trainer(communicator, all);
    Trained own;
    trainer.fit(data, {.steps = 20, .progress = false},
                [&](Train&, const StepResult& result) { own.losses.push_back(result.loss); });
    own.weights = support::weights_of<double>(trainer);
    if (communicator.rank() == 0) outcome = own;
  });
  return outcome;
}

inline double euclidean_distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return a.size() == b.size() ? std::sqrt(sum) : HUGE_VAL;
}

/// Ranks compute what one rank does, but for the order in which gradients are summed over samples.
///
/// How far rounding carries twenty steps away is measured, not guessed: e, the distance between fp32 and fp64 on one
/// rank, is what roundings of 2^-24 come to. Those of 2^-53 come to 2^-29 e as long as errors grow linearly, and two
/// orders of summation are both that far from the exact result: 2 · 2^-29 e apart at most. In fp32 ranks are as far
/// from fp64 as one rank is, which twice e leaves room for. A loss is a sum of positive terms in double, one a row:
/// each order is within rows · 2^-53 of it.
template <class Rule, class Network = Gpt<3>>
void equals_one_rank(const typename Rule::Options& options) {
  const Trained exact = train_global_batch<Network, Rule, double, 1>(options),
                narrow = train_global_batch<Network, Rule, float, 1>(options);
  const double weights = euclidean_distance(narrow.weights, exact.weights),
               losses = euclidean_distance(narrow.losses, exact.losses);
  CHECK(exact.losses.size() == 20);
  CHECK(weights > 0);
  CHECK(weights < 1e-4);  // or errors did not grow linearly, and the rest says nothing
  CHECK(losses < 1e-4);
  const Trained two = train_global_batch<Network, Rule, double, 2>(options),
                four = train_global_batch<Network, Rule, double, 4>(options);
  for (const Trained* ranks : {&two, &four}) {
    CHECK(std::ldexp(euclidean_distance(ranks->weights, exact.weights), 29) <= 2 * weights);
    for (std::size_t step = 0; step < 20; ++step) {
      const double rows = double(global_batch * 8);
      CHECK(std::abs(ranks->losses[step] - exact.losses[step]) <=
            2 * rows * std::ldexp(exact.losses[step], -53) + std::ldexp(2 * losses, -29));
    }
  }
  const Trained narrow_four = train_global_batch<Network, Rule, float, 4>(options);
  CHECK(euclidean_distance(narrow_four.weights, exact.weights) <= 2 * weights);
  CHECK(euclidean_distance(narrow_four.losses, exact.losses) <= 2 * losses);
}

}  // namespace regimen::test
// SPDX-License-Identifier: Apache-2.0
