// bench/gpu/device.cpp — the device, its libraries, and the bandwidth of its copies, as one JSON object. Exit code 77,
// and one sentence, without a device. Compiled by nvcc alone.
#include <regimen/engine/cuda/library.cuh>

#include "exit_code.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>

#if defined(REGIMEN_HAS_CUDNN)
#include <cudnn.h>
#endif

namespace {

using regimen::cuda::detail::demand;

int attribute(cudaDeviceAttr what) {
  int value = 0;
  demand(cudaDeviceGetAttribute(&value, what, 0), "cudaDeviceGetAttribute");
  return value;
}

/// Bytes read and written in a second by copies of 4 GiB, or of a quarter of what is free: the median of nine.
double copy_bandwidth() {
  std::size_t unused = 0, all = 0;
  demand(cudaMemGetInfo(&unused, &all), "cudaMemGetInfo");
  const std::size_t bytes = std::min(std::size_t{4} << 30, unused / 4);
  void *from = nullptr, *to = nullptr;
  demand(cudaMalloc(&from, bytes), "cudaMalloc");
  demand(cudaMalloc(&to, bytes), "cudaMalloc");
  demand(cudaMemset(from, 0x3C, bytes), "cudaMemset");
  cudaEvent_t began{}, ended{};
  demand(cudaEventCreate(&began), "cudaEventCreate");
  demand(cudaEventCreate(&ended), "cudaEventCreate");
  std::array<float, 9> milliseconds{};
  for (float& time : milliseconds) {
    demand(cudaEventRecord(began), "cudaEventRecord");
    demand(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice), "cudaMemcpyAsync");
    demand(cudaEventRecord(ended), "cudaEventRecord");
    demand(cudaEventSynchronize(ended), "cudaEventSynchronize");
    demand(cudaEventElapsedTime(&time, began, ended), "cudaEventElapsedTime");
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  demand(cudaFree(from), "cudaFree");
  demand(cudaFree(to), "cudaFree");
  return 2.0 * double(bytes) / (double(milliseconds[4]) * 1e-3);
}

}  // namespace

int main() try {
  const regimen::cuda::Library library;
  cudaDeviceProp properties{};
  int driver = 0, runtime = 0;
  demand(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  demand(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  demand(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
#if defined(REGIMEN_HAS_CUDNN)
  const std::size_t cudnn = cudnnGetVersion();
#else
  const std::size_t cudnn = 0;
#endif
  std::printf(
      "{\"name\":\"%s\",\"capability\":\"%d.%d\",\"multiprocessors\":%d,\"memory_bytes\":%zu,\"l2_bytes\":%d,"
      "\"core_khz\":%d,\"memory_khz\":%d,\"driver_cuda\":%d,\"runtime\":%d,\"cublaslt\":%zu,\"cudnn\":%zu,"
      "\"copy_gb_per_s\":%.1f}\n",
      properties.name, properties.major, properties.minor, properties.multiProcessorCount, properties.totalGlobalMem,
      properties.l2CacheSize, attribute(cudaDevAttrClockRate), attribute(cudaDevAttrMemoryClockRate), driver, runtime,
      cublasLtGetVersion(), cudnn, copy_bandwidth() * 1e-9);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return bench::exit_code_of(error);
}
// SPDX-License-Identifier: Apache-2.0
