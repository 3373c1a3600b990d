// regimen/trainers/weights.hpp — the parameters of a run: initial values, access by a program, copies.
#pragma once

#include <regimen/comm/control.hpp>
#include <regimen/core/defect.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/philox.hpp>
#include <regimen/programs/initial.hpp>
#include <regimen/programs/parameters.hpp>
#include <regimen/programs/step.hpp>
#include <regimen/saves/trainer_state.hpp>  // shape_of

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace regimen::trainers {

/// Host copies of weights and of gradients, for a program that cannot read them in place; each holds the last call's
/// values.
template <class Master, class Reduce>
struct HostCopies {
  std::vector<Master> weights;
  std::vector<Reduce> gradients;
};

/// Functions on the weights, the gradients and the optimizer state of a Session.
template <class Session>
struct Weights final {
  using Step = typename Session::Step;
  using Master = typename Session::Master;
  using Reduce = typename Session::Reduce;
  using Layout = typename Session::Recipe::Bound;
  static constexpr bool is_host_memory = Session::Engine::Traits::is_host_memory;

  [[gnu::cold]] static void initialise(Session& session) {
    programs::InitialOrder order(session.tensors, session.seed);
    for (const programs::TensorRecord& tensor : session.tensors) {
      order.enter(tensor);
      const InitialValue value =
          detail::initial_value<typename Session::Configuration::init::scheme>(tensor.parameter, order.context);
      if (tensor.count == 0) continue;
      const std::vector<Master> whole = programs::initial_values<Master>(tensor, value, order.key);
      session.write(session.master_view(tensor), std::span<const Master>(whole).subspan(tensor.first, tensor.count));
    }
    update_copies(session);
  }
  /// Sets the optimizer state to zero, as all memory is at the start.
  static void reset_state(Session& session) {
    for (const programs::TensorRecord& tensor : session.tensors)
      if (tensor.place.trains && tensor.count > 0)
        for (std::size_t state = 0; state < tensor.states; ++state)
          session.walk.run(op::Zero<Master>{session.state_view(tensor, state), tensor.count});
  }
  /// Updates the copies in the compute type from the master weights, on every rank.
  static void update_copies(Session& session) {
    if constexpr (!Layout::layout.all_master)
      for (const programs::TensorRecord& tensor : session.tensors)
        if (!tensor.shares_master && tensor.count > 0)
          with_element(tensor.place.element, [&]<class T>(T) {
            const std::size_t values = session.resident.parameters + tensor.unit.parameters +
                                       (tensor.value_slice > 0 ? (tensor.place.master - tensor.value_slice) * sizeof(T)
                                                               : tensor.place.values) +
                                       tensor.first * sizeof(T);
            if constexpr (std::is_same_v<Master, fp64> && sizeof(T) == 2) defect("16-bit weights under fp64 masters");
            else session.walk.run(op::Cast<Master, T>{session.master_view(tensor), {values}, tensor.count});
          });
    if (session.is_sliced()) Step::template gather_values<false>(session.walk, session.resident);
  }

  /// Master weights or optimizer state of all units, in the order of the model, without the gaps between tensors; every
  /// rank gets all of them.
  ///   state   0, 1, ...: an array of the optimizer state; `master_weights`: the weights, then the buffers, which every
  ///           rank has whole. Units that do not train have no state
  /// cost      a collective for each unit; a host copy of the whole
  [[gnu::cold]] static std::vector<Master> collect_slices(Session& session, std::size_t state) {
    using Sharding = typename Step::Sharding;
    const bool of_weights = state == Session::master_weights;
    auto& walk = session.walk;
    const programs::Resident& r = session.resident;
    comm::Control& ranks = *session.control();
    std::vector<Master> all, own, unit_of_all_ranks;
    for (const walk::UnitRecord& unit : Layout::units(walk.ranks)) {
      if ((of_weights ? unit.elements : unit.trained) == 0) continue;
      unit_of_all_ranks.resize(unit.slice * Sharding::slices(walk.ranks));
      for (std::size_t i = 0; i < unit.count; ++i) {
        const walk::UnitOffsets at = unit.first + unit.size * i;
        const bool among_values = unit.shares_master && !Sharding::slices_parameters;
        const View<Master> kept = of_weights ? View<Master>{r.parameters + at.parameters + unit.master_offset} +
                                                   (among_values ? Sharding::slice_of(walk.rank) * unit.slice : 0)
                                             : View<Master>{r.states + at.states} + state * unit.kept_state;
        own.resize(unit.slice);
        programs::download(walk, kept, std::span(own));
        ranks.all_gather(reinterpret_cast<const std::byte*>(own.data()),
                         reinterpret_cast<std::byte*>(unit_of_all_ranks.data()), unit.slice * sizeof(Master),
                         Sharding::shard_group);
        for (const walk::TensorPlace& tensor : unit.tensors) {
          if (!of_weights && !tensor.trains) continue;
          const auto begin =
              unit_of_all_ranks.begin() + static_cast<std::ptrdiff_t>(of_weights ? tensor.master : tensor.gradient);
          all.insert(all.end(), begin, begin + static_cast<std::ptrdiff_t>(tensor.count));
        }
      }
    }
    for (const programs::TensorRecord& tensor : session.tensors)
      if (of_weights && tensor.is_buffer) {
        own.resize(tensor.place.count);
        programs::download(walk, View<Master>{r.parameters + tensor.unit.parameters}, std::span(own));
        all.insert(all.end(), own.begin(), own.end());
      }
    return all;
  }

  /// See Trainer::parameters.
  static std::vector<NamedParameter<Master>> parameters(Session& session) {
    std::vector<NamedParameter<Master>> result;
    if (session.is_sliced() || !is_host_memory) session.host.weights = collect(session);
    std::size_t at = 0;
    for (const programs::TensorRecord& tensor : session.tensors) {
      Master* values = nullptr;
      if constexpr (is_host_memory)
        if (!session.is_sliced()) values = session.walk.engine.data(session.master_view(tensor));
      if (values == nullptr) values = session.host.weights.data() + at;
      at += tensor.place.count;
      result.push_back(named(tensor, std::span(values, tensor.place.count)));
    }
    return result;
  }
  /// See Trainer::gradients.
  static std::vector<NamedParameter<Reduce>> gradients(Session& session) {
    std::vector<NamedParameter<Reduce>> result;
    if (session.ranks() > 1)
      throw Error("Trainer::gradients", "one rank", std::to_string(session.ranks()),
                  "ask it of a Trainer of one rank on the global batch");
    if (!is_host_memory) session.host.gradients.resize(Layout::layout.trained_weights());
    std::size_t at = 0;
    for (const programs::TensorRecord& tensor : session.tensors)
      if (tensor.place.trains) {
        std::span<Reduce> values;
        if constexpr (is_host_memory) {
          values = {session.walk.engine.data(session.gradient_view(tensor)), tensor.place.count};
        } else {
          values = std::span(session.host.gradients).subspan(at, tensor.place.count);
          programs::download(session.walk, session.gradient_view(tensor), values);
        }
        at += tensor.place.count;
        result.push_back(named(tensor, values));
      }
    return result;
  }
  /// Applies a program's writes to the values of parameters().
  static void take(Session& session) {
    if (!session.host.weights.empty()) {
      typename Session::Engine::Fence uploaded{};
      std::size_t at = 0;
      for (const programs::TensorRecord& tensor : session.tensors) {
        uploaded =
            programs::upload(session.walk, session.master_view(tensor),
                             std::span<const Master>(session.host.weights).subspan(at + tensor.first, tensor.count));
        at += tensor.place.count;
      }
      uploaded.wait();
    }
    update_copies(session);
  }

 private:
  template <class T>
  [[gnu::cold]] static NamedParameter<T> named(const programs::TensorRecord& tensor, std::span<T> values) {
    return {.name = tensor.name,
            .shape = saves::shape_of(tensor.parameter),
            .values = values,
            .role = tensor.parameter.role,
            .trains = tensor.place.trains,
            .decays = tensor.place.decays};
  }
  /// The weights of all ranks, on the host.
  [[gnu::cold]] static std::vector<Master> collect(Session& session) {
    if constexpr (Step::Sharding::slices_state)
      if (session.is_sliced()) return collect_slices(session, Session::master_weights);
    std::size_t count = 0, at = 0;
    for (const programs::TensorRecord& tensor : session.tensors) count += tensor.place.count;
    std::vector<Master> all(count);
    for (const programs::TensorRecord& tensor : session.tensors) {
      programs::download(session.walk, session.master_view(tensor), std::span(all).subspan(at, tensor.place.count));
      at += tensor.place.count;
    }
    return all;
  }
};

}  // namespace regimen::trainers
// SPDX-License-Identifier: Apache-2.0
