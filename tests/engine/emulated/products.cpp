// compiled with -O1
// Products of whole numbers are exact, on the emulated device as the CUDA engine asks for them, and on the CPU.
#include <regimen/engine/cpu/engine.hpp>
#include <regimen/engine/cpu/kernels.hpp>
#include <regimen/engine/cuda/product.hpp>
#include <regimen/engine/emulated/device.hpp>

#include "support/catch.hpp"
#include "support/exact_products.hpp"

#include <string>

using namespace regimen;

namespace {

template <class Engine>
void are_exact(const support::ExactProducts<Engine>& exact, std::size_t tried) {
  for (const std::string& mistake : exact.mistakes) UNSCOPED_INFO(mistake);
  CHECK(exact.mistakes.empty());
  CHECK(exact.tried == tried);
}

}  // namespace

TEST_CASE("products of whole numbers are exact on the emulated device, with epilogues and several at once") {
  support::ExactProducts<cuda::Engine<emulated::Runtime>> exact;
  support::exact_products_of_all_types(exact);
  support::exact_products_of_library<cuda::Engine<emulated::Runtime>, cuda::ManyProducts>(exact);
  // Each of 24 forms (extents, transpositions) dense and in three ways with gaps; 8 without an inner extent.
  constexpr std::size_t forms = 24 * 4, products = 2 * forms + 8, derivatives = 12 * 2;
  are_exact(exact, 11 * products + 4 * forms + 9 * forms + 3 * derivatives + 4 * 2 * forms);
}

TEST_CASE("products of whole numbers are exact on the CPU") {
  support::ExactProducts<cpu::Engine> exact;
  support::exact_products_of_all_types(exact);
  are_exact(exact, 10 * 7 * 8);  // types, extents, transpositions with and without a sum
}
// SPDX-License-Identifier: Apache-2.0
