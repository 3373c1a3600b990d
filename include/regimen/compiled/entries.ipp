// regimen/compiled/entries.ipp — how a library compiles the kernels of a list of operations of a GPU.
#pragma once

#include <regimen/engine/cuda/compiled.hpp>
#include <regimen/engine/cuda/traits.hpp>
#include <regimen/optimizer/adam.hpp>
#include <regimen/optimizer/adamw.hpp>
#include <regimen/optimizer/lamb.hpp>
#include <regimen/optimizer/muon.hpp>
#include <regimen/optimizer/rmsprop.hpp>
#include <regimen/optimizer/sgd.hpp>

#include <array>
#include <type_traits>
#include <utility>

namespace regimen::cuda::kernels {

/// The kernel that is launched for K.
template <class K>
auto launched() {
  if constexpr (requires(const K& kernel) { kernel.as_launched(); })
    return std::type_identity<std::remove_cvref_t<decltype(std::declval<const K&>().as_launched())>>{};
  else return std::type_identity<K>{};
}

/// The functions of kernels, Entry<Kernel>::function, so that these are there.
template <template <class> class Entry, class... Kernels>
constexpr std::array entries_of_kernels{Entry<Kernels>::function...};

/// Of an operation without kernels, as products are: none.
template <template <class> class Entry, class Operation>
struct Entries {
  static constexpr const void* all = nullptr;
};
template <template <class> class Entry, HasKernel Operation>
struct Entries<Entry, Operation> {
  static constexpr const void* all = []<unsigned... pass>(std::integer_sequence<unsigned, pass...>) {
    return entries_of_kernels<Entry, typename decltype(launched<kernel::Kernel<Operation, pass>>())::type...>.data();
  }(std::make_integer_sequence<unsigned, kernel::passes<Operation>>{});
};
template <template <class> class Entry, class... Operations>
constexpr auto entries(mp::mp_list<Operations...>) {
  return std::array<const void*, sizeof...(Operations)>{Entries<Entry, Operations>::all...};
}

}  // namespace regimen::cuda::kernels
// SPDX-License-Identifier: Apache-2.0
