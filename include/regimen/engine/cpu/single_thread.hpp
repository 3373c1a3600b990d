// regimen/engine/cpu/single_thread.hpp — makes libraries compute on the calling thread alone;
// Regimen's threads divide the work.
#pragma once

#include <dlfcn.h>

namespace regimen::cpu {

namespace detail {

/// A function of a loaded library, or null; so the library need not be linked.
template <class Function>
Function* loaded(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

/// The functions that set the libraries' numbers of threads. OpenMP and MKL have a number for each calling thread;
/// OpenBLAS and BLIS with threads of their own have one for the whole process, which is set once.
struct ThreadControl final {
  int (*in_parallel)() = loaded<int()>("omp_in_parallel");
  int (*openmp_threads)() = loaded<int()>("omp_get_max_threads");
  void (*set_openmp_threads)(int) = loaded<void(int)>("omp_set_num_threads");
  int (*set_mkl_threads)(int) = loaded<int(int)>("MKL_Set_Num_Threads_Local");

  ThreadControl() {
    const auto parallel = loaded<int()>("openblas_get_parallel");  // 0: one thread, 1: threads of its own, 2: OpenMP's
    if (const auto set = loaded<void(int)>("openblas_set_num_threads");
        set != nullptr && parallel != nullptr && parallel() == 1)
      set(1);
    if (const auto set = loaded<void(long)>("bli_thread_set_num_threads")) set(1);
  }

  static const ThreadControl& here() {
    static const ThreadControl control;
    return control;
  }
};

}  // namespace detail

/// Whether the caller is one of several threads of an OpenMP region; then all processors are in use.
inline bool in_parallel_region() {
  const auto asks = detail::ThreadControl::here().in_parallel;
  return asks != nullptr && asks() != 0;
}

/// Until the end of the scope, libraries use only the calling thread.
class SingleThread final {
 public:
  SingleThread() {
    const detail::ThreadControl& control = detail::ThreadControl::here();
    if (control.openmp_threads != nullptr && control.set_openmp_threads != nullptr) {
      openmp_ = control.openmp_threads();
      control.set_openmp_threads(1);
    }
    if (control.set_mkl_threads != nullptr) mkl_ = control.set_mkl_threads(1);
  }
  SingleThread(const SingleThread&) = delete;
  SingleThread& operator=(const SingleThread&) = delete;
  ~SingleThread() {
    const detail::ThreadControl& control = detail::ThreadControl::here();
    if (openmp_ > 0) control.set_openmp_threads(openmp_);
    if (control.set_mkl_threads != nullptr) control.set_mkl_threads(mkl_);
  }

 private:
  int openmp_ = 0, mkl_ = 0;
};

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
