// regimen/trainers/fingerprint.hpp — a hash of model, policies, options and seed: ranks with different
// hashes would train differently.
#pragma once

#include <regimen/core/arena.hpp>
#include <regimen/core/bundled.hpp>
#include <regimen/core/philox.hpp>
#include <regimen/core/schedule.hpp>
#include <regimen/core/whole_tensor.hpp>
#include <regimen/engine/engine.hpp>
#include <regimen/engine/plan/engine.hpp>
#include <regimen/policy/optimizer.hpp>
#include <regimen/programs/recipe.hpp>
#include <regimen/programs/update_whole_tensor.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace regimen::trainers {

/// A number's bits, the same on every rank.
template <class T>
std::uint64_t bits_of_number(T value) {
  if constexpr (std::is_integral_v<T>) return static_cast<std::uint64_t>(value);
  else return std::bit_cast<std::uint64_t>(static_cast<double>(value));
}
/// A hash of all numbers of a bundle.
template <class... Values>
std::uint64_t bits_of_number(const Bundled<Values...>& bundle) {
  std::uint64_t print = 0;
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    const auto add = [&](const auto& values) {
      for (const auto value : values) print = Philox::mix(print, bits_of_number(value));
    };
    (add(bundle.template get<i>()), ...);
  }(std::index_sequence_for<Values...>{});
  return print;
}

/// A hash of the options that a rule lists: some matter to few gradients, as Muon's epsilon to gradients near 0.
template <class UpdateRule>
[[gnu::cold]] std::uint64_t fingerprint_of_listed([[maybe_unused]] const typename UpdateRule::Options& options) {
  std::uint64_t print = 0;
  [[maybe_unused]] const auto add = [&](const char*, auto value) { print = Philox::mix(print, bits_of_number(value)); };
  if constexpr (requires { UpdateRule::list(options, add); }) UpdateRule::list(options, add);
  return print;
}
inline constexpr std::size_t hashed_weights = 4;  // two rows of two
/// A hash of these options, and of three updates of fixed numbers with them: an option that changes these updates
/// changes the hash.   update(t, scalars, gradient, weight)
template <class UpdateRule>
[[gnu::cold]] std::uint64_t fingerprint_of_updates(const typename UpdateRule::Options& options, const auto& update) {
  double weight[hashed_weights] = {0.5, -0.25, 0.125, 1.5};
  Scalars scalars{};
  scalars.learning_rate = options.learning_rate;
  for (std::uint64_t t = 1; t <= 3; ++t) {
    scalars.correction_first = UpdateRule::correction_first(options, t);
    scalars.correction_second = UpdateRule::correction_second(options, t);
    double gradient[hashed_weights] = {0.75 / double(t), -1e-3, 2.0, -0.5};
    update(t, scalars, gradient, weight);
  }
  std::uint64_t print = fingerprint_of_listed<UpdateRule>(options);
  for (const double number : weight) print = Philox::mix(print, bits_of_number(number));
  return print;
}
template <class UpdateRule>
[[gnu::cold]] std::uint64_t fingerprint_of_rule(const typename UpdateRule::Options& options) {
  constexpr std::size_t states = UpdateRule::states, kept = states == 0 ? 1 : states;
  double state[kept][hashed_weights] = {};
  return fingerprint_of_updates<UpdateRule>(
      options, [&](std::uint64_t t, const Scalars& scalars, auto& gradient, auto& weight) {
        const typename UpdateRule::template Coefficients<double> coefficients(options, scalars);
        if constexpr (regimen::detail::sees_whole_tensors<UpdateRule>) {
          std::vector<double> scratch(op::UpdateTensor<UpdateRule, double, double, double>::scratch_of(2, 2));
          WholeTensor<double, states> tensor{.weight = weight, .gradient = gradient, .state = {}, .scratch = scratch};
          tensor.rows = tensor.columns = 2;
          tensor.decays = t > 1;
          for (std::size_t s = 0; s < states; ++s) tensor.state[s] = state[s];
          UpdateRule::update_tensor(tensor, coefficients);
        } else {
          for (std::size_t i = 0; i < hashed_weights; ++i) {
            double own[kept];
            for (std::size_t s = 0; s < states; ++s) own[s] = state[s][i];
            UpdateRule::update(weight[i], gradient[i], own, coefficients, i % 2 == 0);
            for (std::size_t s = 0; s < states; ++s) state[s][i] = own[s];
          }
        }
      });
}

/// For a rule that is written with operations: an engine of its own computes the updates.
template <class UpdateRule, class Engine>
[[gnu::cold]] std::uint64_t fingerprint_of_operations(const typename UpdateRule::Options& options) {
  constexpr std::size_t bytes = hashed_weights * sizeof(fp64);
  const auto update = [&](auto& walk, bool decays) {
    using Update = op::UpdateTensor<UpdateRule, fp64, fp64, fp64>;
    programs::update_whole_tensor(walk,
                                  Update{.master = {sizeof(Scalars)},
                                         .state = {sizeof(Scalars) + 2 * bytes},
                                         .gradient = {sizeof(Scalars) + bytes},
                                         .scalars = {0},
                                         .rows = 2,
                                         .columns = 2,
                                         .state_stride = hashed_weights,
                                         .decays = decays,
                                         .options = options},
                                  LayerPath{});
  };
  constexpr std::size_t kept = TensorArena::align(sizeof(Scalars) + (2 + UpdateRule::states) * bytes);
  walk::Walk<planning::Engine<typename Engine::Traits>> planned(1, 1, 0);
  planned.arena.push(kept, MemoryKind::optimizer, LayerPath{});
  update(planned, true);
  walk::Walk<Engine> walk(1, 1, 0,
                          engines::Resources<typename Engine::Ranks>{.bytes = planned.arena.peak, .captures = false});
  walk.arena.capacity = planned.arena.peak;
  walk.arena.push(kept, MemoryKind::optimizer, LayerPath{});
  const auto upload = [&](std::size_t at, const auto& from) {
    walk.engine.upload(at, {reinterpret_cast<const std::byte*>(&from), sizeof from}).wait();
  };
  return fingerprint_of_updates<UpdateRule>(
      options, [&](std::uint64_t t, Scalars& scalars, const auto& gradient, auto& weight) {
        scalars.factor = scalars.apply = 1;
        upload(0, scalars);
        upload(sizeof(Scalars), weight);
        upload(sizeof(Scalars) + bytes, gradient);
        update(walk, t > 1);
        walk.engine.download(sizeof(Scalars), {reinterpret_cast<std::byte*>(weight), bytes}).wait();
      });
}

/// A hash of the model, the policies, the update rule, the learning rate and its schedules.
template <class Trainer>
[[gnu::cold]] std::uint64_t fingerprint_of(const typename Trainer::Options& options, std::uint64_t seed) {
  std::uint64_t print =
      Philox::mix(Philox::mix(seed, Trainer::batch * Trainer::micro_batches), options.compare_weights_every);
  for (const char* c = __PRETTY_FUNCTION__; *c != 0; ++c) print = Philox::mix(print, static_cast<std::uint64_t>(*c));
  using Groups = programs::GroupsOf<typename Trainer::UpdateRule>;
  print = Philox::mix(print, bits_of_number(options.optimizer.learning_rate));
  [&]<std::size_t... group>(std::index_sequence<group...>) {
    const auto add = [&]<class UpdateRule>(UpdateRule*, const typename UpdateRule::Options& own) {
      if constexpr (UpdatesByOperations<UpdateRule>)
        print = Philox::mix(print, fingerprint_of_operations<UpdateRule, typename Trainer::Engine>(own));
      else print = Philox::mix(print, fingerprint_of_rule<UpdateRule>(own));
    };
    (add(static_cast<programs::rule_of<typename Trainer::UpdateRule, group>*>(nullptr),
         Groups::template options<group>(options.optimizer)),
     ...);
  }(std::make_index_sequence<Groups::count>{});
  const auto add_schedule = [&](const Schedule& schedule) {
    print = Philox::mix(Philox::mix(print, static_cast<std::uint64_t>(schedule.shape)), bits_of_number(schedule.floor));
    print = Philox::mix(Philox::mix(Philox::mix(print, schedule.warmup), schedule.decay_from), schedule.end);
  };
  add_schedule(options.schedule);
  if constexpr (Groups::count > 1)
    [&]<std::size_t... group>(std::index_sequence<group...>) {
      const auto add = [&](const regimen::detail::OwnSchedule& own) {
        print = Philox::mix(print, bool(own));
        if (own) add_schedule(*own);
      };
      (add(Groups::template schedule<group>(options.optimizer)), ...);
    }(std::make_index_sequence<Groups::count>{});
  return print;
}

}  // namespace regimen::trainers
// SPDX-License-Identifier: Apache-2.0
