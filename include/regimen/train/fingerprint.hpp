// regimen/train/fingerprint.hpp — a hash of model, policies, options and seed: ranks with different
// hashes would train differently.
#pragma once

#include <regimen/core/philox.hpp>
#include <regimen/core/whole_tensor.hpp>
#include <regimen/policy/optimizer.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace regimen::train {

/// A number's bits, the same on every rank.
template <class T>
std::uint64_t bits_of_number(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::bit_cast<std::uint64_t>(static_cast<double>(value));
  else return static_cast<std::uint64_t>(value);
}

/// A hash of three updates of fixed numbers with these options: any option that changes an update changes the hash.
template <class UpdateRule>
std::uint64_t fingerprint_of_rule(const typename UpdateRule::Options& options) {
  constexpr std::size_t count = 4;  // two rows of two
  double weight[count] = {0.5, -0.25, 0.125, 1.5}, state[UpdateRule::states == 0 ? 1 : UpdateRule::states][count] = {};
  Scalars scalars{};
  scalars.learning_rate = options.learning_rate;
  for (std::uint64_t t = 1; t <= 3; ++t) {
    scalars.correction_first = UpdateRule::correction_first(options, t);
    scalars.correction_second = UpdateRule::correction_second(options, t);
    const typename UpdateRule::template Coefficients<double> coefficients(options, scalars);
    double gradient[count] = {0.75 / double(t), -1e-3, 2.0, -0.5};
    if constexpr (regimen::detail::sees_whole_tensors<UpdateRule>) {
      std::vector<double> scratch(op::UpdateTensor<UpdateRule, double, double, double>::scratch_of(2, 2));
      WholeTensor<double, UpdateRule::states> tensor{weight, gradient, {}, scratch, 2, 2, t > 1};
      for (std::size_t s = 0; s < UpdateRule::states; ++s) tensor.state[s] = state[s];
      UpdateRule::update_tensor(tensor, coefficients);
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        double own[UpdateRule::states == 0 ? 1 : UpdateRule::states];
        for (std::size_t s = 0; s < UpdateRule::states; ++s) own[s] = state[s][i];
        UpdateRule::update(weight[i], gradient[i], own, coefficients, i % 2 == 0);
        for (std::size_t s = 0; s < UpdateRule::states; ++s) state[s][i] = own[s];
      }
    }
  }
  std::uint64_t print = 0;
  for (const double number : weight) print = mix(print, bits_of_number(number));
  return print;
}

/// A hash of the model, the policies, the update rule and the learning rate; of a schedule
/// at steps that are powers of two.
template <class Trainer>
std::uint64_t fingerprint_of(const typename Trainer::Options& options, std::uint64_t seed) {
  std::uint64_t print = mix(mix(seed, Trainer::batch * Trainer::micro_batches), options.compare_weights_every);
  for (const char* c = __PRETTY_FUNCTION__; *c != 0; ++c) print = mix(print, static_cast<std::uint64_t>(*c));
  print = mix(print, fingerprint_of_rule<typename Trainer::UpdateRule>(options.optimizer));
  for (std::uint64_t step = 0; step < std::uint64_t{1} << 40; step = step == 0 ? 1 : 2 * step)
    print = mix(print, std::bit_cast<std::uint64_t>(options.schedule.share(step)));
  return print;
}

}  // namespace regimen::train
// SPDX-License-Identifier: Apache-2.0
