// regimen/kernel/device.cuh — the block of a GPU, and the launch of a kernel on a stream.
#pragma once

#include <regimen/kernel/block.hpp>

#include <cstddef>

#include <cuda_runtime.h>

namespace regimen::kernel {

/// What a kernel sees on a GPU. Kernels are launched with `count` threads: a constant, so that loops over them have
/// known lengths.
template <unsigned count>
class DeviceBlock final {
 public:
  __device__ unsigned thread() const { return threadIdx.x; }
  __device__ static constexpr unsigned threads() { return count; }
  __device__ unsigned index() const { return blockIdx.x; }
  __device__ unsigned blocks() const { return gridDim.x; }
  __device__ void sync() const { __syncthreads(); }
  template <class T>
  __device__ T* shared(std::size_t offset, std::size_t) const {
    extern __shared__ float4
        regimen_shared_memory[];  // one type for all kernels: another type under this name does not compile
    return reinterpret_cast<T*>(reinterpret_cast<unsigned char*>(regimen_shared_memory) + offset);
  }
  /// All lanes of the warp are here; 16 lanes apart first, as the emulation adds.
  template <class Combine, class T>
  __device__ T warp(T value) const {
    for (unsigned apart = warp_lanes / 2; apart > 0; apart /= 2)
      value = Combine{}(value, __shfl_xor_sync(0xFFFF'FFFFu, value, apart));
    return value;
  }
};

/// The one __global__ function: a kernel is its argument's type, so nothing but a type reaches its name. And its size:
/// nvcc 13 gives a struct whose last member is empty and [[no_unique_address]] more bytes on the device than sizeof
/// says, and whatever follows it is read beside its place. In PTX the name and the parameter disagree then
/// (tests/device/layouts.sh).
template <class K, std::size_t = sizeof(K)>
__global__ void __launch_bounds__(K::threads, resident<K>) entry(const __grid_constant__ K kernel) {
  kernel(DeviceBlock<K::threads>{});
}

/// Enqueues an operation: all its launches, in order.
template <class Operation>
cudaError_t launch(const Operation& operation, const Memory& memory, cudaStream_t stream) {
  cudaError_t error = cudaSuccess;
  for_each_launch(operation, memory, [&]<class K>(const K& kernel) {
    if (error != cudaSuccess) return;
    entry<K><<<kernel.blocks(), K::threads, shared_bytes<K>, stream>>>(kernel);
    error = cudaGetLastError();
  });
  return error;
}

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
