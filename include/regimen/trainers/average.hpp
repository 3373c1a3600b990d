// regimen/trainers/average.hpp — puts the averages of Averaged in the place of the weights for a while.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/programs/groups.hpp>
#include <regimen/rule/trainers.hpp>
#include <regimen/saves/safetensors.hpp>
#include <regimen/saves/trainer_state.hpp>
#include <regimen/trainers/launches.hpp>
#include <regimen/trainers/weights.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace regimen::trainers {

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

}  // namespace regimen::trainers
// SPDX-License-Identifier: Apache-2.0
