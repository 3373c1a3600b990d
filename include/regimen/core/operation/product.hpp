// regimen/core/operation/product.hpp — products of matrices, and what an engine may compute in one pass with them.
#pragma once

#include <regimen/core/activation.hpp>
#include <regimen/core/operation/scalars.hpp>
#include <regimen/core/view.hpp>

#include <cstddef>

namespace regimen::op {

/// c = op(a) · op(b), or c += if `add`                       accumulation in at least fp32, one rounding to C
///   a (m,k), or stored (k,m) if transpose_a; b (k,n), or stored (n,k) if transpose_b; c (m,n); row-major, and
///   dense unless a leading number says otherwise
///   a_leading, c_leading   elements from row to row as it is stored, where they are more than its columns; 0: as many.
///                          Only on engines whose Traits say row_alignment
///   in_series              one of many products with this b, one behind the other, each of a few rows: what an engine
///                          may know that prepares b before it multiplies
template <class A, class B, class C>
struct Product final {
  static constexpr const char* name = "product";
  View<A> a;
  View<B> b;
  View<C> c;
  std::size_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false, add = false;
  std::size_t a_leading = 0, c_leading = 0;
  bool in_series = false;

  constexpr std::size_t row_of_a() const { return a_leading > 0 ? a_leading : transpose_a ? m : k; }
  constexpr std::size_t row_of_c() const { return c_leading > 0 ? c_leading : n; }
  constexpr Cost cost() const {
    const double dm = double(m), dn = double(n), dk = double(k);
    return {2 * dm * dn * dk, dm * dk * sizeof(A) + dk * dn * sizeof(B) + dm * dn * sizeof(C) * (add ? 2 : 1), 1};
  }
};

/// A product with an epilogue, which changes sums before they are rounded, once, to C. With s = op(a) · op(b):
///   forward    c = act(s + bias); x, if present, is s + bias
///   backward   c = s · act'(x), the bias is absent
///   the product as above, without `add`; bias (n); x (m,n), rounded to C
template <class A, class B, class C, class Activation = activation::Identity, bool backward = false>
struct ProductEpilogue final {
  static constexpr bool activates = !std::is_same_v<Activation, activation::Identity>;
  static constexpr const char* name = backward    ? "product_activation_backward"
                                      : activates ? "product_activation"
                                                  : "product_bias";
  Product<A, B, C> product;
  View<C> bias{}, x{};

  constexpr Cost cost() const {
    Cost sum = product.cost();
    const double elements = double(product.m * product.n);
    sum.flops += (backward ? 12 : activates ? 10 : 1) * elements;
    if (!x.is_absent()) sum.bytes += elements * sizeof(C);
    return sum;
  }
};

/// The sum of a residual branch by the product that the branch ends with, or the gradient's by the one that
/// computes it:
///   c = op(a) · op(b) + onto + bias                         rounded once, to C
///   the product as above, without `add`; onto (m,n), another tensor than c; bias (n), may be absent
template <class A, class B, class C>
struct ProductSum final {
  static constexpr const char* name = "product_sum";
  Product<A, B, C> product;
  View<C> onto;
  View<C> bias{};

  constexpr Cost cost() const {
    Cost sum = product.cost();
    const double elements = double(product.m * product.n);
    sum.flops += (bias.is_absent() ? 1 : 2) * elements;
    sum.bytes += elements * sizeof(C);
    return sum;
  }
};

/// Which epilogues the products of an engine have: for results in T with so many columns, Activation after a bias
/// (Identity: the bias alone), and the multiplication by its derivative. None.
///   sums   whether there are ProductSum, DropoutSum and NormalizeBackwardSum
struct NoEpilogues {
  static constexpr bool any = false, sums = false;
  template <class Activation, class T>
  static constexpr bool has(std::size_t) {
    return false;
  }
  template <class Activation, class T>
  static constexpr bool has_backward(std::size_t) {
    return false;
  }
};

}  // namespace regimen::op
// SPDX-License-Identifier: Apache-2.0
