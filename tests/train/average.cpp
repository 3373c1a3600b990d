// Averages of weights: what they are, where they take the weights' place, and that they leave no trace there.
#include "support/weights.hpp"
#include "support/whole_tensor_rules.hpp"
#include "temporary.hpp"
#include "train/shard.hpp"

#include <regimen/engine/cpu/kernels.hpp>
#include <regimen/engine/emulated/device.hpp>
#include <regimen/optimizer/averaged.hpp>
#include <regimen/optimizer/lamb.hpp>
#include <regimen/optimizer/muon.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/optimizer/split.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <vector>

using namespace regimen;
using namespace regimen::test;

namespace {

struct Net final : Model<Input<Vector<7>>, Linear<13>, Gelu, LayerNorm, Linear<5>> {};
const Fake& samples() {
  static const Fake fake({.samples = 40, .classes = 5, .seed = 37});
  return fake;
}
using Half = Ratio<1, 2>;

/// In fp64 each step of an average rounds three times; ten steps, of numbers of size 1 or below.
constexpr double roundings = 30 * 0x1p-53;

/// All tensors of a saved state: weights, copies, optimizer state, averages.
template <class Train>
std::map<std::string, std::vector<std::byte>> tensors_of(Train& trainer, const ::test::Directory& folder) {
  trainer.save(folder / "state");
  const safetensors::File file(folder / "state");
  std::map<std::string, std::vector<std::byte>> tensors;
  for (const safetensors::Tensor& tensor : file.tensors())
    tensors.emplace(tensor.name, std::vector<std::byte>(tensor.bytes.begin(), tensor.bytes.end()));
  return tensors;
}
/// A step whose gradient is not finite changes no tensor of the state, and the next one goes on from there.
template <class Train>
void skips_a_step(Train& trainer) {
  const ::test::Directory folder;
  const auto before = tensors_of(trainer, folder);
  std::vector<typename Train::Input> inputs(4 * 7, 1);
  const std::vector<std::int32_t> targets{0, 1, 2, 3};
  inputs[5] = std::numeric_limits<typename Train::Input>::infinity();
  CHECK(!trainer.step(inputs, targets).applied);
  for (const auto& [name, bytes] : tensors_of(trainer, folder)) {
    INFO(name);
    CHECK(bytes == before.at(name));
  }
  inputs[5] = 0;
  CHECK(trainer.step(inputs, targets).applied);
  std::size_t moved = 0;
  for (const auto& [name, bytes] : tensors_of(trainer, folder)) moved += bytes != before.at(name);
  CHECK(moved > 0);
}
template <class Rule, class... Policies>
void skips_a_step_of(const char* what) {
  INFO(what);
  Trainer<Net, Batch<4>, Precision<fp64>, Optimizer<Rule>, Policies...> trainer;
  trainer.fit(samples(), {.steps = 2, .progress = false});
  skips_a_step(trainer);
}
/// What is read while the averages are in the weights' place is the averages, and what is read after it the weights; a copy
/// that was read there is not written back. The program that calls parameters_changed() has changed nothing.
template <class Train>
void leaves_no_copy(Train& trainer) {
  const auto weights = support::weights_of<double>(trainer);
  const double loss = trainer.evaluate(samples()).loss;
  std::vector<double> averages;
  double averaged = 0;
  trainer.with_average([&] {
    averaged = trainer.evaluate(samples()).loss;
    averages = support::weights_of<double>(trainer);
    trainer.parameters_changed();
    CHECK(trainer.evaluate(samples()).loss == averaged);
  });
  CHECK(averages != weights);
  CHECK(averaged != loss);
  trainer.parameters_changed();
  CHECK(trainer.evaluate(samples()).loss == loss);
  CHECK(support::weights_of<double>(trainer) == weights);
  // What was read before is the program's to write to, still.
  const auto mine = trainer.parameters();
  trainer.with_average([&] { CHECK(support::weights_of<double>(trainer) == averages); });
  mine[0].values[0] += 1;
  trainer.parameters_changed();
  CHECK(support::weights_of<double>(trainer)[0] == weights[0] + 1);
  trainer.parameters()[0].values[0] = weights[0];
  trainer.parameters_changed();
  CHECK(support::weights_of<double>(trainer) == weights);
}

/// The averages are those of the weights that the steps left, and the steps are those of a Trainer without averages.
template <class Rule, class... Policies>
void averages_what_it_trains(const char* what) {
  INFO(what);
  Trainer<Net, Batch<4>, Precision<fp64>, Optimizer<Rule>, Policies...> plain;
  Trainer<Net, Batch<4>, Precision<fp64>, Optimizer<Averaged<Rule, Half>>, Policies...> trainer;
  trainer.poison_dead_memory();
  std::vector<double> expected;
  plain.fit(samples(), {.steps = 6, .progress = false});
  trainer.fit(samples(), {.steps = 6, .progress = false}, [&](auto& self, const StepResult& result) {
    const auto weights = support::weights_of<double>(self);
    if (result.step == 1) expected = weights;
    for (std::size_t i = 0; i < weights.size(); ++i) expected[i] = 0.5 * expected[i] + 0.5 * weights[i];
    self.with_average([&] {
      const auto averages = support::weights_of<double>(self);
      double apart = 0;
      for (std::size_t i = 0; i < weights.size(); ++i) apart = std::max(apart, std::abs(averages[i] - expected[i]));
      CHECK(apart <= roundings);
      CHECK((averages == weights) == (result.step == 1));
    });
  });
  CHECK(support::weights_of<double>(trainer) == support::weights_of<double>(plain));
  CHECK(trainer.used().peak == trainer.planned().peak);
  CHECK(trainer.plan().kept > plain.plan().kept);
  leaves_no_copy(trainer);
  skips_a_step(trainer);
  skips_a_step(plain);
}

}  // namespace

TEST_CASE("an average is that of the weights after each step, of every kind of rule") {
  averages_what_it_trains<AdamW>("elements");
  averages_what_it_trains<Muon>("whole tensors, by operations");
  averages_what_it_trains<rules::Lamb>("whole tensors, on spans");
  averages_what_it_trains<Muon, Device<Emulated>>("on the device");
  averages_what_it_trains<Sgd, Device<Emulated>>("elements on the device");
}

TEST_CASE("a step that does not count leaves weights, state and averages of every group as they are") {
  using Groups = Split<Matrices<Averaged<Muon, Half>>, Rest<Averaged<AdamW, Half>>>;
  skips_a_step_of<Groups>("groups");
  skips_a_step_of<Groups, Device<Emulated>>("groups on the device");
  skips_a_step_of<Averaged<Lamb, Half>, Device<Emulated>>("norms by operations on the device");
}

TEST_CASE("of groups those are averaged that say so") {
  Trainer<Net, Batch<4>, Precision<fp64>, Optimizer<Split<Matrices<Averaged<Muon, Half>>, Rest<AdamW>>>> trainer;
  trainer.fit(samples(), {.steps = 3, .progress = false});
  std::vector<std::vector<double>> weights;
  for (const auto& parameter : trainer.parameters())
    weights.emplace_back(parameter.values.begin(), parameter.values.end());
  trainer.with_average([&] {
    std::size_t i = 0;
    for (const auto& parameter : trainer.parameters()) {
      const std::vector<double> now(parameter.values.begin(), parameter.values.end());
      CHECK((now == weights[i++]) == (parameter.role != ParameterRole::matrix));
    }
  });
}

TEST_CASE("averages evaluate, predict, are saved as weights, and leave no trace") {
  const ::test::Directory folder;
  const std::string average = folder / "average", state = folder / "state";
  using Train = Trainer<Net, Batch<4>, Precision<bf16, fp32>, Optimizer<Averaged<AdamW, Half>>>;
  Train trainer;
  CHECK(::test::says(::test::error_of([&] { trainer.with_average([] {}); }), "train first"));
  trainer.fit(samples(), {.steps = 5, .progress = false});
  const double plain = trainer.evaluate(samples()).loss;
  double averaged = 0;
  trainer.with_average([&] { averaged = trainer.evaluate(samples()).loss; });
  CHECK(averaged != plain);
  CHECK(trainer.evaluate(samples()).loss == plain);  // the copies that kernels read are back, too
  trainer.save_average(average);
  Trainer<Net, Batch<4>, Precision<bf16, fp32>> other;
  other.load_weights(average);
  CHECK(other.evaluate(samples()).loss == averaged);

  // fit validates with them, and trains on as if it had not.
  Train validated;
  const Fitted fitted = validated.fit(samples(), samples(),
                                      {.steps = 5, .validate_every = 2, .progress = false, .validate_average = true});
  CHECK(fitted.validation_loss == averaged);
  CHECK(validated.evaluate(samples()).loss == plain);
  CHECK(::test::says(
      ::test::error_of([&] { validated.fit(samples(), {.steps = 6, .progress = false, .validate_average = true}); }),
      "validation data for validate_average"));
  CHECK(::test::says(::test::error_of([&] {
                       other.fit(samples(), samples(), {.steps = 6, .progress = false, .validate_average = true});
                     }),
                     "Optimizer<Averaged<...>>"));

  const auto refused = [&](auto&& call) {
    return ::test::says(::test::error_of([&] { trainer.with_average([&] { call(); }); }), "outside of with_average");
  };
  CHECK(refused([&] { trainer.fit(samples(), {.steps = 6, .progress = false}); }));
  CHECK(refused([&] { trainer.save(state); }));
  CHECK(refused([&] { trainer.load(average); }));
  CHECK(refused([&] { trainer.with_average([] {}); }));
  CHECK(refused([&] {
    const std::vector<float> inputs(4 * 7);
    const std::vector<std::int32_t> targets(4);
    trainer.step(inputs, targets);
  }));
  // An exception that f catches, and an abandoned step, do not open what with_average closes.
  const auto too_wide = [&] { trainer.predict(std::vector<float>(3)); };
  CHECK(refused([&] {
    CHECK(!::test::error_of(too_wide).empty());
    trainer.save(state);
  }));
  struct Broken final {
    std::size_t size(const SampleShape&) const { return 8; }
    void read(std::size_t, Sample<float, std::int32_t>) const { throw Error("Broken", "a sample", "none"); }
  };
  CHECK(refused([&] {
    CHECK(!::test::error_of([&] { trainer.evaluate(Broken{}); }).empty());
    trainer.save(state);
  }));
  CHECK(refused([&] {
    trainer.abandon();
    trainer.fit(samples(), {.steps = 6, .progress = false});
  }));
  CHECK(trainer.evaluate(samples()).loss == plain);

  trainer.save(state);  // and training goes on as if nothing had been, here and from the file, with the same averages
  trainer.fit(samples(), {.steps = 9, .progress = false});
  Train straight, resumed;
  straight.fit(samples(), {.steps = 9, .progress = false});
  resumed.load(state);
  resumed.fit(samples(), {.steps = 9, .progress = false});
  const auto both = [](Train& of) {
    std::vector<double> numbers = support::weights_of<double>(of);
    of.with_average([&] {
      for (const double weight : support::weights_of<double>(of)) numbers.push_back(weight);
    });
    return numbers;
  };
  CHECK(both(trainer) == both(straight));
  CHECK(both(resumed) == both(straight));
}

TEST_CASE("averages in slices are those of ranks that keep everything") {
  const auto outcome = []<class Stage>(Stage*) {
    const ::test::Directory folder;
    const std::string path = folder / "average";
    std::vector<float> averages;
    launch(2, [&](comm::Threads& communicator) {
      using Rule = Split<Matrices<Averaged<Muon, Half>>, Rest<Averaged<AdamW, Half>>>;
      Trainer<Net, Batch<4>, Precision<bf16, fp32>, Optimizer<Rule>, Communicator<Threads>, Shard<Stage>> trainer(
          communicator);
      trainer.fit(samples(), {.steps = 5, .progress = false});
      const auto weights = support::weights_of(trainer);
      const double loss = trainer.evaluate(samples()).loss;
      trainer.with_average([&] {
        const auto found = support::weights_of(trainer);
        if (communicator.rank() == 0) averages = found;
        if (trainer.evaluate(samples()).loss == loss) throw Error("averages", "another loss", "the same");
      });
      trainer.save_average(path);
      trainer.parameters_changed();  // nothing has: what was read in with_average is not written back
      if (support::weights_of(trainer) != weights || trainer.evaluate(samples()).loss != loss)
        throw Error("weights", "the same", "others");
    });
    Trainer<Net, Batch<4>> alone;
    alone.load_weights(path);
    CHECK(support::weights_of(alone) == averages);
    return averages;
  };
  const auto replicated = outcome(static_cast<Replicated*>(nullptr));
  CHECK(outcome(static_cast<ZeRO1*>(nullptr)) == replicated);
  CHECK(outcome(static_cast<ZeRO3*>(nullptr)) == replicated);
}
// SPDX-License-Identifier: Apache-2.0
