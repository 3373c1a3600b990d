// A strategy does not change the result: bit for bit, or within a bound that follows from the arithmetic.
#include <regimen/data/fake.hpp>
#include <regimen/data/rows.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"
#include "support/weights.hpp"
#include "temporary.hpp"
#include "train/odd_models.hpp"

using namespace regimen;
using namespace regimen::test;
using support::weights_of;

namespace {

struct Outcome {
  std::vector<double> losses;
  std::vector<float> weights;
  bool operator==(const Outcome& other) const = default;
};

const Fake& fake_data() {
  static const Fake fake(
      {.samples = 22, .classes = 11, .seed = 3});  // no multiple of a batch: the last of an epoch is short
  return fake;
}

template <class Train>
Outcome continue_to(Train& trainer, std::uint64_t steps, std::size_t workers = 1) {
  Outcome outcome;
  trainer.fit(fake_data(), {.steps = steps, .workers = workers, .progress = false},
              [&](Train&, const StepResult& result) { outcome.losses.push_back(result.loss); });
  outcome.weights = weights_of(trainer);
  return outcome;
}

template <class... Policies>
struct Trained {
  using Train = Trainer<Gpt<4>, Policies...>;
  static Outcome run(std::size_t workers = 1, bool poison = false) {
    Train trainer;
    if (poison) trainer.poison_dead_memory();
    return continue_to(trainer, 20, workers);
  }
};

const Outcome& reference() {
  static const Outcome outcome = Trained<Batch<4>>::run();
  return outcome;
}

}  // namespace

TEST_CASE("twenty steps of a GPT with dropout are the same bits whatever is recomputed") {
  CHECK(reference().losses.size() == 20);
  CHECK(reference().losses.back() < reference().losses.front());
  CHECK(Trained<Batch<4>, Checkpoint<Every<1>>>::run(1, true) == reference());
  CHECK(Trained<Batch<4>, Checkpoint<Every<2>>>::run() == reference());
  CHECK(Trained<Batch<4>, Checkpoint<Every<3>>>::run() == reference());  // 3 does not divide 4
  CHECK(Trained<Batch<4>, Checkpoint<Selective<LayerNorm, Gelu>>>::run() == reference());
  CHECK(Trained<Batch<4>, Checkpoint<Selective<Drop>>>::run(1, true) == reference());
}

TEST_CASE("also whatever the number of threads that read data") {
  CHECK(Trained<Batch<4>>::run(0) == reference());
  CHECK(Trained<Batch<4>>::run(3) == reference());
}

TEST_CASE("the order of policies is no part of a recipe") {
  using Some = Trainer<Gpt<4>, Checkpoint<Every<2>>, Clip<Norm<Ratio<1>>>, Batch<4>, Precision<fp32>>;
  using Other = Trainer<Gpt<4>, Precision<fp32>, Batch<4>, Clip<Norm<Ratio<1>>>, Checkpoint<Every<2>>>;
  static_assert(std::is_same_v<typename Some::Recipe, typename Other::Recipe>);  // so plan and training are one
}

TEST_CASE("a resumed run is the uninterrupted one") {
  using Train = Trained<Batch<4>>::Train;
  const ::test::Directory folder;
  Train first;
  Outcome outcome = continue_to(first, 10);
  first.save(folder / "state.safetensors");
  Train second{{.seed = 77}};  // another seed, until the file says which
  second.load(folder / "state.safetensors");
  const Outcome rest = continue_to(second, 20, 2);
  outcome.losses.insert(outcome.losses.end(), rest.losses.begin(), rest.losses.end());
  outcome.weights = rest.weights;
  CHECK(outcome == reference());
}
