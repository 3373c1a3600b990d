// regimen/engine/cpu/blas.hpp — which BLAS library this program has loaded, and whether it is worth calling.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>

#include <dlfcn.h>

namespace regimen::cpu {

/// The BLAS library of this process. The loader chooses it at every start of the program (a distribution's
/// alternatives, LD_LIBRARY_PATH), so it may differ from the library at build time.
///
///   name   with its version and, for OpenBLAS, the kernels that it chose for this processor
///   fast   whether it is known to be fast. Others are not used: the reference implementation, by far the commonest of
///          them, is 40 times slower than the portable product. Compile with REGIMEN_TRUST_CBLAS=1 to use any library
struct Blas final {
  std::string name{};
  bool fast = false;

  static const Blas& here() {
    static const Blas blas = find();
    return blas;
  }

 private:
  /// Asks the library that defines cblas_sgemm, or a library on which it depends; the
  /// process may have loaded others, too.
  static Blas find() {
    Dl_info where{};
    void* const product = dlsym(RTLD_DEFAULT, "cblas_sgemm");
    if (product == nullptr || dladdr(product, &where) == 0 || where.dli_fname == nullptr) return {};
    void* handle = dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) handle = dlopen(nullptr, RTLD_LAZY);  // part of the program itself
    const auto ask = [&]<class Function>(const char* symbol, Function*& function) {
      return (function = reinterpret_cast<Function*>(dlsym(handle, symbol))) != nullptr;
    };
    const char* (*text)() = nullptr;
    const char* (*core)() = nullptr;
    void (*write)(char*, int) = nullptr;
    if (ask("openblas_get_config", text)) {  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...": two words of it
      std::string name = text();
      name.resize((std::min)(name.find(' ', name.find(' ') + 1), name.size()));
      return {ask("openblas_get_corename", core) ? name + " (" + core() + ")" : name, true};
    }
    if (ask("mkl_get_version_string", write)) {
      char version[256] = {};
      write(version, sizeof version - 1);
      return {std::string("MKL, ") + version, true};
    }
    if (ask("bli_info_get_version_str", text)) return {std::string("BLIS ") + text(), true};
    if (ask("armpl_get_version", text) || ask("armplversion", text)) return {"Arm Performance Libraries", true};
    char* const path = realpath(where.dli_fname, nullptr);
    const std::string file = path != nullptr ? path : where.dli_fname;
    std::free(path);
#if REGIMEN_TRUST_CBLAS
    return {file.substr(file.rfind('/') + 1), true};
#else
    return {file.substr(file.rfind('/') + 1), false};
#endif
  }
};

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
