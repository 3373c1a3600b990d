// bench/vision.hpp — networks of images, measured on made-up images; bench/peers/vision.py holds the same in PyTorch.
#pragma once

#include "models.hpp"

#include <regimen/models/resnet.hpp>
#include <regimen/models/vit.hpp>

namespace bench {

struct CifarResNet18 : ResNet18<Image<32, 32, 3>, 10, resnet::CifarStem> {};

/// The peers train with SGD of momentum 0.9, on four batches of images in turn.
template <class Model, class... Policies>
int measure_images(int argc, char** argv) {
  static_assert(measurable<Policies...>);
  using Own = boost::mp11::mp_list<Optimizer<Sgd>, Loss<CrossEntropy>>;
  using Train = program::Recipe<Model, Own, Policies...>;
  program::Options options{.steps = 15, .learning_rate = 1e-2};
  program::CommandLine line("Trains a network of images on made-up ones.", options, nullptr);
  if (const auto code = line.parse(argc, argv)) return *code;
  return program::run([&] {
    auto settings = options.trainer<Train>();
    settings.optimizer.momentum = 0.9;
    Train trainer(settings);
    program::Session<Train> session(trainer, options);
    trainer.fit(mnist_lesson::made_up<Train>(4 * Train::plan().batch, 1), options.run(), session);
    return session.finish();
  });
}

}  // namespace bench
// SPDX-License-Identifier: Apache-2.0
