// A hand-written loop with a loss scale, without backward.
// expect: this loss has no gradients yet; call backward between forward and apply
// names: regimen::ScaledLoss
#include <regimen/regimen.hpp>

using namespace regimen;

struct Net : Model<Input<Vector<8>>, Linear<4>> {};
using Train = Trainer<Net, Precision<fp16, fp32>, LossScale<Dynamic>>;

void step(Train& trainer, std::span<const float> inputs, std::span<const std::int32_t> labels) {
  const auto loss = trainer.forward(inputs, labels);
#ifndef REGIMEN_MISUSE
  trainer.apply(trainer.unscale(trainer.backward(trainer.scale(loss))));
#else
  trainer.apply(trainer.unscale(trainer.scale(loss)));
#endif
}
