// regimen/compiled/kernels.cpp — of regimen::compiled: the CPU engine, and its kernels that have no format.
#include <regimen/compiled/kernels.ipp>
#include <regimen/core/error.hpp>
#include <regimen/engine/cpu/engine.ipp>

#include <string>

namespace regimen::cpu {

void check_kernels(const char* version, const char* flags) {
  const auto text = [](const char* of, const char* with) {
    return "version " + std::string(of) + " with" + (*with == '\0' ? " no flags" : with);
  };
  const std::string asks = text(version, flags), has = text(kernel_version, kernel_flags);
  if (asks == has) return;
  throw Error(
      "regimen::compiled", "the program's " + asks, has,
      "compile both with the same headers, -march, libraries and sanitizers: set CMAKE_CXX_FLAGS before regimen "
      "is added or found");
}

template std::string path_text<fp64>();
template std::string path_text<fp32>();
template std::string path_text<tf32>();
template std::string path_text<bf16>();
template std::string path_text<fp16>();

[[gnu::used]] constexpr auto steps = kernels::compiled(kernels::Steps{});

}  // namespace regimen::cpu
