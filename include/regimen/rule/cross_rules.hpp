// regimen/rule/cross_rules.hpp — the rules that several policies must keep together.
#pragma once

#include <regimen/engine/plan/devices.hpp>
#include <regimen/policy/attention.hpp>
#include <regimen/policy/convolution.hpp>
#include <regimen/rule/checkpointing.hpp>
#include <regimen/rule/devices.hpp>
#include <regimen/rule/extensions.hpp>
#include <regimen/rule/precision.hpp>
#include <regimen/rule/ranks.hpp>
#include <regimen/rule/steps.hpp>
#include <regimen/rule/targets.hpp>

#include <boost/mp11/list.hpp>

#include <type_traits>

namespace regimen::detail {

namespace mp = boost::mp11;

/// The rules about several policies of C, a configuration, together.
template <class C>
using cross_rules = mp::mp_list<
    rule::fp16_needs_loss_scale<typename C::precision, typename C::loss_scale>,
    rule::loss_scale_needs_fp16<typename C::precision, typename C::loss_scale>,
    rule::largest_batch_needs_target<typename C::batch, typename C::target>,
    rule::budget_needs_batch<typename C::batch, typename C::checkpoint>,
    rule::offload_needs_two_memories<typename C::checkpoint, typename C::device>,
    rule::target_computes_in<typename C::target, typename C::precision::compute>,
    rule::device_computes_in<typename C::device, typename C::precision::compute>,
    rule::product_has_epilogue<typename C::device, typename C::fusion>,
    rule::unaligned_is_counted<typename C::target, typename C::device>,
    rule::shard_needs_communicator<typename C::shard, typename C::communicator>,
    rule::world_needs_communicator<typename C::world, typename C::communicator>,
    rule::scaled_gradients_reduce_in_fp32<typename C::precision, typename C::loss_scale, typename C::communicator>,
    rule::global_batch_divides<typename C::batch, typename C::world, typename C::accumulate>,
    rule::groups_divide_world<typename C::shard, typename C::world>,
    rule::kept_segments_exist<typename C::shard, typename C::checkpoint>,
    rule::bucket_reduces_once<typename C::shard, typename C::accumulate>,
    rule::shard_needs_ranks<typename C::shard, typename C::world>,
    rule::cudnn_is_found<rule::calls_cudnn<C>, typename C::device, rule::finds_cudnn<C>()>,
    rule::device_attends_in_form<typename C::attention, typename C::device, rule::attends_in_form<C>()>,
    rule::device_convolves_in_form<typename C::convolution, typename C::device, rule::convolves_in_form<C>()>,
    rule::reduction_needs_communicator<typename C::accumulate, typename C::communicator>,
    rule::nccl_connects_gpus<typename C::communicator, typename C::device>,
    rule::nccl_is_found<typename C::communicator, typename C::device, rule::finds_nccl<C>()>,
    rule::device_takes_ranks<typename C::device, typename C::communicator>,
    rule::anomaly_ends_a_launch<typename C::steps, typename C::debug>,
    rule::synchronous_needs_queue<typename C::debug, typename C::device>,
    rule::graph_needs_graphs<typename C::graph, typename C::device>,
    rule::coupled_samples_stay_together<typename C::loss::function, typename C::accumulate, typename C::communicator,
                                        typename C::world>>;

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
