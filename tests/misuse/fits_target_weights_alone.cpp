// An Inference's weights are larger than the target, in 16 bits, too.
// expect: the weights alone exceed the Target; name a larger Target, or a smaller model
// names: 1048576
// names: regimen::rule::Exceeds<
// names: regimen::rule::WeightsAlone<0
#include <regimen/train/inference.hpp>

#include <regimen/layer/activation.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/engine/cpu/device.hpp>

using namespace regimen;

struct Wide : Model<Input<Vector<8>>, Linear<1024>, Relu, Linear<1024>, Relu, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Served = Inference<Wide, Target<targets::host<8_MiB>>, Batch<1>>;
#else
using Served = Inference<Wide, Target<targets::host<1_MiB>>, Batch<1>>;
#endif

int main() { return sizeof(Served) == 0; }
