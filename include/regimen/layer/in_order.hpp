// regimen/layer/in_order.hpp — layers with options: one type for one meaning, for every order and form of the options.
//
// Conv2d<64, 7, Stride<2>, Padding<3>> and Conv2d<64, std::size_t{7}, Padding<3>, Stride<2>, Dilation<1>> are both
// in_order::Conv2d<64, 7, Stride<2>, Padding<3>>. Compilers show this name, and a program may write it, too. So a
// policy that names a layer means every layer like it. docs/why/identity.md has the reason for an alias.
//
// A layer with an option that is unknown, or given twice, stays as it is written; its rule refuses it.
#pragma once

#include <regimen/layer/linear.hpp>
#include <regimen/layer/window.hpp>

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

#include <array>
#include <cstddef>
#include <limits>
#include <utility>

namespace regimen::detail {

/// The order of options.
///   from    for each place the index of its option as written     count   their number, without defaults
///   sound   whether each has a place of its own
template <std::size_t size>
struct OptionOrder {
  std::array<std::size_t, size + 1> from{};
  std::size_t count = 0;
  bool sound = true;
};
/// The place of an option that no layer has.
inline constexpr int unknown_option = 99;
/// The place of an option, and whether it is the default.
struct OptionPlace {
  int place = unknown_option;
  bool needless = false;
};
/// The order, from each option's place; the last is no option's.
template <std::size_t size>
constexpr OptionOrder<size> order_of(const std::array<OptionPlace, size + 1>& places) {
  OptionOrder<size> order;
  for (int place = 0; place < 12; ++place) {
    std::size_t found = 0;
    for (std::size_t i = 0; i != size; ++i) {
      if (places[i].place != place) continue;
      ++found;
      if (!places[i].needless) order.from[order.count++] = i;
    }
    order.sound = order.sound && found <= 1;
  }
  for (std::size_t i = 0; i != size; ++i) order.sound = order.sound && places[i].place != unknown_option;
  return order;
}

// ---- options that are types

/// The place of an option. No layer has two of one place.
template <class Option>
inline constexpr OptionPlace option_place{};

/// A list of options; as they are, if they are not sound.
template <class... Options>
struct types_in_order {
 private:
  static constexpr OptionOrder<sizeof...(Options)> order =
      order_of<sizeof...(Options)>({option_place<Options>..., OptionPlace{}});
  template <std::size_t... i>
  static auto ordered(std::index_sequence<i...>)
      -> boost::mp11::mp_list<boost::mp11::mp_at_c<boost::mp11::mp_list<Options...>, order.from[i]>...>;

 public:
  static constexpr bool sound = order.sound;
  using type = boost::mp11::mp_if_c<sound, decltype(ordered(std::make_index_sequence<order.count>{})),
                                    boost::mp11::mp_list<Options...>>;
};

// ---- options that are values

/// The place of an option that is a value, and its default, which is left out.
struct ValuePlace {
  int place = unknown_option;
  std::size_t needless = ~std::size_t{0};
};
template <class Option>
inline constexpr ValuePlace value_place{};
template <>
inline constexpr ValuePlace value_place<StrideOption>{0, 1};
template <>
inline constexpr ValuePlace value_place<PaddingOption>{1, 0};
template <>
inline constexpr ValuePlace value_place<LinearOption>{9};
/// A value as a type, whose place is that of the value.
template <auto option>
struct OptionValue final {};
template <auto option>
inline constexpr OptionPlace option_place<OptionValue<option>>{
    value_place<decltype(option)>.place, static_cast<std::size_t>(option) == value_place<decltype(option)>.needless};

/// A number as it is written by itself: an int, if it fits.
template <std::size_t number>
constexpr auto number_alone() {
  if constexpr (number <= std::size_t{(std::numeric_limits<int>::max)()}) return static_cast<int>(number);
  else return number;
}

/// A layer with the values of a list.
template <template <std::size_t, auto, auto...> class Layer, std::size_t Channels, auto Window, auto... Options>
constexpr auto with_options(boost::mp11::mp_list<OptionValue<Options>...>) {
  return boost::mp11::mp_identity<Layer<Channels, Window, Options...>>{};
}
/// A layer with options in order, and the window in its shortest form; options that are not sound stay as written.
template <template <std::size_t, auto, auto...> class Layer, bool sound, std::size_t Channels, auto Window,
          auto shortest, auto... Options>
constexpr auto values_in_order() {
  if constexpr (sound) {
    using Order = types_in_order<OptionValue<Options>...>;
    static_assert(Order::sound);
    return with_options<Layer, Channels, shortest>(typename Order::type{});
  } else {
    return boost::mp11::mp_identity<Layer<Channels, Window, Options...>>{};
  }
}

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
