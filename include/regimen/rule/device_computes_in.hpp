// regimen/rule/device_computes_in.hpp — the device multiplies in the recipe's element type.
#pragma once

namespace regimen::rule {

/// Tensor cores before sm_80 have neither bf16 nor tf32; the library would compute something else, or nothing.
/// docs/errors/devices.md#device_computes_in
template <class Device, class Compute, bool computes>
struct device_computes_in {
  static constexpr bool holds = computes;
  struct must_hold {
    static_assert(holds,
                  "regimen: bf16 and tf32 need a GPU from sm_80 on; compile for sm_80, or write Precision<fp32>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
