// regimen/engine/cuda/cudnn_descriptor.cuh — descriptors of cuDNN's C interface, their attributes and errors; tensors
// and operations of a graph.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/number.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
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
inline constexpr cudnnBackendAttributeType_t attribute_type =
    std::is_same_v<T, Raw>                           ? CUDNN_TYPE_BACKEND_DESCRIPTOR
    : std::is_same_v<T, bool>                        ? CUDNN_TYPE_BOOLEAN
    : std::is_same_v<T, float>                       ? CUDNN_TYPE_FLOAT
    : std::is_same_v<T, double>                      ? CUDNN_TYPE_DOUBLE
    : std::is_same_v<T, cudnnHandle_t>               ? CUDNN_TYPE_HANDLE
    : std::is_same_v<T, cudnnDataType_t>             ? CUDNN_TYPE_DATA_TYPE
    : std::is_same_v<T, cudnnPointwiseMode_t>        ? CUDNN_TYPE_POINTWISE_MODE
    : std::is_same_v<T, cudnnReduceTensorOp_t>       ? CUDNN_TYPE_REDUCTION_OPERATOR_TYPE
    : std::is_same_v<T, cudnnConvolutionMode_t>      ? CUDNN_TYPE_CONVOLUTION_MODE
    : std::is_same_v<T, cudnnRngDistribution_t>      ? CUDNN_TYPE_RNG_DISTRIBUTION
    : std::is_same_v<T, cudnnBackendHeurMode_t>      ? CUDNN_TYPE_HEUR_MODE
    : std::is_same_v<T, cudnnBackendNumericalNote_t> ? CUDNN_TYPE_NUMERICAL_NOTE
                                                     : CUDNN_TYPE_INT64;

/// A descriptor of the library, destroyed with its owner.
class Descriptor final {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    demand(cudnnBackendCreateDescriptor(type, &made_), "cudnnBackendCreateDescriptor");
  }
  Descriptor(Descriptor&& other) noexcept : made_(std::exchange(other.made_, nullptr)) {}
  ~Descriptor() {
    if (made_ != nullptr) cudnnBackendDestroyDescriptor(made_);
  }
  template <class T>
  Descriptor& set(cudnnBackendAttributeName_t name, const T& value) {
    return set_all(name, attribute_type<T>, &value, 1);
  }
  template <class T>
  Descriptor& set(cudnnBackendAttributeName_t name, const std::vector<T>& values) {
    return set_all(name, attribute_type<T>, values.data(), values.size());
  }
  /// Device addresses, whose type is that of descriptors.
  Descriptor& set_addresses(cudnnBackendAttributeName_t name, const std::vector<void*>& values) {
    return set_all(name, CUDNN_TYPE_VOID_PTR, values.data(), values.size());
  }
  Descriptor& finish(const char* what) {
    demand(cudnnBackendFinalize(made_), what);
    return *this;
  }
  bool can_finish() { return cudnnBackendFinalize(made_) == CUDNN_STATUS_SUCCESS; }
  Raw get() const { return made_; }

 private:
  Descriptor& set_all(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const void* values,
                      std::size_t count) {
    demand(cudnnBackendSetAttribute(made_, name, type, static_cast<std::int64_t>(count), values),
           "cudnnBackendSetAttribute");
    return *this;
  }
  Raw made_ = nullptr;
};

/// Reads at most so many values of an attribute; returns how many there are.
template <class T>
std::size_t read_attribute(Raw from, cudnnBackendAttributeName_t name, std::size_t most, T* values) {
  std::int64_t count = 0;
  demand(cudnnBackendGetAttribute(from, name, attribute_type<T>, static_cast<std::int64_t>(most), &count, values),
         "cudnnBackendGetAttribute");
  return static_cast<std::size_t>(count);
}

constexpr cudnnDataType_t type_of(ElementType type) {
  return type == ElementType::bfloat16  ? CUDNN_DATA_BFLOAT16
         : type == ElementType::float16 ? CUDNN_DATA_HALF
         : type == ElementType::float32 ? CUDNN_DATA_FLOAT
                                        : CUDNN_DATA_DOUBLE;
}

/// The operations of a graph, and all that they are made of.
class Operations {
 public:
  Operations() = default;
  Operations(const Operations&) = delete;
  const std::vector<Raw>& operations() const { return operations_; }

  Descriptor& make(cudnnBackendDescriptorType_t type) {
    return *held_.emplace_back(std::make_unique<Descriptor>(type));
  }
  Raw add(Descriptor& operation, Raw result) {
    operations_.push_back(operation.finish("an operation of cuDNN").get());
    return result;
  }
  /// A tensor that begins at a multiple of `alignment` bytes; or one that no memory holds, or a number of the host.
  Raw tensor(std::int64_t name, cudnnDataType_t type, const Extents& extents, const Extents& strides,
             bool is_inner = false, bool by_value = false, std::int64_t alignment = 16) {
    Descriptor& made = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, name)
        .set(CUDNN_ATTR_TENSOR_DATA_TYPE, type)
        .set(CUDNN_ATTR_TENSOR_DIMENSIONS, extents)
        .set(CUDNN_ATTR_TENSOR_STRIDES, strides)
        .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, alignment);
    if (is_inner) made.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
    if (by_value) made.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, true);
    return made.finish("a tensor of cuDNN").get();
  }

 private:
  std::vector<std::unique_ptr<Descriptor>> held_;
  std::vector<Raw> operations_;
};

}  // namespace regimen::cuda::cudnn
// SPDX-License-Identifier: Apache-2.0
