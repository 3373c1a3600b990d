// A search over options and recipes: it finds what separate runs find, goes on after a kill with the same bits, and sees
// no test data.
// compiled with -O1
#include <regimen/data/fake.hpp>
#include <regimen/data/idx.hpp>
#include <regimen/data/rows.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/engine/cpu/kernels.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/trainers/inference.hpp>
#include <regimen/tune/search.hpp>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "temporary.hpp"
#include "tune/same.hpp"

#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace regimen;
using regimen::test::same;

#if defined(__SANITIZE_THREAD__)  // a forked trial starts threads, which this sanitizer may not follow, and refuses
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }
#endif

namespace {

struct Digits : Model<Input<Vector<784>>, Linear<16>, Relu, Linear<10>> {};
using WithAdamW = Trainer<Digits, Optimizer<AdamW>, Loss<CrossEntropy>, Batch<32>>;
using WithSgd = Trainer<Digits, Optimizer<Sgd>, Loss<CrossEntropy>, Batch<32>>;
using Both = tune::Recipes<WithAdamW, WithSgd>;

Rows<float, std::int32_t> made(std::size_t count, std::uint64_t seed, std::size_t ignored = 0) {
  const Fake fake{{.samples = count, .classes = 10, .seed = seed}};
  std::vector<float> inputs(count * 784);
  std::vector<std::int32_t> targets(count);
  for (std::size_t i = 0; i < count; ++i)
    fake.read(i,
              Sample<float, std::int32_t>{std::span(inputs).subspan(i * 784, 784), std::span(targets).subspan(i, 1)});
  for (std::size_t i = 0; i < ignored; ++i) targets[i] = ignore_index;
  return {std::move(inputs), std::move(targets), 784};
}
const Rows<float, std::int32_t>& training() {
  static const auto rows = made(500, 1);
  return rows;
}
const Rows<float, std::int32_t>& validation() {
  static const auto rows = made(100, 2);
  return rows;
}

const auto set = [](auto& options, const tune::Values& values) {
  options.optimizer.learning_rate = values["learning_rate"];
};
const std::vector<tune::Axis> rates{tune::log_uniform("learning_rate", 1e-4, 1e-1)};
tune::Settings quiet(std::uint64_t steps) { return {.run = {.steps = steps, .progress = false}}; }

template <class Train>
Evaluation by_hand(double rate, std::uint64_t steps) {
  Train trainer{{.optimizer = {.learning_rate = rate}}};
  trainer.fit(training(), {.steps = steps, .progress = false});
  return trainer.evaluate(validation());
}

}  // namespace

TEST_CASE("each trial finds what the same Trainer finds by itself, though this process has computed before") {
  const ::test::Directory folder;
  (void)by_hand<WithAdamW>(1e-3, 2);  // threads of OpenMP and of products exist before the fork
  for (const std::size_t at_once : {1u, 3u}) {
    tune::Settings settings = quiet(30);
    settings.at_once = at_once;
    settings.keep = 2;
    const std::string here = folder / std::to_string(at_once);
    tune::Search<Both> search(here, tune::Random{.trials = 4, .seed = 9}, rates, set, settings);
    const tune::Found found = search.run(training(), validation());
    REQUIRE(found.trials.size() == 4);
    for (const tune::Trained& trial : found.trials) {
      REQUIRE(trial.failure == "");
      const Evaluation expected =
          trial.recipe == 0 ? by_hand<WithAdamW>(trial.values[0], 30) : by_hand<WithSgd>(trial.values[0], 30);
      CHECK(trial.loss() == expected.loss);
      CHECK(trial.accuracy() == expected.accuracy);
    }
    CHECK(::test::says(found.recipes[1], "Sgd"));
    // The states of the best two are kept, and no others.
    const std::vector<tune::Trained> ranking = found.ranking();
    for (std::size_t i = 0; i < 4; ++i) CHECK(std::filesystem::exists(search.state_of(ranking[i])) == (i < 2));
    Inference<Digits> model(search.state_of(ranking[0]));
  }
}

TEST_CASE("halving goes on with the bits of an uninterrupted run, and so does a search that was killed") {
  const ::test::Directory folder;
  const auto search = [&](const std::string& name, std::uint64_t save_every, std::size_t at_once) {
    tune::Settings settings = quiet(160);
    settings.save_every = save_every;
    settings.at_once = at_once;
    return tune::Search<Both>(folder / name, tune::Halving{tune::Random{6, 4}, 2, 40}, rates, set, settings);
  };
  const tune::Found whole = search("whole", 0, 1).run(training(), validation());
  CHECK(whole.trials.size() == 6);
  const tune::Trained best = whole.best();
  REQUIRE(best.rungs.size() == 3);
  for (const tune::Trained::Result& rung : best.rungs) {
    const Evaluation expected = best.recipe == 0 ? by_hand<WithAdamW>(best.values[0], rung.steps)
                                                 : by_hand<WithSgd>(best.values[0], rung.steps);
    CHECK(rung.loss == expected.loss);
  }
  int kills = 0;
  for (; kills < 100; ++kills) {
    const ::pid_t process = ::fork();
    if (process == 0) {
      std::thread([&] { (void)search("killed", 7, 2).run(training(), validation()); }).join();
      ::_exit(0);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(40 + 20 * kills));
    ::kill(process, SIGKILL);
    int status = 0;
    ::waitpid(process, &status, 0);
    if (WIFEXITED(status)) break;
  }
  CHECK(kills >= 1);
  auto again = search("killed", 7, 2);
  CHECK(same(again.run(training(), validation()), whole));

  // The line of a kept trial is removed, and not its folder: its state of all steps is none of the first rung.
  std::string text;
  for (const std::string& line : tune::detail::lines_of(folder / "whole/trials.jsonl"))
    if (!::test::says(line, "{\"trial\":" + std::to_string(best.number) + ",")) text += line + "\n";
  ::test::put(folder / "whole/trials.jsonl", text);
  CHECK(same(search("whole", 0, 1).run(training(), validation()), whole));
}

TEST_CASE("a promoted trial trains the steps that are left, and a trial saves its state on the way") {
  struct Counted {
    std::atomic<std::uint64_t>* reads;  // of all processes
    std::size_t size(const SampleShape& shape) const { return training().size(shape); }
    void read(std::size_t index, Sample<float, std::int32_t> sample) const {
      ++*reads;
      training().read(index, sample);
    }
  };
  void* const shared = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(shared != MAP_FAILED);
  auto* const reads = ::new (shared) std::atomic<std::uint64_t>(0);
  const ::test::Directory folder;
  tune::Search<tune::Recipes<WithAdamW>> halving(folder / "halving", tune::Halving{tune::Random{4, 4}, 2, 40}, rates,
                                                 set, quiet(160));
  CHECK(halving.run(Counted{reads}, validation()).complete);
  // 4 trials to 40 steps, 2 on to 80, 1 on to 160 are 320 steps; from the beginning each time, 480. An epoch has 500 samples
  // in 16 batches; a loader is some batches ahead, in each of the 7 runs.
  CHECK(*reads >= 320 * 500 / 16);
  CHECK(*reads < 400 * 32);
  ::munmap(shared, 4096);

  tune::Settings settings = quiet(20'000);
  settings.save_every = 5;
  const std::string state = folder / "saves/trial-0/state.safetensors";
  settings.stops = [&] { return std::filesystem::exists(state); };
  tune::Search<tune::Recipes<WithAdamW>> saves(folder / "saves", tune::Random{.trials = 1}, rates, set, settings);
  CHECK(!saves.run(training(), validation()).complete);
  using regimen::saves::SavedState;  // not the state of the end
  CHECK(regimen::saves::whole_number(state, SavedState::metadata_of(state), "regimen.step") < 20'000);
}

TEST_CASE("a search chooses by the averages of the weights, if the rules keep some") {
  using Averages = Trainer<Digits, Optimizer<Averaged<AdamW>>, Loss<CrossEntropy>, Batch<32>>;
  const ::test::Directory folder;
  tune::Settings settings = quiet(20);
  settings.run.validate_average = true;
  tune::Search<tune::Recipes<Averages>> search(folder / "run", tune::Random{.trials = 1}, rates, set, settings);
  const tune::Found found = search.run(training(), validation());
  Averages trainer{{.optimizer = {.learning_rate = found.best().values[0]}}};
  trainer.fit(training(), {.steps = 20, .progress = false});
  const double of_weights = trainer.evaluate(validation()).loss;
  double of_averages = 0;
  trainer.with_average([&] { of_averages = trainer.evaluate(validation()).loss; });
  CHECK(found.best().loss() == of_averages);
  CHECK(found.best().loss() != of_weights);
}

TEST_CASE("a trial that diverges has failed, with the step, and the search goes on") {
  const ::test::Directory folder;
  tune::Search<tune::Recipes<WithSgd>> search(folder / "run", tune::Grid{},
                                              {tune::choice("learning_rate", {1e-2, 1e30})}, set, quiet(30));
  const tune::Found found = search.run(training(), validation());
  CHECK(found.trials[0].failure == "");
  INFO(found.trials[1].failure);
  CHECK(::test::says(found.trials[1].failure, "expected a loss that is a finite number, found "));
  CHECK(::test::says(found.trials[1].failure, "step "));
  CHECK(found.best().number == 0);
}

TEST_CASE("test data are looked at once, apart, and a second look is seen") {
  const ::test::Directory folder;
  const auto search = [&] {
    return tune::Search<Both>(folder / "run", tune::Random{.trials = 3}, rates, set, quiet(20));
  };
  auto first = search();
  const auto test = made(80, 3, 2);
  ::test::refuses([&] { (void)first.test(test); }, "expected a folder in which a search has run");
  const tune::Found found = first.run(training(), validation());
  CHECK(found.looks == 0);
  ::test::refuses([&] { (void)first.test(validation()); }, "found its validation data");
  ::test::refuses([&] { (void)first.test(training()); }, "found its training data");
  {
    const auto other = first.trials().lock();  // as another search or look
    ::test::refuses([&] { (void)first.test(test); }, "expected a folder in which nobody searches");
  }
  const std::string state = first.state_of(found.best());
  std::filesystem::rename(state, state + ".away");
  ::test::refuses([&] { (void)first.test(test); }, "expected the state of the chosen trial, found no such file");
  std::filesystem::rename(state + ".away", state);
  CHECK(!std::filesystem::exists(folder / "run/test.jsonl"));  // nobody has looked yet
  const tune::Tested tested = first.test(test);
  CHECK(tested.look == 1);
  CHECK(tested.trial == found.best().number);
  CHECK(tested.found.targets == 78);  // those that count
  const auto expected = [&]<class Train>(std::type_identity<Train>) {
    Train trainer;
    trainer.load_weights(first.state_of(found.best()));
    return trainer.evaluate(test);
  };
  const Evaluation by_itself =
      found.best().recipe == 0 ? expected(std::type_identity<WithAdamW>{}) : expected(std::type_identity<WithSgd>{});
  CHECK(tested.found.loss == by_itself.loss);
  CHECK(tested.found.accuracy == by_itself.accuracy);
  CHECK(search().test(test).look == 2);  // another process, another day
  const std::vector<std::string> looks = tune::detail::lines_of(folder / "run/test.jsonl");
  REQUIRE(looks.size() == 2);
  CHECK(::test::says(looks[0], "{\"look\":1,\"trial\":"));
  CHECK(::test::says(search().run(training(), validation()).table(), "test data: 2 looks"));
}

TEST_CASE("a search refuses what it cannot use") {
  const ::test::Directory folder;
  using ::test::refuses;
  const auto made_of = [&](const tune::Settings& settings, const std::vector<tune::Axis>& axes = rates) {
    return [&folder, settings, axes] {
      tune::Search<Both>(folder / "none", tune::Random{.trials = 2}, axes, set, settings);
    };
  };
  refuses(made_of(quiet(0)), "run.steps: expected the steps of a whole trial");
  refuses(made_of({.run = {.steps = 5, .epochs = 1}}), "found epochs");
  refuses(made_of({.run = {.steps = 5, .patience = 1}}), "found patience");
  refuses(made_of({.run = {.steps = 5, .validate_every = 1}}), "found validate_every");
  refuses(made_of({.run = {.steps = 5, .validate_average = true}}), "expected recipes whose rules all keep averages");
  refuses(made_of(quiet(5), {rates[0], tune::uniform("decay", 0, 1)}), "axis decay: expected a value that the options");
  refuses(made_of(quiet(5), {tune::uniform("rate", 0, 1)}), "expected the name of an axis: rate, found learning_rate");
  refuses(made_of(quiet(5), {tune::uniform("learning_rate", -1, -0.5)}), "optimizer.learning_rate");
  tune::Search<Both> search(folder / "run", tune::Random{.trials = 2}, rates, set, quiet(5));
  refuses([&] { (void)search.run(training(), training()); }, "expected data that are not trained on");
  struct Empty {  // what a filter may leave: reading it goes wrong
    std::size_t size(const SampleShape&) const { return 0; }
    void read(std::size_t, Sample<float, std::int32_t>) const { FAIL("a sample was read of none"); }
    std::string name() const { return "nothing"; }
  };
  refuses([&] { (void)search.run(Empty{}, validation()); }, "nothing: expected at least one sample, found none");
  refuses([&] { (void)search.run(training(), Empty{}); }, "nothing: expected at least one sample, found none");
  (void)search.run(training(), validation());
  refuses([&] { (void)search.test(Empty{}); }, "nothing: expected at least one sample, found none");
  CHECK(!std::filesystem::exists(folder / "run/test.jsonl"));  // no look
  refuses([&] { (void)search.run(training(), made(100, 7)); }, "expected the search of this program: validation data");
  const auto other_set = [](auto& options, const tune::Values& values) {
    set(options, values);
    options.optimizer.weight_decay = 0.5;
  };
  tune::Search<Both> decays(folder / "run", tune::Random{.trials = 2}, rates, other_set, quiet(5));
  refuses([&] { (void)decays.run(training(), validation()); },
          "expected the search of this program: options that the program sets");
  const auto seeded = [](auto& options, const tune::Values& values) { set(options, values), options.seed = 7; };
  tune::Search<Both> seeds(folder / "run", tune::Random{.trials = 2}, rates, seeded, quiet(5));
  refuses([&] { (void)seeds.run(training(), validation()); }, "options that the program sets");
  (void)tune::Search<Both>(folder / "run", tune::Random{.trials = 2}, rates, set, quiet(5))
      .run(training(), validation());
  tune::Settings longer = quiet(6);
  tune::Search<Both> other(folder / "run", tune::Random{.trials = 2}, rates, set, longer);
  refuses([&] { (void)other.run(training(), validation()); }, "search.txt, line 3");
}

TEST_CASE("on MNIST halving finds an update rule and a rate that the test data confirm", "[data]") {
  REGIMEN_REAL_DATA(images, "mnist-t10k-images-idx3-ubyte.gz");
  REGIMEN_REAL_DATA(labels, "mnist-t10k-labels-idx1-ubyte.gz");
  const ::test::Directory folder;
  const Idx digits(images.string(), labels.string());
  tune::Settings settings = quiet(540);
  settings.at_once = 2;
  settings.keep = 2;
  // Rates from far too small to far too large: the first rung is wrong about most of them, and some diverge.
  tune::Search<Both> search(folder / "run", tune::Halving{tune::Random{18, 1}, 3, 60},
                            {tune::log_uniform("learning_rate", 1e-6, 10)}, set, settings);
  const tune::Found found = search.run(digits.range(0, 6000), digits.range(6000, 8000));
  std::printf("%s", found.table().c_str());
  CHECK(found.best().rungs.size() == 3);
  CHECK(found.best().accuracy() >= 0.9);
  const tune::Tested tested = search.test(digits.range(8000, 10000));
  std::printf("test: loss %.4f, accuracy %.4f\n", tested.found.loss, tested.found.accuracy);
  CHECK(tested.found.accuracy >= 0.9);
}
// SPDX-License-Identifier: Apache-2.0
