// A U-Net learns which pixels of a picture are a patch of lines across, and which of lines down; the pixels at the edge of a
// patch have no label.
#include <regimen/core/philox.hpp>
#include <regimen/models/unet.hpp>
#include <regimen/regimen.hpp>
#include <regimen/watch/metrics.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

using namespace regimen;

namespace {

constexpr std::size_t side = 12, classes = 3;
struct Net final : UNetModel<Image<side, side, 1>, classes, 4, 2> {};
using Train = Trainer<Net, Batch<8>>;

/// Bright and dark lines, across (class 1) or down (class 2), in a square on noise (class 0): no pixel alone tells its class.
/// The pixels at the edge are nobody's, as in the labels of Pascal VOC.
struct Stripes {
  std::uint64_t seed;
  std::size_t samples;
  std::size_t size(const SampleShape&) const { return samples; }
  void read(std::size_t index, Sample<float, std::int32_t> sample) const {
    const Philox::Words words = Philox::draw(seed, index, 0);
    const std::size_t top = words.word[0] % 6, left = words.word[1] % 6, size = 6 + words.word[2] % 2;
    const bool is_down = index % 2 == 1;
    for (std::size_t i = 0; i < side * side; ++i) {
      const std::size_t row = i / side - top, column = i % side - left;  // of the patch; huge above and left of it
      const bool is_inside = row < size && column < size;
      const bool is_edge = is_inside && (std::min(row, column) == 0 || std::max(row, column) == size - 1);
      const double noise = double(Philox::draw(seed, index, i + 1).word[0]) * 0x1p-32 - 0.5;
      const double line = (is_down ? column : row) % 2 == 0 ? 1 : -1;
      sample.input[i] = static_cast<float>(noise + (is_inside ? line : 0));
      sample.target[i] = is_edge ? ignore_index : !is_inside ? 0 : is_down ? 2 : 1;
    }
  }
};

/// The mean over classes of intersection over union: pixels of a class that are taken for it, of those that are of it or are
/// taken for it.
double mean_iou(const ConfusionMatrix& pixels) {
  double sum = 0;
  for (std::size_t c = 0; c < classes; ++c) {
    double either = -pixels.count(c, c);
    for (std::size_t other = 0; other < classes; ++other) either += pixels.count(c, other) + pixels.count(other, c);
    sum += pixels.count(c, c) / either;
  }
  return sum / classes;
}

}  // namespace

TEST_CASE("a U-Net learns the class of every pixel") {
  const Stripes stripes{1, 200}, others{2, 40};
  Train trainer{{.optimizer = {.learning_rate = 1e-2}}};
  trainer.poison_dead_memory();
  ConfusionMatrix pixels;
  trainer.evaluate(others, pixels);
  CHECK(mean_iou(pixels) < 0.4);
  trainer.fit(stripes, {.steps = 70, .progress = false});
  const Evaluation found = trainer.evaluate(others, pixels);
  CHECK(mean_iou(pixels) > 0.9);
  CHECK(trainer.used().peak == trainer.planned().peak);

  // The loss is the mean over the pixels that remain when those without a label are taken out.
  std::vector<float> inputs(40 * Train::input_size);
  std::vector<std::int32_t> targets(40 * Train::target_size);
  for (std::size_t s = 0; s < 40; ++s)
    others.read(s, {std::span(inputs).subspan(s * Train::input_size, Train::input_size),
                    std::span(targets).subspan(s * Train::target_size, Train::target_size)});
  const std::vector<float> logits = trainer.predict(inputs);
  double sum = 0, labelled = 0, largest = 0;
  for (std::size_t pixel = 0; pixel < targets.size(); ++pixel) {
    if (targets[pixel] == ignore_index) continue;
    double all = 0;
    for (std::size_t c = 0; c < classes; ++c) {
      all += std::exp(double(logits[pixel * classes + c]));
      largest = std::max(largest, std::abs(double(logits[pixel * classes + c])));
    }
    sum += std::log(all) - double(logits[pixel * classes + static_cast<std::size_t>(targets[pixel])]);
    labelled += 1;
  }
  CHECK(labelled < 0.95 * double(targets.size()));
  CHECK(found.targets == static_cast<std::uint64_t>(labelled));
  // Each pixel's loss is a difference of numbers no larger than twice `largest`, rounded to fp32 a few times.
  CHECK(std::abs(found.loss - sum / labelled) < 8 * 0x1p-24 * (1 + 2 * largest));
}
// SPDX-License-Identifier: Apache-2.0
