// regimen/rule/product_has_epilogue.hpp — Epilogue<...> is about products that have epilogues.
#pragma once

namespace regimen::rule {

/// On the CPU a kernel adds the bias; the choice would change nothing.   docs/errors/devices.md#product_has_epilogue
template <class Device, class Fusing, bool has>
struct product_has_epilogue {
  static constexpr bool holds = has || !Fusing::names_epilogues;
  struct must_hold {
    static_assert(holds,
                  "regimen: products of this Device have no epilogues; take Epilogue<...> out, or write Fusion<...>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
