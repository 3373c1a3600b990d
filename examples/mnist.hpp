// examples/mnist.hpp — digits: the code that lessons 2, 3, 8 and 13, their tests and the benchmarks of perceptrons share.
#pragma once

#include <regimen/regimen.hpp>

#include "session.hpp"

#include <cstdint>
#include <string>
#include <utility>
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

/// Each image several times: as it is, then moved by a pixel to the right, to the left, down, up, and down and right.
class Shifted {
 public:
  static constexpr std::size_t most = 6;
  Shifted(regimen::Idx digits, std::size_t copies) : digits_(std::move(digits)), copies_(copies) {}

  std::size_t size(const regimen::SampleShape& shape) const { return digits_.size(shape) * copies_; }
  const std::string& name() const { return digits_.name(); }
  void read(std::size_t index, regimen::Sample<float, std::int32_t> sample) const {
    digits_.read(index / copies_, sample);
    static constexpr int right[most] = {0, 1, -1, 0, 0, 1}, down[most] = {0, 0, 0, 1, -1, 1};
    const int x_by = right[index % copies_], y_by = down[index % copies_];
    if (x_by == 0 && y_by == 0) return;
    const std::vector<float> image(sample.input.begin(), sample.input.end());
    const int height = static_cast<int>(digits_.extents()[0]), width = static_cast<int>(digits_.extents()[1]);
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        const int from_y = y - y_by, from_x = x - x_by;
        const bool is_inside = from_y >= 0 && from_y < height && from_x >= 0 && from_x < width;
        sample.input[static_cast<std::size_t>(y * width + x)] = is_inside ? image[static_cast<std::size_t>(from_y * width + from_x)] : 0;
      }
  }

 private:
  regimen::Idx digits_;
  std::size_t copies_;
};

/// What a lesson chooses: the defaults of its options, RmsProp's memory, how often each training image comes (Shifted).
struct Choices {
  program::Options options{.steps = 1250, .validate_every = 250, .learning_rate = 1e-3};
  double alpha = 0.99;
  std::size_t copies = 1;
};

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
int mnist_by(int argc, char** argv, mnist_lesson::Choices choices = {}) {
  using namespace regimen;
  using Own = boost::mp11::mp_list<Optimizer<RmsProp>, Loss<CrossEntropy>, Batch<64>>;
  using Train = program::Recipe<Model, Own, Policies...>;

  program::Options& options = choices.options;
  program::CommandLine line("A network learns digits: MNIST's 10,000 test images, four fifths of them; the rest validates.", options,
                            "Folder with t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz. Without it: made-up images");
  if (const auto code = line.parse(argc, argv)) return *code;

  return program::run([&] {
    const auto learn = [&](const auto& source, const auto& held_out) {
      auto settings = options.trainer<Train>();
      if constexpr (requires { settings.optimizer.beta2; }) settings.optimizer.beta2 = 0.99;
      if constexpr (requires { settings.optimizer.alpha; }) settings.optimizer.alpha = choices.alpha;
      Train trainer(settings);
      program::Session<Train> session(trainer, options);
      Loop::learn(trainer, source, held_out, options.run(), session);
      std::fprintf(session.out(), "accuracy %.4f on %zu images\n", session.validation().accuracy, session.validation().targets);
      return session.finish();
    };
    if (options.data.empty()) return learn(mnist_lesson::made_up<Train>(4096, 1), mnist_lesson::made_up<Train>(512, 2));
    const Idx digits(mnist_lesson::file(options.data, "images-idx3-ubyte"), mnist_lesson::file(options.data, "labels-idx1-ubyte"));
    const std::size_t border = digits.length() / 5 * 4;
    const mnist_lesson::Shifted held_out(digits.range(border, digits.length()), 1);
    return learn(mnist_lesson::Shifted(digits.range(0, border), choices.copies), held_out);
  });
}

template <class Model, class... Policies>
int mnist(int argc, char** argv, const mnist_lesson::Choices& choices = {}) {
  return mnist_by<mnist_lesson::WithFit, Model, Policies...>(argc, argv, choices);
}
// SPDX-License-Identifier: Apache-2.0
