// An Inference's weights are larger than the target, and in 16 bits they would fit.
// expect: the weights alone exceed the Target; write Precision<bf16>, or name a larger Target
// names: 3145728
// names: regimen::rule::Exceeds<
// names: 2125952
#include <regimen/train/inference.hpp>

#include <regimen/layer/activation.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/engine/cpu/device.hpp>

using namespace regimen;

struct Wide : Model<Input<Vector<8>>, Linear<1024>, Relu, Linear<1024>, Relu, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Served = Inference<Wide, Target<targets::host<3_MiB>>, Batch<1>, Precision<bf16>>;
#else
using Served = Inference<Wide, Target<targets::host<3_MiB>>, Batch<1>>;
#endif

int main() { return sizeof(Served) == 0; }
