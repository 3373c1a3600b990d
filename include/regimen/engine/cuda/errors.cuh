// regimen/engine/cuda/errors.cuh — what CUDA's codes mean, and what to do about them.
#pragma once

#include <regimen/core/error.hpp>

#include <cstddef>
#include <string>

#include <cublasLt.h>
#include <cuda_runtime.h>

namespace regimen::cuda::detail {

/// "13.0" of 13000, where 1000 are a major version, as CUDA counts; cuBLASLt and NCCL count 10000.   major   how many
inline std::string version_text(std::size_t number, std::size_t major = 1000) {
  return std::to_string(number / major) + "." + std::to_string(number % major * 100 / major);
}

/// The compute capability of the current device: "90" of a Hopper; empty without a device.
inline std::string capability() {
  int device = 0, major = 0, minor = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) != cudaSuccess)
    return {};
  return std::to_string(major) + std::to_string(minor);
}

/// `operation`: what was asked for, or what CUDA was asked to do.
[[gnu::cold]] inline Error error_of(cudaError_t status, const std::string& operation) {
  const std::string code = std::string(cudaGetErrorName(status)) + " (" + cudaGetErrorString(status) + ")";
  switch (status) {
    case cudaErrorInsufficientDriver:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice: {
      int driver = 0;
      (void)cudaDriverGetVersion(&driver);
      if (driver == 0)
        return {"Device<Cuda>", "a GPU and its driver", "no driver", "install NVIDIA's driver, or write Device<Cpu>"};
      return {"Device<Cuda>", "a driver for CUDA " + version_text(CUDART_VERSION) + " or later",
              "one for CUDA " + version_text(static_cast<std::size_t>(driver)),
              "install a newer driver, or compile with an older toolkit"};
    }
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
    case cudaErrorStubLibrary:
    case cudaErrorDevicesUnavailable:
      return {"Device<Cuda>", "a GPU that this process may use", code,
              "see `nvidia-smi` and CUDA_VISIBLE_DEVICES, or write Device<Cpu>"};
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorUnsupportedPtxVersion: {
      const std::string here = capability();
      return {operation, "kernels compiled for this GPU" + (here.empty() ? "" : ", sm_" + here), code,
              "compile with CMAKE_CUDA_ARCHITECTURES=" + (here.empty() ? std::string("native") : here)};
    }
    case cudaErrorMemoryAllocation:
      return {operation, "free memory on the GPU", code,
              "choose a smaller batch or Checkpoint<Every<1>>, or see with `nvidia-smi` who else uses it"};
    case cudaErrorInvalidConfiguration:
    case cudaErrorLaunchOutOfResources:
      return {operation, "a launch within the GPU's limits", code,
              "this is a defect of the kernel: report it with the extents of the model"};
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorIllegalInstruction:
    case cudaErrorHardwareStackError:
    case cudaErrorAssert:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
      return {operation, "success of all that was queued before", code,
              "the GPU is lost to this process, which must end; compute-sanitizer names the operation that did it"};
    case cudaErrorECCUncorrectable:
    case cudaErrorContained:
      return {operation, "memory without errors", code,
              "the GPU is lost to this process; its hardware failed: see `nvidia-smi -q -d ECC`"};
    default:
      return {operation, "success", code, "an earlier operation may be the cause; compute-sanitizer names it"};
  }
}
[[gnu::cold]] inline Error error_of(cublasStatus_t status, const std::string& operation) {
  const char* cure = "";
  if (status == CUBLAS_STATUS_NOT_INITIALIZED) cure = "an earlier operation failed, or the GPU's memory is full";
  if (status == CUBLAS_STATUS_ARCH_MISMATCH) cure = "this GPU lacks the element type; choose another Precision";
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) cure = "the program may have been compiled with a newer cuBLASLt";
  return {operation, "success", cublasLtGetStatusName(status), cure};
}

/// Takes the error from CUDA, too, which would give it to the next launch again.
inline void demand(cudaError_t status, const char* operation) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();
  throw error_of(status, operation);
}
inline void demand(cublasStatus_t status, const char* operation) {
  if (status != CUBLAS_STATUS_SUCCESS) throw error_of(status, operation);
}

/// A library of another major version has other structures; `found` and `compiled` as cublasLtGetVersion() counts.
inline void demand_version(const char* library, std::size_t found, std::size_t compiled) {
  constexpr std::size_t major = 10000;
  if (found / major < compiled / major)
    throw Error(library, version_text(compiled, major) + ", with which the program was compiled, or later",
                version_text(found, major), "set LD_LIBRARY_PATH to a newer one, or compile with this one");
}

}  // namespace regimen::cuda::detail
// SPDX-License-Identifier: Apache-2.0
