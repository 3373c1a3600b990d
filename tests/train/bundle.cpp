// Several inputs, outputs and losses: one model, and all that follows from it.
#include <regimen/comm/launch.hpp>
#include <regimen/data/fake.hpp>
#include <regimen/data/rows.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/engine/emulated/device.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/trainers/gradient_check.hpp>
#include <regimen/trainers/inference.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"
#include "support/weights.hpp"
#include "temporary.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace regimen;

namespace {

/// Reads words and measurements; names a class, and estimates two numbers.
using Words = Sequential<Part<0>, Embedding<Vocabulary<7>, 6>, Residual<LayerNorm, SelfAttention<Heads<2>>>, MeanPool>;
using Numbers = Sequential<Part<1>, Linear<5>>;
struct Patient final
    : Model<Input<Bundle<Tokens<5>, Vector<3>>>, Fork<Concat, Words, Numbers>, Linear<8>,
            Repeat<2, Residual<Linear<8>, Gelu>>, Fork<Outputs, Linear<4>, Sequential<Linear<6>, Silu, Linear<2>>>> {};
using Both = Loss<SumOf<CrossEntropy, Weighted<MeanSquaredError, Ratio<1, 2>>>>;

template <class... Policies>
using Trains = Trainer<Patient, Both, Policies...>;
using Train = Trains<Batch<4>>;
using In = Train::Input;
using Out = Train::Label;

/// A part that is the input of the whole batch, parts of one float, and a row of tokens each of which has a target.
struct Tagger final : Model<Input<Bundle<Vector<1>, Tokens<3>, Image<2, 2, 1>>>,
                            Fork<Outputs, Sequential<Part<1>, Embedding<Vocabulary<6>, 4>, Gelu, Linear<5>>, Part<0>,
                                 Sequential<Part<2>, Flatten, Linear<4>>>> {};
using Three =
    Loss<SumOf<Weighted<CrossEntropy, Ratio<3>>, Huber<>, Weighted<SmoothedCrossEntropy<Ratio<1, 10>>, Ratio<1, 4>>>>;

const Fake& fake_data() {
  static const Fake fake({.samples = 22, .classes = 4, .seed = 4});  // a last batch of two
  return fake;
}
/// Samples that follow from their index; of each third, no class.
void make_samples(std::size_t count, std::vector<In>& inputs, std::vector<Out>& targets) {
  inputs.resize(count), targets.resize(count);
  for (std::size_t s = 0; s < count; ++s) {
    for (std::size_t t = 0; t < 5; ++t) inputs[s].get<0>()[t] = static_cast<std::int32_t>((3 * s + t * t) % 7);
    for (std::size_t i = 0; i < 3; ++i) inputs[s].get<1>()[i] = std::sin(static_cast<float>(3 * s + i));
    targets[s].get<0>()[0] = s % 3 == 2 ? ignore_index : static_cast<std::int32_t>(s % 4);
    targets[s].get<1>() = {std::cos(static_cast<float>(s)), 0.25f};
  }
}
/// The documented sum, from outputs as predict gives them.
double total_of(const std::vector<float>& outputs, const std::vector<Out>& targets) {
  double total = 0;
  for (std::size_t s = 0; s < targets.size(); ++s) {
    const float* const x = outputs.data() + 6 * s;
    double partition = 0;
    for (std::size_t i = 0; i < 4; ++i) partition += std::exp(double(x[i]));
    const std::int32_t target = targets[s].get<0>()[0];
    if (target != ignore_index) total += std::log(partition) - double(x[target]);
    for (std::size_t i = 0; i < 2; ++i)
      total += 0.5 / 2 * std::pow(double(x[4 + i]) - double(targets[s].get<1>()[i]), 2);
  }
  return total / double(targets.size());
}

std::vector<double> numbers(auto& trainer) {
  trainer.poison_dead_memory();
  const double loss = trainer.fit(fake_data(), {.steps = 8, .progress = false}).loss;
  CHECK(trainer.used().peak == trainer.planned().peak);
  std::vector<double> all = support::weights_of<double>(trainer);
  all.push_back(loss);
  all.push_back(trainer.evaluate(fake_data()).loss);
  return all;
}
template <class... Policies>
std::vector<double> trained() {
  Trains<Policies...> trainer;
  return numbers(trainer);
}
template <class... Policies>
std::vector<double> on_two() {
  std::vector<double> found;
  launch(2, [&](comm::Threads& ranks) {
    Trains<Batch<2>, Communicator<Threads>, Policies...> trainer(ranks);
    const auto own = numbers(trainer);
    if (ranks.rank() == 0) found = own;
  });
  return found;
}
/// Six steps, each of four samples but the last, which has three.
template <class... Policies>
std::vector<double> stepped() {
  using Stepped = Trains<Precision<fp64>, Policies...>;
  std::vector<In> inputs;
  std::vector<Out> targets;
  make_samples(23, inputs, targets);
  std::vector<typename Stepped::Input> wide(23);
  std::vector<typename Stepped::Label> wanted(23);
  for (std::size_t s = 0; s < 23; ++s) {
    wide[s].template get<0>() = inputs[s].get<0>();
    std::copy_n(inputs[s].get<1>().begin(), 3, wide[s].template get<1>().begin());
    wanted[s].template get<0>() = targets[s].get<0>();
    std::copy_n(targets[s].get<1>().begin(), 2, wanted[s].template get<1>().begin());
  }
  Stepped trainer{{.optimizer = {.learning_rate = 0.1}}};
  std::vector<double> all;
  for (std::size_t s = 0; s < 23; s += 4) {
    const std::size_t count = std::min<std::size_t>(4, 23 - s);
    all.push_back(trainer.step({wide.data() + s, count}, {wanted.data() + s, count}).loss);
  }
  for (const double weight : support::weights_of<double>(trainer)) all.push_back(weight);
  return all;
}
std::string error_of(auto&& call) {
  try {
    call();
  } catch (const Error& error) { return error.what(); }
  return "";
}

static_assert(sizeof(In) == 5 * 4 + 3 * 4 && sizeof(Out) == 4 + 2 * 4 && Train::output_size == 6);
// Values are aligned as their elements, and found there.
using Mixed = Bundled<Value<std::int32_t, Shape<3>>, Value<double, Shape<2>>, Value<float, Shape<1>>>;
static_assert(sizeof(Mixed) == 40 && Mixed::offset<1>() == 16 && Mixed::offset<2>() == 32);

}  // namespace

TEST_CASE("a bundle's values lie where they are said to") {
  Mixed mixed{};
  const auto at = [&](const void* value) {
    return std::size_t(static_cast<const char*>(value) - reinterpret_cast<const char*>(&mixed));
  };
  CHECK(at(&mixed.get<0>()) == Mixed::offset<0>());
  CHECK(at(&mixed.get<1>()) == Mixed::offset<1>());
  CHECK(at(&mixed.get<2>()) == Mixed::offset<2>());
}
TEST_CASE("a model of several inputs and losses learns, and is saved") {
  Train trainer{{.optimizer = {.learning_rate = 1e-2}}};
  trainer.poison_dead_memory();
  const double first = trainer.evaluate(fake_data()).loss;
  trainer.fit(fake_data(), fake_data(), {.epochs = 20, .progress = false});
  const Evaluation last = trainer.evaluate(fake_data());
  CHECK(last.loss < 0.5 * first);
  CHECK(last.accuracy > 0.8);
  CHECK(last.targets == 22);
  CHECK(trainer.used().peak == Train::plan().peak);

  std::vector<In> inputs;
  std::vector<Out> targets;
  make_samples(7, inputs, targets);
  const ::test::Directory folder;
  trainer.save(folder / "patient");
  Inference<Patient, Batch<4>> model(folder / "patient");
  CHECK(model.predict(inputs) == trainer.predict(inputs));
  CHECK(model.used().peak == model.plan().peak);
}
TEST_CASE("the sum of losses is what is documented, also where a class is ignored and a batch is short") {
  std::vector<In> inputs;
  std::vector<Out> targets;
  make_samples(11, inputs, targets);
  Train trainer;
  const double truth = total_of(trainer.predict(inputs), targets);
  const Evaluation found = trainer.evaluate(Rows(inputs, targets, 1));
  CHECK(std::abs(found.loss - truth) < 1e-6);
  CHECK(found.targets == 11);
  const std::vector<In> some(inputs.begin(), inputs.begin() + 3);
  const std::vector<Out> theirs(targets.begin(), targets.begin() + 3);
  const double short_truth = total_of(trainer.predict(some), theirs);
  CHECK(std::abs(trainer.forward(some, theirs).value() - short_truth) < 1e-6);
  trainer.abandon();
  // The accuracy is that of the classes.
  const std::vector<float> outputs = trainer.predict(inputs);
  double correct = 0;
  for (std::size_t s = 0; s < 11; ++s) {
    const float* const x = outputs.data() + 6 * s;
    correct += std::max_element(x, x + 4) - x == targets[s].get<0>()[0] ? 1 : 0;
  }
  CHECK(found.accuracy == correct / 11);
}
TEST_CASE("gradients of several losses are those of calculus") {
  CHECK(gradient_check<Patient, Both, Batch<6>>({12, 1e-4, 1}).worst < 1e-7);
  CHECK(gradient_check<Tagger, Three, Batch<3>, Accumulate<2>>({12, 1e-4, 1}).worst < 1e-7);
}
TEST_CASE("several inputs and losses have the same bits, however they are computed") {
  const std::vector<double> plain = trained<Batch<4>>();
  CHECK(trained<Batch<4>, Checkpoint<Every<1>>>() == plain);
  CHECK(trained<Batch<4>, Checkpoint<Selective<Part<0>, Part<1>, Gelu>>>() == plain);
  const std::vector<double> two = on_two<>();
  CHECK(on_two<Shard<ZeRO1>>() == two);
  CHECK(on_two<Shard<ZeRO2>, Accumulate<1>>() == two);
  CHECK(on_two<Shard<ZeRO3>, Checkpoint<Every<1>>>() == two);
  CHECK(trained<Batch<4>, Precision<bf16, fp32>, Checkpoint<Every<2>>>() == trained<Batch<4>, Precision<bf16, fp32>>());
}
TEST_CASE("micro-batches, ranks and a batch are the same sum") {
  const auto near = [](const std::vector<double>& a, const std::vector<double>& b) {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (!(std::abs(a[i] - b[i]) <= 1e-10)) return false;
    return a.size() == b.size();
  };
  CHECK(near(stepped<Batch<2>, Accumulate<2>, Optimizer<Sgd>>(), stepped<Batch<4>, Optimizer<Sgd>>()));
  CHECK(near(on_two<Precision<fp64>>(), trained<Batch<4>, Precision<fp64>>()));
}
TEST_CASE("the emulated device takes bundles from its ring") {
  const auto near = [](const std::vector<double>& a, const std::vector<double>& b) {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (!(std::abs(a[i] - b[i]) <= 1e-8)) return false;
    return a.size() == b.size();
  };
  CHECK(near(trained<Batch<4>, Precision<fp64>, Device<Emulated>, Attention<Tiled>>(),
             trained<Batch<4>, Precision<fp64>>()));
  Trainer<Tagger, Three, Batch<3>, Precision<fp64>, Device<Emulated>, Steps<2>> tagger;
  Trainer<Tagger, Three, Batch<3>, Precision<fp64>> here;
  CHECK(std::abs(numbers(tagger).back() - numbers(here).back()) <= 1e-8);
}
TEST_CASE("a token or a class that does not exist is named with its part") {
  std::vector<In> inputs;
  std::vector<Out> targets;
  make_samples(4, inputs, targets);
  Train trainer;
  inputs[2].get<0>()[3] = 7;
  CHECK(error_of([&] { trainer.step(inputs, targets); }).find("step 1, part 0, token of sample 2, position 3") == 0);
  CHECK(error_of([&] { trainer.predict(inputs); }).find("part 0, token of sample 2, position 3") != std::string::npos);
  inputs[2].get<0>()[3] = 6;
  targets[1].get<0>()[0] = 4;
  CHECK(error_of([&] { trainer.step(inputs, targets); }).find("step 1, part 0, label of sample 1: ") == 0);
}
