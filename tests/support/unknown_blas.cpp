// tests/support/unknown_blas.cpp — a BLAS library that nobody knows, and whose products are wrong.
extern "C" {
[[gnu::visibility("default")]] void cblas_sgemm() {}
[[gnu::visibility("default")]] void cblas_dgemm() {}
}
// SPDX-License-Identifier: Apache-2.0
