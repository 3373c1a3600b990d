// regimen/rule/inference.hpp — rules about inference: a model that predicts and does not train.
#pragma once

#include <regimen/core/rules.hpp>
#include <regimen/policy/policy.hpp>

#include <type_traits>

namespace regimen::rule {

/// Inference would ignore an optimizer.   docs/errors/inference.md#inference_trains_nothing
template <class P>
struct inference_trains_nothing {
  static constexpr bool holds = detail::is_any_of<typename P::axis, axis::precision, axis::batch, axis::device,
                                                  axis::target, axis::fusion, axis::attention, axis::convolution>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Inference trains nothing; keep Precision, Batch, Device, Target, Fusion, Attention, Convolution");
  };
};

/// A const object is one that several threads may call. A const model of a program's own may compute.
/// docs/errors/inference.md#inference_is_not_const
template <class Model>
struct inference_is_not_const {
  static constexpr bool holds = !(std::is_const_v<Model> && requires { Model::shared_plan(); });
  struct must_hold {
    static_assert(
        holds, "regimen: a const Inference neither predicts nor loads; leave out const, or call its share() for one");
  };
};

/// A copy would have weights and an arena of its own.   docs/errors/inference.md#inference_is_not_copied
template <class Inference>
struct inference_is_not_copied {
  static constexpr bool holds = never<Inference>;
  struct must_hold {
    static_assert(holds, "regimen: an Inference is not copied; share its weights by model.share(), or std::move it");
  };
};

/// Kernels of a GPU reach tensors of one allocation.   docs/errors/inference.md#device_shares_weights
template <class Device, bool shares>
struct device_shares_weights {
  static constexpr bool holds = shares;
  struct must_hold {
    static_assert(
        holds, "regimen: Inference::share shares memory of the host; load the file into one Inference for each thread");
  };
};

/// Outputs are averaged element by element, so members have one input type and shape, one output type and shape, and one
/// output.
/// docs/errors/inference.md#members_agree
template <class First, class Other, bool agree>
struct members_agree {
  static constexpr bool holds = agree;
  struct must_hold {
    static_assert(
        holds,
        "regimen: an ensemble averages Inferences of one input shape and one output shape; end every model alike");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
