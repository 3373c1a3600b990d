// A source that is no pipeline is split as one is.
#include <regimen/comm/launch.hpp>
#include <regimen/data/class_weights.hpp>
#include <regimen/data/fake.hpp>
#include <regimen/data/pipeline.hpp>
#include <regimen/data/rows.hpp>
#include <regimen/data/split_source.hpp>
#include <regimen/data/text.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"
#include "support/weights.hpp"
#include "temporary.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace regimen;

namespace {
struct Net : Model<Input<Vector<2>>, Linear<3>> {};
using Train = Trainer<Net, Batch<4>>;

constexpr std::size_t samples = 23;
struct Arrays {
  std::vector<float> x = std::vector<float>(samples * 2);
  std::vector<std::int32_t> y = std::vector<std::int32_t>(samples);
  Arrays() {
    for (std::size_t i = 0; i < samples; ++i)
      x[2 * i] = float(i), x[2 * i + 1] = float(i * i % 7), y[i] = std::int32_t(i % 3);
  }
};
}  // namespace

TEST_CASE("the parts of a source are its first samples and the rest, as sources of their own") {
  const Arrays all;
  const auto [train, held_out] = data::split(Rows(all.x, all.y, 2), 0.7, Train::sample_shape());
  CHECK(train.size(Train::sample_shape()) == 16);
  CHECK(held_out.size(Train::sample_shape()) == 7);
  CHECK(train.name() == "Rows | train");
  for (const std::size_t i : {0u, 6u}) {
    std::vector<float> input(2);
    std::vector<std::int32_t> target(1);
    held_out.read({.index = i}, Sample<float, std::int32_t>{input, target});
    CHECK(input[0] == float(16 + i));
    CHECK(target[0] == std::int32_t((16 + i) % 3));
  }
  ::test::refuses([&] { data::split(Rows(all.x, all.y, 2), 1, Train::sample_shape()); },
                  "Rows, split: expected a fraction between 0 and 1");
}

TEST_CASE("a source on a pipeline has the bytes that its stages keep") {
  struct Numbers {
    std::size_t size() const { return samples; }
    std::int32_t at(const data::Key& key) const { return std::int32_t(key.index); }
    std::string name() const { return "numbers"; }
  };
  const auto cached =
      Numbers{} | data::cache() | data::samples([](std::int32_t value, Sample<float, std::int32_t> sample) {
        sample.input[0] = sample.input[1] = float(value);
        sample.target[0] = value % 3;
      });
  CHECK(data::bytes(cached) > 0);
  const auto parts = data::split(cached, 0.7, Train::sample_shape());
  CHECK(data::bytes(parts.train) == data::bytes(cached));
  CHECK(data::bytes(data::ClassWeights(cached, {1, 2, 3})) == data::bytes(cached));
}

TEST_CASE("parts are of the samples that were split: a model that cuts the data otherwise is refused") {
  const Text text = Text::from_string("some words that a model reads in pieces");
  const SampleShape shape{.input = 4, .target = 4, .vocabulary_or_classes = 256};
  SampleShape shorter = shape, longer = shape;
  shorter.input = shorter.target = 2, longer.input = longer.target = 8;
  const auto parts = data::split(text, 0.5, shape);
  const std::string all = std::to_string(text.size(shape));
  CHECK(parts.train.size(shape) + parts.validation.size(shape) == text.size(shape));
  for (const SampleShape& other : {shorter, longer})  // more samples, and fewer
    ::test::refuses([&] { (void)parts.train.size(other); },
                    ("those that were split, " + all + " samples, found one for which there are " +
                     std::to_string(text.size(other)))
                        .c_str());
}

TEST_CASE("a run on a part is a run on an array of it") {
  const Arrays all;
  const auto [train, held_out] = data::split(Rows(all.x, all.y, 2), 0.7, Train::sample_shape());
  const std::vector<float> x(all.x.begin(), all.x.begin() + 32), rest(all.x.begin() + 32, all.x.end());
  const std::vector<std::int32_t> y(all.y.begin(), all.y.begin() + 16), rest_y(all.y.begin() + 16, all.y.end());
  Train whole({.threads = 1}), part({.threads = 1});
  const FitOptions run{.epochs = 3, .progress = false};
  const Fitted expected = whole.fit(Rows(x, y, 2), Rows(rest, rest_y, 2), run), found = part.fit(train, held_out, run);
  CHECK(found.loss == expected.loss);
  CHECK(found.validation_loss == expected.validation_loss);
  CHECK(support::weights_of(part) == support::weights_of(whole));
}
// SPDX-License-Identifier: Apache-2.0
