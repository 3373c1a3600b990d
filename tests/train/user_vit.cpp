// A vision transformer with layers, operations and weights of a program's own: it has the gradients of calculus, trains
// as it is planned,
// and goes on from a file.
#include <regimen/data/fake.hpp>
#include <regimen/trainers/gradient_check.hpp>

#include "support/catch.hpp"
#include "support/weights.hpp"
#include "temporary.hpp"
#include "train/user_vit.hpp"

#include <cstdint>
#include <string>
#include <vector>

using namespace regimen;
using support::weights_of;

namespace {

using Tiny = own_vit::Vit<4, 12, 32, 3, 4, 10>;

const Fake& fake_data() {
  static const Fake images({.samples = 160, .classes = 10, .seed = 5});
  return images;
}
template <class... Policies>
std::vector<float> trained(double& loss) {
  using Train = Trainer<Tiny, Batch<16>, Policies...>;
  Train trainer;
  trainer.poison_dead_memory();
  loss = trainer.fit(fake_data(), {.steps = 60, .progress = false}).loss;
  CHECK(trainer.used().peak == Train::plan().peak);
  return weights_of(trainer);
}

}  // namespace

TEST_CASE("layers with weights of a program's own have the gradients of their functions") {
  for (const GradientCheck& found :
       {gradient_check_layer<own_vit::ClassToken, Shape<5, 6>>(),
        gradient_check_layer<own_vit::TakeFirst, Shape<5, 6>>(),
        gradient_check<own_vit::Vit<2, 3, 4, 2, 2, 3>, Batch<2>, Accumulate<2>, Checkpoint<Every<1>>>()}) {
    INFO(found.tensor);
    CHECK(found.checked > 0);
    CHECK(found.worst < 1e-7);
  }
}

TEST_CASE("a vision transformer of them trains as it is planned, and computed again it is the same to the bit") {
  double loss = 0, again = 0;
  const std::vector<float> whole = trained<>(loss);
  CHECK(loss < 2.1);  // ln 10 is 2.30
  CHECK(trained<Checkpoint<Every<1>>>(again) == whole);
  CHECK(again == loss);
  trained<Precision<bf16, fp32>>(loss);
  CHECK(loss < 2.1);
}

TEST_CASE("a vision transformer of them goes on from a file to the bits of the uninterrupted run") {
  const ::test::Directory directory;
  using Train = Trainer<Tiny, Batch<16>>;
  Train whole;
  whole.fit(fake_data(), {.steps = 20, .progress = false});
  {
    Train first;
    first.fit(fake_data(), {.steps = 7, .progress = false});
    first.save(directory / "vit.safetensors");
  }
  Train second;
  second.load(directory / "vit.safetensors");
  second.fit(fake_data(), {.steps = 20, .progress = false});
  CHECK(weights_of(second) == weights_of(whole));
  bool has_token = false;
  for (const auto& parameter : second.parameters())
    has_token = has_token || (parameter.name == "1.weight" && parameter.values.size() == 32);
  CHECK(has_token);
}
