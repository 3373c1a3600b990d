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

/// The rule about a device and the epilogues of its products.
template <class Device, class Fusing>
using fused_on = rule::product_has_epilogue<Device, Fusing, engines::TraitsOf<typename Device::where>::Epilogues::any>;
/// The rule about a device and a bound on the rows of products.
template <class Target, class Device>
using rows_counted_on =
    rule::unaligned_is_counted<Target, Device,
                               !Target::bounds_rows || engines::TraitsOf<typename Device::where>::is_checked>;
/// The rule about a device and an element type.
template <class Device, class T>
using computed_on =
    rule::device_computes_in<Device, T, engines::TraitsOf<typename Device::where>::template computes<T>>;

/// Whether the engine of a configuration computes attention in the form that it decides.
template <class Configuration>
constexpr bool attends_in_form() {
  using Form = typename Configuration::attention::form;
  if constexpr (std::is_same_v<Form, OfDevice>) return true;
  else if constexpr (requires { typename engines::OfConfiguration<Configuration>::Traits::attention; })
    return std::is_same_v<typename engines::OfConfiguration<Configuration>::Traits::attention, Form>;
  else return false;
}

/// The same of convolutions.
template <class Configuration>
constexpr bool convolves_in_form() {
  using Form = typename Configuration::convolution::form;
  if constexpr (std::is_same_v<Form, OfDevice>) return true;
  else if constexpr (requires { typename engines::OfConfiguration<Configuration>::Traits::convolution; })
    return std::is_same_v<typename engines::OfConfiguration<Configuration>::Traits::convolution, Form>;
  else return false;
}

/// The policy that calls cuDNN, and whether the engine has that library.
template <class Configuration>
using calls_cudnn = std::conditional_t<std::is_same_v<typename Configuration::attention::form, Cudnn>,
                                       typename Configuration::attention, typename Configuration::convolution>;
template <class Configuration>
constexpr bool finds_cudnn() {
  if constexpr (!std::is_same_v<typename calls_cudnn<Configuration>::form, Cudnn>) return true;
  else if constexpr (requires { engines::OfConfiguration<Configuration>::Traits::has_cudnn; })
    return engines::OfConfiguration<Configuration>::Traits::has_cudnn;
  else return true;  // then device_attends_in_form, or device_convolves_in_form, refuses it
}

/// Whether the configuration's ranks may use its device.
template <class Configuration>
inline constexpr bool takes_ranks = engines::TraitsOf<typename Configuration::device::where>::template takes_ranks<
    typename Configuration::communicator::ranks>;

/// Whether the engine has the library that connects GPUs, if it needs it.
template <class Configuration>
constexpr bool finds_nccl() {
  if constexpr (!connects_gpus<typename Configuration::communicator::ranks>) return true;
  else if constexpr (requires { engines::OfConfiguration<Configuration>::Traits::has_nccl; })
    return engines::OfConfiguration<Configuration>::Traits::has_nccl;
  else return true;  // then nccl_connects_gpus refuses it
}

/// The rules about several policies of a configuration together.
template <class Configuration>
using cross_rules = mp::mp_list<
    rule::fp16_needs_loss_scale<typename Configuration::precision, typename Configuration::loss_scale>,
    rule::loss_scale_needs_fp16<typename Configuration::precision, typename Configuration::loss_scale>,
    rule::largest_batch_needs_target<typename Configuration::batch, typename Configuration::target>,
    rule::budget_needs_batch<typename Configuration::batch, typename Configuration::checkpoint>,
    rule::offload_needs_two_memories<typename Configuration::checkpoint, typename Configuration::device,
                                     engines::TraitsOf<typename Configuration::device::where>::offloads>,
    rule::target_computes_in<typename Configuration::target, typename Configuration::precision::compute>,
    computed_on<typename Configuration::device, typename Configuration::precision::compute>,
    fused_on<typename Configuration::device, typename Configuration::fusion>,
    rows_counted_on<typename Configuration::target, typename Configuration::device>,
    rule::shard_needs_communicator<typename Configuration::shard, typename Configuration::communicator>,
    rule::world_needs_communicator<typename Configuration::world, typename Configuration::communicator>,
    rule::scaled_gradients_reduce_in_fp32<typename Configuration::precision, typename Configuration::loss_scale,
                                          typename Configuration::communicator>,
    rule::global_batch_divides<typename Configuration::batch, typename Configuration::world,
                               typename Configuration::accumulate>,
    rule::groups_divide_world<typename Configuration::shard, typename Configuration::world>,
    rule::kept_segments_exist<typename Configuration::shard, typename Configuration::checkpoint>,
    rule::bucket_reduces_once<typename Configuration::shard, typename Configuration::accumulate>,
    rule::shard_needs_ranks<typename Configuration::shard, typename Configuration::world>,
    rule::cudnn_is_found<calls_cudnn<Configuration>, typename Configuration::device, finds_cudnn<Configuration>()>,
    rule::device_attends_in_form<typename Configuration::attention, typename Configuration::device,
                                 attends_in_form<Configuration>()>,
    rule::device_convolves_in_form<typename Configuration::convolution, typename Configuration::device,
                                   convolves_in_form<Configuration>()>,
    rule::reduction_needs_communicator<typename Configuration::accumulate, typename Configuration::communicator>,
    rule::nccl_connects_gpus<typename Configuration::communicator, typename Configuration::device,
                             takes_ranks<Configuration>>,
    rule::nccl_is_found<typename Configuration::communicator, typename Configuration::device,
                        finds_nccl<Configuration>()>,
    rule::device_takes_ranks<typename Configuration::device, typename Configuration::communicator,
                             takes_ranks<Configuration>>,
    rule::anomaly_ends_a_launch<typename Configuration::steps, typename Configuration::debug>,
    rule::synchronous_needs_queue<typename Configuration::debug, typename Configuration::device,
                                  engines::TraitsOf<typename Configuration::device::where>::has_graphs>,
    rule::graph_needs_graphs<typename Configuration::graph, typename Configuration::device,
                             engines::TraitsOf<typename Configuration::device::where>::has_graphs>,
    rule::coupled_samples_stay_together<
        typename Configuration::loss::function, couples_samples<typename Configuration::loss::function>,
        typename Configuration::accumulate, typename Configuration::communicator, typename Configuration::world>>;

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
