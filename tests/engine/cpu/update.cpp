// tests/engine/cpu/update.cpp — AdamW, Adam, SGD and RMSprop over several steps against their formulas in fp64.
#include "arena.hpp"

#include <regimen/engine/cpu/execute.hpp>
#include <regimen/engine/cpu/update.hpp>
#include <regimen/optimizer/adam.hpp>
#include <regimen/optimizer/adamw.hpp>
#include <regimen/optimizer/rmsprop.hpp>
#include <regimen/optimizer/sgd.hpp>

#include <array>
#include <span>
#include <tuple>

using namespace regimen;
using namespace test;

namespace {

// The formulas once more, from the papers and PyTorch's documentation, for one weight in fp64.
struct State {
  double w = 0, first = 0, second = 0;
};
void reference(const AdamW::Options& o, State& s, double g, double rate, std::uint64_t t, bool decays) {
  if (decays) s.w -= rate * o.weight_decay * s.w;
  s.first = o.beta1 * s.first + (1 - o.beta1) * g;
  s.second = o.beta2 * s.second + (1 - o.beta2) * g * g;
  s.w -= rate * (s.first / (1 - std::pow(o.beta1, double(t)))) /
         (std::sqrt(s.second / (1 - std::pow(o.beta2, double(t)))) + o.epsilon);
}
void reference(const Adam::Options& o, State& s, double g, double rate, std::uint64_t t, bool decays) {
  reference(AdamW::Options{.learning_rate = o.learning_rate,
                           .beta1 = o.beta1,
                           .beta2 = o.beta2,
                           .epsilon = o.epsilon,
                           .weight_decay = 0},
            s, g + (decays ? o.weight_decay * s.w : 0), rate, t, false);
}
void reference(const Sgd::Options& o, State& s, double g, double rate, std::uint64_t t, bool decays) {
  if (decays) g += o.weight_decay * s.w;
  s.first = t == 1 ? g : o.momentum * s.first + g;
  s.w -= rate * (o.nesterov ? g + o.momentum * s.first : s.first);
}
void reference(const RmsProp::Options& o, State& s, double g, double rate, std::uint64_t, bool decays) {
  if (decays) g += o.weight_decay * s.w;
  s.first = o.alpha * s.first + (1 - o.alpha) * g * g;
  s.second = o.momentum * s.second + g / (std::sqrt(s.first) + o.epsilon);
  s.w -= rate * s.second;
}

template <class Rule, class M, class T, class G>
void steps_are_the_formula(typename Rule::Options options) {
  constexpr std::size_t count = 40013, stride = 40064, steps = 4;
  const op::Segments segments{
      {{{0, 1, true}, {1, 20, false}, {21, 33000, true}, {33021, 992, false}, {34013, 6000, true}}}, 5};
  Arena arena(std::size_t{1} << 22);
  op::Update<Rule, M, T, G> o{};
  o.master = arena.put<M>(values<M>(count, 2));
  o.state = arena.put<M>(Values(Rule::states * stride, 0.0));
  o.gradient = arena.room<G>(count);
  o.scalars = arena.scalars();
  if (!std::is_same_v<M, T>) o.copy = arena.room<T>(count);
  o.segments = segments, o.count = count, o.state_stride = stride, o.options = options;
  std::vector<State> expected(count);
  const Values start = arena.get(o.master, count);
  for (std::size_t i = 0; i < count; ++i) expected[i].w = start[i];
  for (std::uint64_t t = 1; t <= steps; ++t) {
    const Values gradient = values<G>(count, 4, 100 + t);
    for (std::size_t i = 0; i < count; ++i) arena.memory()(o.gradient)[i] = rounded<G>(gradient[i]);
    Scalars& scalars = *arena.memory()(o.scalars);
    scalars.apply = 1, scalars.factor = 0.5, scalars.learning_rate = 0.01 / double(t);
    scalars.correction_first = Rule::correction_first(options, t),
    scalars.correction_second = Rule::correction_second(options, t);
    cpu::execute(o, arena.memory());
    for (const op::Segment& segment : std::span(segments.items).first(segments.count)) {
      for (std::size_t i = segment.offset; i < segment.offset + segment.count; ++i) {
        reference(options, expected[i], gradient[i] * 0.5, 0.01 / double(t), t, segment.decays);
      }
    }
  }
  // Per step: one rounding of the weight, below 4; about ten of a step that is at most 0.01 · 20 (RMSprop with
  // momentum); and, where gradient and decay cancel, their rounding, u · 2, over what it is divided by, epsilon at
  // least: 0.01 · 2 / 0.01 where the weight is part of the gradient. Momentum lets an error in for as many steps as
  // there are.
  Values w(count);
  for (std::size_t i = 0; i < count; ++i) w[i] = expected[i].w;
  const double u = epsilon_of<M>;
  CHECK(misses(arena.get(o.master, count), w, [&](std::size_t) { return steps * u * (4 + 0.2 * 10 + steps * 2); }) ==
        0);
  if (!std::is_same_v<M, T>) {
    Values copy = arena.get(o.master, count);
    for (double& value : copy) value = number(rounded<T>(value));
    CHECK(arena.get(o.copy, count) == copy);
  }
  for (std::size_t s = 0; s < Rule::states; ++s) {  // what lies between the state arrays is nobody's
    const Values gap = arena.get(o.state + (s * stride + count), stride - count);
    for (const double value : gap) REQUIRE(value == 0);
  }
  CHECK(arena.guards_hold());
}

template <class Rule>
void in_every_type(typename Rule::Options options) {
  steps_are_the_formula<Rule, float, float, float>(options);
  steps_are_the_formula<Rule, double, double, double>(options);
  steps_are_the_formula<Rule, float, bf16, float>(options);
  steps_are_the_formula<Rule, float, bf16, bf16>(options);
  steps_are_the_formula<Rule, float, fp16, fp16>(options);
}

/// One step of one weight.
template <class Rule>
double after_one_step(typename Rule::Options options, double w, double g, bool decays) {
  Arena arena;
  op::Update<Rule, double, double, double> o{};
  o.master = arena.put<double>({w}), o.state = arena.put<double>(Values(Rule::states, 0.0)),
  o.gradient = arena.put<double>({g});
  Scalars s;
  s.apply = 1, s.factor = 1, s.learning_rate = options.learning_rate;
  s.correction_first = Rule::correction_first(options, 1), s.correction_second = Rule::correction_second(options, 1);
  o.scalars = arena.scalars(s), o.segments = {{{{0, 1, decays}}}, 1}, o.count = 1, o.state_stride = 1,
  o.options = options;
  cpu::execute(o, arena.memory());
  return arena.get(o.master, 1)[0];
}

}  // namespace

TEST_CASE("AdamW") {
  in_every_type<AdamW>({});
  in_every_type<AdamW>({.learning_rate = 1, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-6, .weight_decay = 0.3});
}
TEST_CASE("Adam") {
  in_every_type<Adam>({});
  in_every_type<Adam>({.learning_rate = 1, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-2, .weight_decay = 0.3});
}
TEST_CASE("SGD") {
  in_every_type<Sgd>({});
  in_every_type<Sgd>({.learning_rate = 1, .momentum = 0.9, .weight_decay = 0.3, .nesterov = false});
  in_every_type<Sgd>({.learning_rate = 1, .momentum = 0.9, .weight_decay = 0.3, .nesterov = true});
}
TEST_CASE("RMSprop") {
  in_every_type<RmsProp>({});
  in_every_type<RmsProp>({.learning_rate = 1, .alpha = 0.9, .epsilon = 1e-2, .momentum = 0.9, .weight_decay = 0.3});
}

TEST_CASE("first steps that can be done by hand") {
  CHECK(after_one_step<AdamW>({.learning_rate = 0.1, .epsilon = 1e-300, .weight_decay = 0.5}, 2, 0.003, false) ==
        Approx(1.9).epsilon(1e-14));
  CHECK(after_one_step<AdamW>({.learning_rate = 0.1, .epsilon = 1e-300, .weight_decay = 0.5}, 2, -7, true) ==
        Approx(2).epsilon(1e-14));
  CHECK(after_one_step<Adam>({.learning_rate = 0.1, .epsilon = 1e-300, .weight_decay = 0.5}, 2, -7, true) ==
        Approx(2.1).epsilon(1e-14));
  CHECK(after_one_step<Adam>({.learning_rate = 0.1, .epsilon = 1e-300, .weight_decay = 5}, 2, -7, true) ==
        Approx(1.9).epsilon(1e-14));
  CHECK(after_one_step<Sgd>({.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.5}, 2, 3, true) ==
        Approx(1.6).epsilon(1e-14));
  CHECK(after_one_step<Sgd>({.learning_rate = 0.1, .momentum = 0.9, .nesterov = true}, 2, 3, true) ==
        Approx(1.43).epsilon(1e-14));
  CHECK(after_one_step<RmsProp>({.learning_rate = 0.1, .alpha = 0.99, .epsilon = 1e-300}, 2, 3, true) ==
        Approx(1).epsilon(1e-14));
}

TEST_CASE("a skipped step touches nothing at all") {
  const op::Segments segments{{{{0, 100, true}}}, 1};
  Arena arena;
  op::Update<AdamW, float, bf16, float> o{};
  o.master = arena.put<float>(values<float>(100)), o.state = arena.room<float>(200),
  o.gradient = arena.room<float>(100), o.copy = arena.room<bf16>(100);
  Scalars scalars;
  scalars.factor = std::nan("");
  o.scalars = arena.scalars(scalars), o.segments = segments, o.count = 100, o.state_stride = 100;
  const auto before = arena.bytes();
  cpu::execute(o, arena.memory());
  CHECK(arena.bytes() == before);
}

TEST_CASE("the number of threads changes no bit of an update") {
  CHECK(same_for_any_threads([](Arena& arena) {
    const op::Segments segments{{{{0, 200001, true}}}, 1};
    const std::size_t count = 200001;
    op::Update<AdamW, float, bf16, float> o{};
    o.master = arena.put<float>(values<float>(count)), o.state = arena.put<float>(Values(2 * count, 0.25)),
    o.gradient = arena.put<float>(values<float>(count, 1, 2));
    Scalars s;
    s.apply = 1, s.factor = 0.3, s.learning_rate = 0.1, s.correction_first = 2, s.correction_second = 3;
    o.copy = arena.room<bf16>(count), o.scalars = arena.scalars(s), o.segments = segments, o.count = count,
    o.state_stride = count;
    cpu::execute(o, arena.memory());
  }));
}
// SPDX-License-Identifier: Apache-2.0
