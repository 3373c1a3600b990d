// regimen/regimen.hpp — everything a program that trains includes.
#pragma once

#include <regimen/data/fake.hpp>
#include <regimen/data/idx.hpp>
#include <regimen/data/rows.hpp>
#include <regimen/data/text.hpp>
#include <regimen/data/token_file.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/layer/activation.hpp>
#include <regimen/layer/batch_norm.hpp>
#include <regimen/layer/cast.hpp>
#include <regimen/layer/conv.hpp>
#include <regimen/layer/dropout.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/join.hpp>
#include <regimen/layer/layer_scale.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/layer/named.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/patches.hpp>
#include <regimen/layer/pool.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/layer/slice.hpp>
#include <regimen/loss/cross_entropy.hpp>
#include <regimen/loss/mean_squared_error.hpp>
#include <regimen/loss/pointwise.hpp>
#include <regimen/loss/soft_cross_entropy.hpp>
#include <regimen/optimizer/adam.hpp>
#include <regimen/optimizer/adamw.hpp>
#include <regimen/optimizer/rmsprop.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/train/generate.hpp>
#include <regimen/train/inference.hpp>
#include <regimen/train/trainer.hpp>
// SPDX-License-Identifier: Apache-2.0
