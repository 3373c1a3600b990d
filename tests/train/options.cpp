// Options outside the ranges that their headers state are an Error when a Trainer is made.
#include "support/catch.hpp"

#include <regimen/engine/cpu/device.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/optimizer/adam.hpp>
#include <regimen/optimizer/rmsprop.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/trainers/trainer.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

using namespace regimen;

namespace {

/// What is said to these options; nothing when they may be.
template <class Rule, class Master = fp32>
std::string said_to(const typename Rule::Options& rule) {
  Options<Rule> options;
  options.optimizer = rule;
  try {
    trainers::check_options<Master, Rule>(options);
  } catch (const Error& error) { return error.what(); }
  return {};
}
bool mentions(const std::string& text, const char* first, const char* second) {
  INFO(text);
  return text.find(first) != std::string::npos && text.find(second) != std::string::npos;
}

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN(),
                 infinity = std::numeric_limits<double>::infinity();

template <class Rule>
void checks_learning_rate() {
  CHECK(said_to<Rule>({}).empty());
  CHECK(said_to<Rule>({.learning_rate = 0}).empty());
  for (const double rate : {-1.0, -1e-300, not_a_number, infinity})
    CHECK(mentions(said_to<Rule>({.learning_rate = rate}), "optimizer.learning_rate: expected a number of at least 0",
                   std::isnan(rate) ? "nan" : ""));
}
template <class Rule>
void checks_moments() {
  checks_learning_rate<Rule>();
  CHECK(said_to<Rule>({.beta1 = 0, .beta2 = 0.9999999, .epsilon = 1e-30, .weight_decay = 0}).empty());
  for (const double beta : {1.0, 1.5, -0.1, not_a_number}) {
    CHECK(mentions(said_to<Rule>({.beta1 = beta}), "optimizer.beta1", "in [0, 1)"));
    CHECK(mentions(said_to<Rule>({.beta2 = beta}), "optimizer.beta2", "in [0, 1)"));
  }
  for (const double epsilon : {0.0, -1e-8, not_a_number, infinity})
    CHECK(mentions(said_to<Rule>({.epsilon = epsilon}), "optimizer.epsilon", "above 0 in fp32"));
  CHECK(mentions(said_to<Rule>({.epsilon = 1e-46}), "optimizer.epsilon",
                 "found 1e-46"));  // 0 in fp32, whose smallest number is 2^-149 = 1.4e-45
  CHECK(said_to<Rule, fp64>({.epsilon = 1e-46}).empty());
  CHECK(mentions(said_to<Rule, fp64>({.epsilon = 0}), "optimizer.epsilon", "above 0 in fp64"));
  for (const double decay : {-5.0, not_a_number, infinity})
    CHECK(mentions(said_to<Rule>({.weight_decay = decay}), "optimizer.weight_decay", "at least 0"));
}

}  // namespace

TEST_CASE("the ranges of update rules") {
  checks_moments<AdamW>();
  checks_moments<Adam>();
  checks_learning_rate<Sgd>();
  checks_learning_rate<RmsProp>();
  for (const double share : {1.0, 2.0, -0.1, not_a_number, infinity}) {
    CHECK(mentions(said_to<Sgd>({.momentum = share}), "optimizer.momentum", "in [0, 1)"));
    CHECK(mentions(said_to<RmsProp>({.momentum = share}), "optimizer.momentum", "in [0, 1)"));
    CHECK(mentions(said_to<RmsProp>({.alpha = share}), "optimizer.alpha", "in [0, 1)"));
  }
  CHECK(mentions(said_to<RmsProp>({.epsilon = 0}), "optimizer.epsilon", "above 0"));
  CHECK(mentions(said_to<RmsProp>({.weight_decay = -1}), "optimizer.weight_decay", "at least 0"));
  CHECK(mentions(said_to<Sgd>({.weight_decay = not_a_number}), "optimizer.weight_decay", "at least 0"));
}

TEST_CASE("the ranges of schedules") {
  for (const Schedule& sound :
       {Schedule::constant(), Schedule::warmup_cosine(0, 1), Schedule::warmup_cosine(5, 5, 0.1),
        Schedule::steps(1, 0.5), Schedule::warmup_stable_decay(2, 4, 4), Schedule::warmup_linear(1, 9, 2)})
    CHECK_NOTHROW(detail::in_range("schedule", sound));
  for (const Schedule& wrong :
       {Schedule::warmup_cosine(0, 0), Schedule::warmup_cosine(6, 5), Schedule::warmup_linear(1, 9, -0.1),
        Schedule::steps(0, 0.5), Schedule::steps(5, not_a_number), Schedule::warmup_stable_decay(2, 5, 4),
        Schedule::warmup_cosine(0, 9, infinity)})
    CHECK_THROWS_AS(detail::in_range("schedule", wrong), Error);
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  CHECK(Schedule::warmup_cosine(most, most).share(0) == 0x1p-64);
  CHECK(Schedule::warmup_cosine(most, most).share(most - 1) == 1);
}

TEST_CASE("a step whose learning rate is infinite is refused before it changes a weight") {
  struct Net : Model<Input<Vector<4>>, Linear<3>> {};
  const auto error_of_step = [](auto trainer, std::uint64_t step) {
    const std::vector<float> inputs(4, 1.0f);
    const std::vector<std::int32_t> targets{1};
    while (trainer->steps_done() + 1 < step) trainer->step(inputs, targets);
    std::string error;
    try {
      trainer->step(inputs, targets);
    } catch (const Error& thrown) { error = thrown.what(); }
    CHECK(trainer->steps_done() == step - 1);
    for (const float value : trainer->predict(inputs)) CHECK(std::isfinite(value));
    return error;
  };
  using Train = Trainer<Net, Batch<2>, Optimizer<Sgd>>;
  const auto made = [](double rate, const Schedule& schedule) {
    return std::make_unique<Train>(Train::Options{.optimizer = {.learning_rate = rate}, .schedule = schedule});
  };
  CHECK(mentions(error_of_step(made(1e-3, Schedule::steps(1, 1e200)), 2),
                 "step 2, learning rate: expected a finite number in fp32, found 1e+197", "options.schedule"));
  CHECK(mentions(error_of_step(made(1e300, Schedule::constant()), 1), "step 1, learning rate", "found 1e+300"));
  CHECK(mentions(error_of_step(made(1e-3, Schedule::warmup_linear(0, 1, 1e300)), 2), "step 2, learning rate",
                 "found 1e+297"));
}

TEST_CASE("a Trainer is not made with options outside their ranges") {
  struct Net : Model<Input<Vector<4>>, Linear<3>> {};
  using Train = Trainer<Net, Batch<2>>;
  const auto make = [](const Train::Options& options) { return Train(options).steps_done(); };
  CHECK(make({}) == 0);
  CHECK_THROWS_AS(make({.optimizer = {.beta1 = 1}}), Error);
  CHECK_THROWS_AS(make({.optimizer = {.learning_rate = not_a_number}}), Error);
  CHECK_THROWS_AS(make({.schedule = Schedule::steps(0, 0.5)}), Error);
}
// SPDX-License-Identifier: Apache-2.0
