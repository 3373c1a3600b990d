// regimen/core/operation.hpp — the vocabulary in which a training step is written: definitions, shapes, costs.
//
// Letters: rows x columns for row-wise operations; B batch, T time, H heads, D width of a
// head, V vocabulary, C channels.
// T: activations and the parameters that kernels read. S = statistic_t<T>: at least fp32. G: gradients of parameters.
// `add`: false assigns the gradient of a parameter, true adds to it (tied weights, accumulation); gradients are never
// zeroed. A view may be absent only where its comment says so; then its member has an initialiser.
#pragma once

#include <regimen/core/operation/arithmetic.hpp>
#include <regimen/core/operation/attention.hpp>
#include <regimen/core/operation/attention_bias.hpp>
#include <regimen/core/operation/batch_norm.hpp>
#include <regimen/core/operation/convolution.hpp>
#include <regimen/core/operation/group_norm.hpp>
#include <regimen/core/operation/image.hpp>
#include <regimen/core/operation/layer.hpp>
#include <regimen/core/operation/nt_xent.hpp>
#include <regimen/core/operation/padding.hpp>
#include <regimen/core/operation/recurrent.hpp>
#include <regimen/core/operation/rotary.hpp>
#include <regimen/core/operation/scalars.hpp>
#include <regimen/core/operation/sinusoids.hpp>
#include <regimen/core/operation/softmax_row.hpp>
#include <regimen/core/operation/step.hpp>
#include <regimen/core/operation/windows.hpp>
// SPDX-License-Identifier: Apache-2.0
