// tests/device/errors.cu — CUDA's codes as errors that name the operation and what to do. Most need no device.
// compiled for 90a-real
//
// Exit code 77: the texts are right, and there is no device to provoke an error on.
#include <regimen/engine/cuda/library.cuh>

#include <cstdio>
#include <string>

using namespace regimen;
using cuda::detail::error_of;

namespace {

int wrong = 0;
void expect(const Error& error, const char* begin, const char* cure) {
  const std::string text = error.what();
  if (text.rfind(begin, 0) == 0 && text.find(cure) != std::string::npos) return;
  ++wrong;
  std::printf("'%s' does not begin with '%s', or lacks '%s'\n", text.c_str(), begin, cure);
}

template <class F>
void provoke(const char* begin, const char* cure, const F& f) {
  try {
    f();
  } catch (const Error& error) { return expect(error, begin, cure); }
  ++wrong;
  std::printf("no error that begins with '%s'\n", begin);
}

struct Kernel {
  struct Operation {
    static constexpr const char* name = "my_operation";
  } o{};
  static constexpr unsigned threads = 32;
  int* to = nullptr;
  template <class Block>
  REGIMEN_HD void operator()(const Block&) const {
    *to = 1;
  }
};
static_assert(cuda::detail::operation_name<Kernel>() == Kernel::Operation::name);

}  // namespace

int main() {
  expect(error_of(cudaErrorNoDevice, "x"), "Device<Cuda>: expected a GPU that this process may use",
         "CUDA_VISIBLE_DEVICES");
  expect(error_of(cudaErrorNoKernelImageForDevice, "layer_norm"), "layer_norm: expected kernels compiled for this GPU",
         "compile with CMAKE_CUDA_ARCHITECTURES=");
  expect(error_of(cudaErrorMemoryAllocation, "memory for the arena"), "memory for the arena: expected free memory",
         "smaller batch");
  expect(error_of(cudaErrorLaunchOutOfResources, "layer_norm"), "layer_norm: expected a launch within", "report it");
  expect(error_of(cudaErrorIllegalAddress, "cudaEventSynchronize"), "cudaEventSynchronize: expected success of all",
         "lost to this process");
  expect(error_of(CUBLAS_STATUS_NOT_SUPPORTED, "cublasLtMatmul"),
         "cublasLtMatmul: expected success, found CUBLAS_STATUS", "newer cuBLASLt");
  provoke("cuBLASLt: expected 13.1, with which", "LD_LIBRARY_PATH",
          [] { cuda::detail::demand_version("cuBLASLt", 120900, 130100); });
  cuda::detail::demand_version("cuBLASLt", 130000, 130100);  // a minor version less is compatible
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    provoke("Device<Cuda>: expected a GPU and its driver, found no driver; ", "write Device<Cpu>",
            [] { cuda::Library none; });
    if (wrong == 0) std::puts("no CUDA device: what errors say was tested, and none was provoked");
    return wrong == 0 ? 77 : 1;
  }
  cuda::Library library;
  provoke("memory for the arena, ", "smaller batch", [&] { library.allocate(std::size_t{1} << 50, "the arena"); });
  const auto stream = library.make_stream();
  const auto event = library.make_event();
  const auto launches_still = [&](const char* after) {
    try {
      library.launch(cuda::detail::Probe{}, cuda::Grid{}, stream);
    } catch (const Error& error) { ++wrong, std::printf("a launch after %s: %s\n", after, error.what()); }
  };
  provoke("cudaMallocHost: ", "", [&] { library.allocate_pinned(std::size_t{1} << 50, "a copy"); });
  launches_still("an error that the program has caught");
  constexpr std::size_t bytes = std::size_t{256} << 20;
  std::byte* const some = library.allocate(bytes, "fills");
  for (int i = 0; i < 64; ++i) library.fill(some, i, bytes, stream);
  library.record(event, stream);
  if (library.is_done(event)) std::puts("fills were done too soon to see what a query of their end leaves behind");
  launches_still("a query of work that is not done");
  provoke("my_operation: ", "", [&] { library.launch(Kernel{}, cuda::Grid{.blocks = 1, .threads = 4096}, stream); });
  provoke("cudaEventSynchronize: expected success of all", "lost to this process",
          [&] {  // last, as nothing works after it
            library.launch(Kernel{}, cuda::Grid{}, stream);
            library.record(event, stream);
            library.synchronize(event);
          });
  return wrong == 0 ? 0 : 1;
}
// SPDX-License-Identifier: Apache-2.0
