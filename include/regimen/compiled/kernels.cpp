// regimen/compiled/kernels.cpp — of regimen::compiled: the CPU engine, and its kernels that have no format.
#include <regimen/compiled/kernels.ipp>
#include <regimen/core/error.hpp>
#include <regimen/engine/cpu/engine.ipp>
#include <regimen/engine/cpu/machine.ipp>

#include <cstdint>
#include <string>

namespace regimen::cpu {

void check_kernels(std::uint64_t flags) {
  if (flags == kernel_flags) return;
  throw Error("regimen::compiled", "kernels compiled with the program's flags (" + std::to_string(flags) + ")",
              std::to_string(kernel_flags),
              "compile both with the same -march and libraries: set CMAKE_CXX_FLAGS before regimen is added or found");
}

template std::string path_text<fp64>();
template std::string path_text<fp32>();
template std::string path_text<tf32>();
template std::string path_text<bf16>();
template std::string path_text<fp16>();

[[gnu::used]] constexpr auto steps = kernels::compiled(kernels::Steps{});

}  // namespace regimen::cpu
