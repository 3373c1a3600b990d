// SPDX-License-Identifier: Apache-2.0
// examples/images.hpp — a folder of your own images: the code that lessons 12 and 15, their tests and a benchmark share.
#pragma once

#include <regimen/regimen.hpp>

#include <regimen/data/augment.hpp>
#include <regimen/data/image_folder.hpp>
#include <regimen/data/report_line.hpp>
#include <regimen/data/samples.hpp>
#include <regimen/data/stage.hpp>

#include "session.hpp"

#include <cstdint>
#include <cstdio>
#include <string>

namespace images {

using namespace regimen;

/// A file becomes an image of Side x Side: for training a part of any place and size, mirrored or not; else the middle.
template <std::size_t Side>
struct Decoded {
  bool at_random;
  double least_area = 0.25;

  data::LabelledImage operator()(const data::EncodedImage& file, const data::Key& key) const {
    if (!at_random) {
      const auto middle = [](std::size_t height, std::size_t width) { return data::middle(height, width, Side, Side, 0.875); };
      return {data::decode_part(file, middle, Side, Side), file.label};
    }
    const data::RandomResizedCrop crop{.height = Side, .width = Side, .least_area = least_area};
    const auto part = [&](std::size_t height, std::size_t width) { return crop.box(height, width, key); };
    return {data::RandomFlip{}(data::decode_part(file, part, Side, Side), key), file.label};
  }
};

/// Writes an image and its class for a model of Image<Side, Side, 3>.
template <std::size_t Side>
struct Written {
  void operator()(const data::LabelledImage& value, Sample<float, std::int32_t> sample) const {
    data::Normalise{.height = Side, .width = Side}(value.image, sample.input);
    sample.target[0] = value.label;
  }
};

/// A folder as a source.
template <std::size_t Side>
auto source(const data::ImageFolder& folder, bool at_random) {
  return folder | data::map(Decoded<Side>{at_random}, at_random ? "a part at random" : "the middle") | data::samples(Written<Side>{});
}

/// A network that begins with its own initial weights. A task of another kind has the same members (fine_tune.hpp).
struct FromScratch {
  static constexpr const char* purpose = "A residual network learns a folder of images: a sub-folder for each class, with JPEG and PNG files.";
  static constexpr const char* program = "examples/12_images.cpp";
  static constexpr double learning_rate = 1e-3;
  void add(program::CommandLine&) {}                    // its own arguments
  const char* missing() const { return nullptr; }       // what to say if one of them is needed and is not given
  void begin(auto&) const {}                            // before the training
  void end(auto&, const auto&, const data::ImageFolder&, std::FILE*) const {}
};

/// Trains Model, whose input is Image<Side, Side, 3>, on --images, with Policies; the policies below are the defaults.
template <class Model, std::size_t Side, std::size_t Classes, class... Policies, class Task = FromScratch>
int train(int argc, char** argv, Task task = {}) {
  using Own = boost::mp11::mp_list<Optimizer<AdamW>, Batch<32>>;
  using Train = program::Recipe<Model, Own, Policies...>;

  program::Options options{.steps = 0, .validate_every = program::Options::five_times, .learning_rate = Task::learning_rate};
  std::string path;
  std::uint64_t epochs = 20, workers = 2;
  double held_out = 0.2;
  program::CommandLine line(Task::purpose, options, nullptr);
  line.add("--images", path, "The folder; its sub-folders are the classes. Needed");
  line.add("--epochs", epochs, "Times that each image is seen, unless --steps says how many steps", 1);
  line.add("--workers", workers, "Threads that decode images", 0);
  line.add("--held-out", held_out, "Share of the images of each class that validate", 0.001, 0.9);
  task.add(line);
  if (const auto code = line.parse(argc, argv)) return *code;
  const char* const missing = path.empty() ? "give a folder: --images FOLDER, with a sub-folder of images for each class; see --help" : task.missing();
  if (missing != nullptr) {
    std::fprintf(stderr, "%s\n", missing);
    return program::bad_arguments;
  }

  return program::run([&] {
    const data::ImageFolder folder(path, {.report = data::ReportLine()});
    if (folder.classes().size() > Classes)
      throw Error(path, "at most " + std::to_string(Classes) + " classes", std::to_string(folder.classes().size()), std::string("raise classes in ") + Task::program);
    const auto [training, validation] = folder.split(held_out);
    if (options.steps == 0) options.steps = epochs * ((training.size() + Train::batch - 1) / Train::batch);
    if (options.validate_every == program::Options::five_times) options.validate_every = (options.steps + 4) / 5;

    Train trainer(options.trainer<Train>());
    if (options.resume.empty()) task.begin(trainer);
    program::Session<Train> session(trainer, options);
    std::fprintf(session.out(), "%zu classes, %zu images to train with, %zu to validate", folder.classes().size(), training.size(), validation.size());
    if (folder.others() != 0) std::fprintf(session.out(), "; %zu other files are not read", folder.others());
    std::fprintf(session.out(), "\n");
    FitOptions run = options.run();
    run.workers = workers;
    trainer.fit(source<Side>(training, true), source<Side>(validation, false), run, session);
    std::fprintf(session.out(), "accuracy %.4f on %zu images\n", session.validation().accuracy, session.validation().targets);
    task.end(trainer, source<Side>(validation, false), folder, session.out());
    return session.finish();
  });
}

}  // namespace images
