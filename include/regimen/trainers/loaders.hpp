// regimen/trainers/loaders.hpp — the loaders of a Trainer: their source, and their batches of it.
#pragma once

#include <regimen/core/philox.hpp>
#include <regimen/data/loader.hpp>
#include <regimen/trainers/options.hpp>

#include <cstddef>
#include <string>

namespace regimen::trainers {

/// A reference to the program's source: a Loader holds its source by value, and copies may be large.
template <class Source>
struct SourceReference final {
  const Source* source;

  std::size_t size(const SampleShape& shape) const { return source->size(shape); }
  /// Reads by index, by key, or by keys: whichever of these the source has.
  template <class Which, class In, class Label>
    requires requires(const Source& s, const Which& which, Sample<In, Label> sample) { s.read(which, sample); }
  void read(const Which& which, Sample<In, Label> sample) const {
    source->read(which, sample);
  }
  std::string name() const { return detail::name_of_source(*source); }
};

/// The options of a loader that gives the micro-batches from the session's place on.
template <class Session>
LoaderOptions loader_options(const Session& session, const FitOptions& run) {
  return {.batch = Session::batch,
          .order = run.order,
          .remainder = run.remainder,
          .seed = Philox::mix(session.seed, 0xDA7A),
          .first = session.position.place,
          .epochs = run.epochs,
          .workers = run.workers,
          .ahead = run.ahead,
          .rank = session.rank(),
          .ranks = session.ranks()};
}

}  // namespace regimen::trainers
// SPDX-License-Identifier: Apache-2.0
