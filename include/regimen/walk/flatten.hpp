// regimen/walk/flatten.hpp — turns the user's layers into the list that is walked: flattened, with casts, fused.
#pragma once

#include <regimen/layer/cast.hpp>
#include <regimen/layer/children.hpp>
#include <regimen/layer/cross_attention.hpp>
#include <regimen/layer/join.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/layer/part.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/walk/fusion.hpp>
#include <regimen/walk/list_entry.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::walk {

/// Whether the output of a layer has the element type of its input, tokens too.
template <class Layer>
inline constexpr bool keeps_element = requires { requires Layer::keeps_element; };

/// The element type of a layer's output, behind Element, where it computes in what is stored as Stored.
template <class Layer, class Element, class Stored>
struct element_behind {
  using type = std::conditional_t<!Number<Element> && keeps_element<Layer>, Element, Stored>;
};
template <std::size_t I, class Element, class Stored>
struct element_behind<Part<I>, Element, Stored> {
  using type = typename detail::bundled_value<I, Element>::type::Element;
};
template <class... Branches, class Element, class Stored>
struct element_behind<Fork<Outputs, Branches...>, Element, Stored> {
  using type = statistic_t<Stored>;
};

/// The list written so far, and the element type of its output: int32 for tokens.
template <class Entries_, class Element_>
struct Prefix final {
  using Entries = Entries_;
  using Element = Element_;
  /// With a Cast behind it where the element type changes.
  template <class Compute, class Stored = stored_t<Compute>>
  using cast_to =
      Prefix<mp::mp_if_c<Number<Element> && !std::is_same_v<Element, Stored>,
                         mp::mp_push_back<Entries, ListEntry<detail::Cast<Stored>, Stored, mp::mp_list<>>>, Entries>,
             Stored>;
  /// With layers of one compute type. Of a layer that keeps what it reads tokens stay tokens.
  template <class Layer, class... More>
  using with = Prefix<mp::mp_push_back<typename cast_to<typename Layer::Compute>::Entries, Layer, More...>,
                      typename element_behind<typename Layer::Layer, Element, stored_t<typename Layer::Compute>>::type>;
};

/// Why neighbours are walked as one child.
///   unit, unit_computed_again   they are one unit; whether the output is recomputed
///   checkpointed                they are the layers of a Checkpointed, not yet fused
enum class GroupIs { unit, unit_computed_again, checkpointed };
/// Such neighbours; the first is child `place` of the list that paths refer to. Names and paths are the same as without
/// the Group, and so is what a unit saves. If a later backward needs the output of a unit, the Group recomputes its
/// inner values for that, and once more for its own backward.
template <std::size_t place, GroupIs kind, class Entries>
struct Group final {
  static constexpr const char* name = mp::mp_front<Entries>::Layer::name;
};
template <std::size_t place, GroupIs kind, class... Entries>
inline constexpr std::size_t places_of<Group<place, kind, mp::mp_list<Entries...>>> =
    (places_of<typename Entries::Layer> + ...);
template <class Layer>
inline constexpr bool is_group = false;
template <std::size_t place, GroupIs kind, class Entries>
inline constexpr bool is_group<Group<place, kind, Entries>> = true;

/// A list of entries that begins at a later child of another.
template <class Entries, std::size_t by>
struct begins_at {
  using type = Entries;
};
template <class Entry, std::size_t by>
struct moved {
  using type = Entry;
};
template <std::size_t place, GroupIs kind, class Entries, class Compute, class Labels, std::size_t by>
struct moved<ListEntry<Group<place, kind, Entries>, Compute, Labels>, by> {
  using type = ListEntry<Group<place + by, kind, typename begins_at<Entries, by>::type>, Compute, Labels>;
};
template <class... Entries, std::size_t by>
  requires(by > 0)
struct begins_at<mp::mp_list<Entries...>, by> {
  using type = mp::mp_list<typename moved<Entries, by>::type...>;
};

/// Where the next layer stands in the user's lists.
///   Compute   the compute type there     Outer   the labels that lead to its list     index   in that list
template <class Compute_, class Outer, std::size_t index>
struct Cursor final {
  using Compute = Compute_;
  using Labels = mp::mp_push_back<Outer, Index<index>>;
  template <class Layer>
  using placed = ListEntry<Layer, Compute, Labels>;
  template <class Layer, class Named>
  using named = ListEntry<Layer, Compute, mp::mp_push_back<Labels, Label<Named>>>;
  template <class OfInner>
  using inside = Cursor<OfInner, Labels, 0>;
  template <bool keeps_statistics>
  using frozen = Cursor<Compute, mp::mp_push_back<Outer, InFrozen<keeps_statistics>>, index>;
  template <std::size_t by>
  using after = Cursor<Compute, Outer, index + by>;
};
/// How many places a layer has in the user's list: a Frozen those of its layers.
template <class Layer>
inline constexpr std::size_t listed_places = 1;
template <class... Layers>
inline constexpr std::size_t listed_places<mp::mp_list<Layers...>> = (std::size_t{0} + ... + listed_places<Layers>);
template <class... Layers>
inline constexpr std::size_t listed_places<Frozen<Layers...>> =
    listed_places<typename children<Frozen<Layers...>>::type>;
/// The layers of a branch, or of a block of a Repeat: a Sequential stands for its layers, in a Frozen, too.
template <class... Layers>
struct listed_layers {
  using type = mp::mp_list<Layers...>;
};
template <class... Layers>
struct listed_layers<Sequential<Layers...>> {
  using type = mp::mp_list<Layers...>;
};
template <class... Layers>
struct listed_layers<Frozen<Sequential<Layers...>>> {
  using type = mp::mp_list<Frozen<Layers...>>;
};
template <class... Layers>
struct listed_layers<Frozen<KeepStatistics, Sequential<Layers...>>> {
  using type = mp::mp_list<Frozen<KeepStatistics, Layers...>>;
};

/// A list with the layers of one that is several, behind it.   At   the Cursor of that layer
template <class Done, class At, class Layer>
struct with_layer;
/// A list with layers behind it.
template <class Done, class At, class... Layers>
struct with_layers {
  using type = Done;
};
template <class Done, class At, class Layer, class... Others>
struct with_layers<Done, At, Layer, Others...>
    : with_layers<typename Done::template with<typename At::template placed<Layer>>, typename At::template after<1>,
                  Others...> {};
template <class Done, class At, class Layer, class... Others>
  requires requires { typename with_layer<Done, At, Layer>::type; }
struct with_layers<Done, At, Layer, Others...>
    : with_layers<typename with_layer<Done, At, Layer>::type, typename At::template after<listed_places<Layer>>,
                  Others...> {};
template <class Done, class At, class... Layers>
struct with_layers<Done, At, mp::mp_list<Layers...>> : with_layers<Done, At, Layers...> {};

template <class Done, class At, class... Inner>
struct with_layer<Done, At, Sequential<Inner...>>
    : with_layers<Done, typename At::template inside<typename At::Compute>, Inner...> {};
template <class Done, class At, class T, class... Inner>
struct with_layer<Done, At, As<T, Inner...>> : with_layers<Done, typename At::template inside<T>, Inner...> {};
template <class Done, class At, class... Inner>
struct with_layer<Done, At, Frozen<Inner...>>
    : with_layers<Done, typename At::template frozen<detail::keeps_statistics<Frozen<Inner...>>>,
                  typename children<Frozen<Inner...>>::type> {};

/// The layers of a Checkpointed are one entry.
template <class... Before, class Element, class At, class... Inner>
struct with_layer<Prefix<mp::mp_list<Before...>, Element>, At, Checkpointed<Inner...>> {
 private:
  static constexpr std::size_t place = (std::size_t{0} + ... + places_of<typename Before::Layer>);
  using Inside = typename with_layers<Prefix<mp::mp_list<>, Element>,
                                      typename At::template inside<typename At::Compute>, Inner...>::type;
  using Entries = typename begins_at<typename Inside::Entries, place>::type;
  using Whole = Group<place, GroupIs::checkpointed, Entries>;

 public:
  using type =
      Prefix<mp::mp_list<Before..., ListEntry<Whole, typename At::Compute, mp::mp_list<>>>, typename Inside::Element>;
};

/// The parts of attention, with their own names.
template <class Done, class At, class Parts>
struct with_parts;
template <class Done, class At, class... Parts>
struct with_parts<Done, At, mp::mp_list<Parts...>> {
  using type =
      typename Done::template with<typename At::template named<typename Parts::Layer, typename Parts::Label>...>;
};
template <class Done, class At, class... Options>
struct with_layer<Done, At, in_order::SelfAttention<Options...>>
    : with_parts<Done, At, typename in_order::SelfAttention<Options...>::Parts> {};
template <class Done, class At, class Name, class... Options>
struct with_layer<Done, At, in_order::CrossAttention<Name, Options...>>
    : with_parts<Done, At, typename in_order::CrossAttention<Name, Options...>::Parts> {};

/// The list to walk. `Final` is the element type of its output.
template <class Fusing, class Current, class Compute, class Final, class... Layers>
struct flatten {
 private:
  using Ended = typename with_layers<Prefix<mp::mp_list<>, Current>, Cursor<Compute, mp::mp_list<>, 0>,
                                     Layers...>::type::template cast_to<Final>::Entries;

 public:
  using type = typename fuse<Fusing, Ended>::type;
};

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
