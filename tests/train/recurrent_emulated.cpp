// Recurrent layers on the emulated device: they train what the CPU trains, in any order of threads the same bits, in the
// memory that is planned, and continue a text.
#include <regimen/data/text.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/engine/emulated/device.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/layer/recurrent.hpp>
#include <regimen/trainers/generate.hpp>
#include <regimen/trainers/inference.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"
#include "support/rounding.hpp"
#include "support/weights.hpp"
#include "temporary.hpp"

#include <vector>

using namespace regimen;
using support::distance;
using support::of_order;

namespace {

struct Net final
    : Model<Input<Tokens<5>>, Embedding<Vocabulary<10>, 6>, Lstm<7>, Residual<Gru<7, NoBias>>, Gru<6>, Linear<10>> {};

const Text& text() {
  static const Text one = Text::from_string("she sells sea shells here by", Text::Characters);
  return one;
}
template <class... Policies>
std::vector<double> trained(const emulated::Options& options = {}) {
  emulated::Runtime::defaults = options;
  Trainer<Net, Batch<4>, Policies...> trainer;
  const std::size_t before = trainer.used().operations;  // of the weights' first values
  std::vector<double> all;
  all.push_back(trainer.fit(text(), {.steps = 7, .progress = false}).loss);  // the sixth batch is short
  CHECK(trainer.used().peak == trainer.planned().peak);
  CHECK(trainer.used().operations - before == 7 * trainer.planned().operations());
  for (const double weight : support::weights_of<double>(trainer)) all.push_back(weight);
  emulated::Runtime::defaults = {};
  return all;
}

}  // namespace

TEST_CASE("recurrent layers train on a device what they train on the CPU") {
  const std::vector<double> exact = trained<Precision<fp64>>(), here = trained<Precision<fp64>, Device<Emulated>>();
  CHECK(distance(exact, here) < of_order);
  const std::vector<double> blocks = trained<Precision<fp64>, Device<Emulated>>({.seed = 1, .fibers = true});
  CHECK(trained<Precision<fp64>, Device<Emulated>>({.seed = 2, .fibers = true}) == blocks);
  CHECK(distance(exact, blocks) < of_order);
  const std::vector<double> narrow = trained<Precision<bf16, fp32>>(),
                            narrow_here = trained<Precision<bf16, fp32>, Device<Emulated>>();
  CHECK(distance(narrow, narrow_here) < 4 * distance(exact, narrow));
}

TEST_CASE("a device continues a text from states") {
  const ::test::Directory folder;
  Trainer<Net, Batch<4>> trainer;
  trainer.fit(text(), {.steps = 7, .progress = false});
  trainer.save(folder / "state");
  Inference<Net, Batch<1>, Device<Emulated>> model(folder / "state");
  const std::vector<std::int32_t> prompt = text().encode("s");
  CHECK(generate(model, prompt, 4, {.temperature = 0}) == generate(trainer, prompt, 4, {.temperature = 0}));
  CHECK(model.used().peak == Inference<Net, Batch<1>, Device<Emulated>>::plan().peak);
}
