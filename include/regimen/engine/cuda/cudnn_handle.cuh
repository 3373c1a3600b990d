// regimen/engine/cuda/cudnn_handle.cuh — a handle of cuDNN 9: it chooses a plan for a graph, and runs it.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/engine/cuda/cudnn_descriptor.cuh>
#include <regimen/engine/cuda/errors.cuh>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <cudnn.h>

namespace regimen::cuda::cudnn {

/// What cuDNN has compiled. The last descriptor is the plan; the others are what it was made of.
using Plan = std::vector<Descriptor>;

/// The handle of one thread's current device.
class Handle final {
 public:
  Handle() {
    cuda::detail::demand_version("cuDNN", cudnnGetVersion(), CUDNN_VERSION);
    demand(cudnnCreate(&handle_), "cudnnCreate");
  }
  Handle(const Handle&) = delete;
  ~Handle() {
    if (handle_ != nullptr) cudnnDestroy(handle_);
  }

  /// The first plan of the library's heuristic, then of its fallbacks, that admits(configuration) and whose workspace
  /// fits. It may have to compile kernels, which takes a second.   who, cure   for the error that there is none
  template <class Admits>
  Plan choose(const std::vector<Raw>& operations, std::size_t workspace, const Admits& admits, const char* who,
              const char* cure) {
    Plan held;
    const Raw whole = held.emplace_back(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)
                          .set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations)
                          .set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle_)
                          .finish("a graph of cuDNN")
                          .get();
    std::int64_t least = -1;
    for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
      for (const Raw configuration : found(held, whole, mode)) {
        if (!admits(configuration)) continue;
        Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
        plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle_).set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
        if (!plan.can_finish()) continue;
        std::int64_t bytes = 0;
        (void)read_attribute(plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 1, &bytes);
        if (static_cast<std::size_t>(bytes) <= workspace) {
          held.push_back(std::move(plan));
          return held;
        }
        least = least < 0 || bytes < least ? bytes : least;
      }
    }
    throw Error(who, "a kernel of cuDNN for this GPU within " + std::to_string(workspace) + " bytes",
                least < 0 ? std::string("none") : "one that needs " + std::to_string(least), cure);
  }

  /// By names, the tensors' addresses.
  void run(const Plan& plan, const Extents& names, const std::vector<void*>& places, std::byte* scratch,
           cudaStream_t stream) {
    demand(cudnnSetStream(handle_, stream), "cudnnSetStream");
    Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set_addresses(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, places)
        .set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, names)
        .set_addresses(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, {scratch})
        .finish("the tensors of cuDNN");
    demand(cudnnBackendExecute(handle_, plan.back().get(), pack.get()), "cudnnBackendExecute");
  }

 private:
  /// What a heuristic proposes, best first; none where it has nothing for the graph.
  static std::vector<Raw> found(Plan& held, Raw graph, cudnnBackendHeurMode_t mode) {
    Descriptor& heuristic = held.emplace_back(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph).set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
    if (!heuristic.can_finish()) return {};
    const Raw asked = heuristic.get();
    std::vector<Raw> all(read_attribute<Raw>(asked, CUDNN_ATTR_ENGINEHEUR_RESULTS, 0, nullptr));
    for (Raw& each : all) each = held.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get();
    // Those that this GPU has: fewer than were announced.
    all.resize(read_attribute(asked, CUDNN_ATTR_ENGINEHEUR_RESULTS, all.size(), all.data()));
    return all;
  }

  cudnnHandle_t handle_ = nullptr;
};

}  // namespace regimen::cuda::cudnn
// SPDX-License-Identifier: Apache-2.0
