// regimen/rule/name_declares_shape.hpp — the name of a value says what shape the value has.
#pragma once

#include <regimen/layer/named.hpp>

#include <type_traits>

namespace regimen::rule {

/// A Read knows nothing else of its value.   docs/errors/branches.md#name_declares_shape
template <class Name>
struct name_declares_shape {
  static constexpr bool holds = !std::is_void_v<typename detail::shape_of_name<Name>::type>;
  struct must_hold {
    static_assert(holds,
                  "regimen: the name of a value declares its shape; write struct Name : NamedValue<Shape<...>> {}");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
