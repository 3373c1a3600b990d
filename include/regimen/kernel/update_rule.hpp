// regimen/kernel/update_rule.hpp — what kernels call of an update rule.
#pragma once

#include <regimen/core/hd.hpp>
#include <regimen/core/operation.hpp>

#include <cstdint>

namespace regimen::kernel {

#if defined(__CUDACC__)
#pragma nv_diagnostic push
#pragma nv_diag_error 20011, 20014
#endif
/// A function that lacks REGIMEN_HD exists on the host alone. No static assertion sees this; nvcc says
///   calling a __host__ function("Mine::update") from a __host__ __device__ function("...
///   an_update_rule_on_a_device_marks_its_functions_REGIMEN_HD<Mine>::update") is not allowed
/// by default as a warning, and would go on to a program that does anything. Here it is an error.
template <class UpdateRule>
struct an_update_rule_on_a_device_marks_its_functions_REGIMEN_HD final {
  using Options = typename UpdateRule::Options;

  template <class M>
  REGIMEN_HD static auto coefficients(const Options& options, const Scalars& scalars) {
    return typename UpdateRule::template Coefficients<M>(options, scalars);
  }
  template <class M, class State, class Coefficients>
  REGIMEN_HD static void update(M& weight, M gradient, State& state, const Coefficients& coefficients, bool decays) {
    UpdateRule::update(weight, gradient, state, coefficients, decays);
  }
  REGIMEN_HD static double correction_first(const Options& options, std::uint64_t t) {
    return UpdateRule::correction_first(options, t);
  }
  REGIMEN_HD static double correction_second(const Options& options, std::uint64_t t) {
    return UpdateRule::correction_second(options, t);
  }
};
/// The same of what op::Calculate calls.
template <class Function>
struct a_function_on_a_device_is_marked_REGIMEN_HD final {
  REGIMEN_HD static void call(const Function& function, double* numbers, const Scalars& scalars) {
    function(numbers, scalars);
  }
};
#if defined(__CUDACC__)
#pragma nv_diagnostic pop
#endif

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
