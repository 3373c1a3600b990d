// regimen/rule/cross_rules.hpp — the rules that several policies must keep together.
#pragma once

#include <regimen/policy/attention.hpp>
#include <regimen/policy/convolution.hpp>
#include <regimen/rule/checkpointing.hpp>
#include <regimen/rule/devices.hpp>
#include <regimen/rule/extensions.hpp>
#include <regimen/rule/precision.hpp>
#include <regimen/rule/ranks.hpp>
#include <regimen/rule/rule_list.hpp>
#include <regimen/rule/steps.hpp>
#include <regimen/rule/targets.hpp>

namespace regimen::rule {

/// The rules about several policies of C, a configuration, together: those that Inference has, too, and all.
template <class C>
using inference_cross_rules =
    mp::mp_list<largest_batch_needs_target<typename C::batch, typename C::target>,
                target_computes_in<typename C::target, typename C::precision::compute>,
                device_computes_in<typename C::device, typename C::precision::compute>,
                product_has_epilogue<typename C::device, typename C::fusion>,
                cudnn_is_found<calls_cudnn<C>, typename C::device, finds_cudnn<C>>,
                device_attends_in_form<typename C::attention, typename C::device, attends_in_form<C>>,
                device_convolves_in_form<typename C::convolution, typename C::device, convolves_in_form<C>>,
                unaligned_is_counted<typename C::target, typename C::device>>;
template <class C>
using cross_rules = mp::mp_push_back<
    inference_cross_rules<C>, fp16_needs_loss_scale<typename C::precision, typename C::loss_scale>,
    loss_scale_needs_fp16<typename C::precision, typename C::loss_scale>,
    budget_needs_batch<typename C::batch, typename C::checkpoint>,
    offload_needs_two_memories<typename C::checkpoint, typename C::device>,
    shard_needs_communicator<typename C::shard, typename C::communicator>,
    world_needs_communicator<typename C::world, typename C::communicator>,
    scaled_gradients_reduce_in_fp32<typename C::precision, typename C::loss_scale, typename C::communicator>,
    global_batch_divides<typename C::batch, typename C::world, typename C::accumulate>,
    groups_divide_world<typename C::shard, typename C::world>,
    kept_segments_exist<typename C::shard, typename C::checkpoint>,
    bucket_reduces_once<typename C::shard, typename C::accumulate>,
    shard_needs_ranks<typename C::shard, typename C::world>,
    reduction_needs_communicator<typename C::accumulate, typename C::communicator>,
    nccl_connects_gpus<typename C::communicator, typename C::device>,
    nccl_is_found<typename C::communicator, typename C::device, finds_nccl<C>>,
    device_takes_ranks<typename C::device, typename C::communicator>,
    anomaly_ends_a_launch<typename C::steps, typename C::debug>,
    synchronous_needs_queue<typename C::debug, typename C::device>,
    graph_needs_graphs<typename C::graph, typename C::device>,
    coupled_samples_stay_together<typename C::loss::function, typename C::accumulate, typename C::communicator,
                                  typename C::world>>;

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
