// regimen/compiled/cuda/kernels.cuh — how a source of regimen::cuda_compiled compiles a list of kernels.
#pragma once

#include <regimen/engine/cuda/compiled.hpp>
#include <regimen/engine/cuda/traits.hpp>
#include <regimen/kernel/device.cuh>
#include <regimen/optimizer/adam.hpp>
#include <regimen/optimizer/adamw.hpp>
#include <regimen/optimizer/lamb.hpp>
#include <regimen/optimizer/muon.hpp>
#include <regimen/optimizer/rmsprop.hpp>
#include <regimen/optimizer/sgd.hpp>

#include <array>
#include <type_traits>
#include <utility>

namespace regimen::cuda {

template <class Kernel>
const void* compiled_entry() {
  return reinterpret_cast<const void*>(kernel::entry<Kernel>);
}

namespace kernels {

/// The kernel that is launched for K.
template <class K>
auto launched() {
  if constexpr (requires(const K& kernel) { kernel.as_launched(); })
    return std::type_identity<std::remove_cvref_t<decltype(std::declval<const K&>().as_launched())>>{};
  else return std::type_identity<K>{};
}

/// The addresses of compiled_entry, so that these are there.
template <class Operation, unsigned... pass>
constexpr auto entries_of(std::integer_sequence<unsigned, pass...>) {
  return std::array<const void* (*)(), sizeof...(pass)>{
      &compiled_entry<typename decltype(launched<kernel::Kernel<Operation, pass>>())::type>...};
}
/// Of an operation without kernels, as products are: none.
template <class Operation>
struct Entries {
  static constexpr std::array<const void* (*)(), 0> all{};
};
template <HasKernel Operation>
struct Entries<Operation> {
  static constexpr auto all = entries_of<Operation>(std::make_integer_sequence<unsigned, kernel::passes<Operation>>{});
};
template <class... Operations>
constexpr auto entries(mp::mp_list<Operations...>) {
  return std::array<const void*, sizeof...(Operations)>{static_cast<const void*>(Entries<Operations>::all.data())...};
}

/// A function for each kernel that belongs to no operation: it returns the kernel's entry.
template <class... Kernels>
constexpr std::array<const void* (*)(), sizeof...(Kernels)> entries_of_kernels{&compiled_entry<Kernels>...};

}  // namespace kernels

}  // namespace regimen::cuda
// SPDX-License-Identifier: Apache-2.0
