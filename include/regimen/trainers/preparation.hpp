// regimen/trainers/preparation.hpp — prepares a device's libraries for all batches before a run, not in its middle.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/function_ref.hpp>
#include <regimen/data/batching.hpp>
#include <regimen/trainers/launches.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace regimen::trainers {

/// The numbers of samples whose steps and evaluations are prepared.
struct PreparedRows final {
  std::vector<std::size_t> steps, evaluations;
};

/// Walks the programs of batches that will come. So an engine with prepare() makes everything that their operations
/// need, and throws if the device lacks an operation. It walks each number of samples once, between two steps.
///
///   rows   samples of a micro-batch on this rank
template <class Session>
struct Preparation final {
  /// Whether there is anything to do; else nothing of this may be called.
  static constexpr bool prepares = decltype(Session::walk)::prepares;

  static void step(Session& session, std::size_t rows) {
    prepare(session, session.prepared.steps, rows, "Remainder::Drop and Remainder::Wrap read no such batch", [&] {
      const auto always = [](std::size_t) { return true; };
      Session::Step::step(session.walk, session.resident, Session::Recipe::loss_scaling, Session::Recipe::clip,
                          session.options.optimizer, FunctionRef<bool(std::size_t)>(always));
    });
  }
  static void evaluation(Session& session, std::size_t rows) {
    prepare(session, session.prepared.evaluations, rows, "give a number of samples that fills the batches", [&] {
      session.walk.training = false;
      Session::Step::evaluate(session.walk, session.resident);
    });
  }

  /// The first `count` micro-batches of a run.
  static void run(Session& session, const Batching& batching, std::uint64_t count) {
    batching.for_each_short(count, [&](std::uint64_t samples) { step(session, own_part(session, samples)); });
  }
  /// All batches of an evaluation of `samples` samples.
  static void evaluation_of(Session& session, std::size_t samples) {
    const Batching batching(samples, Session::batch * session.ranks(), Order::Sequential, Remainder::Short, 1, {});
    batching.for_each_short(batching.batches(),
                            [&](std::uint64_t last) { evaluation(session, own_part(session, last)); });
  }

 private:
  /// At the end of a scope, sets the walk to full batches, and to training or evaluation as before.
  struct WalkSettings {
    Session& session;
    const bool training = session.walk.training;
    ~WalkSettings() {
      session.walk.batch = Session::batch;
      session.walk.training = training;
    }
  };
  static std::size_t own_part(const Session& session, std::uint64_t samples) {
    return static_cast<std::size_t>(samples_of_rank(samples, Session::batch, session.rank()));
  }
  static void prepare(Session& session, std::vector<std::size_t>& known, std::size_t rows, const char* cure,
                      const auto& body) {
    if (std::find(known.begin(), known.end(), rows) != known.end()) return;
    [[maybe_unused]] const auto scope = session.walk.engine.scope();
    const WalkSettings kept{session};
    session.walk.batch = rows;
    try {
      session.walk.prepare(body);
    } catch (const Error& error) {
      if (rows == Session::batch) throw;
      refuse_rows(rows, Session::batch, error, cure);
    }
    known.push_back(rows);
  }
};

}  // namespace regimen::trainers
// SPDX-License-Identifier: Apache-2.0
