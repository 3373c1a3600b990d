// regimen/core/ratio.hpp — fractions in types.
#pragma once

namespace regimen {

/// Numerator / Denominator, exactly; a template argument may not be a floating number in every supported compiler.
///   Dropout<Ratio<1, 10>>   Clip<Norm<Ratio<1>>>
template <long long Numerator, long long Denominator = 1>
struct Ratio final {
  static_assert(Denominator > 0, "regimen: Ratio<N, D> needs D >= 1; put the sign into the numerator");
  static constexpr double value = double(Numerator) / double(Denominator);
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
