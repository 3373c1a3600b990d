// regimen/trainers/loop_by_hand.hpp — a Trainer's members for hand-written loops: forward, (scale,) backward,
// (unscale,) apply, in this order.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/now.hpp>
#include <regimen/data/loader.hpp>
#include <regimen/rule/trainers.hpp>
#include <regimen/saves/trainer_state.hpp>  // Inside
#include <regimen/trainers/feed.hpp>
#include <regimen/trainers/launches.hpp>
#include <regimen/trainers/options.hpp>
#include <regimen/trainers/refused_data.hpp>
#include <regimen/trainers/result.hpp>
#include <regimen/trainers/session.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace regimen::trainers {

inline std::atomic<std::uint64_t> last_ticket{0};

/// A loss, scaled or not, where gradients belong.
template <class T>
concept AnyLoss = std::is_same_v<T, UnscaledLoss> || std::is_same_v<T, ScaledLoss>;

/// The members of a Trainer, which is Self, for a loop that a program writes itself. The latest result of forward or
/// backward has the number `ticket`; other results are refused.
template <class Self>
struct LoopByHand {
 private:
  using Session = typename SessionOf<Self>::type;
  using Step = typename Session::Step;
  using Input = typename Session::Input;
  using Label = typename Session::Label;

  auto enter(const char* who) { return saves::Inside::session(static_cast<Self&>(*this)).enter(who); }

 public:
  /// The micro-batches that fit would read from here on, in fit's order. A loop by hand over them ends with fit's
  /// weights. After load it continues at the saved place: apply advances the place in the data, and save writes it.
  /// Borrows the source, which must outlive the loader.
  template <class Source>
  Loader<Input, Label, SourceReference<Source>> batches(const Source& source, const FitOptions& run = {}) {
    const auto in = enter("Trainer::batches");
    Session& session = in.session;
    session.position.by_hand = 0;
    session.position.batching = {};
    if constexpr (Self::template serves<Source>)
      if (const std::size_t size = source.size(Session::sample_shape()); size > 0)
        session.position.batching = Batching(size, Session::batch * session.ranks(), run.order, run.remainder,
                                             run.epochs, session.position.place);
    return {{&source}, Session::sample_shape(), loader_options(session, run)};
  }
  template <class Source>
    requires(!std::is_lvalue_reference_v<Source>)
  Loader<Input, Label, SourceReference<Source>> batches(Source&& source, const FitOptions& run = {}) {
    static_assert(sizeof(typename rule::borrows_no_temporary<Source>::must_hold));
    return batches(std::as_const(source), run);
  }

  /// Forward and loss of one micro-batch.
  UnscaledLoss forward(std::span<const Input> inputs, std::span<const Label> targets) {
    const auto in = enter("Trainer::forward");
    Session& session = in.session;
    const std::size_t samples = check_batch<Session>("Trainer::forward", inputs.size(), targets.size(), Session::batch);
    if (session.waiting != Waiting::forward && session.waiting != Waiting::apply)
      out_of_order(session.waiting, "forward");
    Scalars before{}, after{};
    session.guarded([&] {
      if (session.waiting == Waiting::forward) {
        session.launches.started = regimen::detail::now();
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
  /// Data or labels in another type than the model and its loss read: convert them explicitly.
  template <class Inputs, class Targets>
    requires(!ReadAs<Inputs, Input> || !ReadAs<Targets, Label>)
  UnscaledLoss forward(const Inputs&, const Targets&) {
    static_assert(sizeof(refused_sample<Inputs, Input, Targets, Label>));
    std::abort();
  }
  /// Inputs without targets.
  template <class Inputs>
  UnscaledLoss forward(const Inputs&) {
    static_assert(sizeof(typename rule::step_takes_targets<Inputs>::must_hold));
    std::abort();
  }

  ScaledLoss scale(const UnscaledLoss& loss) const {
    const Session& session = saves::Inside::session(static_cast<const Self&>(*this));
    const auto inside = enter_trainer(session.one, "Trainer::scale");
    check_ticket(session, loss.ticket_, "scale");
    return ScaledLoss{loss.ticket_};
  }
  /// Backward. Adds to the gradients of earlier micro-batches of the step.
  ScaledGradients backward(const ScaledLoss& loss) { return ScaledGradients{run_backward(loss.ticket_)}; }
  template <class LossScale = typename Session::Configuration::loss_scale>
  Gradients backward(const UnscaledLoss& loss) {
    static_assert(sizeof(typename rule::backward_needs_scaled_loss<LossScale>::must_hold));
    return Gradients{run_backward(loss.ticket_)};
  }
  Gradients unscale(const ScaledGradients& gradients) const {
    const Session& session = saves::Inside::session(static_cast<const Self&>(*this));
    const auto inside = enter_trainer(session.one, "Trainer::unscale");
    check_ticket(session, gradients.ticket_, "unscale");
    return Gradients{gradients.ticket_};
  }
  template <AnyLoss Loss>
  Gradients unscale(const Loss&) const {
    static_assert(sizeof(typename rule::apply_needs_backward<Loss>::must_hold));
    std::abort();
  }

  /// The update, with the gradients of all micro-batches since the last update.
  StepResult apply(const Gradients& gradients) {
    const auto in = enter("Trainer::apply");
    Session& session = in.session;
    check_ticket(session, gradients.ticket_, "apply");
    if (session.waiting != Waiting::apply) out_of_order(session.waiting, "apply");
    if (session.ranks() > 1 && session.by_hand.batches != Session::micro_batches)
      wrong_count("apply", session.by_hand.batches);
    StepResult result;
    session.guarded([&] {
      using Recipe = typename Session::Recipe;
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
  template <AnyLoss Loss>
  StepResult apply(const Loss&) {
    static_assert(sizeof(typename rule::apply_needs_backward<Loss>::must_hold));
    return {};
  }
  template <class Scaled>
    requires std::is_same_v<Scaled, ScaledGradients>
  StepResult apply(const Scaled&) {
    static_assert(sizeof(typename rule::scaled_gradients_need_unscale<Scaled>::must_hold));
    return {};
  }

  /// Drops a step that has begun by hand: after an exception between forward and apply.
  void abandon() { enter("Trainer::abandon").session.abandon(); }

 private:
  /// A number that is unique in the process, so results of another Trainer are refused, too.
  static std::uint64_t next_ticket() { return ++last_ticket; }
  std::uint64_t run_backward(std::uint64_t ticket) {
    const auto in = enter("Trainer::backward");
    Session& session = in.session;
    check_ticket(session, ticket, "backward");
    if (session.waiting != Waiting::backward) out_of_order(session.waiting, "backward");
    if (session.ranks() > 1 && session.by_hand.batches >= Session::micro_batches)
      wrong_count("backward", session.by_hand.batches + 1);
    session.guarded([&] {
      Step::backward(session.walk, session.resident, session.by_hand.output, session.by_hand.batches);
      ++session.by_hand.batches;
      session.waiting = Waiting::apply;
    });
    return session.by_hand.ticket;
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
