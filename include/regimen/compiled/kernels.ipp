// regimen/compiled/kernels.ipp — how a source of regimen::compiled compiles a list of kernels.
#pragma once

#include <regimen/engine/cpu/compiled.hpp>
#include <regimen/engine/cpu/kernels.hpp>
#include <regimen/optimizer/adam.hpp>
#include <regimen/optimizer/adamw.hpp>
#include <regimen/optimizer/lamb.hpp>
#include <regimen/optimizer/muon.hpp>
#include <regimen/optimizer/rmsprop.hpp>
#include <regimen/optimizer/sgd.hpp>

#include <array>

namespace regimen::cpu {

template <class Operation>
void compute_compiled(const void* operation, const Memory& memory) {
  compute(*static_cast<const Operation*>(operation), memory);
}

namespace kernels {

template <class... Operations>
constexpr std::array<void (*)(const void*, const Memory&), sizeof...(Operations)> compiled(mp::mp_list<Operations...>) {
  return {&compute_compiled<Operations>...};
}

}  // namespace kernels

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
