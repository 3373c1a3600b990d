// regimen/trainers/evaluation.hpp — evaluation and prediction with the weights of a Trainer.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/programs/forward.hpp>
#include <regimen/trainers/expect.hpp>
#include <regimen/trainers/loaders.hpp>
#include <regimen/trainers/result.hpp>
#include <regimen/trainers/session.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace regimen::trainers {

/// Evaluates a whole source in its order; program(next) runs the operations that add the loss of the batch in the input
/// to the scalars.
template <class Session, class Source, class Program>
Evaluation evaluate(Session& session, const Source& source, std::size_t workers, const Program& program) {
  using Step = typename Session::Step;
  [[maybe_unused]] const auto scope = session.walk.engine.scope();
  const LoaderOptions options{.batch = Session::batch,
                              .order = Order::Sequential,
                              .seed = session.seed,
                              .epochs = 1,
                              .workers = workers,
                              .rank = session.rank(),
                              .ranks = session.ranks()};
  Loader<typename Session::Input, typename Session::Label, SourceReference<Source>> loader(
      {&source}, Session::sample_shape(), options);
  const typename Session::Mode mode(session);
  session.guarded([&] { session.preparation.evaluation_of(session, loader.size()); });
  const Scalars kept = session.scalars();
  Scalars found{};
  session.walk.run(op::Begin{session.resident.scalars});
  session.guarded([&] {
    for (auto next = loader.next(); next; next = loader.next()) {
      session.walk.all_are_whole = loader.is_full(loader.step() - 1);
      session.feed.upload(session, typename Session::Batch{next.input, next.target, next.samples});
      program(next);
      session.feed.wait();
    }
    if constexpr (!Step::Sharding::alone)
      if (session.ranks() > 1) Step::combine_sums(session.walk, session.resident);
    found = session.scalars();
    session.write_scalars(kept);
    expect_finite(found);
  });
  Evaluation evaluation{mean_of(found.loss_sum, Step::divisor_of(found.count)), no_value, whole_targets(found.count)};
  if constexpr (Step::template has_accuracy<decltype(session.walk)>)
    evaluation.accuracy = mean_of(found.correct, found.count);
  return evaluation;
}

/// See Trainer::predict.
template <class Session>
auto predict(Session& session, std::span<const typename Session::Input> inputs) {
  using Step = typename Session::Step;
  [[maybe_unused]] const auto scope = session.walk.engine.scope();
  const typename Session::Mode mode(session);
  const auto predicted = [&] {
    return programs::predict_all<Step>(session.walk, session.resident, inputs, Session::vocabulary, "Trainer::predict");
  };
  if constexpr (Session::Recipe::checks_finite) {
    const Scalars kept = session.scalars();
    session.walk.run(op::Begin{session.resident.scalars});
    auto outputs = predicted();
    const Scalars found = session.scalars();
    session.write_scalars(kept);
    expect_finite(found);
    return outputs;
  } else {
    return predicted();
  }
}

}  // namespace regimen::trainers
// SPDX-License-Identifier: Apache-2.0
