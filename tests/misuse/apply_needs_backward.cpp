// A hand-written loop without backward.
// expect: this loss has no gradients yet; call backward between forward and apply
// names: regimen::UnscaledLoss
#include <regimen/regimen.hpp>

using namespace regimen;

struct Net : Model<Input<Vector<8>>, Linear<4>> {};

void step(Trainer<Net>& trainer, std::span<const float> inputs, std::span<const std::int32_t> labels) {
#ifndef REGIMEN_MISUSE
  trainer.apply(trainer.backward(trainer.forward(inputs, labels)));
#else
  trainer.apply(trainer.forward(inputs, labels));
#endif
}
