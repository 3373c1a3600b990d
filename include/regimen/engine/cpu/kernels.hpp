// regimen/engine/cpu/kernels.hpp — the bodies of all kernels of the CPU engine.
//
// A program that links regimen::compiled includes it for what the library lacks: rules composed of others, kernels in
// rare combinations of number formats. Without the library engine.hpp includes it.
#pragma once

#include <regimen/engine/cpu/activation.hpp>
#include <regimen/engine/cpu/attention.hpp>
#include <regimen/engine/cpu/attention_kept.hpp>
#include <regimen/engine/cpu/batch_norm.hpp>
#include <regimen/engine/cpu/body.hpp>
#include <regimen/engine/cpu/convolution.hpp>
#include <regimen/engine/cpu/elementwise.hpp>
#include <regimen/engine/cpu/embedding.hpp>
#include <regimen/engine/cpu/group_norm.hpp>
#include <regimen/engine/cpu/image.hpp>
#include <regimen/engine/cpu/loss.hpp>
#include <regimen/engine/cpu/math.hpp>
#include <regimen/engine/cpu/norm.hpp>
#include <regimen/engine/cpu/nt_xent.hpp>
#include <regimen/engine/cpu/product.hpp>
#include <regimen/engine/cpu/rotary.hpp>
#include <regimen/engine/cpu/step.hpp>
#include <regimen/engine/cpu/update.hpp>
#include <regimen/kernel/image.hpp>
#include <regimen/kernel/recurrent.hpp>
// SPDX-License-Identifier: Apache-2.0
