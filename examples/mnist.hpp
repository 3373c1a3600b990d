// examples/mnist.hpp — digits: the code that lessons 2, 3 and 8, their tests and the benchmarks of perceptrons share.
#pragma once

#include <regimen/regimen.hpp>

#include "session.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <unistd.h>

namespace mnist_lesson {

/// A file of MNIST's test set, under any of its usual names.
inline std::string file(const std::string& folder, const std::string& kind) {
  for (const char* prefix : {"/t10k-", "/mnist-t10k-"})
    for (const char* ending : {".gz", ""})
      if (const std::string path = folder + prefix + kind + ending; ::access(path.c_str(), R_OK) == 0) return path;
  throw regimen::Error("--data " + folder, "t10k-" + kind + ".gz in it", "no such file", "it is on the web page of MNIST, and on its mirrors");
}

/// For a run without --data: images with a bump for each class and noise, made once and kept.
template <class Train>
regimen::Rows<float, std::int32_t> made_up(std::size_t samples, std::uint64_t seed) {
  const regimen::Fake fake{{.samples = samples, .classes = 10, .seed = seed}};
  std::vector<float> inputs(samples * Train::input_size);
  std::vector<std::int32_t> targets(samples);
  for (std::size_t i = 0; i < samples; ++i)
    fake.read(i, regimen::Sample<float, std::int32_t>{std::span(inputs).subspan(i * Train::input_size, Train::input_size), std::span(targets).subspan(i, 1)});
  return {std::move(inputs), std::move(targets), Train::input_size};
}

/// The loop of lesson 2: fit.
struct WithFit {
  template <class Train, class Source>
  static void learn(Train& trainer, const Source& source, const Source& held_out, const regimen::FitOptions& run, program::Session<Train>& session) {
    trainer.fit(source, held_out, run, session);
  }
};

}  // namespace mnist_lesson

/// Trains Model on digits by Loop, with Policies; the policies below are the defaults.
template <class Loop, class Model, class... Policies>
int mnist_by(int argc, char** argv) {
  using namespace regimen;
  using Own = boost::mp11::mp_list<Optimizer<RmsProp>, Loss<CrossEntropy>, Batch<64>>;
  using Train = program::Recipe<Model, Own, Policies...>;

  program::Options options{.steps = 1250, .validate_every = 250, .learning_rate = 1e-3};
  program::CommandLine line("A network learns digits: MNIST's 10,000 test images, four fifths of them; the rest validates.", options,
                            "Folder with t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz. Without it: made-up images");
  if (const auto code = line.parse(argc, argv)) return *code;

  return program::run([&] {
    const auto learn = [&](const auto& source, const auto& held_out) {
      auto settings = options.trainer<Train>();
      if constexpr (requires { settings.optimizer.beta2; }) settings.optimizer.beta2 = 0.99;
      Train trainer(settings);
      program::Session<Train> session(trainer, options);
      Loop::learn(trainer, source, held_out, options.run(), session);
      std::fprintf(session.out(), "accuracy %.4f on %zu images\n", session.validation().accuracy, session.validation().targets);
      return session.finish();
    };
    if (options.data.empty()) return learn(mnist_lesson::made_up<Train>(4096, 1), mnist_lesson::made_up<Train>(512, 2));
    const Idx digits(mnist_lesson::file(options.data, "images-idx3-ubyte"), mnist_lesson::file(options.data, "labels-idx1-ubyte"));
    const std::size_t border = digits.length() / 5 * 4;
    return learn(digits.range(0, border), digits.range(border, digits.length()));
  });
}

template <class Model, class... Policies>
int mnist(int argc, char** argv) { return mnist_by<mnist_lesson::WithFit, Model, Policies...>(argc, argv); }
// SPDX-License-Identifier: Apache-2.0
