// regimen/saves/trainer_state.ipp — the metadata of a saved state.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/finite.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/core/say.hpp>
#include <regimen/saves/trainer_state.hpp>

#include <bit>

namespace regimen::saves {

REGIMEN_INLINE std::string state_name(const char* state, const std::string& name) {
  return std::string("optimizer.") + state + "." + name;
}

REGIMEN_INLINE std::vector<std::size_t> shape_of(const Parameter& parameter) {
  return {parameter.extents.begin(), parameter.extents.begin() + parameter.rank};
}

REGIMEN_INLINE void expect_finished(const char* who, bool is_in_average, bool is_between_steps) {
  if (is_in_average)
    throw Error(who, "a call outside of with_average", "one inside of it", "save_average writes the averages");
  if (!is_between_steps) throw Error(who, "a finished step", "a step that has begun", "call apply first");
}

/// Doubles are saved as their 64 bits, so that they are restored exactly.
[[gnu::cold]] inline std::string bits_of(double value) { return std::to_string(std::bit_cast<std::uint64_t>(value)); }

REGIMEN_INLINE safetensors::Metadata SavedNumbers::metadata(const std::string& path_text, const std::string& decay_text,
                                                            double evaluated) const {
  safetensors::Metadata metadata{
      {"format", "pt"},
      {"regimen.version", "1"},
      {"regimen.step", std::to_string(step)},
      {"regimen.epoch",
       std::to_string(place.epoch)},  // of the data; all ranks together have used this many of its samples
      {"regimen.samples", std::to_string(place.samples)},
      {"regimen.run", std::to_string(place.run)},
      {"regimen.seed", std::to_string(seed)},
      {"regimen.updates", std::to_string(scalars.updates)},
      {"regimen.skipped", std::to_string(scalars.skipped)},
      {"regimen.finite_streak", std::to_string(scalars.finite_streak)},
      {"regimen.loss_scale", bits_of(scalars.loss_scale)},
      {"regimen.loss_scale_moves", moves_loss_scale ? "1" : "0"},
      {"regimen.path", path_text},
      {"regimen.decays", decay_text}};
  if (place.batches != 0) metadata["regimen.batches"] = std::to_string(place.batches);
  if (patience.is_kept) {  // the state of fit's patience; a loop by hand has none
    metadata["regimen.best"] = bits_of(patience.best);
    metadata["regimen.without_gain"] = std::to_string(patience.without_gain);
    metadata["regimen.validated_at"] = std::to_string(patience.validated_at);
  }
  if (!is_nan(evaluated)) metadata["regimen.evaluated"] = bits_of(evaluated);
  return metadata;
}

REGIMEN_INLINE void SavedNumbers::read(const std::string& path, const safetensors::Metadata& metadata,
                                       std::uint64_t batch) {
  const auto number = [&](const char* key) { return whole_number(path, metadata, key); };
  step = number("regimen.step");
  // Older files have the number of finished batches of `together` samples, short ones included, in place of samples.
  if (metadata.contains("regimen.epoch") || !metadata.contains("regimen.batches"))
    place = {number("regimen.epoch"), number("regimen.samples"), number("regimen.run"), 0};
  else place.run = metadata.contains("regimen.together") ? number("regimen.together") : batch;
  if (metadata.contains("regimen.batches")) place.batches = number("regimen.batches");
  if (place.batches != 0 && place.run == 0)
    throw Error(path + ", metadata", "batches of at least one sample", "0", "the file is damaged");
  seed = number("regimen.seed");
  scalars.updates = number("regimen.updates");
  scalars.skipped = number("regimen.skipped");
  const std::uint64_t saved_streak = number("regimen.finite_streak");
  const double saved_scale = std::bit_cast<double>(number("regimen.loss_scale"));
  if (!(saved_scale >= 1 && saved_scale <= 3.5e38))
    throw Error(path + ", metadata, regimen.loss_scale", "a loss scale of 1 to 3.4e38",
                regimen::detail::digits_of(saved_scale), "the file is damaged");
  if (moves_loss_scale && number("regimen.loss_scale_moves") == 1) {
    scalars.loss_scale = saved_scale;
    scalars.finite_streak = saved_streak;
  }
  if (metadata.contains("regimen.best")) {
    patience.is_kept = true;  // also a Trainer that only loads and saves passes them on
    patience.best = std::bit_cast<double>(number("regimen.best"));
    patience.without_gain = number("regimen.without_gain");
    patience.validated_at = number("regimen.validated_at");
  }
}

REGIMEN_INLINE void say_path(const std::string& path, const safetensors::Metadata& metadata,
                             const std::string& path_text) {
  const auto written = metadata.find("regimen.path");
  if (written != metadata.end() && written->second != path_text)
    regimen::detail::say("regimen: " + path + " was written with \"" + regimen::detail::printable(written->second) +
                         "\", this run has \"" + path_text +
                         "\": training continues, but not with the bits of that run\n");
}

REGIMEN_INLINE void say_decay(const std::string& path, const std::string& name, bool decays) {
  regimen::detail::say("regimen: " + path + " was written by a run in which weight decay " +
                       (decays ? "did not reach " : "reached ") + name + ", and in this run it " +
                       (decays ? "does" : "does not") + ": training continues as Optimizer<...> says now\n");
}

}  // namespace regimen::saves
// SPDX-License-Identifier: Apache-2.0
