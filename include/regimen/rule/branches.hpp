// regimen/rule/branches.hpp — rules. Branches: forks, several inputs, values that are kept and read by name.
#pragma once

#include <regimen/layer/named.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::rule {

/// Joins: whether the first argument is a join; Holds: and whether there are branches enough.
/// docs/errors/branches.md#fork_joins_branches
template <class Fork, bool Holds>
struct fork_joins_branches {
  static constexpr bool holds = Holds;
  struct must_hold {
    static_assert(holds, "regimen: a Fork has a join, then two branches or more; write Fork<Add, A, B>");
  };
};

/// Numbers: whether all branches end with numbers, or none does.   docs/errors/branches.md#branches_keep_element
template <class Fork, bool Numbers = false>
struct branches_keep_element {
  static constexpr bool holds = Numbers;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a branch of this Fork ends with tokens and another with numbers; put Embedding<...> at its end");
  };
};

}  // namespace regimen::rule

namespace regimen::detail {

template <class First, class Other>
constexpr bool differ_along(std::size_t axis) {
  if (First::rank != Other::rank || axis >= First::rank) return false;
  for (std::size_t i = 0; i < First::rank; ++i)
    if (i != axis && First::extent(i) != Other::extent(i)) return false;
  return true;
}

}  // namespace regimen::detail

namespace regimen::rule {

/// Along the axis the outputs stand one behind the other; all other extents are equal.
/// docs/errors/branches.md#branches_keep_extents
template <std::size_t axis, class First, class Other>
struct branches_keep_extents {
  static constexpr bool holds = regimen::detail::differ_along<First, Other>(axis);
  struct must_hold {
    static_assert(
        holds,
        "regimen: Concat joins outputs that have this axis and differ along it alone; make the other extents equal");
  };
};

/// a + b and a · b exist only where all have one shape.   docs/errors/branches.md#branches_keep_shape
template <class Join, class First, class Other>
struct branches_keep_shape {
  static constexpr bool holds = std::is_same_v<First, Other>;
  struct must_hold {
    static_assert(holds,
                  "regimen: a Fork that adds or multiplies joins outputs of one shape; end all branches with the same");
  };
};

/// Count: the values of the bundle.   docs/errors/branches.md#bundle_has_part
template <class Layer, class Input, std::size_t I, std::size_t Count>
struct bundle_has_part {
  static constexpr bool holds = I < Count;
  struct must_hold {
    static_assert(holds, "regimen: this Bundle has fewer values than Part<I> counts, from 0 on; write a smaller I");
  };
};

/// A Bundle has a value, and each is of a kind that is no Bundle. Kinds: whether it is so.
/// docs/errors/branches.md#bundle_holds_kinds
template <class Bundle, bool Kinds = false>
struct bundle_holds_kinds {
  static constexpr bool holds = Kinds;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a Bundle holds Tokens, Vector, Series, Image, Volume; write one or more, and no Bundle among them");
  };
};

/// Bundled: whether Input's samples are bundles.   docs/errors/branches.md#part_of_a_bundle
template <class Input, class Layer, bool Bundled = false>
struct part_of_a_bundle {
  static constexpr bool holds = Bundled;
  struct must_hold {
    static_assert(holds, "regimen: Part<I> is a value of a Bundle; write Input<Bundle<...>>, or leave Part out");
  };
};

/// A Read knows nothing else of its value.   docs/errors/branches.md#name_declares_shape
template <class Name>
struct name_declares_shape {
  static constexpr bool holds = !std::is_void_v<typename detail::shape_of_name<Name>::type>;
  struct must_hold {
    static_assert(holds,
                  "regimen: the name of a value declares its shape; write struct Name : NamedValue<Shape<...>> {}");
  };
};

/// Keep keeps what its name declares.
/// docs/errors/branches.md#named_value_has_its_shape
template <class Keep, class Found, class Declared>
struct named_value_has_its_shape {
  static constexpr bool holds = std::is_same_v<Found, Declared>;
  struct must_hold {
    static_assert(holds, "regimen: Keep<Name> keeps a value of another shape than Name declares; declare the value's");
  };
};

/// Kept: whether a Keep<Name> comes before, in the order in which layers are computed.
/// docs/errors/branches.md#named_value_is_kept
template <class Name, bool Kept>
struct named_value_is_kept {
  static constexpr bool holds = Kept;
  struct must_hold {
    static_assert(holds,
                  "regimen: a layer reads a value by a name that is kept nowhere before; put Keep<Name> before it");
  };
};

/// Once: whether the model has one Keep<Name>, in no Repeat.   docs/errors/branches.md#value_is_kept_once
template <class Name, bool Once>
struct value_is_kept_once {
  static constexpr bool holds = Once;
  struct must_hold {
    static_assert(holds, "regimen: a name stands for one value; write Keep<Name> once, and in no Repeat");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
