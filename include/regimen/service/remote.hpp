// regimen/service/remote.hpp — a source whose samples workers on other machines compute.
#pragma once

#include <regimen/data/source.hpp>
#include <regimen/service/detail/pool.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace regimen::data {

/// A source for fit, evaluate and Loader, whose samples come from workers (service/serve.hpp) that serve one pipeline.
///
///   data::Remote<Train::Input, Train::Label> remote({"10.0.0.7:7000", "10.0.0.8:7000"});
///   trainer.fit(remote, {.epochs = 5, .workers = 4});     // threads that wait: four batches are on their way
///
/// A sample is a function of its key, so batches from any worker have the bits of the pipeline on this machine. If a
/// worker is lost, the source asks other workers for the samples that it has not sent, and calls it again at intervals
/// of 50 ms to 5 s. With a source `local` this machine computes the samples that no worker can compute, or sends within
/// .patience.
///
///   In, Label   the types of the workers' samples: Trainer::Input and Trainer::Label
///   addresses   host:port of each worker
///
/// Copies share connections: one to each worker. Every rank has its own Remote. A Remote serves one model's shape.
///
/// failure  size() throws Error if no worker can be reached within .patience; if a worker knows another secret, serves
///          other types or another shape; and if two workers serve pipelines that differ in name, size, or the
///          first, middle or last sample, naming both. Later, read() throws Error if no sample has come for .patience,
///          with the reason of each worker, or if the source of every worker fails at a sample
/// cost     no memory for samples: answers are written into the loader's batches, whose keys are 24 bytes a sample. A
///          thread for each worker. A sample takes the bytes of its elements on the wire (fewer with
///          service/unpacked.hpp)
template <class In, class Label>
class Remote final {
 public:
  explicit Remote(const std::vector<std::string>& addresses, const RemoteOptions& options = {})
      : pool_(make(addresses, options, nullptr)) {}
  template <Source<In, Label> S>
  Remote(const std::vector<std::string>& addresses, const RemoteOptions& options, S local)
      : pool_(make(addresses, options, std::make_unique<service::SamplesOf<In, Label, S>>(std::move(local)))) {}

  std::size_t size(const SampleShape& shape) const { return pool_->size(service::extents_of<In, Label>(shape)); }
  std::string name() const { return pool_->name(); }
  void read(const Key& key, Sample<In, Label> sample) const { read(std::span<const Key>(&key, 1), sample); }
  void read(std::span<const Key> keys, Sample<In, Label> samples) const {
    if (keys.empty()) return;
    pool_->read(keys, reinterpret_cast<std::byte*>(samples.input.data()), samples.input.size_bytes(),
                reinterpret_cast<std::byte*>(samples.target.data()), samples.target.size_bytes());
  }
  /// For each worker: whether it is connected, how many samples it has sent, why it was lost.
  std::vector<RemoteWorker> workers() const { return pool_->workers(); }

 private:
  static std::shared_ptr<service::Pool> make(const std::vector<std::string>& addresses, const RemoteOptions& options,
                                             std::unique_ptr<const service::Samples> local) {
    return {new service::Pool(addresses, options, service::words_of_types<In, Label>(), std::move(local)),
            service::Pool::Delete{}};
  }

  std::shared_ptr<service::Pool> pool_;
};

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
