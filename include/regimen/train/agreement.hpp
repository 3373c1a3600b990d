// regimen/train/agreement.hpp — ranks that would not train the same thing end at once, and say which differ.
#pragma once

#include <regimen/comm/control.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/philox.hpp>
#include <regimen/core/whole_tensor.hpp>
#include <regimen/policy/optimizer.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace regimen::train {

/// A small value of every rank.
template <class T>
std::vector<T> gather_small(comm::Control& ranks, const T& own) {
  std::vector<T> all(ranks.size());
  ranks.all_gather_small(reinterpret_cast<const std::byte*>(&own), reinterpret_cast<std::byte*>(all.data()), sizeof(T));
  return all;
}

/// All ranks end here, or none, and not in a collective that never comes to an end.   ranks   null: one rank, which agrees
inline void agree(comm::Control* ranks, const char* where, const char* what, std::uint64_t own) {
  if (ranks == nullptr || ranks->size() == 1) return;
  const std::vector<std::uint64_t> all = gather_small(*ranks, own);
  std::string others;
  for (std::size_t r = 1; r < all.size(); ++r)
    if (all[r] != all[0]) others += (others.empty() ? "" : ", ") + std::to_string(r);
  if (!others.empty())
    throw Error(where, std::string("the same ") + what + " on all " + std::to_string(all.size()) + " ranks", "others than rank 0's on rank " + others,
                "start all ranks from one program with the same arguments, files and data");
}

/// The same for what people read: says what rank 0 has, and what the first that differs.   own   255 bytes of it count
inline void agree_in_words(comm::Control* ranks, const char* where, const char* what, const std::string& own, const char* cure) {
  if (ranks == nullptr || ranks->size() == 1) return;
  struct Words {
    char text[256];
  };
  Words words{};
  own.copy(words.text, sizeof words.text - 1);
  const std::vector<Words> all = gather_small(*ranks, words);
  for (std::size_t r = 1; r < all.size(); ++r)
    if (std::string(all[r].text) != all[0].text)
      throw Error(where, std::string("the same ") + what + " on all " + std::to_string(all.size()) + " ranks",
                  "\"" + std::string(all[0].text) + "\" on rank 0 and \"" + all[r].text + "\" on rank " + std::to_string(r), cure);
}

/// Whether it is true on every rank.
inline bool on_all(comm::Control& ranks, bool own) {
  const std::vector<std::uint8_t> all = gather_small(ranks, static_cast<std::uint8_t>(own));
  return std::find(all.begin(), all.end(), 0) == all.end();
}
/// Nobody leaves before all have come.   ranks   null: one rank, which waits for nobody
inline void barrier(comm::Control* ranks) {
  if (ranks != nullptr) gather_small(*ranks, std::uint8_t{0});
}

/// The same number has the same bits on every rank.
template <class T>
std::uint64_t bits_of_number(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::bit_cast<std::uint64_t>(static_cast<double>(value));
  else return static_cast<std::uint64_t>(value);
}

/// What a rule with these options makes of a few made-up numbers in three updates: options that differ in anything that is computed differ here.
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

/// The model, the policies, what the update rule does, and the learning rate; of a schedule its values at steps that are powers of two.
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
