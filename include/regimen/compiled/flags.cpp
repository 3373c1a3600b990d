// regimen/compiled/flags.cpp — of regimen::compiled: whether the files of a program have its version and flags.
#include <regimen/core/compiled.hpp>
#include <regimen/core/error.hpp>
#include <regimen/engine/cpu/compiled.hpp>
#include <regimen/engine/cpu/engine.hpp>

#include <cstring>
#include <string>

namespace regimen {
namespace {

/// Of a file that differs, if there is one.
constinit const char *other_version = nullptr, *other_host = nullptr, *other_kernels = nullptr;

std::string with(const char* flags) { return *flags == '\0' ? " with no flags" : " with" + std::string(flags); }
[[noreturn]] void fail(const std::string& program, const std::string& library) {
  throw Error(
      "regimen::compiled", "the program's " + program, library,
      "compile both with the same headers, -march, libraries and sanitizers: set CMAKE_CXX_FLAGS before regimen "
      "is added or found; nvcc takes those of its host compiler as -Xcompiler=-march=native");
}

}  // namespace

detail::HostFlags::HostFlags(const char* version, const char* flags) noexcept {
  if (std::strcmp(version, library_version) != 0 || std::strcmp(flags, host_flags) != 0)
    other_version = version, other_host = flags;
}
void detail::check_host() {
  if (other_version != nullptr)
    fail("version " + std::string(other_version) + with(other_host),
         "version " + std::string(library_version) + with(host_flags));
}

cpu::KernelFlags::KernelFlags(const char* flags) noexcept {
  if (std::strcmp(flags, kernel_flags) != 0) other_kernels = flags;
}
void cpu::check_kernels() {
  if (other_kernels != nullptr) fail("kernels" + with(other_kernels), "kernels" + with(kernel_flags));
}

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
