// examples/14_tune.cpp — lesson 14: a search for the update rule and its learning rate; test data are looked at last.
//
//   tune --data FOLDER     with t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz
//   tune                   on made-up images
//
// Killed or stopped, it goes on where it was; --test evaluates what was chosen on test data.
#include "mnist.hpp"

#include <regimen/tune/ensemble.hpp>
#include <regimen/tune/search.hpp>

using namespace regimen;

struct Mlp : Model<Input<Vector<784>>,
                   Linear<64>, Relu,        // (B,64)
                   Linear<64>, Relu,        // (B,64)
                   Linear<10>> {};          // (B,10)

template <class Rule>
using With = Trainer<Mlp, Optimizer<Rule>, Loss<CrossEntropy>, Batch<64>>;
using Rules = tune::Recipes<With<AdamW>, With<Sgd>>;   // try: another Batch, Precision, model

struct Flags {
  std::string data{}, folder = "tune.run", plan = "halving";
  std::uint64_t steps = 540, trials = 18, seed = 1, at_once = 1;
  double limit = 0;
  bool test = false;
};

/// Halving: of 18 trials of 60 steps six go on to 180, and two to 540.
tune::Plan plan_of(const Flags& flags) {
  const tune::Random random{.trials = flags.trials, .seed = flags.seed};
  if (flags.plan == "halving") return tune::Halving{.of = random, .eta = 3, .least_steps = std::max<std::uint64_t>(1, flags.steps / 9)};
  if (flags.plan == "random") return random;
  return tune::Grid{};
}

int search(const Flags& flags, const auto& training, const auto& validation, const auto& test) {
  const bool grid = flags.plan == "grid";
  tune::Search<Rules> search(
      flags.folder, plan_of(flags),
      {grid ? tune::choice("learning_rate", {1e-4, 1e-3, 1e-2, 1e-1}) : tune::log_uniform("learning_rate", 1e-4, 1)},
      [](auto& options, const tune::Values& values) { options.optimizer.learning_rate = values["learning_rate"]; },
      {.run = {.steps = flags.steps}, .at_once = flags.at_once, .limit = flags.limit, .keep = 2, .save_every = 100,
       .stops = [] { return program::is_interrupted() || program::is_output_closed(); }});
  program::catch_interrupt();
  const tune::Found found = search.run(training, validation);
  std::printf("%s", found.table().c_str());
  if (!found.complete) return program::interrupted;   // the next call goes on

  const std::vector<tune::Trained> best = found.ranking();
  std::printf("chosen: trial %zu, validation loss %.4f\n", found.best().number, found.best().loss());
  if (best.size() > 1 && best[1].steps() == best[0].steps()) {   // both ended the last rung: their states are kept
    Ensemble<Inference<Mlp>> both({search.state_of(best[0]), search.state_of(best[1])});
    std::printf("the best two together: validation loss %.4f\n", both.evaluate(validation).loss);
  }
  if (!flags.test) return program::ok;
  const tune::Tested tested = search.test(test);
  std::printf("look %zu at the test data: loss %.4f, accuracy %.4f on %zu images\n", tested.look, tested.found.loss, tested.found.accuracy, tested.found.targets);
  return program::ok;
}

int main(int argc, char** argv) {
  Flags flags;
  program::CommandLine line("Which update rule, and which learning rate? Digits are learnt with many, and validation data choose.");
  line.add("--data", flags.data, "Folder with t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz. Without it: made-up images");
  line.add("--folder", flags.folder, "Of the search: what it has found, and the states of the best two trials");
  line.add("--plan", flags.plan, "How trials are chosen", {"halving", "random", "grid"});
  line.add("--trials", flags.trials, "Of halving and random", 1);
  line.add("--steps", flags.steps, "Of a whole trial", 1);
  line.add("--seed", flags.seed, "Of the values that are drawn");
  line.add("--at-once", flags.at_once, "Trials that run side by side", 1);
  line.add("--limit", flags.limit, "Seconds after which a trial is ended; 0: none", 0);
  line.add("--test", flags.test, "Then look at the test data. Once: whoever chooses anew after a look needs new data");
  if (const auto code = line.parse(argc, argv)) return *code;

  return program::run([&] {
    using mnist_lesson::made_up;
    using Train = With<AdamW>;
    if (flags.data.empty()) return search(flags, made_up<Train>(4096, 1), made_up<Train>(512, 2), made_up<Train>(512, 3));
    const Idx digits(mnist_lesson::file(flags.data, "images-idx3-ubyte"), mnist_lesson::file(flags.data, "labels-idx1-ubyte"));
    const std::size_t fifth = digits.length() / 5;
    return search(flags, digits.range(0, 3 * fifth), digits.range(3 * fifth, 4 * fifth), digits.range(4 * fifth, digits.length()));
  });
}
// SPDX-License-Identifier: Apache-2.0
