// tests/random/seed.hpp — a seed, checked.
#pragma once

#include "random/check.hpp"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace regimen::random {

template <class T>
std::string name_of_type() {
  const std::string_view all = __PRETTY_FUNCTION__;
  const std::size_t from = all.find("T = ") + 4, to = (std::min)(all.find(';', from), all.rfind(']'));
  std::string text(all.substr(from, to - from));
  for (const std::string_view noise : {"regimen::", "boost::mp11::", "rules::"})
    for (std::size_t at = text.find(noise); at != std::string::npos; at = text.find(noise))
      text.erase(at, noise.size());
  return text;
}

template <class Network, class Policies>
struct trainer_of;
template <class Network, class... Policies>
struct trainer_of<Network, mp::mp_list<Policies...>> {
  using type = Trainer<Network, Policies...>;
};

template <class Network, class Policies, unsigned needs>
Case case_of() {
  using Train = typename trainer_of<Network, Policies>::type;
  return {&make_subject<Train, needs>, Train::Step::Sharding::alone, Train::Step::Sharding::group,
          Train::Configuration::world::ranks};
}

constexpr bool same(const Cost& a, const Cost& b) {
  const auto close = [](double x, double y) { return x - y <= 1e-9 * (x + y) && y - x <= 1e-9 * (x + y); };
  return close(a.flops, b.flops) && close(a.bytes, b.bytes) && a.operations == b.operations && a.wire == b.wire;
}
template <class Planned>
constexpr bool same(const Planned& a, const Planned& b) {
  return a.arena.peak == b.arena.peak && a.arena.peak_of_live == b.arena.peak_of_live && a.arena.top == b.arena.top &&
         same(a.engine.cost[0], b.engine.cost[0]) && same(a.engine.cost[1], b.engine.cost[1]) &&
         same(a.engine.cost[2], b.engine.cost[2]);
}

/// The plan as a constant is the plan at run time, and the one that evaluates every iteration.
template <class Train>
void check_plan(Findings& findings) {
  using Recipe = typename Train::Recipe;
  constexpr MemoryPlan constant = Recipe::plan;
  volatile std::size_t hidden = Train::batch;
  for (const std::size_t ranks : {Recipe::planned_ranks, std::size_t{2}}) {
    if (ranks == 2 && Train::Step::Sharding::alone) continue;
    constexpr std::size_t group = Train::Step::Sharding::group > 0 ? Train::Step::Sharding::group : 1;
    if (ranks % group != 0) continue;
    const auto logs = std::make_unique<TensorLog[]>(4);
    const typename Recipe::PlanWalk step = Recipe::walk_step(hidden, false, &logs[0], ranks),
                                    full = Recipe::walk_step(hidden, true, &logs[1], ranks);
    const typename Recipe::PlanWalk evaluation = Recipe::walk_evaluation(hidden, false, &logs[2], ranks),
                                    whole = Recipe::walk_evaluation(hidden, true, &logs[3], ranks);
    findings.expect(same(step, full), "a plan that skips iterations is not the plan that walks them");
    findings.expect(same(evaluation, whole),
                    "a plan of evaluation that skips iterations is not the one that walks them");
    findings.expect(logs[0].report.bytes_by_kind == logs[1].report.bytes_by_kind &&
                        logs[2].report.bytes_by_kind == logs[3].report.bytes_by_kind,
                    "the report of a plan that skips iterations is not that of one that walks them");
    if (ranks == Recipe::planned_ranks)
      findings.expect(constant.peak == (std::max)(step.arena.peak, evaluation.arena.peak) &&
                          same(constant.forward, step.engine.cost[0]) && same(constant.backward, step.engine.cost[1]) &&
                          same(constant.update, step.engine.cost[2]),
                      "the constant plan is not the plan at run time");
  }
}

/// By how much a gradient changes when its weight moves by 1e-12 to 8e-12. Where it is made of roundings, that is no less than
/// its error as soon as one of eight draws lies on the other side of the truth: in 255 cases of 256.
inline double roundings(Subject& subject, const Place& place, std::size_t at, double gradient) {
  double most = 0;
  for (int i = 1; i <= 8; ++i) {
    subject.nudge(at, i * 1e-12);
    Outcome moved;
    subject.loss_by_hand(place, &moved);
    subject.nudge(at, -i * 1e-12);
    most = (std::max)(most, std::abs(moved.values[at] - gradient));
  }
  return most;
}

/// Differences of the loss against gradients, at a few elements of all weights. The loss has kinks (Relu) and sharp
/// bends (a norm of little), so that a gradient is right if it is the difference at one distance: a wrong one is so at
/// none.
///   tolerance   differences of fourth order round to 2⁻⁵³ L / h ≤ 1e-9 of a loss near 1 at h = 1e-6, in units of the
///               largest gradient, which is not below 1e-2 of the norm; errors of calculus show as 1e-3 to 1. Norms of
///               few samples, one behind the other, make more of roundings (seed 6048: 4e-9 of a loss of 0.3): n, by which
///               losses differ that nothing else tells apart, is 18 n / 12 h of a slope; at most 1e-5 of the norm is allowed so
///   roundings   a batch norm of equal rows gives each row a gradient of 316 times what comes in, and their sum should be 0:
///               five of them, one behind the other, leave nothing but roundings (seed 300082: 832 where 1 is right). Such
///               a gradient is another one as soon as a weight moves by 1e-12; a wrong term moves by as little as the weight
inline void check_gradients(Case program, std::uint64_t seed, Findings& findings) {
  on_ranks(program.alone ? 0 : 1, program.maker, [&](Subject& subject, std::size_t, std::size_t) {
    const Place place{0, 0, 1, subject.batch, subject.capacity()};
    // Zeros and ones, which weights begin with, hide mistakes.
    Outcome gradients;
    subject.loss_by_hand(place, &gradients);
    const std::size_t count = gradients.values.size();
    for (std::size_t i = 0; i < count; ++i)
      subject.nudge(i, 0.2 * (static_cast<double>(number_at(seed, i) % 2048) / 1024 - 1));
    subject.poison();
    gradients.values.clear();
    subject.loss_by_hand(place, &gradients);
    double norm = 0;
    for (const double value : gradients.values) norm += value * value;
    norm = std::sqrt(norm);
    findings.expect(std::isfinite(norm), "a gradient is not finite");
    const std::vector<bool> padded = subject.padded();
    findings.expect(padded.size() == count, "a tensor that trains has no gradient");
    if (!subject.ties_padded)
      for (std::size_t i = 0; i < count; ++i)
        if (padded[i]) findings.expect(gradients.values[i] == 0, "a lookup of padding has a gradient");
    for (std::size_t look = 0; look < 24; ++look) {
      const std::size_t at = number_at(seed + 1, look) % count;
      if (padded[at]) continue;  // differences see what lookups of padding do
      const auto loss = [&](double offset) {
        subject.nudge(at, offset);
        const double result = subject.loss_by_hand(place, nullptr);
        subject.nudge(at, -offset);
        return result;
      };
      double best = 1e300, found = 0;
      const auto compare = [&](double noise) {
        for (const double h : {1e-3, 1e-4, 1e-5, 1e-6}) {
          const double slope = (8 * (loss(h) - loss(-h)) - (loss(2 * h) - loss(-2 * h))) / (12 * h);
          const double error = std::abs(slope - gradients.values[at]) - (std::min)(1.5 * noise / h, 1e-5 * norm);
          if (error < best) {
            best = error;
            found = slope;
          }
          if (best <= 1e-6 * norm + 1e-9) return;
        }
      };
      compare(0);
      if (best > 1e-6 * norm + 1e-9) {
        double noise = 0;
        for (int i = 1; i <= 8; ++i) noise = (std::max)(noise, std::abs(loss(i * 1e-12) - loss(-i * 1e-12)));
        compare(noise);
      }
      if (best > 1e-6 * norm + 1e-9 && best <= roundings(subject, place, at, gradients.values[at])) continue;
      findings.expect(best <= 1e-6 * norm + 1e-9, "gradient " + std::to_string(at) + " is " +
                                                      std::to_string(gradients.values[at]) + ", differences say " +
                                                      std::to_string(found) + " (norm " + std::to_string(norm) + ")");
    }
  });
}

/// Whether two programs are the same arithmetic in the same order: 0 no, 1 but for the order of sums, 2 bit for bit.
template <class Train, class Near>
constexpr int likeness() {
  using A = typename Train::Configuration;
  using B = typename Near::Configuration;
  // One order of the sums over micro-batches and ranks, and over the units of a norm.
  constexpr bool reduces_alike =
      Train::micro_batches == 1 || Train::Step::Sharding::reduces_each == Near::Step::Sharding::reduces_each;
  constexpr bool groups_alike = sizeof(typename Train::Reduce) > 2 || A::shard::stage::group == B::shard::stage::group;
  constexpr bool same_units = std::is_same_v<typename A::shard::wrap, typename B::shard::wrap>;
  if (Train::batch != Near::batch || A::fusion::fuses != B::fusion::fuses || !reduces_alike || !groups_alike ||
      !same_units)
    return 1;
  return 2;
}

/// Losses and norms of steps that differ in the order of sums alone, in fp64: 2⁻⁵³ for each of some hundred roundings,
/// that norms of small rows magnify by up to 1/√ε = 316 each; a wrong term, or one too many, shows as 1e-3 to 1. A network
/// whose norms grow out of bounds does so in both: they are equal then, infinite or not.
inline bool close(const Outcome& a, const Outcome& b, std::uint64_t steps) {
  for (std::size_t i = 0; i < 4 * steps; ++i)
    if (a.values[i] != b.values[i] && !(std::abs(a.values[i] - b.values[i]) <= 1e-7 * (1 + std::abs(a.values[i]))))
      return false;
  return true;
}

/// All checks of a seed. Returns what is wrong, in words.
template <std::uint64_t Seed, Id... Without>
std::string check_seed() {
  using P = Program<Seed, Without...>;
  using Train = typename trainer_of<typename P::Net, typename P::Policies>::type;
  using Near = typename trainer_of<typename P::Net, typename P::NeighbourPolicies>::type;
  constexpr bool is_fp64 = std::is_same_v<typename Train::Master, fp64>;
  constexpr int like = likeness<Train, Near>();
  // Compiling is what a seed costs, so one Trainer serves several checks where it can. The neighbour goes on from what
  // the program saved, where that is to be bit-equal; the gradient check is the program's own, where that is fp64 and
  // may have one rank; every other seed predicts.
  constexpr bool resumes = like == 2, evaluates = Seed % 2 == 0,
                 is_wide = is_fp64 && Train::Step::Sharding::group == 0 && Train::Configuration::world::ranks == 0;
  Findings findings("seed " + std::to_string(Seed) + "\n  " + name_of_type<typename P::Drawn::type>() + "\n  " +
                    name_of_type<typename P::Policies>() + "\n  neighbour " +
                    name_of_type<typename P::NeighbourPolicies>());
  try {
    const Case program =
        case_of<typename P::Net, typename P::Policies,
                saves | (resumes ? 0 : loads) | (evaluates ? predicts : 0) | (is_wide ? by_hand : 0)>();
    const Case neighbour = case_of<typename P::Net, typename P::NeighbourPolicies, (resumes ? loads : 0)>();
    const Case wide = [] {
      if constexpr (is_wide)
        return case_of<typename P::Net, typename P::Policies,
                       saves | (resumes ? 0 : loads) | (evaluates ? predicts : 0) | by_hand>();
      else return case_of<typename P::Wide, typename P::WidePolicies, by_hand>();
    }();
    const ::test::Directory folder;
    const std::string file = folder / "state.safetensors";
    const std::uint64_t at = 1 + Philox::mix(Seed, 5) % (step_count - 1);
    check_plan<Train>(findings);
    for (const std::size_t ranks : program.ranks()) {
      const std::vector<std::size_t> others = neighbour.ranks();
      const bool meets = std::find(others.begin(), others.end(), ranks) != others.end();
      const bool is_short = ranks == 1 || Train::batch == Near::batch;
      const Outcome clean = Training{.ranks = ranks, .is_short = is_short}(program, findings);
      findings.expect(clean == Training{.ranks = ranks, .poison = true, .is_short = is_short}(program, findings),
                      "dead memory is read");
      if (meets || !resumes)
        findings.expect(clean == Training{.ranks = ranks, .poison = true, .file = file, .at = at, .is_short = is_short}(
                                     program, resumes ? neighbour : program, findings),
                        "what was resumed after step " + std::to_string(at) + " computes other bits");
      if (meets) {
        const Outcome near = Training{.ranks = ranks, .poison = true, .is_short = is_short}(neighbour, findings);
        if (like == 2) findings.expect(clean == near, "the neighbour computes other bits");
        else if (is_fp64) findings.expect(close(clean, near, step_count), "the neighbour computes something else");
      }
      // One rank computes micro-batches of the batch of one. Of a loss over all samples that is another loss: train.nt_xent has its ranks.
      if (is_fp64 && !program.alone && !is_coupled<typename P::Drawn> && !loss_is_coupled<typename P::Policies>)
        on_ranks(wide.alone ? 0 : 1, wide.maker, [&](Subject& subject, std::size_t, std::size_t) {
          const StepResult one = subject.apply_by_hand({0, 0, 1, subject.batch, ranks * subject.capacity()});
          Outcome expected;
          for (const double value : {one.loss, one.gradient_norm, 1.0, 1.0}) expected.add(value);
          findings.expect(close(expected, clean, 1), "ranks compute something else than one does");
        });
    }
    if (evaluates && program.ranks().front() == 1)
      on_ranks(program.alone ? 0 : 1, program.maker, [&](Subject& subject, std::size_t, std::size_t) {
        subject.step({0, 0, 1, subject.batch, subject.capacity()});
        subject.save(file);
        subject.poison();
        const Subject::Evaluated found = subject.evaluate(2 * subject.batch + 1, file);
        findings.expect(subject.used().peak == subject.planned_peak,
                        "steps and evaluations take other memory than planned");
        findings.expect(found.predicted == found.inferred, "an Inference has other outputs than its Trainer");
        findings.expect(found.inferred == found.shared, "an Inference that shares weights has other outputs");
        // A row's loss is rounded to the type of the output once it is summed: at most columns + some roundings, of
        // terms near |loss| + 1.
        const double bound = (is_fp64 ? 1e-12 : 1e-5) * (1 + std::abs(found.loss));
        findings.expect(!(std::abs(found.loss - found.loss_of_outputs) > bound),
                        "evaluate finds the loss " + std::to_string(found.loss) + ", the outputs have " +
                            std::to_string(found.loss_of_outputs));
      });
    check_gradients(wide, Seed, findings);
  } catch (const std::exception& error) { findings.expect(false, std::string("an exception: ") + error.what()); }
  return findings.text();
}

}  // namespace regimen::random
// SPDX-License-Identifier: Apache-2.0
