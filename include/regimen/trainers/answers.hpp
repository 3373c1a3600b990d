// regimen/trainers/answers.hpp — the results of a Trainer's members, also if its recipe is refused.
#pragma once

#include <regimen/data/source.hpp>
#include <regimen/engine/engine.hpp>
#include <regimen/programs/parameters.hpp>
#include <regimen/programs/plan.hpp>
#include <regimen/trainers/generate.hpp>
#include <regimen/trainers/result.hpp>

#include <cstdint>
#include <vector>

namespace regimen::detail {

/// The result types of a Trainer's members that do not depend on its policies.
struct Answers {
  using Step = StepResult;
  using Fitted = regimen::Fitted;
  using Evaluation = regimen::Evaluation;
  using Used = regimen::Used;
  using Plan = MemoryPlan;
  using Parameters = std::vector<NamedParameter<float>>;
  using Prediction = std::vector<float>;
  using Tokens = std::vector<std::int32_t>;
  using Sampling = regimen::Sampling;
  using Shape = SampleShape;
  using Profile = OperationTimes;
};

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
