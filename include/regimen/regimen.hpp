// regimen/regimen.hpp — everything a program that trains includes.
//
// X11's headers may stand before it or behind it. In their files `None` stays X11's macro; leave `Checkpoint<None>` and
// its like out there, which are what Trainer takes without them.
#pragma once

#pragma push_macro("None")

#include <regimen/data/fake.hpp>
#include <regimen/data/idx.hpp>
#include <regimen/data/rows.hpp>
#include <regimen/data/text.hpp>
#include <regimen/data/token_file.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/layer/activation.hpp>
#include <regimen/layer/add_bias.hpp>
#include <regimen/layer/batch_norm.hpp>
#include <regimen/layer/cast.hpp>
#include <regimen/layer/conv.hpp>
#include <regimen/layer/conv1d.hpp>
#include <regimen/layer/conv3d.hpp>
#include <regimen/layer/conv_transpose.hpp>
#include <regimen/layer/cross_attention.hpp>
#include <regimen/layer/dropout.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/group_norm.hpp>
#include <regimen/layer/join.hpp>
#include <regimen/layer/layer_scale.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/layer/named.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/part.hpp>
#include <regimen/layer/patches.hpp>
#include <regimen/layer/pool.hpp>
#include <regimen/layer/recurrent.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/layer/sinusoidal_positions.hpp>
#include <regimen/layer/slice.hpp>
#include <regimen/layer/softmax.hpp>
#include <regimen/layer/times_root_width.hpp>
#include <regimen/loss/cross_entropy.hpp>
#include <regimen/loss/masked.hpp>
#include <regimen/loss/mean_squared_error.hpp>
#include <regimen/loss/nt_xent.hpp>
#include <regimen/loss/pointwise.hpp>
#include <regimen/loss/sample_weighted.hpp>
#include <regimen/loss/soft_cross_entropy.hpp>
#include <regimen/loss/sum_of.hpp>
#include <regimen/optimizer/adam.hpp>
#include <regimen/optimizer/adamw.hpp>
#include <regimen/optimizer/averaged.hpp>
#include <regimen/optimizer/decay.hpp>
#include <regimen/optimizer/lamb.hpp>
#include <regimen/optimizer/muon.hpp>
#include <regimen/optimizer/rmsprop.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/optimizer/split.hpp>
#include <regimen/rule/compose.hpp>  // a compiler prints the way of includes to a rule: the shortest
#include <regimen/trainers/generate.hpp>
#include <regimen/trainers/inference.hpp>
#include <regimen/trainers/trainer.hpp>
#pragma pop_macro("None")
// SPDX-License-Identifier: Apache-2.0
