// Steps<K>: K steps in one launch compute what K launches of one step compute, and count what they count.
#include "train/deferred.hpp"

#include "support/rounding.hpp"

#include <regimen/engine/emulated/device.hpp>
#include <regimen/optimizer/sgd.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

using namespace regimen;
using namespace regimen::test;

namespace {

template <class Train>
DeferredOutcome trained(bool listens) {
  const ::test::Directory folder;
  Train trainer;
  return regimen::test::train(trainer, folder / "state", listens);
}

template <class Network, class... Policies>
void launches_train_the_same(const char* what) {
  INFO(what);
  for (const bool listens : {true, false}) {
    const DeferredOutcome alone = trained<Trainer<Network, Policies...>>(listens);
    CHECK(trained<Trainer<Network, Policies..., Steps<2>>>(listens) == alone);
    CHECK(trained<Trainer<Network, Policies..., Steps<5>>>(listens) == alone);
  }
}

/// Samples that cannot be read from a given moment on, until somebody mends them.
struct Breaks {
  Fake fake = fake_data();
  bool* broken;
  std::string name() const { return "Breaks"; }
  std::size_t size(const SampleShape& shape) const { return fake.size(shape); }
  template <class Sample>
  void read(std::size_t index, Sample sample) const {
    if (*broken && index == 9) throw Error("Breaks", "a sample", "none");
    fake.read(index, sample);
  }
};

}  // namespace

TEST_CASE("several steps in a launch train the bits of single steps, on every engine") {
  launches_train_the_same<Gpt<3>, Batch<4>, Accumulate<2>, Checkpoint<Every<2>>>("a GPT");
  launches_train_the_same<Mlp, Batch<4>, Optimizer<Sgd>, Precision<fp16, fp32>, LossScale<Dynamic>>("fp16");
  launches_train_the_same<Gpt<2>, Batch<4>, Device<Deferred>>("late, and out of the host's reach");
  launches_train_the_same<Gpt<2>, Batch<4>, Device<Emulated>>("on the emulated device");
}

TEST_CASE("several steps in a launch train the bits of single steps, among ranks") {
  const auto weights = []<class... More>(boost::mp11::mp_list<More...>) {
    std::vector<std::vector<double>> outcomes(2);
    launch(2, [&](comm::Threads& communicator) {
      Trainer<Gpt<2>, Batch<2>, Communicator<Threads>, Shard<ZeRO1>, More...> trainer(communicator,
                                                                                      {.compare_weights_every = 3});
      trainer.fit(fake_data(), {.steps = 14, .progress = false});
      outcomes[communicator.rank()] = support::weights_of<double>(trainer);
    });
    return outcomes;
  };
  CHECK(weights(boost::mp11::mp_list<Steps<4>>{}) == weights(boost::mp11::mp_list<>{}));
}

TEST_CASE("eight steps in a call are eight calls, bit for bit") {
  const auto train = []<class... More>(boost::mp11::mp_list<More...>, std::size_t steps) {
    using Train = Trainer<Gpt<2>, Batch<4>, Accumulate<2>, More...>;
    Train trainer;
    DeferredOutcome outcome;
    std::vector<std::size_t> calls;
    trainer.fit(fake_data(), {.steps = 24, .remainder = Remainder::Wrap, .progress = false},
                [&](Train&, trainers::TrainingEvent<Train> event) {
                  std::size_t heard = 0;
                  for_each_result(event, [&](const StepResult& result) {
                    outcome.numbers.insert(outcome.numbers.end(), {double(result.step), result.loss,
                                                                   result.gradient_norm, result.learning_rate});
                    ++heard;
                  });
                  calls.push_back(heard);
                });
    CHECK(calls == std::vector<std::size_t>(24 / steps, steps));
    outcome.weights = support::weights_of<double>(trainer);
    return outcome;
  };
  const auto are_equal = [&]<class Where>(Where*) {
    const DeferredOutcome eight = train(boost::mp11::mp_list<Device<Where>, Steps<8>>{}, 8),
                          one = train(boost::mp11::mp_list<Device<Where>, Steps<1>>{}, 1);
    CHECK(eight.numbers.size() == 24 * 4);
    CHECK(eight == one);
  };
  are_equal(static_cast<Cpu*>(nullptr));
  are_equal(static_cast<Emulated*>(nullptr));
}

TEST_CASE("a callback of launches hears every step once, and evaluations come where they are due") {
  using Train = Trainer<Mlp, Batch<4>, Steps<4>, Device<Emulated>>;
  Train trainer;
  std::vector<std::size_t> launches;
  std::vector<std::uint64_t> steps, evaluated;
  trainer.fit(
      fake_data(), fake_data(), {.steps = 17, .validate_every = 6, .remainder = Remainder::Wrap, .progress = false},
      [&](Train& of, std::span<const StepResult> results) {
        launches.push_back(results.size());
        for (const StepResult& result : results) {
          steps.push_back(result.step);
          CHECK(result.samples == 4);
          CHECK(result.targets == 4);
        }
        CHECK(results.back().step == of.steps_done());
      },
      [&](Train& of, const Evaluation&) { evaluated.push_back(of.steps_done()); });
  CHECK(launches == std::vector<std::size_t>{4, 1, 1, 4, 1, 1, 4, 1});
  CHECK(steps == std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17});
  CHECK(evaluated == std::vector<std::uint64_t>{6, 12, 17});
  CHECK(trainer.used().peak == Train::plan().peak);
}

TEST_CASE("a launch counts the operations of its steps, and its batches are in the plan") {
  using Train = Trainer<Gpt<2>, Batch<4>, Accumulate<2>, Steps<3>, Device<Emulated>>;
  using Alone = Trainer<Gpt<2>, Batch<4>, Accumulate<2>, Device<Emulated>>;
  Train trainer;
  trainer.fit(fake_data(), {.steps = 6, .remainder = Remainder::Wrap, .progress = false});
  CHECK(trainer.used().operations == 6 * Train::plan().operations());
  constexpr std::size_t slots = 2 * 3 * 2, slot = 256 + 256 + 256;  // 64 bytes, 4 * 8 tokens, and as many targets
  CHECK(Train::plan().bytes(MemoryKind::input) == Alone::plan().bytes(MemoryKind::input) + (slots - 2) * slot);
}

TEST_CASE("a step with fewer micro-batches than others takes no more from the ring than were put there") {
  const auto weights = []<class... More>(boost::mp11::mp_list<More...>) {
    Trainer<Gpt<2>, Batch<3>, Precision<fp64>, Accumulate<3>, More...> trainer;
    for (const std::uint64_t epochs : {1u, 2u, 3u})  // 8 micro-batches in an epoch, the last of them short
      trainer.fit(fake_data(), {.epochs = epochs, .progress = false});
    return support::weights_of<double>(trainer);
  };
  const auto one = weights(boost::mp11::mp_list<Device<Emulated>>{});
  CHECK(one == weights(boost::mp11::mp_list<Device<Emulated>, Steps<2>>{}));
  CHECK(support::distance(one, weights(boost::mp11::mp_list<>{})) < support::of_order);
}

TEST_CASE("after a launch whose data cannot be read, training goes on where it was") {
  const auto weights = []<class... More>(boost::mp11::mp_list<More...>, bool breaks) {
    using Train = Trainer<Gpt<2>, Batch<4>, More...>;
    Train trainer;
    bool broken = false;
    const Breaks source{.broken = &broken};
    const FitOptions four{.steps = 4, .order = Order::Sequential, .workers = 0, .progress = false};
    FitOptions nine = four;
    nine.steps = 9;
    trainer.fit(source, four);
    broken = breaks;
    if (breaks) CHECK(::test::says(::test::error_of([&] { trainer.fit(source, nine); }), "Breaks: expected a sample"));
    broken = false;
    trainer.fit(source, nine);
    return support::weights_of<double>(trainer);
  };
  CHECK(weights(boost::mp11::mp_list<Steps<3>, Device<Emulated>>{}, true) ==
        weights(boost::mp11::mp_list<Device<Emulated>>{}, false));
  CHECK(weights(boost::mp11::mp_list<Steps<3>>{}, true) == weights(boost::mp11::mp_list<>{}, false));
}
