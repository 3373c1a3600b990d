// regimen/engine/cuda/cudnn_handle.cuh — a handle of cuDNN 9: it chooses a plan for a graph, and runs it.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/engine/cuda/cudnn_descriptor.cuh>
#include <regimen/engine/cuda/errors.cuh>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <cudnn.h>

namespace regimen::cuda::cudnn {

/// What cuDNN has compiled. The last descriptor is the plan; the others are what it was made of.
using Plan = std::vector<Descriptor>;

/// What the library says about the numbers of an engine.
class Notes final {
 public:
  explicit Notes(Raw configuration) {
    const Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    Raw at = engine.get();
    std::int64_t single = 1;
    demand(cudnnBackendGetAttribute(configuration, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                                    &single, &at),
           "cudnnBackendGetAttribute");
    demand(cudnnBackendGetAttribute(engine.get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                    CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count_, all_.data()),
           "cudnnBackendGetAttribute");
  }
  bool has(cudnnBackendNumericalNote_t note) const {
    for (std::int64_t i = 0; i < count_; ++i)
      if (all_[static_cast<std::size_t>(i)] == note) return true;
    return false;
  }

 private:
  std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> all_{};
  std::int64_t count_ = 0;
};

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

  static bool any_engine(Raw) { return true; }
  /// For the error that there is no plan.
  struct Words {
    const char *who, *cure;
  };
  /// The first plan of the library's heuristic, then of its fallbacks, that admits(configuration) and whose workspace
  /// fits. It may have to compile kernels, which takes a second.
  template <class Admits>
  Plan choose(const std::vector<Raw>& operations, std::size_t workspace, const Admits& admits, const Words& words) {
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
        std::int64_t bytes = 0, single = 1;
        demand(cudnnBackendGetAttribute(plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                                        &single, &bytes),
               "cudnnBackendGetAttribute");
        if (static_cast<std::size_t>(bytes) <= workspace) {
          held.push_back(std::move(plan));
          return held;
        }
        least = least < 0 || bytes < least ? bytes : least;
      }
    }
    throw Error(words.who, "a kernel of cuDNN for this GPU within " + std::to_string(workspace) + " bytes",
                least < 0 ? std::string("none") : "one that needs " + std::to_string(least), words.cure);
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
    std::int64_t count = 0;
    demand(cudnnBackendGetAttribute(asked, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count,
                                    nullptr),
           "cudnnBackendGetAttribute");
    std::vector<Raw> all;
    for (std::int64_t i = 0; i < count; ++i) all.push_back(held.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
    demand(cudnnBackendGetAttribute(asked, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &count,
                                    all.data()),
           "cudnnBackendGetAttribute");
    all.resize(static_cast<std::size_t>(count));  // those that this GPU has: fewer than were announced
    return all;
  }

  cudnnHandle_t handle_ = nullptr;
};

}  // namespace regimen::cuda::cudnn
// SPDX-License-Identifier: Apache-2.0
