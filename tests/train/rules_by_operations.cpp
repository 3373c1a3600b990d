// Update rules of whole tensors that are written by operations: what the same rule does on spans, on every engine.
#include "support/lars.hpp"
#include "support/muon.hpp"
#include "support/rounding.hpp"
#include "support/whole_tensor_rules.hpp"
#include "train/deferred.hpp"

#include <regimen/engine/cpu/kernels.hpp>
#include <regimen/engine/cuda/plan.hpp>
#include <regimen/engine/emulated/device.hpp>
#include <regimen/optimizer/lamb.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

using namespace regimen;
using regimen::test::DeferredOutcome;
using regimen::test::fake_data;
using support::as_far_as;
using support::distance;
using support::of_order;

namespace {

static_assert(UpdatesByOperations<Muon> && UpdatesByOperations<Lamb> && UpdatesByOperations<rules::Lars>);
static_assert(!UpdatesByOperations<rules::MuonOnSpans> && !UpdatesByOperations<rules::Lamb> &&
              !UpdatesByOperations<AdamW>);

/// Tall, wide and square matrices of odd sizes, one of one column, and vectors.
struct OddMatrices : Model<Input<Vector<7>>, Linear<13>, Gelu, Linear<13>, LayerNorm, Gelu, Linear<1>, Linear<5>> {};

template <class Train>
DeferredOutcome trained_by_rule(bool listens = true) {
  const ::test::Directory folder;
  Train trainer;
  return regimen::test::train(trainer, folder / "state", listens);
}

/// In fp64 the forms and the engines differ by the order of their sums: 2^-53 of sums of at most 64 terms. Muon's five
/// steps enlarge what is near zero, such as the singular value of logits' gradients, which sum to zero, by at most
/// 3.4445^5 < 500, and learning rate and scale multiply that by 1e-3 * 0.2 √19 < 1e-3; twelve steps, each of which
/// enlarges by less than two: 2^12 * 500 * 64 * 2^-53 * 1e-3 < 1e-8. In other formats they are as far from fp64 as the
/// rule on spans is.
template <class Rule, class RuleOnSpans, class Network, class... Policies>
void rules_agree(const char* what) {
  INFO(what);
  using Spans = Optimizer<RuleOnSpans>;
  using Operations = Optimizer<Rule>;
  const DeferredOutcome exact = trained_by_rule<Trainer<Network, Policies..., Spans, Precision<fp64>>>();
  const auto is_near = [&]<class... More>(boost::mp11::mp_list<More...>, double may) {
    const DeferredOutcome found = trained_by_rule<Trainer<Network, Policies..., Operations, More...>>();
    CHECK(distance(exact.numbers, found.numbers) < may);
    CHECK(distance(exact.weights, found.weights) < may);
  };
  is_near(boost::mp11::mp_list<Precision<fp64>>{}, of_order);
  is_near(boost::mp11::mp_list<Precision<fp64>, Device<Emulated>>{}, of_order);
  const auto in_format = [&]<class Format>(std::type_identity<Format>) {
    const DeferredOutcome rounded = trained_by_rule<Trainer<Network, Policies..., Spans, Format>>();
    const double far =
        as_far_as((std::max)(distance(exact.numbers, rounded.numbers), distance(exact.weights, rounded.weights)));
    is_near(boost::mp11::mp_list<Format>{}, far);
    is_near(boost::mp11::mp_list<Format, Device<Emulated>>{}, far);
  };
  in_format(std::type_identity<Precision<fp32>>{});
  in_format(std::type_identity<Precision<bf16, fp32>>{});
}

/// A step whose gradient is not finite between others: weights, state and the copies that kernels read stay as they
/// are, so that what follows has the bits of a run without it.
template <class Rule, class... Policies>
void a_skipped_step_changes_nothing(const char* what) {
  INFO(what);
  using Train = Trainer<OddMatrices, Batch<4>, Optimizer<Rule>, Policies...>;
  const auto weights_after = [](bool with_overflow) {
    Train trainer;
    trainer.poison_dead_memory();
    auto loader = trainer.batches(fake_data(), {.epochs = 1});
    std::size_t skipped = 0;
    const auto step = [&](auto inputs, auto targets) {
      skipped += trainer.apply(trainer.backward(trainer.forward(inputs, targets))).applied ? 0 : 1;
    };
    for (int i = 0; i < 3; ++i) {
      const auto next = loader.next();
      step(next.input, next.target);
      if (with_overflow && i < 2) {
        std::vector<typename Train::Input> huge(next.input.begin(), next.input.end());
        huge[5] = std::numeric_limits<float>::infinity();
        const std::vector<double> before = support::weights_of<double>(trainer);
        step(std::span<const typename Train::Input>(huge), next.target);
        CHECK(support::weights_of<double>(trainer) == before);
      }
    }
    CHECK(skipped == (with_overflow ? 2u : 0u));
    return support::weights_of<double>(trainer);
  };
  CHECK(weights_after(true) == weights_after(false));
}

}  // namespace

TEST_CASE("rules by operations do what they do on spans, on the CPU and on the emulated device") {
  rules_agree<Muon, rules::MuonOnSpans, OddMatrices, Batch<4>>("odd matrices");
  rules_agree<Muon, rules::MuonOnSpans, OddMatrices, Batch<4>, Accumulate<2>, Clip<Norm<Ratio<1>>>>(
      "accumulated and clipped");
  rules_agree<Muon, rules::MuonOnSpans, regimen::test::Tied<2>, Batch<3>>("a tied table");
  rules_agree<Lamb, rules::Lamb, OddMatrices, Batch<4>>("norms");
}

TEST_CASE("rules by operations train the same bits by graphs, by single launches, and by several steps a launch") {
  const auto same = []<class Rule, class Format>(std::type_identity<Rule>, std::type_identity<Format>) {
    using Policies = boost::mp11::mp_list<OddMatrices, Batch<4>, Optimizer<Rule>, Format, Device<Emulated>>;
    const auto run = []<class... More>(boost::mp11::mp_list<More...>) {
      using Train = boost::mp11::mp_apply<Trainer, boost::mp11::mp_append<Policies, boost::mp11::mp_list<More...>>>;
      return trained_by_rule<Train>();
    };
    const DeferredOutcome first = run(boost::mp11::mp_list<>{});
    CHECK(run(boost::mp11::mp_list<>{}) == first);
    CHECK(run(boost::mp11::mp_list<Graph<Off>>{}) == first);
    CHECK(run(boost::mp11::mp_list<Steps<4>>{}) == first);
  };
  same(std::type_identity<Muon>{}, std::type_identity<Precision<fp32>>{});
  same(std::type_identity<Muon>{}, std::type_identity<Precision<bf16, fp32>>{});
  same(std::type_identity<rules::Lars>{}, std::type_identity<Precision<bf16, fp32>>{});
}

TEST_CASE("a learning rate that changes from step to step is in no graph") {
  using Train = Trainer<OddMatrices, Batch<4>, Optimizer<Muon>, Precision<fp64>>;
  using There = Trainer<OddMatrices, Batch<4>, Optimizer<Muon>, Precision<fp64>, Device<Emulated>>;
  const auto weights = []<class T>(std::type_identity<T>, const Schedule& schedule) {
    T trainer{{.schedule = schedule}};
    trainer.fit(fake_data(), {.steps = 10, .progress = false});
    return support::weights_of<double>(trainer);
  };
  const Schedule falls = Schedule::warmup_cosine(3, 10, 0.1);
  const auto here = weights(std::type_identity<Train>{}, falls), there = weights(std::type_identity<There>{}, falls);
  CHECK(distance(here, there) < of_order);
  CHECK(distance(there, weights(std::type_identity<There>{}, {})) > 1e-4);
}

TEST_CASE("a step that overflows leaves weights, state and copies as they are") {
  a_skipped_step_changes_nothing<Muon>("fp32");
  a_skipped_step_changes_nothing<rules::MuonOnSpans>("on spans");
  a_skipped_step_changes_nothing<rules::Lars, Precision<bf16, fp32>>("LARS in bf16");
  a_skipped_step_changes_nothing<Lamb, Device<Emulated>>("LAMB on the device");
  a_skipped_step_changes_nothing<Muon, Precision<bf16, fp32>, Device<Emulated>>("on the device");
  a_skipped_step_changes_nothing<rules::Lars, Device<Emulated>>("LARS on the device");
  // A loss scale that moves, and begins too high: the first steps are skipped.
  using Train = Trainer<OddMatrices, Batch<4>, Optimizer<Muon>, Precision<fp16, fp32>, LossScale<Dynamic>>;
  using There =
      Trainer<OddMatrices, Batch<4>, Optimizer<Muon>, Precision<fp16, fp32>, LossScale<Dynamic>, Device<Emulated>>;
  CHECK(trained_by_rule<There>() == trained_by_rule<There>(true));
  CHECK(trained_by_rule<Train>().numbers.size() == trained_by_rule<There>().numbers.size());
}

TEST_CASE("the plan has the operations, products and bytes of a rule by operations") {
  using Train = Trainer<OddMatrices, Batch<4>, Optimizer<Muon>>;
  using Cast = Trainer<OddMatrices, Batch<4>, Optimizer<Muon>, Precision<bf16, fp32>>;
  // The sums of squares of six children with weights (Gelu adds the first bias), and the step's decisions; then three
  // matrices of several rows and seven vectors, with eight operations each and five iterations of five.
  constexpr std::size_t tensors = 3 + 7;
  static_assert(Train::plan().update.operations == 6 + 1 + tensors * (8 + 5 * 5));
  static_assert(Cast::plan().update.operations - Train::plan().update.operations == tensors);
  // (rows, columns) of 13x7, 13x13, 5x1, five times 1x13, 1x1, 1x5. Products of an iteration: 4 inner² outer + 2
  // inner³.
  constexpr double products =
      5 * (4.0 * 7 * 7 * 13 + 2 * 7 * 7 * 7 + 6.0 * 13 * 13 * 13 + 2 * (4.0 * 5 + 2) + 5 * (4.0 * 13 + 2) + 6);
  static_assert(Train::plan().update.flops > products && Train::plan().update.flops < 1.5 * products);
  const auto as_planned = []<class T>(std::type_identity<T>) {
    T trainer;
    trainer.poison_dead_memory();
    const std::size_t before = trainer.used().operations;
    trainer.fit(fake_data(), {.steps = 5, .progress = false});
    CHECK(trainer.used().operations - before == 5 * T::plan().operations());
    CHECK(trainer.used().peak == T::plan().peak);
  };
  as_planned(std::type_identity<Train>{});
  as_planned(std::type_identity<Cast>{});
  as_planned(std::type_identity<Trainer<OddMatrices, Batch<4>, Optimizer<Muon>, Device<Emulated>>>{});
  as_planned(std::type_identity<
             Trainer<OddMatrices, Batch<4>, Optimizer<rules::Lars>, Precision<bf16, fp32>, Device<Emulated>>>{});
  // A large matrix's update is the peak: the gradient as the rule sees it, X's successor, two squares, two numbers.
  struct Wide : Model<Input<Vector<96>>, Linear<64>> {};
  using Largest = Trainer<Wide, Batch<1>, Optimizer<Muon>, Device<Emulated>>;
  using Without = Trainer<Wide, Batch<1>, Optimizer<rules::MuonOnSpans>>;
  static_assert(Largest::plan().peak > Largest::plan().kept + (2 * 96 * 64 + 2 * 64 * 64) * sizeof(float));
  static_assert(Without::plan().peak > Without::plan().kept + (2 * 96 * 64 + 2 * 64 * 64) * sizeof(float));
  as_planned(std::type_identity<Largest>{});
  // A program for a GPU has a plan, too.
  static_assert(Trainer<OddMatrices, Batch<4>, Optimizer<Muon>, Device<Cuda>>::plan().update.operations ==
                Train::plan().update.operations);
}

TEST_CASE("LARS by operations takes steps whose length is a share of the weights'") {
  const auto first_step = []<class Train>(std::type_identity<Train>) {
    Train trainer{{.optimizer = {.learning_rate = 0.5, .weight_decay = 0.1, .trust = 0.02}}};
    auto loader = trainer.batches(fake_data(), {.epochs = 1});
    const auto next = loader.next();
    std::vector<std::vector<double>> before, gradients;
    for (const auto& parameter : trainer.parameters())
      before.emplace_back(parameter.values.begin(), parameter.values.end());
    const auto found = trainer.backward(trainer.forward(next.input, next.target));
    for (const auto& one : trainer.gradients()) {
      gradients.emplace_back(one.values.begin(), one.values.end());
      for (double& value : gradients.back()) value /= trainer.gradient_divisor();
    }
    trainer.apply(found);
    std::size_t t = 0;
    for (const auto& parameter : trainer.parameters()) {
      INFO(parameter.name);
      const double decay = parameter.decays ? 0.1 : 0;
      double weights = 0, gradient = 0;
      for (const double w : before[t]) weights += w * w;
      for (const double g : gradients[t]) gradient += g * g;
      weights = std::sqrt(weights), gradient = std::sqrt(gradient);
      const double rate = 0.5 * (weights > 0 && gradient > 0 ? 0.02 * weights / (gradient + decay * weights) : 1);
      for (std::size_t i = 0; i < before[t].size(); ++i) {
        const double expected = before[t][i] - rate * (gradients[t][i] + decay * before[t][i]);
        // Norms of at most 169 elements round half as often as they have terms; the rest a dozen times.
        const double error = (169 / 2 + 12) * 0x1p-53 * (std::fabs(before[t][i]) + std::fabs(expected) + rate);
        CHECK(std::fabs(parameter.values[i] - expected) <= error);
      }
      ++t;
    }
  };
  first_step(std::type_identity<Trainer<OddMatrices, Batch<4>, Optimizer<rules::Lars>, Precision<fp64>>>{});
  first_step(
      std::type_identity<Trainer<OddMatrices, Batch<4>, Optimizer<rules::Lars>, Precision<fp64>, Device<Emulated>>>{});
}

TEST_CASE("ranks agree on the options of a rule by operations, and train what one rank trains") {
  const auto words = [](double momentum) {
    return ::test::error_of([&] {
      launch(2, [&](comm::Threads& communicator) {
        Trainer<OddMatrices, Batch<2>, Optimizer<Muon>, Communicator<Threads>> trainer(
            communicator, {.optimizer = {.momentum = communicator.rank() == 0 ? 0.95 : momentum}});
      });
    });
  };
  CHECK(words(0.95).empty());
  CHECK(::test::says(words(0.9), "program, seed and options"));
  const auto weights = [](auto& trainer) {
    trainer.fit(fake_data(), {.steps = 5, .progress = false});
    return support::weights_of<double>(trainer);
  };
  Trainer<OddMatrices, Batch<4>, Optimizer<Muon>, Precision<fp64>> one;
  const std::vector<double> alone = weights(one);
  const auto together = [&]<class... Where>(boost::mp11::mp_list<Where...>) {
    std::vector<double> found;
    launch(2, [&](comm::Threads& communicator) {
      Trainer<OddMatrices, Batch<2>, Optimizer<Muon>, Precision<fp64>, Communicator<Threads>, Where...> rank(
          communicator);
      const std::vector<double> own = weights(rank);
      if (communicator.rank() == 0) found = own;
    });
    CHECK(distance(alone, found) < of_order);
  };
  together(boost::mp11::mp_list<>{});
  together(boost::mp11::mp_list<Device<Emulated>>{});
}
// SPDX-License-Identifier: Apache-2.0
