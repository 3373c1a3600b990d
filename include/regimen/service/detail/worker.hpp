// regimen/service/detail/worker.hpp — a worker as the trainer that calls it keeps it.
#pragma once

#include <regimen/service/detail/frame.hpp>
#include <regimen/service/detail/line.hpp>
#include <regimen/service/detail/part.hpp>

#include <cstdint>
#include <exception>
#include <string>
#include <thread>

namespace regimen::data::service {

/// A part that a worker was asked for.
struct Flight {
  std::uint32_t number = 0;
  Part part;
};

/// A worker, and the thread that speaks with it. From was_called on guarded.
struct Worker {
  explicit Worker(const std::string& address) : line(address) {}
  Line line;
  std::thread thread;
  bool was_called = false, is_up = false;
  bool is_cut = false;  // by this trainer, whose patience is over
  std::uint64_t samples = 0;
  std::string reason;
  std::string blame;           // the reason, if it has sent nothing since
  std::exception_ptr refusal;  // a worker that will not do, however often it is called
  PipelineFacts opened;

  std::string words() const { return line.address() + ": " + (blame.empty() ? "no answer so far" : blame); }
};

}  // namespace regimen::data::service
// SPDX-License-Identifier: Apache-2.0
