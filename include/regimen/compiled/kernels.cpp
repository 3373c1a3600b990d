// regimen/compiled/kernels.cpp — of regimen::compiled: the kernels that engine/cpu/compiled.hpp lists.
#define REGIMEN_KERNEL template
#include <regimen/core/error.hpp>
#include <regimen/engine/cpu/compiled.hpp>

#include <string>

void regimen::cpu::check_kernels(std::uint64_t flags) {
  if (flags == kernel_flags) return;
  throw Error("regimen::compiled", "kernels compiled with the program's flags (" + std::to_string(flags) + ")",
              std::to_string(kernel_flags),
              "compile both with the same -march and libraries: set CMAKE_CXX_FLAGS before regimen is added or found");
}
