// An engine that works late trains the same bits under the other policies, too, and whatever a program asks of its
// Trainer.
#include "support/whole_tensor_rules.hpp"
#include "train/deferred.hpp"

#include <regimen/engine/cpu/kernels.hpp>
#include <regimen/optimizer/rmsprop.hpp>
#include <regimen/trainers/inference.hpp>

#include <cstddef>
#include <span>
#include <type_traits>

using namespace regimen;
using namespace regimen::test;

namespace {

/// run(type) on both engines, given the Trainer without its device.
template <class Network, class... Policies>
void finds_the_same(const char* what, const auto& run) {
  INFO(what);
  const auto here = run(std::type_identity<Trainer<Network, Policies...>>{});
  const auto there = run(std::type_identity<Trainer<Network, Policies..., Device<Deferred>>>{});
  CHECK(here == there);
}

}  // namespace

TEST_CASE("layers in another type, frozen layers, other rules and losses, without fusion") {
  trains_the_same<Mixed, Batch<4>, Precision<bf16, fp32>, Optimizer<RmsProp>, Loss<SmoothedCrossEntropy<Ratio<1, 10>>>,
                  Fusion<Unfused>>("layers in fp32 among bf16");
  trains_the_same<Tied<2>, Batch<4>, Freeze<Table>, Optimizer<rules::Lamb>, Checkpoint<Every<1>>, Accumulate<2>>(
      "a frozen table that is tied, and a rule that sees whole tensors");
}

TEST_CASE("fit with validation, patience, an early end and batches across epochs; text that a trained model writes") {
  finds_the_same<Gpt<3>, Batch<4>, Clip<Norm<Ratio<1>>>, Seed<5>>("fit", []<class Train>(std::type_identity<Train>) {
    const ::test::Directory folder;
    DeferredOutcome outcome;
    Train trainer{{.optimizer = {.learning_rate = 3e-2}, .schedule = Schedule::warmup_cosine(3, 40, 0.1)}};
    trainer.poison_dead_memory();
    const Fake held_out({.samples = 10, .classes = 5, .seed = 4});
    const auto listen = [&](Train& self, const Evaluation& found) {
      outcome.numbers.insert(outcome.numbers.end(), {found.loss, found.accuracy, double(found.targets)});
      if (self.steps_done() == 4) self.save_in_background(folder / "before");
    };
    const Fitted fitted = trainer.fit(fake_data(), held_out,
                                      {.epochs = 6,
                                       .validate_every = 2,
                                       .patience = 6,
                                       .order = Order::Random,
                                       .remainder = Remainder::Wrap,
                                       .progress = false},
                                      listen);
    outcome.numbers.insert(outcome.numbers.end(),
                           {fitted.loss, fitted.validation_loss, double(fitted.steps), double(fitted.stopped_early)});
    trainer.finish_saving();
    for (const std::int32_t token :
         trainer.generate(std::vector<std::int32_t>{1, 2, 3}, 12, {.temperature = 0.7, .seed = 3}))
      outcome.numbers.push_back(double(token));
    trainer.save_whole(folder / "whole");
    outcome.weights = support::weights_of<double>(trainer);

    Train other;
    other.load(folder / "before");
    outcome.numbers.push_back(double(other.steps_done()));
    outcome.numbers.push_back(other.fit(fake_data(), {.steps = 7, .progress = false}).loss);
    other.load_weights(folder / "whole");
    outcome.numbers.push_back(other.evaluate(held_out).loss);
    const std::vector<double> loaded = support::weights_of<double>(other);
    outcome.weights.insert(outcome.weights.end(), loaded.begin(), loaded.end());
    return outcome;
  });
}

TEST_CASE("an Inference that keeps keys and values writes the same text") {
  const ::test::Directory folder;
  Trainer<Gpt<3>, Batch<4>> trainer;
  trainer.fit(fake_data(), {.steps = 10, .progress = false});
  trainer.save(folder / "state");
  const auto written = [&](auto model_of) {
    typename decltype(model_of)::type model(folder / "state");
    model.poison_dead_memory();
    return generate(model, std::vector<std::int32_t>{1, 2, 3}, 14,
                    {.temperature = 0.7, .seed = 3});  // beyond the window of 8
  };
  const auto here = written(std::type_identity<Inference<Gpt<3>, Batch<2>>>{});
  CHECK(here.size() == 14);
  CHECK(written(std::type_identity<Inference<Gpt<3>, Batch<2>, Device<Deferred>>>{}) == here);
}

TEST_CASE("groups of ranks, and files that pass from one engine and number of ranks to another") {
  ranks_train_the_same<Shard<Hybrid<2>>>(4, "Hybrid");
  ranks_train_the_same<Shard<ZeRO1>, Accumulate<2, ReduceEach>, Clip<Norm<Ratio<1>>>>(2, "ZeRO-1");

  const ::test::Directory folder;
  const auto save = [&]<class... Where>(boost::mp11::mp_list<Where...>, const std::string& file) {
    launch(2, [&](comm::Threads& communicator) {
      Trainer<Gpt<3>, Batch<2>, Communicator<Threads>, Shard<ZeRO3>, Where...> trainer(communicator);
      trainer.fit(fake_data(), {.steps = 3, .progress = false});
      trainer.save(file);
    });
  };
  const auto go_on = [&]<class... Where>(boost::mp11::mp_list<Where...>, const std::string& file) {
    Trainer<Gpt<3>, Batch<4>, Where...> trainer;
    trainer.load(file);
    DeferredOutcome outcome;
    outcome.numbers.push_back(trainer.fit(fake_data(), {.steps = 5, .progress = false}).loss);
    outcome.weights = support::weights_of<double>(trainer);
    return outcome;
  };
  const boost::mp11::mp_list<> here;
  const boost::mp11::mp_list<Device<Deferred>> there;
  save(here, folder / "here");
  save(there, folder / "there");
  const DeferredOutcome expected = go_on(here, folder / "here");
  CHECK(go_on(there, folder / "here") == expected);
  CHECK(go_on(here, folder / "there") == expected);
}
