// regimen/engine/cpu/math.hpp — exp, tanh, erf and sigmoid of a whole register.
#pragma once

#include <regimen/engine/cpu/simd.hpp>

#include <bit>
#include <cmath>
#include <cstddef>

namespace regimen::cpu {

// fp64 goes to the standard library lane by lane: it exists for gradient checks, where accuracy is all that counts.
// A number's fp32 result never depends on its position in a register.
// The bits of an fp32 result depend on whether the target fuses multiply-adds, and not on its registers or other
// instructions. NaN stays NaN; which one is for the compiler to choose.

namespace detail {

template <class S>
Vector<S> horner(Vector<S>, S last) {
  return last;
}
/// coefficients from the highest power down
template <class S, class... More>
Vector<S> horner(Vector<S> x, S first, S second, More... more) {
  Vector<S> value = multiply_add(Vector<S>(first), x, Vector<S>(second));
  ((value = multiply_add(value, x, Vector<S>(more))), ...);
  return value;
}

/// 2^exponent for exponents of normal numbers
inline Vector<float> power_of_two(Vector<float>::Signed exponent) {
  return Vector<float>(std::bit_cast<Vector<float>::Native>((exponent + 127) << 23));
}

/// e^(x − whole · ln 2)
inline Vector<float> exp_of_rest(Vector<float> x, Vector<float> whole) {
  using V = Vector<float>;
  V r = multiply_add(whole, V(-0.693359375f), x);  // the first product is exact
  r = multiply_add(whole, V(2.12194440e-4f), r);
  const V tail = horner(r, 0.001381459784f, 0.008368716187f, 0.04166838799f, 0.1666652063f, 0.4999999345f);
  return multiply_add(tail, r * r, r) + V(1.0f);
}

}  // namespace detail

/// e^x                                                       error: 1.01 ulp, subnormal results 0.75
///                                                           (measured over all fp32 numbers)
///   overflows to infinity above 88.72, underflows gradually to 0 below −103.97; NaN stays NaN
///   x = n ln 2 + r, |r| <= ln 2 / 2, and a polynomial of degree 6 for e^r, minimax in relative error (3.1e-9)
inline Vector<float> exp(Vector<float> x) {
  using V = Vector<float>;
  x = min(max(x, V(-105.0f)), V(90.0f));
  // Adding 3/2 · 2^23 rounds to an integer and leaves it in the low bits of the sum.
  const V rounding = 0x1.8p23f;
  const V shifted = multiply_add(x, V(1.44269504088896341f), rounding);
#if defined(__AVX512F__)
  if constexpr (vector_bytes == 64) {  // the same bits in fewer instructions
    const V whole = shifted - rounding;
    return V(_mm512_maskz_scalef_ps(0xFFFF, detail::exp_of_rest(x, whole).native, whole.native));
  }
#endif
  const V::Signed n = std::bit_cast<V::Signed>(shifted.native) - std::bit_cast<V::Signed>(rounding.native);
  const V::Signed half = n >> 1;  // two factors, because 2^128 and 2^-150 are no normal numbers
  return detail::exp_of_rest(x, V(__builtin_convertvector(n, V::Native))) * detail::power_of_two(half) *
         detail::power_of_two(n - half);
}

/// 1 / (1 + e^−x)                                            error: 2.49 ulp down to −88; below −88.72 the result is 0
inline Vector<float> sigmoid(Vector<float> x) { return Vector<float>(1.0f) / (Vector<float>(1.0f) + exp(-x)); }

/// (e^x − e^−x) / (e^x + e^−x)                               error: 1.30 ulp
///   odd polynomial below 0.65, else 1 − 2 / (e^2x + 1)
inline Vector<float> tanh(Vector<float> x) {
  using V = Vector<float>;
  const V size = abs(x), square = x * x;
  const V tail =
      detail::horner(square, -0.005515181728f, 0.02046943937f, -0.05368803056f, 0.1333083046f, -0.3333325985f);
  const V small = multiply_add(tail * square, x, x);
  const V large = V(1.0f) - V(2.0f) / (exp(size + size) + V(1.0f));
  return select(size < V(0.65f), small, select(x < V(0.0f), -large, large));
}

/// 2/√π ∫₀ˣ e^−t² dt                                         error: 1.34 ulp
///   odd polynomial below 0.8, else 1 − exp(p(|x|)), p a polynomial for log erfc; both minimax
inline Vector<float> erf(Vector<float> x) {
  using V = Vector<float>;
  const V size = abs(x), square = x * x;
  const V tail = detail::horner(square, -0.0006315430131f, 0.005051154876f, -0.0268025914f, 0.1128271879f,
                                -0.3761257202f, 0.12837916f);
  const V small = multiply_add(x, tail, x);
  const V t = min(size, V(4.0f));  // from 3.92 on, erf is 1 in fp32
  const V large = V(1.0f) - exp(detail::horner(t, 0.0002074591084f, -0.003153653922f, 0.02265632628f, -0.1047989585f,
                                               -0.6362217081f, -1.128229039f, -6.595097162e-05f));
  return select(size < V(0.8f), small, select(x < V(0.0f), -large, large));
}

/// function(x, more...), lane by lane
template <class Function, class... More>
Vector<double> by_lane(const Function& function, Vector<double> x, More... more) {
  for (std::size_t lane = 0; lane < lanes<double>; ++lane)
    x.native[lane] = function(x.native[lane], more.native[lane]...);
  return x;
}
inline Vector<double> exp(Vector<double> x) {
  return by_lane([](double v) { return std::exp(v); }, x);
}
inline Vector<double> sigmoid(Vector<double> x) { return Vector<double>(1.0) / (Vector<double>(1.0) + exp(-x)); }
inline Vector<double> tanh(Vector<double> x) {
  return by_lane([](double v) { return std::tanh(v); }, x);
}
inline Vector<double> erf(Vector<double> x) {
  return by_lane([](double v) { return std::erf(v); }, x);
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
