// regimen/engine/cuda/nccl.cuh — collectives of GPUs by NCCL (2.28).
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/engine/cuda/errors.cuh>
#include <regimen/engine/cuda/runtime.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <cuda_runtime.h>
#include <nccl.h>

namespace regimen::cuda::nccl {

/// Of a communicator that does not block: every call returns at once, and ncclCommGetAsyncError says when it has done
/// its work.
struct Connection {
  ncclComm_t communicator = nullptr;
  std::size_t rank = 0;
};

inline std::string version_of(int number) {
  return cuda::detail::version_text(static_cast<std::size_t>(number), 10000) + "." + std::to_string(number % 100);
}

[[gnu::cold]] inline Error error_of(ncclResult_t result, const char* call, ncclComm_t communicator) {
  std::string found = ncclGetErrorString(result);
  if (const char* const more = ncclGetLastError(communicator); more != nullptr && *more != 0)
    found += std::string(": ") + more;
  const char* cure = "with NCCL_DEBUG=WARN the library says more";
  if (result == ncclInvalidUsage)
    cure = "start at most as many ranks on a host as it has GPUs; NCCL_DEBUG=WARN says more";
  if (result == ncclRemoteError) cure = "another rank has failed: see what it reports";
  return {call, "ncclSuccess", found, cure};
}
inline void demand(ncclResult_t result, const char* call, ncclComm_t communicator = nullptr) {
  if (result != ncclSuccess && result != ncclInProgress) throw error_of(result, call, communicator);
}

inline ncclUniqueId make_id() {
  ncclUniqueId id{};
  demand(ncclGetUniqueId(&id), "ncclGetUniqueId");
  return id;
}

constexpr ncclDataType_t type_of(ElementType element) {
  return element == ElementType::float64    ? ncclFloat64
         : element == ElementType::float32  ? ncclFloat32
         : element == ElementType::bfloat16 ? ncclBfloat16
                                            : ncclFloat16;
}

inline bool is_ready(const Connection& connection) {
  ncclResult_t state = ncclSuccess;
  demand(ncclCommGetAsyncError(connection.communicator, &state), "ncclCommGetAsyncError", connection.communicator);
  demand(state, "the connection of the GPUs", connection.communicator);
  return state == ncclSuccess;
}

/// In place: the library copies nothing besides.
inline void collect(const Connection& connection, const Collective& collective, const std::byte* own, std::byte* all,
                    cudaStream_t stream) {
  if (collective.kind == comm::CollectiveKind::ReduceScatter)
    demand(ncclReduceScatter(all, all + connection.rank * collective.bytes, collective.count(),
                             type_of(collective.element), ncclSum, connection.communicator, stream),
           "ncclReduceScatter", connection.communicator);
  else
    demand(ncclAllGather(own, all, collective.bytes, ncclUint8, connection.communicator, stream), "ncclAllGather",
           connection.communicator);
}

/// The communicators of one device.
class Connections final {
 public:
  Connections() = default;
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;
  ~Connections() { close(); }

  Connection connect(const ncclUniqueId& id, std::size_t rank, std::size_t size) {
    int found = 0;
    demand(ncclGetVersion(&found), "ncclGetVersion");
    if (found < 21800)  // ncclConfig_t and non-blocking communicators as they are used here
      throw Error("NCCL", "2.18 or later", version_of(found), "set LD_LIBRARY_PATH to a newer one");
    if (const char* const blocks = std::getenv("NCCL_COMM_BLOCKING"); blocks != nullptr && *blocks == '1')
      throw Error("NCCL_COMM_BLOCKING", "calls that do not wait for other ranks", "1", "unset it");
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    Connection made{.communicator = nullptr, .rank = rank};
    const ncclResult_t result =
        ncclCommInitRankConfig(&made.communicator, static_cast<int>(size), id, static_cast<int>(rank), &config);
    if (made.communicator != nullptr) open_.push_back(made.communicator);
    demand(result, "ncclCommInitRankConfig", made.communicator);
    return made;
  }
  /// The library's kernels end. The library itself waits until no graph uses the communicator, so a thread waits for
  /// it.
  void abort(const Connection& connection) {
    const auto found = std::find(open_.begin(), open_.end(), connection.communicator);
    if (found == open_.end()) return;
    start_abort(*found);
    open_.erase(found);
  }
  bool was_aborted() const { return !aborts_.empty(); }
  /// After all work and all graphs that use them. What the library still sends to others is sent. What does not end is
  /// left behind: an error is on its way to the program, which must not wait for ever.
  void close() {
    const auto until = std::chrono::steady_clock::now() + patience;
    for (const ncclComm_t communicator : open_) {
      (void)ncclCommFinalize(communicator);
      ncclResult_t state = ncclInProgress;
      wait(until,
           [&] { return ncclCommGetAsyncError(communicator, &state) != ncclSuccess || state != ncclInProgress; });
      if (state == ncclSuccess) (void)ncclCommDestroy(communicator);
      else start_abort(communicator);
    }
    open_.clear();
    for (const auto& each : aborts_) wait(until + patience, [&] { return each->load(); });
    aborts_.clear();
  }

  static constexpr std::chrono::seconds patience{10};
  template <class IsOver>
  static bool wait(std::chrono::steady_clock::time_point until, const IsOver& is_over) {
    while (!is_over()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }

 private:
  void start_abort(ncclComm_t communicator) {
    auto ended = std::make_shared<std::atomic<bool>>(false);
    aborts_.push_back(ended);
    std::thread([communicator, ended] {
      (void)ncclCommAbort(communicator);
      ended->store(true);
    }).detach();
  }

  std::vector<ncclComm_t> open_;
  std::vector<std::shared_ptr<std::atomic<bool>>> aborts_;  // whether they have ended
};

/// What must be the same on all ranks.
inline std::string versions() {
  int driver = 0, library = 0;
  (void)cudaDriverGetVersion(&driver);
  (void)ncclGetVersion(&library);
  return "NCCL " + version_of(library) + ", driver for CUDA " +
         cuda::detail::version_text(static_cast<std::size_t>(driver));
}

}  // namespace regimen::cuda::nccl
// SPDX-License-Identifier: Apache-2.0
