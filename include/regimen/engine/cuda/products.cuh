// regimen/engine/cuda/products.cuh — products by cuBLASLt.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/engine/cuda/errors.cuh>
#include <regimen/engine/cuda/runtime.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <cublasLt.h>
#include <cuda_runtime.h>

namespace regimen::cuda {

namespace detail {

constexpr cudaDataType_t library_type(ElementType type) {
  return type == ElementType::float64    ? CUDA_R_64F
         : type == ElementType::float32  ? CUDA_R_32F
         : type == ElementType::bfloat16 ? CUDA_R_16BF
                                         : CUDA_R_16F;
}

constexpr cublasLtEpilogue_t library_epilogue(Epilogue epilogue) {
  return epilogue == Epilogue::bias            ? CUBLASLT_EPILOGUE_BIAS
         : epilogue == Epilogue::gelu_bias     ? CUBLASLT_EPILOGUE_GELU_BIAS
         : epilogue == Epilogue::gelu_aux_bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS
         : epilogue == Epilogue::dgelu         ? CUBLASLT_EPILOGUE_DGELU
                                               : CUBLASLT_EPILOGUE_DEFAULT;
}

/// A descriptor of the library, destroyed with its owner.   name   of set_attribute
template <class T, cublasStatus_t (*destroy)(T), auto set_attribute, const char* name>
class LibraryHandle final {
 public:
  LibraryHandle() = default;
  LibraryHandle(LibraryHandle&& other) noexcept : made_(std::exchange(other.made_, nullptr)) {}
  ~LibraryHandle() {
    if (made_ != nullptr) destroy(made_);
  }
  T* put() { return &made_; }
  T get() const { return made_; }
  template <class Attribute, class Value>
  void set(Attribute attribute, const Value& value) const {
    demand(set_attribute(made_, attribute, &value, sizeof value), name);
  }

 private:
  T made_ = nullptr;
};
inline constexpr char set_of_layout[] = "cublasLtMatrixLayoutSetAttribute",
                      set_of_operation[] = "cublasLtMatmulDescSetAttribute",
                      set_of_preference[] = "cublasLtMatmulPreferenceSetAttribute";
using LayoutHandle =
    LibraryHandle<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy, cublasLtMatrixLayoutSetAttribute, set_of_layout>;
using OperationHandle =
    LibraryHandle<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy, cublasLtMatmulDescSetAttribute, set_of_operation>;
using PreferenceHandle = LibraryHandle<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy,
                                       cublasLtMatmulPreferenceSetAttribute, set_of_preference>;

}  // namespace detail

/// Descriptors of a product, and the algorithm that the library's heuristic named first.
struct LibraryProduct {
  ProductDescriptor descriptor{};
  detail::OperationHandle operation{};
  detail::LayoutHandle a{}, b{}, d{};
  cublasLtMatmulAlgo_t algorithm{};
};

/// What a cuda::Runtime does of products.
class Products final {
 public:
  Products() {
    detail::demand_version("cuBLASLt", cublasLtGetVersion(), CUBLAS_VERSION);
    detail::demand(cublasLtCreate(&handle_), "cublasLtCreate");
  }
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;
  ~Products() { cublasLtDestroy(handle_); }

  /// The descriptors of D = op(A) · op(B) + beta · C with an epilogue, and the library's algorithm for them. Sums are
  /// in fp32, or in fp64 if the descriptor is wide; A and B of fp32 are read as tf32 only where it asks for this. An
  /// Error, if the library has no algorithm within the workspace.
  LibraryProduct make(const ProductDescriptor& descriptor) {
    LibraryProduct made;
    made.descriptor = descriptor;
    const cublasComputeType_t compute = descriptor.wide         ? CUBLAS_COMPUTE_64F
                                        : descriptor.reads_tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                                : CUBLAS_COMPUTE_32F;
    detail::demand(cublasLtMatmulDescCreate(made.operation.put(), compute, descriptor.wide ? CUDA_R_64F : CUDA_R_32F),
                   "cublasLtMatmulDescCreate");
    const cublasOperation_t transpose = CUBLAS_OP_T;
    if (descriptor.transpose_a) made.operation.set(CUBLASLT_MATMUL_DESC_TRANSA, transpose);
    if (descriptor.transpose_b) made.operation.set(CUBLASLT_MATMUL_DESC_TRANSB, transpose);
    if (descriptor.epilogue != Epilogue::none)
      made.operation.set(CUBLASLT_MATMUL_DESC_EPILOGUE, detail::library_epilogue(descriptor.epilogue));
    // The heuristic looks at the addresses, which the product of each layer has its own of.
    if (reads_bias(descriptor.epilogue))
      made.operation.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                         reinterpret_cast<const void*>(std::uintptr_t{descriptor.bias_alignment}));
    if (has_aux(descriptor.epilogue)) {
      made.operation.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER,
                         reinterpret_cast<const void*>(std::uintptr_t{descriptor.aux_alignment}));
      made.operation.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, descriptor.aux_leading);
    }
    describe_layout(made.a, descriptor.a);
    describe_layout(made.b, descriptor.b);
    describe_layout(made.d, descriptor.d);
    detail::PreferenceHandle preference;
    detail::demand(cublasLtMatmulPreferenceCreate(preference.put()), "cublasLtMatmulPreferenceCreate");
    preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, descriptor.workspace);
    // Sums that are cut along k are joined in the type in which they were made: by default also in that of D, 16 bits.
    preference.set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                   static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, descriptor.a.alignment);
    preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, descriptor.b.alignment);
    preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                   descriptor.c_alignment > 0 ? descriptor.c_alignment : descriptor.d.alignment);
    preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, descriptor.d.alignment);
    // The best first. Only those in which the library found no fault have an algorithm.
    std::array<cublasLtMatmulHeuristicResult_t, 8> results{};
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle_, made.operation.get(), made.a.get(), made.b.get(), made.d.get(), made.d.get(), preference.get(),
        static_cast<int>(results.size()), results.data(), &found);
    if (status != CUBLAS_STATUS_NOT_SUPPORTED) detail::demand(status, "cublasLtMatmulAlgoGetHeuristic");
    const auto end = results.begin() + (status == CUBLAS_STATUS_SUCCESS ? found : 0);
    const auto best = std::find_if(results.begin(), end, [&](const cublasLtMatmulHeuristicResult_t& result) {
      return result.state == CUBLAS_STATUS_SUCCESS && result.workspaceSize <= descriptor.workspace;
    });
    if (best == end) {
      const bool is_plain = descriptor.epilogue == Epilogue::none;
      throw Error(is_plain ? "a product" : "a product with an epilogue", "an algorithm of cuBLASLt",
                  "none for " + description(descriptor), is_plain ? "" : "write Epilogue<Separate>");
    }
    made.algorithm = best->algo;
    return made;
  }
  /// The factors are the host's, which a graph keeps: they never change for one product of a step. C has D's layout.
  void multiply(const LibraryProduct& product, const ProductTensors& t, double beta, std::byte* scratch,
                cudaStream_t stream) {
    if (reads_bias(product.descriptor.epilogue)) product.operation.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, t.bias);
    if (has_aux(product.descriptor.epilogue)) product.operation.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, t.aux);
    const double wide_one = 1, wide_beta = beta;
    const float one = 1, narrow_beta = static_cast<float>(beta);
    const bool wide = product.descriptor.wide;
    detail::demand(cublasLtMatmul(handle_, product.operation.get(), wide ? static_cast<const void*>(&wide_one) : &one,
                                  t.a, product.a.get(), t.b, product.b.get(),
                                  wide ? static_cast<const void*>(&wide_beta) : &narrow_beta,
                                  t.c != nullptr ? t.c : t.d, product.d.get(), t.d, product.d.get(), &product.algorithm,
                                  scratch, product.descriptor.workspace, stream),
                   "cublasLtMatmul");
  }

 private:
  /// Matrices, transposes and alignments, for an Error: what the heuristic decides by.
  static std::string description(const ProductDescriptor& p) {
    const auto matrix = [](const char* name, const Layout& l) {
      return std::string(name) + " (" + std::to_string(l.rows) + "," + std::to_string(l.columns) +
             ") with a leading dimension of " + std::to_string(l.leading) + " at multiples of " +
             std::to_string(l.alignment) + " bytes";
    };
    return matrix("A", p.a) + (p.transpose_a ? ", transposed, " : ", ") + matrix("B", p.b) +
           (p.transpose_b ? ", transposed, " : ", ") + matrix("D", p.d);
  }
  /// Column-major matrices; several of them lie a stride apart.
  static void describe_layout(detail::LayoutHandle& made, const Layout& layout) {
    detail::demand(cublasLtMatrixLayoutCreate(made.put(), detail::library_type(layout.type), layout.rows,
                                              layout.columns, layout.leading),
                   "cublasLtMatrixLayoutCreate");
    if (layout.count == 1) return;
    made.set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, layout.count);
    made.set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, layout.stride);
  }

  cublasLtHandle_t handle_ = nullptr;
};

}  // namespace regimen::cuda
// SPDX-License-Identifier: Apache-2.0
