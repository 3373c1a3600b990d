// tests/support/model_recipe.hpp — the Trainer of recipe.hpp, with the rules that tie a model to its policies.
#pragma once

#include "recipe.hpp"

#include <regimen/layer/activation.hpp>
#include <regimen/layer/cast.hpp>
#include <regimen/layer/dropout.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/loss/mean_squared_error.hpp>
#include <regimen/rule/model_rules.hpp>
// SPDX-License-Identifier: Apache-2.0
