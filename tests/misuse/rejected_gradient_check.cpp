// Policies that do not compose in a check of gradients: the rule's own sentence, as a Trainer gives it.
// expect: Every<N> counts the blocks of a Repeat, and this model has none; add a Repeat, or write Selective<\.\.\.>
// names: regimen::Checkpoint<regimen::Every<2>>
#include <regimen/train/gradient_check.hpp>

#include <regimen/engine/cpu/device.hpp>
#include <regimen/layer/activation.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>

#include <cstdio>

using namespace regimen;

struct Net : Model<Input<Vector<8>>, Linear<16>, Relu, Linear<4>> {};

#ifndef REGIMEN_MISUSE
const GradientCheck found = gradient_check<Net, Loss<MeanSquaredError>, Checkpoint<Selective<Relu>>>();
const GradientCheck of_layer = gradient_check_layer<Gelu, Shape<8>>({.samples = 3});
#else
const GradientCheck found = gradient_check<Net, Loss<MeanSquaredError>, Checkpoint<Every<2>>>();
const GradientCheck of_layer = gradient_check_layer<Gelu, Shape<8>, Checkpoint<Every<2>>>({.samples = 3});
#endif

int main() { std::printf("%f %f %zu\n", found.worst, of_layer.worst, of_layer.checked); }
