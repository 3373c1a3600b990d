// A whole program around a recipe that does not compose: one error, whatever else the program contains.
// expect: Precision<fp16, \.\.\.> needs a loss scale; add LossScale<Dynamic>, or compute in bf16
// names: regimen::Precision<regimen::fp16,
#include <regimen/data/fake.hpp>
#include <regimen/layer/activation.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/train/trainer.hpp>

#include <cstdio>
#include <vector>

using namespace regimen;

struct Net : Model<Input<Vector<8>>, Linear<16>, Relu, Linear<4>> {};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Batch<8>, Precision<fp16, fp32>, Optimizer<Sgd>, LossScale<Dynamic>>;
#else
using Train = Trainer<Net, Batch<8>, Precision<fp16, fp32>, Optimizer<Sgd>>;
#endif

static_assert(Train::plan().fits(targets::h200{}));
static_assert(Train::plan().peak < 1_GiB);

int main() {
  constexpr auto plan = Train::plan();
  std::printf("%zu bytes\n%s", plan.peak, plan.table().c_str());
  Train trainer{{.optimizer = {.learning_rate = 3e-4, .momentum = 0.9}, .seed = 2}};
  Train::Options options;
  options.optimizer.learning_rate = 1e-3;
  Train other{options};
  Train plain;

  const Fake data{{.samples = 64, .classes = 4}};
  trainer.fit(data, {.steps = 100});
  trainer.fit(data, data, {.steps = 200, .validate_every = 50});
  FitOptions run;
  run.epochs = 3;
  other.fit(data, data, run, [](auto&, const StepResult& step) { return step.loss < 100; });
  other.fit(data, {.epochs = 4}, [](auto&, const auto&) {});

  std::vector<Train::Input> inputs(Train::batch * Train::input_size);
  std::vector<Train::Label> targets(Train::batch * Train::target_size);
  const StepResult result = plain.step(inputs, targets);
  std::printf("step %zu: %f, |g| %f\n", static_cast<std::size_t>(result.step), result.loss, result.gradient_norm);
  const double loss = plain.step(inputs, targets).loss;
  const auto gradients = plain.unscale(plain.backward(plain.scale(plain.forward(inputs, targets))));
  plain.apply(gradients);

  for (auto& parameter : trainer.parameters()) {
    float sum = 0;
    for (const float value : parameter.values) sum += value;
    std::printf("%s of %zu extents: %f\n", parameter.name.c_str(), parameter.shape.size(), sum);
  }
  const auto outputs = trainer.predict(inputs);
  std::printf("%f of %zu, %f, %f\n", outputs[0], outputs.size(), loss, trainer.evaluate(data).accuracy);
  trainer.save("state.safetensors");
  trainer.load("state.safetensors");
  trainer.save_in_background("state.safetensors");
  trainer.finish_saving();
  auto loader = trainer.batches(data, {.epochs = 1});
  for (auto batch = loader.next(); batch; batch = loader.next()) {
    trainer.step(batch.input, batch.target);
    if (batch.samples == 0 || trainer.gradient_divisor() < 0) trainer.abandon();
  }
  std::printf("%zu and %zu bytes\n", trainer.used().peak, trainer.used().library);
  return trainer.evaluate(data).loss < 2.0 ? 0 : 1;
}
