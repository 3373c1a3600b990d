// regimen/trainers/loop_by_hand.hpp — the parts of a step for hand-written loops: forward, backward, apply, in this order.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/trainers/expect.hpp>
#include <regimen/trainers/result.hpp>
#include <regimen/trainers/session.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace regimen::trainers {

inline std::atomic<std::uint64_t> last_ticket{0};

/// The latest result of forward or backward has the number `ticket`; others are refused.
template <class Session>
struct LoopByHand final {
  using Step = typename Session::Step;
  using Recipe = typename Session::Recipe;

  static UnscaledLoss forward(Session& session, std::span<const typename Session::Input> inputs,
                              std::span<const typename Session::Label> targets) {
    const std::size_t samples = check_batch<Session>("Trainer::forward", inputs.size(), targets.size(), Session::batch);
    if (session.waiting != Waiting::forward && session.waiting != Waiting::apply)
      out_of_order(session.waiting, "forward");
    [[maybe_unused]] const auto scope = session.walk.engine.scope();
    Scalars before{}, after{};
    session.guarded([&] {
      if (session.waiting == Waiting::forward) {
        session.launches.started = now();
        Step::begin(session.walk, session.resident);
      }
      before = session.scalars();
      session.feed.upload(session, typename Session::Batch{inputs, targets, samples, session.by_hand.batches});
      session.by_hand.output = Step::forward(session.walk, session.resident, session.by_hand.batches > 0);
      after = session.scalars();
      expect_finite(after);
      session.by_hand.samples += samples;
      session.waiting = Waiting::backward;
    });
    return {mean_of(after.loss_sum - before.loss_sum, Step::divisor_of(after.count - before.count)),
            session.by_hand.ticket = next_ticket()};
  }
  static ScaledLoss scale(const Session& session, const UnscaledLoss& loss) {
    check_ticket(session, loss.ticket_, "scale");
    return ScaledLoss{loss.ticket_};
  }
  static ScaledGradients backward(Session& session, const ScaledLoss& loss) {
    run_backward(session, loss.ticket_);
    return ScaledGradients{session.by_hand.ticket};
  }
  static Gradients backward(Session& session, const UnscaledLoss& loss) {
    run_backward(session, loss.ticket_);
    return Gradients{session.by_hand.ticket};
  }
  static Gradients unscale(const Session& session, const ScaledGradients& gradients) {
    check_ticket(session, gradients.ticket_, "unscale");
    return Gradients{gradients.ticket_};
  }
  static StepResult apply(Session& session, const Gradients& gradients) {
    check_ticket(session, gradients.ticket_, "apply");
    if (session.waiting != Waiting::apply) out_of_order(session.waiting, "apply");
    if (session.ranks() > 1 && session.by_hand.batches != Session::micro_batches)
      wrong_count("apply", session.by_hand.batches);
    [[maybe_unused]] const auto scope = session.walk.engine.scope();
    StepResult result;
    session.guarded([&] {
      Step::update(session.walk, session.resident, Recipe::loss_scaling, Recipe::clip, session.options.optimizer);
      compare_weights(session, 1);
      const std::size_t batches = session.by_hand.batches;
      result = session.finish(session.note_steps(1, session.by_hand.samples)).front();
      session.position.by_hand += batches;  // not after an anomaly
      if (session.position.batching.knows_data())
        session.position.place = session.position.batching.place(session.position.by_hand);
    });
    return result;
  }

 private:
  /// Unique in the process: another Trainer's results are refused, too.
  static std::uint64_t next_ticket() { return ++last_ticket; }
  static void run_backward(Session& session, std::uint64_t ticket) {
    check_ticket(session, ticket, "backward");
    if (session.waiting != Waiting::backward) out_of_order(session.waiting, "backward");
    if (session.ranks() > 1 && session.by_hand.batches >= Session::micro_batches)
      wrong_count("backward", session.by_hand.batches + 1);
    [[maybe_unused]] const auto scope = session.walk.engine.scope();
    session.guarded([&] {
      Step::backward(session.walk, session.resident, session.by_hand.output, session.by_hand.batches);
      ++session.by_hand.batches;
      session.waiting = Waiting::apply;
    });
  }
  static void check_ticket(const Session& session, std::uint64_t ticket, const char* what) {
    if (ticket != session.by_hand.ticket)
      throw Error(std::string("Trainer::") + what, "the result of this Trainer's last forward",
                  "the result of another one");
  }
  /// Ranks reduce gradients in the last micro-batch, so all must know the number of micro-batches.
  [[noreturn, gnu::cold]] static void wrong_count(const char* what, std::size_t found) {
    throw Error(std::string("Trainer::") + what,
                std::to_string(Session::micro_batches) + " micro-batches, as Accumulate says", std::to_string(found),
                "call forward and backward that many times, then apply");
  }
};

}  // namespace regimen::trainers
// SPDX-License-Identifier: Apache-2.0
