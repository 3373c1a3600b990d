// regimen/watch/checkpoints.ipp — which states of a run stay.
#pragma once

#include <regimen/core/atomic_file.hpp>
#include <regimen/core/compiled.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/file.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/core/say.hpp>
#include <regimen/saves/parts.hpp>
#include <regimen/watch/checkpoints.hpp>
#include <regimen/watch/text.hpp>

#include <bit>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace regimen {

REGIMEN_INLINE Checkpoints::Checkpoints(std::string folder, const CheckpointsOptions& options)
    : folder_(std::move(folder)), options_(options) {
  if (options.every == 0 && !options.best)
    throw Error("Checkpoints", "every of at least 1, or best", "neither", "write {.every = 500}");
  if (options.keep == 0) throw Error("Checkpoints, keep", "at least 1 state", "0");
  detail::make_folder(folder_);
}
REGIMEN_INLINE std::string Checkpoints::newest(const std::string& folder) {
  const std::vector<std::uint64_t> found = steps_in(folder);
  return found.empty() ? std::string() : file_in(folder, found.back());
}
REGIMEN_INLINE std::string Checkpoints::file_in(const std::string& folder, std::uint64_t step) {
  return folder + "/" + std::string(prefix) + std::to_string(step) + std::string(suffix);
}
REGIMEN_INLINE std::vector<std::uint64_t> Checkpoints::steps_in(const std::string& folder) {
  std::vector<std::uint64_t> found;
  for (const std::string& name : detail::names_in(folder)) {
    if (!name.starts_with(prefix) || !name.ends_with(suffix)) continue;
    const std::string_view digits(name.data() + prefix.size(), name.size() - prefix.size() - suffix.size());
    if (const auto step = detail::number_of<std::uint64_t>(digits)) found.push_back(*step);
  }
  std::sort(found.begin(), found.end());
  return found;
}
REGIMEN_INLINE void Checkpoints::look(std::uint64_t since, bool first) {
  best_ = std::numeric_limits<double>::infinity();
  std::uint64_t latest = 0;
  if (options_.best && detail::exists(best_file())) {
    const auto metadata = saves::SavedState::metadata_of(best_file());
    if (!metadata.contains("regimen.evaluated"))
      throw Error(best_file(), "the state of an evaluation, which Checkpoints has saved", "another file",
                  "give it another name");
    best_ = std::bit_cast<double>(saves::whole_number(best_file(), metadata, "regimen.evaluated"));
    latest = saves::whole_number(best_file(), metadata, "regimen.step");
    if (first) detail::write_text(folder_ + "/best.txt", best_text(latest));  // a killed run may not have written it
  }
  states_ = steps_in(folder_);
  if (!states_.empty()) latest = (std::max)(latest, states_.back());
  if (since == 0 && latest > 0)
    throw Error(folder_, "a folder without states, for a run that begins anew",
                "a state of step " + std::to_string(latest), "load it first, or give another folder");
  const auto later = std::upper_bound(states_.begin(), states_.end(), since);
  if (first) set_aside(since, std::span(later, states_.end()));
  states_.erase(later, states_.end());
}
REGIMEN_INLINE void Checkpoints::set_aside(std::uint64_t since, std::span<const std::uint64_t> steps) const {
  if (steps.empty()) return;
  const auto numbered = [&](std::size_t k) { return folder_ + "/abandoned-" + std::to_string(k); };
  std::size_t k = 1;
  while (detail::exists(numbered(k))) ++k;
  std::error_code failed;
  std::filesystem::create_directory(numbered(k), failed);
  if (failed) throw Error(numbered(k), "a name where a folder can be made", failed.message());
  std::string moved;
  for (const std::uint64_t step : steps) {
    saves::SavedState::move(file_in(folder_, step), numbered(k));
    moved += (moved.empty() ? "" : ", ") + std::to_string(step);
  }
  detail::say("regimen: " + folder_ + ": the run continues from step " + std::to_string(since) + "; later states (" +
              moved + ") are now in " + numbered(k) + "\n");
}
REGIMEN_INLINE void Checkpoints::add_to_run_text(const std::string& text) const {
  const std::string path = folder_ + "/run.txt", earlier = detail::read_if_there(path).value_or("");
  detail::write_text(path, earlier.empty() ? text : earlier + "\n----\n\n" + text);
}
REGIMEN_INLINE std::string Checkpoints::best_text(std::uint64_t step) const {
  return detail::text_of(best_) + " " + std::to_string(step) + "\n";
}
REGIMEN_INLINE void Checkpoints::settle(bool first) {
  const std::uint64_t saved = std::exchange(pending_, none);
  if (saved == none) {
    if (first) detail::write_text(folder_ + "/best.txt", pending_best_);
    return;
  }
  std::erase(states_, saved);
  states_.push_back(saved);
  while (states_.size() > options_.keep) {
    const std::string path = file_in(folder_, states_.front());
    states_.erase(states_.begin());
    if (!first) continue;
    std::remove(path.c_str());
    saves::SavedState::remove_parts_before(path, none);
  }
}

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
