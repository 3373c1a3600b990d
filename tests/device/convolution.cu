// tests/device/convolution.cu — a network of convolutions trains on Device<Cuda> in each form what it
// trains on the CPU.
//
// Most of it is host code, and tests/device/block_kernels.cu compiles the kernels; so it is
// compiled for 90a-real
//
// nvcc compiles it wherever there is one; where there is a device, too, it runs. Exit code 77: there is none.
#include <regimen/engine/cuda/device.hpp>
#include <regimen/layer/activation.hpp>
#include <regimen/layer/conv.hpp>
#include <regimen/layer/conv_transpose.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/pool.hpp>

#include "forms.hpp"

#include <cstdio>

using namespace regimen;

namespace {

using Block = Residual<LayerNorm, Conv2d<16, 3, Padding<1>>, Gelu, Conv2d<16, 3, Padding<1>, Groups<16>>, Gelu>;
struct Net final
    : Model<Input<Image<16, 12, 3>>, Conv2d<16, 3, Stride<2>, Padding<1>, NoBias>, Repeat<2, Block>, LayerNorm,
            ConvTranspose2d<8, 2, Stride<2>>, Conv2d<8, 3, Dilation<2>, Groups<2>>, MeanPool, Linear<7>> {};

template <class Form, class Format>
bool agrees(const char* what) {
  return test::agrees<Net, Batch<6>, Convolution<Form>, Format>(what);
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("no CUDA device: the forms were compiled, and did not run\n");
    return 77;
  }
  bool holds = agrees<Direct, Precision<fp64>>("loops, fp64");
  holds = agrees<Direct, Precision<bf16, fp32>>("loops, bf16") && holds;
#if defined(REGIMEN_HAS_CUDNN)
  holds = agrees<Cudnn, Precision<fp64>>("cuDNN, fp64") && holds;
  holds = agrees<Cudnn, Precision<fp32>>("cuDNN, fp32") && holds;
  holds = agrees<Cudnn, Precision<bf16, fp32>>("cuDNN, bf16") && holds;
#endif
  return holds ? 0 : 1;
}
// SPDX-License-Identifier: Apache-2.0
