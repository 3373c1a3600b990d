// An option of another layer, in place of a width.
// expect: ResNet takes CifarStem, ConvBias, MaxPooling, Width, BatchNorm, of bottlenecks StrideInFirst; each once
// names: regimen::Heads<8>
#include <regimen/layer/self_attention.hpp>
#include <regimen/models/resnet.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Net : ResNet50<Image<32, 32, 3>, 10, resnet::Width<8>, BatchNorm<PerMicroBatch>> {};
#else
struct Net : ResNet50<Image<32, 32, 3>, 10, Heads<8>> {};
#endif
static_assert(Net::parameter_count > 0);
