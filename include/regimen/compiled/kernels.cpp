// regimen/compiled/kernels.cpp — of regimen::compiled: the CPU engine, and its kernels that have no format.
#include <regimen/compiled/kernels.ipp>
#include <regimen/core/error.hpp>
#include <regimen/engine/cpu/engine.ipp>

#include <string>

namespace regimen {
namespace {

void expect_equal(const std::string& program, const std::string& library) {
  if (program == library) return;
  throw Error(
      "regimen::compiled", "the program's " + program, library,
      "compile both with the same headers, -march, libraries and sanitizers: set CMAKE_CXX_FLAGS before regimen "
      "is added or found, and give nvcc the same (-Xcompiler=-march=native)");
}
std::string with(const char* flags) { return *flags == '\0' ? "with no flags" : "with" + std::string(flags); }

}  // namespace

void detail::check_host(const char* version, const char* flags) {
  expect_equal("version " + std::string(version) + ' ' + with(flags),
               "version " + std::string(library_version) + ' ' + with(host_flags));
}
void cpu::check_kernels(const char* flags) { expect_equal("kernels " + with(flags), "kernels " + with(kernel_flags)); }

}  // namespace regimen

namespace regimen::cpu {

template std::string path_text<fp64>();
template std::string path_text<fp32>();
template std::string path_text<tf32>();
template std::string path_text<bf16>();
template std::string path_text<fp16>();

[[gnu::used]] constexpr auto steps = kernels::compiled(kernels::Steps{});

}  // namespace regimen::cpu
