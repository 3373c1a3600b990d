// The stride of a basic block stands in its first convolution already.
// expect: ResNet takes CifarStem, ConvBias, MaxPooling, Width, BatchNorm, of bottlenecks StrideInFirst; each once
// names: regimen::resnet::StrideInFirst
#include <regimen/models/resnet.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Net : ResNet18<Image<32, 32, 3>, 10, resnet::CifarStem, resnet::MaxPooling> {};
#else
struct Net : ResNet18<Image<32, 32, 3>, 10, resnet::CifarStem, resnet::StrideInFirst> {};
#endif
static_assert(Net::parameter_count == 11'173'962);
