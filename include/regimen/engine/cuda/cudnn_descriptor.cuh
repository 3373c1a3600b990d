// regimen/engine/cuda/cudnn_descriptor.cuh — descriptors of cuDNN's C interface, their attributes and errors.
#pragma once

#include <regimen/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <cudnn.h>

namespace regimen::cuda::cudnn {

inline void demand(cudnnStatus_t status, const char* call) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char text[1024] = "";
  cudnnGetLastErrorString(text, sizeof text);
  throw Error(call, "success", std::string(cudnnGetErrorString(status)) + " (" + text + ")");
}

using Raw = cudnnBackendDescriptor_t;
using Extents = std::vector<std::int64_t>;

/// The element type of an attribute, as the library names it.
template <class T>
inline constexpr cudnnBackendAttributeType_t attribute_type = CUDNN_TYPE_INT64;
template <>
inline constexpr cudnnBackendAttributeType_t attribute_type<Raw> = CUDNN_TYPE_BACKEND_DESCRIPTOR;
template <>
inline constexpr cudnnBackendAttributeType_t attribute_type<bool> = CUDNN_TYPE_BOOLEAN;
template <>
inline constexpr cudnnBackendAttributeType_t attribute_type<cudnnHandle_t> = CUDNN_TYPE_HANDLE;
template <>
inline constexpr cudnnBackendAttributeType_t attribute_type<cudnnDataType_t> = CUDNN_TYPE_DATA_TYPE;
template <>
inline constexpr cudnnBackendAttributeType_t attribute_type<cudnnPointwiseMode_t> = CUDNN_TYPE_POINTWISE_MODE;
template <>
inline constexpr cudnnBackendAttributeType_t attribute_type<cudnnReduceTensorOp_t> = CUDNN_TYPE_REDUCTION_OPERATOR_TYPE;
template <>
inline constexpr cudnnBackendAttributeType_t attribute_type<double> = CUDNN_TYPE_DOUBLE;
template <>
inline constexpr cudnnBackendAttributeType_t attribute_type<cudnnRngDistribution_t> = CUDNN_TYPE_RNG_DISTRIBUTION;
template <>
inline constexpr cudnnBackendAttributeType_t attribute_type<cudnnBackendHeurMode_t> = CUDNN_TYPE_HEUR_MODE;

/// A descriptor of the library, destroyed with its owner.
class Descriptor final {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    demand(cudnnBackendCreateDescriptor(type, &made_), "cudnnBackendCreateDescriptor");
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor(Descriptor&& other) noexcept : made_(std::exchange(other.made_, nullptr)) {}
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (made_ != nullptr) cudnnBackendDestroyDescriptor(made_);
  }
  template <class T>
  Descriptor& set(cudnnBackendAttributeName_t name, const T& value) {
    return set_all(name, &value, 1);
  }
  template <class T>
  Descriptor& set(cudnnBackendAttributeName_t name, const std::vector<T>& values) {
    return set_all(name, values.data(), values.size());
  }
  /// Device addresses, whose type is that of descriptors.
  Descriptor& set_addresses(cudnnBackendAttributeName_t name, const std::vector<void*>& values) {
    demand(cudnnBackendSetAttribute(made_, name, CUDNN_TYPE_VOID_PTR, static_cast<std::int64_t>(values.size()),
                                    values.data()),
           "cudnnBackendSetAttribute");
    return *this;
  }
  Descriptor& finish(const char* what) {
    demand(cudnnBackendFinalize(made_), what);
    return *this;
  }
  bool can_finish() { return cudnnBackendFinalize(made_) == CUDNN_STATUS_SUCCESS; }
  Raw get() const { return made_; }

 private:
  template <class T>
  Descriptor& set_all(cudnnBackendAttributeName_t name, const T* values, std::size_t count) {
    demand(cudnnBackendSetAttribute(made_, name, attribute_type<T>, static_cast<std::int64_t>(count), values),
           "cudnnBackendSetAttribute");
    return *this;
  }
  Raw made_ = nullptr;
};

}  // namespace regimen::cuda::cudnn
// SPDX-License-Identifier: Apache-2.0
