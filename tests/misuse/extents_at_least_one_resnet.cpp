// A residual network with a stage of no blocks.
// expect: this layer has an extent of zero; write extents of at least one
// names: Depths<2, 0, 2>
#include <regimen/models/resnet.hpp>
#include <regimen/regimen.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Net : ResNetModel<Image<32, 32, 3>, 10, resnet::Basic, resnet::Depths<2, 1, 2>, resnet::CifarStem> {};
#else
struct Net : ResNetModel<Image<32, 32, 3>, 10, resnet::Basic, resnet::Depths<2, 0, 2>, resnet::CifarStem> {};
#endif

void save(Inference<Net, Batch<1>>& model) { names::save<Net::torchvision_names>(model, "model.safetensors"); }
