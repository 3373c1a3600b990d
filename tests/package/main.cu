// What a consumer with a GPU gets: the CUDA engine's runtime, cuBLASLt and, as the macro promises, cuDNN; of no other
// component is there anything. It starts on a machine without a driver.
#include <regimen/core/error.hpp>
#include <regimen/engine/cuda/library.cuh>

#include <cstdio>
#include <cstring>
#if defined(REGIMEN_HAS_CUDNN)
#include <cudnn.h>
#endif
#if !defined(REGIMEN_HAS_CUDA)
#error "regimen::cuda defines REGIMEN_HAS_CUDA"
#endif
#if defined(REGIMEN_HAS_NCCL) || defined(REGIMEN_HAS_MPI) || defined(REGIMEN_HAS_JPEG) || defined(REGIMEN_HAS_PCRE2)
#error "regimen::cuda brings another component"
#endif

int main() {
  bool right = cublasLtGetVersion() > 0;
#if defined(REGIMEN_HAS_CUDNN)
  right = right && cudnnGetVersion() / 10000 == CUDNN_MAJOR;
#endif
  try {
    regimen::cuda::Library library;
    std::puts(library.describe().c_str());
  } catch (const regimen::Error& error) {
    std::puts(error.what());
    right = right && std::strstr(error.what(), "Device<Cuda>: expected a GPU") == error.what();
  }
  return right ? 0 : 1;
}
