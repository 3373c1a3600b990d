// regimen/engine/cpu/blas.hpp — which BLAS library this program has loaded, and whether it is worth calling.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <dlfcn.h>

namespace regimen::cpu {

namespace detail {

/// A function of a library that this program has loaded, if it has; so nothing has to be linked for its sake.
template <class Function>
Function* loaded(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

/// The file that holds a loaded function, without its folder and with its version: "libblas.so.3.11.0".
inline std::string file_of(const char* function) {
  Dl_info found{};
  void* const at = dlsym(RTLD_DEFAULT, function);
  if (at == nullptr || dladdr(at, &found) == 0 || found.dli_fname == nullptr) return "";
  char* const path = realpath(found.dli_fname, nullptr);
  const std::string whole = path != nullptr ? path : found.dli_fname;
  std::free(path);
  return whole.substr(whole.rfind('/') + 1);
}

}  // namespace detail

/// The BLAS library of this process. The loader chooses it each time that the program starts (a distribution's alternatives,
/// LD_LIBRARY_PATH), so what the build has seen says nothing.
///
///   name   with its version and, of OpenBLAS, the kernels that it chose for this processor
///   fast   is it one of those that are written for speed? Of others nothing is known, and the reference implementation, by far
///          the commonest, is 40 times slower than the portable product. Compile with REGIMEN_TRUST_CBLAS=1 to use any
struct Blas final {
  std::string name{};
  bool fast = false;

  static const Blas& here() {
    static const Blas blas = find();
    return blas;
  }

 private:
  static Blas find() {
    using detail::loaded;
    if (const auto config = loaded<const char*()>("openblas_get_config")) {  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..."
      const char* const text = config();
      const char* const space = std::strchr(text, ' ');
      const char* const end = space == nullptr ? nullptr : std::strchr(space + 1, ' ');
      const auto core = loaded<const char*()>("openblas_get_corename");
      return {std::string(text, end == nullptr ? std::strlen(text) : static_cast<std::size_t>(end - text)) +
                  (core == nullptr ? std::string() : " (" + std::string(core()) + ")"),
              true};
    }
    if (const auto version = loaded<void(char*, int)>("mkl_get_version_string")) {
      char text[256] = {};
      version(text, sizeof text - 1);
      return {std::string("MKL, ") + text, true};
    }
    if (const auto version = loaded<const char*()>("bli_info_get_version_str")) return {std::string("BLIS ") + version(), true};
    if (loaded<void()>("armpl_get_version") != nullptr || loaded<void()>("armplversion") != nullptr) return {"Arm Performance Libraries", true};
    const std::string file = detail::file_of("cblas_sgemm");
#if REGIMEN_TRUST_CBLAS
    return {file.empty() ? "CBLAS" : file, true};
#else
    return {file, false};
#endif
  }
};

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
