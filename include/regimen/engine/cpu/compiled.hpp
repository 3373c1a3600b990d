// regimen/engine/cpu/compiled.hpp — the kernels that regimen::compiled has, for programs that link it.
//
// A program that links the CMake target regimen::compiled is compiled with REGIMEN_COMPILED=1. Then engine.hpp includes
// this list in place of the kernels' bodies. What is not in it a program compiles itself, if it includes kernels.hpp.
// The bits are those of the same kernels without the target.
#pragma once

#include <regimen/core/activation.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/core/ratio.hpp>
#include <regimen/engine/cpu/flags.hpp>

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

#include <cstdint>
#include <type_traits>

namespace regimen {

// The update rules of optimizer/, which stand in names of operations.
struct Adam;
struct AdamW;
struct Lamb;
struct Muon;
struct RmsProp;
struct Sgd;
namespace detail {
struct LambDirection;
struct LambRate;
struct MuonFactors;
}  // namespace detail

namespace cpu {

struct Memory;

// ---- the list: one for each format, and one of what has none. A source of compiled/ compiles each.

namespace kernels {

namespace mp = boost::mp11;

template <class T, class... Functions>
using OfActivations = mp::mp_list<op::BiasActivation<Functions, T, T>...>;
template <class T, class G, class... Functions>
using OfDerivatives = mp::mp_list<op::BiasBackward<Functions, T, G>...>;
template <class T, class... Functions>
using OfGates = mp::mp_list<op::Gate<Functions, T>..., op::GateBackward<Functions, T>...>;
template <class S, class... Functions>
using OfLosses = mp::mp_list<op::PointwiseLoss<Functions, true, S>..., op::PointwiseLoss<Functions, false, S>...,
                             op::PointwiseLoss<pointwise::Masked<Functions>, true, S>...,
                             op::PointwiseLoss<pointwise::Masked<Functions>, false, S>...>;
template <class M, class T, class G, class... Rules>
using OfRules = mp::mp_list<op::Update<Rules, M, T, G>...>;

/// Of layers that compute in T.
template <class T>
using OfElements = mp::mp_append<
    OfActivations<T, activation::Identity, activation::Relu, activation::Silu, activation::Sigmoid, activation::Tanh,
                  activation::HardSwish, activation::GeluErf, activation::GeluTanh>,
    OfGates<T, activation::Relu, activation::Silu, activation::Sigmoid, activation::GeluErf, activation::GeluTanh>,
    mp::mp_list<op::Add<T>, op::AddSinusoids<T>, op::AddTable<T>, op::AttendKept<T>, op::Attention<T>,
                op::AttentionBackward<T>, op::BatchMoments<T>, op::BatchNorm<T, statistic_t<T>>, op::BatchSums<T>,
                op::BiasedAttendKept<T>, op::BiasedAttention<T>, op::BiasedAttentionBackward<T>, op::BucketBias<T>,
                op::CheckFinite<T>, op::Conv<T>, op::ConvInput<T>, op::Copy<T>, op::CopyColumns<T>,
                op::CrossAttention<T>, op::CrossAttentionBackward<T>, op::DropSamples<T>, op::Dropout<T>, op::Embed<T>,
                op::Fold<T>, op::GroupNorm<T>, op::GruCell<T>, op::GruCellBackward<T>, op::Interpolate<T>,
                op::InterpolateBackward<T>, op::KeepKeys<T>, op::LstmCell<T>, op::LstmCellBackward<T>, op::MaxRows<T>,
                op::MaxRowsBackward<T>, op::MaxSquares<T>, op::MaxSquaresBackward<T>, op::MaxWindows<T>,
                op::MaxWindowsBackward<T>, op::MeanRows<T>, op::MeanRowsBackward<T>, op::Multiply<T>,
                op::Normalize<false, T>, op::Normalize<true, T>, op::Product<T, T, T>, op::Rotate<T>, op::Scale<T>,
                op::ScaledSum<T, T>, op::SharedAttentionBackward<T>, op::Softmax<T>, op::SoftmaxBackward<T>,
                op::SpreadSquares<T>, op::SpreadWindows<T>, op::SumSquares<T>, op::SumWindows<T>, op::Unfold<T>,
                op::WindowAttention<T>, op::WindowAttentionBackward<T>, op::WithinLengths<op::Attention<T>>,
                op::WithinLengths<op::AttentionBackward<T>>, op::WithinLengths<op::BiasedAttention<T>>,
                op::WithinLengths<op::BiasedAttentionBackward<T>>, op::WithinLengths<op::CrossAttention<T>>,
                op::WithinLengths<op::CrossAttentionBackward<T>>, op::WithinLengths<op::SharedAttentionBackward<T>>,
                op::Zero<T>>>;

/// Of their parameters, whose gradients are G.
template <class T, class G>
using OfGradients = mp::mp_append<
    OfDerivatives<T, G, activation::Identity, activation::Relu, activation::Silu, activation::SigmoidOfOutput,
                  activation::TanhOfOutput, activation::HardSwish, activation::GeluErf, activation::GeluTanh>,
    mp::mp_list<op::AddTableBackward<T, G>, op::BatchNormBackward<T, G>, op::ConvWeight<T, G>, op::EmbedBackward<T, G>,
                op::GroupNormBackward<T, G>, op::NormalizeBackward<false, T, G>, op::NormalizeBackward<true, T, G>,
                op::ScaleBackward<T, G>>>;

/// Of losses, statistics and master weights, which are fp32 or fp64.
template <class S>
using OfStatistics =
    mp::mp_append<OfLosses<S, pointwise::Squared, pointwise::Huber<Ratio<1>>, pointwise::BinaryCrossEntropy>,
                  mp::mp_list<op::AlibiBias<S>, op::BucketBiasBackward<S, S>, op::CountCorrect<S>,
                              op::CrossEntropy<false, S>, op::CrossEntropy<true, S>, op::MeanOfRanks<S>,
                              op::NormalizeViews<S>, op::NtXent<S>, op::NtXentBackward<S>,
                              op::SoftCrossEntropy<false, S>, op::SoftCrossEntropy<true, S>, op::SumOfSquares<S>>,
                  OfRules<S, S, S, Adam, AdamW, regimen::detail::LambDirection, RmsProp, Sgd>>;

/// Of 16 bits beside fp32.
template <class T>
using BesideFp32 = mp::mp_append<
    mp::mp_list<op::BiasActivation<activation::Identity, fp32, T>, op::BiasBackward<activation::Identity, fp32, T>,
                op::Cast<T, fp32>, op::Cast<fp32, T>, op::Product<T, T, fp32>, op::Product<fp32, T, T>,
                op::Product<fp32, T, fp32>, op::ScaledSum<T, fp32>, op::SumOfSquares<T>>,
    OfRules<fp32, T, fp32, Adam, AdamW, RmsProp, Sgd>, OfRules<fp32, T, T, Adam, AdamW, RmsProp, Sgd>>;

using Fp32 = mp::mp_append<OfElements<fp32>, OfGradients<fp32, fp32>, OfStatistics<fp32>,
                           mp::mp_list<op::Cast<fp32, fp64>, op::Product<tf32, tf32, fp32>>>;
using Fp64 =
    mp::mp_append<OfElements<fp64>, OfGradients<fp64, fp64>, OfStatistics<fp64>, mp::mp_list<op::Cast<fp64, fp32>>>;
using Bf16 = mp::mp_append<OfElements<bf16>, OfGradients<bf16, fp32>, OfGradients<bf16, bf16>, BesideFp32<bf16>>;
using Fp16 = mp::mp_append<OfElements<fp16>, OfGradients<fp16, fp32>, OfGradients<fp16, fp16>, BesideFp32<fp16>>;
/// The decisions of a step.
template <class... Rules>
using OfSteps =
    mp::mp_list<op::Begin, op::BeginLosses, op::CombineSums, op::CopyColumns<std::int32_t>, op::CountTokens,
                op::KeepResults, op::ShareSums, op::SumLosses, op::TakeInput, op::Calculate<regimen::detail::LambRate>,
                op::Calculate<regimen::detail::MuonFactors>, op::Finish<Rules>..., op::ScalarsOfGroup<Rules>...>;
using Steps = OfSteps<Adam, AdamW, Lamb, Muon, RmsProp, Sgd>;

template <class List>
struct SetOf;
template <class... Operations>
struct SetOf<mp::mp_list<Operations...>> : mp::mp_identity<Operations>... {};
/// Of several lists, which are not joined: nvcc takes four times as long for a list of twice the length.
template <class Operation, class... Lists>
inline constexpr bool is_in = (std::is_base_of_v<mp::mp_identity<Operation>, SetOf<Lists>> || ...);

}  // namespace kernels

/// Whether the library has the kernel of an operation.
template <class Operation>
inline constexpr bool is_compiled =
    kernels::is_in<Operation, kernels::Fp32, kernels::Fp64, kernels::Bf16, kernels::Fp16, kernels::Steps>;
/// Runs it.
template <class Operation>
void compute_compiled(const void* operation, const Memory& memory);

namespace detail {
template <bool are_included>
struct KernelsAreIncluded {
  static_assert(
      are_included,
      "regimen: regimen::compiled lacks the kernel of this operation; include <regimen/engine/cpu/kernels.hpp>");
};
}  // namespace detail

}  // namespace cpu

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
