// regimen/service/serve.hpp — a worker of the data service: computes samples for trainers on other machines.
#pragma once

#include <regimen/data/rules.hpp>
#include <regimen/data/source.hpp>
#include <regimen/service/detail/host.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace regimen::rule {

/// The worker's program gives the shape of its samples; a trainer cannot choose it.
///
///   count   shapes that the worker is given
///
/// docs/errors/trainers.md#worker_is_told_shape
template <class S, std::size_t count>
struct worker_is_told_shape {
  static constexpr bool holds = count == 1;
  struct must_hold {
    static_assert(
        holds, "regimen: a worker is told the shape of its samples; give it Trainer::sample_shape() after the source");
  };
};

}  // namespace regimen::rule

namespace regimen::data {

/// Serves the samples of a source while it lives. It keeps nothing between two requests: a worker may be killed,
/// started again or moved at any time, and may serve any number of trainers.
///
///   data::Server<Train::Input, Train::Label> server(source, Train::sample_shape(), {.port = 7000});
///   std::printf("serving at port %d\n", server.port());
///   server.wait();
///
///   shape   of the samples. A trainer that wants another shape is refused: a stranger never decides the extents that
///           the source writes
///
/// failure  the constructor throws Error if the port is taken, and rethrows an exception of the source at its first,
///          middle or last sample, which it reads. wait() rethrows the exception that ended the service. An error of
///          the source goes to the trainer, which reports it. A trainer that breaks the protocol, or is too slow, is
///          disconnected
/// forks    a fork of its process has none of its threads: in the fork wait() and stop() throw Error, and the
///          destructor closes the fork's copy of the listening socket. The process that made the Server continues to
///          serve; if it ends before the fork, port and connections stay taken until the fork ends, too, or starts
///          another program
/// cost     .memory for answers, and 7 KiB a connection; .workers + 2 threads
template <class In, class Label>
class Server final {
 public:
  template <class S>
  Server(S source, const SampleShape& shape, const ServeOptions& options = {})
      : host_(new service::Host(hide(std::move(source)), service::extents_of<In, Label>(shape), options)) {
    static_assert(sizeof(typename rule::source_writes_samples<S, In, Label>::must_hold));
  }
  template <class S>
  explicit Server(const S&, const ServeOptions& = {}) : host_(nullptr) {
    static_assert(sizeof(typename rule::worker_is_told_shape<S, 0>::must_hold));
  }

  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// The port at which it listens.
  std::uint16_t port() const { return host_->port(); }
  /// The number of samples that it has sent.
  std::uint64_t samples() const { return host_->samples(); }
  /// Returns after stop(), which any thread may call.
  void wait() { host_->wait(); }
  void stop() { host_->stop(); }

 private:
  template <class S>
  static std::unique_ptr<const service::Samples> hide(S source) {
    if constexpr (Source<S, In, Label>) return std::make_unique<service::SamplesOf<In, Label, S>>(std::move(source));
    else return nullptr;  // refused above
  }

  const std::unique_ptr<service::Host, service::Host::Delete> host_;
};

/// A whole worker program: serves until it is killed.
///
///   int main() {
///     data::serve<float, std::int32_t>(images | data::samples(write), Train::sample_shape(), {.port = 7000});
///   }
template <class In, class Label, class S>
void serve(S source, const SampleShape& shape, const ServeOptions& options = {}) {
  Server<In, Label>(std::move(source), shape, options).wait();
}
template <class In, class Label, class S>
void serve(const S&, const ServeOptions& = {}) {
  static_assert(sizeof(typename rule::worker_is_told_shape<S, 0>::must_hold));
}

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
