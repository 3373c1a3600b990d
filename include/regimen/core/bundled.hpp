// regimen/core/bundled.hpp — a sample of several values in memory, one behind the other.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/core/shape.hpp>

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>

namespace regimen {

/// The values of a sample of a bundle, each an array, one behind the other, as members of nested structs lie: each is
/// aligned as its elements. Trivially copyable; `std::vector<Bundled<...>>(n)` holds zeros.
///
///   Values      Value<Element, Shape> of each
///   get<I>()    value I, a std::array of all its elements, row-major
template <class... Values>
struct Bundled;
template <class Only>
struct Bundled<Only> final {
  static constexpr std::size_t count = 1;
  std::array<typename Only::Element, Only::size> first;

  template <std::size_t I>
  constexpr auto& get() & {
    static_assert(I == 0, "regimen: get<I>() begins to count at 0 and this bundle has fewer values; write a smaller I");
    return first;
  }
  template <std::size_t I>
  constexpr const auto& get() const& {
    return const_cast<Bundled*>(this)->template get<I>();
  }
  template <std::size_t I>
  constexpr auto get() const&& {
    return get<I>();
  }
  template <std::size_t>
  static constexpr std::size_t offset() {
    return 0;
  }
};
template <class First, class... Others>
struct Bundled<First, Others...> final {
  static constexpr std::size_t count = 1 + sizeof...(Others);
  std::array<typename First::Element, First::size> first;
  Bundled<Others...> others;

  template <std::size_t I>
  constexpr auto& get() & {
    if constexpr (I == 0) return first;
    else return others.template get<I - 1>();
  }
  template <std::size_t I>
  constexpr const auto& get() const& {
    return const_cast<Bundled*>(this)->template get<I>();
  }
  template <std::size_t I>
  constexpr auto get() const&& {
    return get<I>();
  }
  /// Where value I lies, in bytes.
  template <std::size_t I>
  static constexpr std::size_t offset() {
    constexpr std::size_t step = alignof(Bundled<Others...>), begin = (sizeof(first) + step - 1) / step * step;
    if constexpr (I == 0) return 0;
    else return begin + Bundled<Others...>::template offset<I - 1>();
  }
};

namespace detail {

template <class Element>
inline constexpr bool is_bundle = false;
template <class... Values>
inline constexpr bool is_bundle<Bundled<Values...>> = true;

/// Value I of a bundle.
template <std::size_t I, class Bundle>
struct bundled_value;
template <std::size_t I, class... Values>
struct bundled_value<I, Bundled<Values...>> : std::tuple_element<I, std::tuple<Values...>> {};

/// Copies value I of so many samples, which lie at `from`, to a dense tensor at `to`.
template <std::size_t I, class Bundle>
constexpr auto copy_of_value(std::size_t samples, std::size_t from, std::size_t to) {
  using Found = typename bundled_value<I, Bundle>::type;
  using T = typename Found::Element;
  static_assert(sizeof(Bundle) % sizeof(T) == 0 && std::is_trivially_copyable_v<Bundle>);
  return op::CopyColumns<T>{.x = {from + Bundle::template offset<I>()},
                            .y = {to},
                            .rows = samples,
                            .columns = Found::size,
                            .from_row = sizeof(Bundle) / sizeof(T),
                            .to_row = Found::size};
}

}  // namespace detail
}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
