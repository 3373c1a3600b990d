// cmake/blas_name.cpp — prints which BLAS library a program gets here; succeeds if it is one that is written for speed.
#include <regimen/engine/cpu/blas.hpp>

#include <cblas.h>

#include <cstdio>

int main() {
  float x = 1, y = 0;
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, 1.0f, &x, 1, &x, 1, 0.0f, &y, 1);
  std::puts(regimen::cpu::Blas::here().name.c_str());
  return regimen::cpu::Blas::here().fast ? 0 : 1;
}
// SPDX-License-Identifier: Apache-2.0
