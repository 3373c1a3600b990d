// regimen/service/detail/remote_options.hpp — how a trainer reaches workers of the data service, and its facts of each.
#pragma once

#include <regimen/comm/peer_error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace regimen::data {

struct RemoteOptions {
  std::optional<std::string> secret{};  // as REGIMEN_SECRET, which counts if this is not given: the workers' own
  std::size_t chunk = 0;                // samples that are asked for at once; 0: few enough that all workers have some
  std::size_t depth = 0;                // such requests in flight to a worker; 0: two more than its threads
  comm::Deadline deadline = std::chrono::seconds(30);  // for one answer; then the worker is given up, and called again
  comm::Deadline patience = std::chrono::seconds(60);  // without any sample that is waited for, before an error
  bool says = true;  // which workers are lost, and when they are back, on standard error
};

/// A worker as a trainer sees it.
struct RemoteWorker final {
  std::string address;
  bool is_connected = false;
  std::uint64_t samples = 0;  // that it has sent
  std::string reason;         // why it was lost, or could not be reached, the last time
};

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
