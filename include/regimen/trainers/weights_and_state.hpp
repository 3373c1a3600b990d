// regimen/trainers/weights_and_state.hpp — a Trainer's members for weights, gradients and saved states.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/programs/groups.hpp>
#include <regimen/rule/trainers.hpp>
#include <regimen/saves/load_state.hpp>
#include <regimen/saves/safetensors.hpp>
#include <regimen/saves/trainer_state.hpp>
#include <regimen/trainers/launches.hpp>
#include <regimen/trainers/session.hpp>
#include <regimen/trainers/weights.hpp>

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace regimen::trainers {

/// Puts the averages of Averaged in the place of the weights for a while.
template <class Session>
struct Average final {
  using UpdateRule = typename Session::UpdateRule;
  using Master = typename Session::Master;

  /// See Trainer::with_average.
  template <class F>
  static void with(Session& session, const char* who, F&& f) {
    [[maybe_unused]] const auto scope = session.walk.engine.scope();
    saves::StateAccess<Session>::expect_finished_step(session, who);
    if (session.scalars().updates == 0)
      throw Error(who, "weights that a step has changed, so that there is an average", "none", "train first");
    const InPlace swapped(session);
    session.guarded([&] {
      for (const programs::TensorRecord& tensor : session.tensors)
        if (const std::size_t average = programs::average_of<UpdateRule>(tensor.place.group);
            average != programs::no_average && tensor.place.trains && tensor.count > 0)
          session.walk.run(
              op::Copy<Master>{session.state_view(tensor, average), session.master_view(tensor), tensor.count});
      session.update_copies();
    });
    f();
  }

  /// See Trainer::save_average.
  static void save(Session& session, const std::string& path) {
    with(session, "Trainer::save_average", [&] {
      std::vector<safetensors::Tensor> tensors;
      for (const auto& weight : Weights<Session>::parameters(session))
        tensors.push_back(
            {weight.name, safetensors::dtype_of<Master>, weight.shape, std::as_bytes(std::span(weight.values))});
      saves::StateAccess<Session>::do_once(session, [&] { safetensors::write(path, tensors, {{"format", "pt"}}); });
    });
  }

 private:
  /// Keeps the weights, and all copies of them, in memory of the host, and puts them back. Older spans of parameters()
  /// stay valid; spans that a program gets meanwhile become invalid at the end.
  struct InPlace {
    Session& session;
    std::vector<std::byte> kept;
    std::vector<Master> read_before;

    explicit InPlace(Session& of) : session(of), kept(Session::Recipe::Bound::size(of.ranks()).parameters) {
      session.walk.engine.download(session.resident.parameters, std::span(kept)).wait();
      session.waiting = Waiting::average;
      read_before.swap(session.host.weights);
    }
    InPlace(const InPlace&) = delete;
    InPlace& operator=(const InPlace&) = delete;
    ~InPlace() {
      try {
        session.walk.engine.upload(session.resident.parameters, std::span<const std::byte>(kept)).wait();
      } catch (const Error&) {  // of a lost device; the first error says why
      }
      session.host.weights.swap(read_before);
      session.waiting = Waiting::forward;
    }
  };
};

/// Members of a Trainer, which is Self.
template <class Self>
struct WeightsAndState {
 private:
  using Session = typename SessionOf<Self>::type;
  using Step = typename Session::Step;
  using Master = typename Session::Master;
  using Reduce = typename Session::Reduce;

  auto enter(const char* who) { return saves::Inside::session(static_cast<Self&>(*this)).enter(who); }

 public:
  /// Name, shape and present values of every parameter, in the order of the model. If you write to the values, call
  /// parameters_changed() before any other member. The values are the weights themselves; if ranks keep slices, or the
  /// engine's memory is not host memory, they are a copy on the host, valid until the next call of parameters() or
  /// load.
  std::vector<NamedParameter<Master>> parameters() & {
    return Weights<Session>::parameters(enter("Trainer::parameters").session);
  }
  /// Name, shape and values of the gradients of all parameters that train, in the order of parameters(); a copy if the
  /// engine's memory is not host memory. The gradient of the loss is value / gradient_divisor().
  std::vector<NamedParameter<Reduce>> gradients() & {
    return Weights<Session>::gradients(enter("Trainer::gradients").session);
  }
  template <class Of = Self>
  std::vector<NamedParameter<Master>> parameters() && {
    static_assert(sizeof(typename rule::borrows_no_temporary<Of>::must_hold));
    return {};
  }
  template <class Of = Self>
  std::vector<NamedParameter<Reduce>> gradients() && {
    static_assert(sizeof(typename rule::borrows_no_temporary<Of>::must_hold));
    return {};
  }
  /// The number of valid targets since the step began, or 1 for Summed, times all scales of the loss. Valid between
  /// backward and apply; also after a step, unless the step changed a dynamic loss scale.
  double gradient_divisor() {
    const auto in = enter("Trainer::gradient_divisor");
    const Scalars s = in.session.scalars();
    return Step::divisor_of(s.count) * Step::scale_of(in.session.walk.capacity, in.session.ranks()) * s.loss_scale;
  }

  /// Sets the weights to the values of parameters().
  void parameters_changed() { Weights<Session>::take(enter("Trainer::parameters_changed").session); }

  /// Writes the whole state into one safetensors file: weights, optimizer state, and everything else for exact
  /// resumption. The write is atomic: a kill at any moment leaves the previous file whole. With several ranks each rank
  /// writes its slices to a part next to `path`; `path` becomes the index of the parts. Any number of ranks, under any
  /// Shard, may load it. Move index and parts together. Removes the parts of older saves to `path`. Only one run at a
  /// time may save to a path.
  void save(const std::string& path) { saves::StateAccess<Session>::save(enter("Trainer::save").session, path); }
  /// Copies the state to host memory outside the plan, returns, and saves the copy on another thread. If the process is
  /// killed before the save ends, the older state stays. Ranks do not wait for each other; rank 0 puts the state in
  /// place when all parts exist, at most `limit` from now. First finishes an earlier background save, and throws its
  /// errors.
  void save_in_background(const std::string& path, std::chrono::seconds limit = std::chrono::seconds(300)) {
    saves::StateAccess<Session>::save_in_background(enter("Trainer::save_in_background").session, path, limit);
  }
  /// Waits until the state of save_in_background is in place, and throws its errors. All ranks call it.
  void finish_saving() { saves::StateAccess<Session>::finish_saving(enter("Trainer::finish_saving").session); }
  /// Saves in one file, for other programs, under any Shard. Rank 0 gathers the whole state in host memory.
  void save_whole(const std::string& path) {
    saves::StateAccess<Session>::save_whole(enter("Trainer::save_whole").session, path);
  }
  /// Calls f() while the averages of an Averaged<...> rule replace the weights: for evaluate, predict, generate,
  /// parameters. Then restores the weights, bit for bit, also after an exception; values that f wrote to them are lost.
  /// Needs host memory, outside the plan, for the weights that this rank keeps and kernels read. Parameters without an
  /// average, and buffers, keep their values. All ranks call it. Refuses to train or save inside, and refuses before
  /// the first step that counts.
  template <class F, class TheRule = typename Session::UpdateRule>
  void with_average(F&& f) {
    static_assert(sizeof(typename rule::averages_are_kept<TheRule>::must_hold));
    Average<Session>::with(enter("Trainer::with_average").session, "Trainer::with_average", f);
  }
  /// Writes only the averages, as weights, into one file for Inference, load_weights and other programs. All ranks call
  /// it.
  template <class TheRule = typename Session::UpdateRule>
  void save_average(const std::string& path) {
    static_assert(sizeof(typename rule::averages_are_kept<TheRule>::must_hold));
    Average<Session>::save(enter("Trainer::save_average").session, path);
  }
  /// Reads a file of save, from this or another run of the same model, or a file that has only weights. Training then
  /// continues exactly as without the interruption, except if policies differ: the file does not change a static
  /// loss scale. Drops a step that has begun by hand. Not in a callback of fit.
  void load(const std::string& path) { saves::StateLoading<Session>::load(enter("Trainer::load").session, path); }
  /// Reads only the weights of a file that load can read, and starts at step 0 without optimizer state; seed and loss
  /// scale stay. The file may come from other policies; each value is rounded once to the master type.
  void load_weights(const std::string& path) {
    saves::StateLoading<Session>::load_weights(enter("Trainer::load_weights").session, path);
  }
};

}  // namespace regimen::trainers
// SPDX-License-Identifier: Apache-2.0
