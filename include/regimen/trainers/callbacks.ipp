// regimen/trainers/callbacks.ipp — the bodies of callbacks.hpp.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/trainers/callbacks.hpp>

#include <cstdint>
#include <string>

namespace regimen::trainers {

REGIMEN_INLINE std::string words_of_event(const StepResult& step, std::uint64_t) {
  return "step " + std::to_string(step.step);
}

REGIMEN_INLINE std::string words_of_event(StepResults launch, std::uint64_t) {
  return "steps " + std::to_string(launch.front().step) + " to " + std::to_string(launch.back().step);
}

REGIMEN_INLINE std::string words_of_event(const EpochEvent& epoch, std::uint64_t) {
  return std::string(epoch.ended ? "the end" : "the beginning") + " of epoch " + std::to_string(epoch.epoch);
}

REGIMEN_INLINE std::string words_of_event(const Evaluation&, std::uint64_t step) {
  return "the evaluation after step " + std::to_string(step);
}

REGIMEN_INLINE std::string words_of_event(const Measured& found, std::uint64_t step) {
  return std::string("the metrics of ") + (found.evaluation ? "the evaluation" : "training") + " after step " +
         std::to_string(step);
}

REGIMEN_INLINE std::string words_of_event(const Fitted&, std::uint64_t step) {
  return "the end of the run after step " + std::to_string(step);
}

}  // namespace regimen::trainers
// SPDX-License-Identifier: Apache-2.0
