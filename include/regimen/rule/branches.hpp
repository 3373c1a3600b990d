// regimen/rule/branches.hpp — rules of branches and bundles: joins, parts, values kept under a name.
#pragma once

#include <regimen/layer/children.hpp>
#include <regimen/layer/cross_attention.hpp>
#include <regimen/layer/join.hpp>
#include <regimen/layer/named.hpp>
#include <regimen/layer/padding.hpp>
#include <regimen/layer/part.hpp>
#include <regimen/layer/slice.hpp>
#include <regimen/rule/extensions.hpp>
#include <regimen/rule/model_layers.hpp>
#include <regimen/rule/rule_list.hpp>
#include <regimen/rule/shapes.hpp>
#include <regimen/rule/texts.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>

namespace regimen::rule {

template <class Layer>
inline constexpr bool joins_branches = false;
template <class Join, class First, class Second, class... Others>
inline constexpr bool joins_branches<Fork<Join, First, Second, Others...>> = detail::is_join<Join>;

/// A Fork has a join and branches enough.   docs/errors/branches.md#fork_joins_branches
template <class Layer>
struct fork_joins_branches {
  static constexpr bool holds = joins_branches<Layer>;
  struct must_hold {
    static_assert(holds, "regimen: a Fork has a join, then two branches or more; write Fork<Add, A, B>");
  };
};

/// All branches of a Fork end with numbers, or none does. Elements: of their outputs.
/// docs/errors/branches.md#branches_keep_element
template <class Layer, class... Elements>
struct branches_keep_element {
  static constexpr bool holds = (Number<Elements> && ...) || !(Number<Elements> || ...);
  struct must_hold {
    static_assert(
        holds,
        "regimen: a branch of this Fork ends with tokens and another with numbers; put Embedding<...> at its end");
  };
};

template <class First, class Other>
constexpr bool differ_along(std::size_t axis) {
  if (First::rank != Other::rank || axis >= First::rank) return false;
  for (std::size_t i = 0; i < First::rank; ++i)
    if (i != axis && First::extent(i) != Other::extent(i)) return false;
  return true;
}

/// Along the axis the outputs stand one behind the other; all other extents are equal.
/// docs/errors/branches.md#branches_keep_extents
template <std::size_t axis, class First, class Other>
struct branches_keep_extents {
  static constexpr bool holds = differ_along<First, Other>(axis);
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

template <class Kind>
inline constexpr bool holds_kinds = true;
template <class... Kinds>
inline constexpr bool holds_kinds<Bundle<Kinds...>> =
    sizeof...(Kinds) > 0 && !(detail::is_bundle<typename Kinds::template value<fp32>::Element> || ...);

/// A Bundle has a value, and each is of a kind that is no Bundle.   docs/errors/branches.md#bundle_holds_kinds
template <class Kind>
struct bundle_holds_kinds {
  static constexpr bool holds = holds_kinds<Kind>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a Bundle holds Tokens, Vector, Series, Image, Volume; write one or more, and no Bundle among them");
  };
};

/// X: the model's input.   docs/errors/branches.md#part_of_a_bundle
template <class X, class Layer>
struct part_of_a_bundle {
  static constexpr bool holds = detail::is_bundle<typename X::Element>;
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

/// What layer/join.hpp lists. Looks at declarations, and instantiates no function: any type stands for the engine.
template <class Joined, std::size_t count>
concept JoinsBothWays = requires(mp::mp_list<>& engine, const std::array<std::size_t, count>& places, std::size_t y) {
  typename Joined::Output::Shape;
  { Joined::reads_values } -> std::convertible_to<bool>;
  Joined::forward(engine, places, y);
  Joined::backward(engine, y, places, places);
};
template <class Join, class... Outputs>
inline constexpr bool joins_both_ways = requires {
  requires JoinsBothWays<typename Join::template of<Outputs...>, sizeof...(Outputs)>;
} || requires { requires Join::adds; };

/// layer/join.hpp lists these members.   docs/errors/extensions.md#join_goes_both_ways
template <class Join, class... Outputs>
struct join_goes_both_ways {
  static constexpr bool holds = joins_both_ways<Join, Outputs...>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a join's of<Outputs...>, of this many, has Output, reads_values, forward and backward; give all");
  };
};

/// The rules of a join about the outputs of branches, if they are sound. A program's own join may have none.
template <class Join, class... Outputs>
struct join_rules : RuleList<> {};
template <class Join, class... Outputs>
  requires requires { typename Join::template rules<Outputs...>; }
struct join_rules<Join, Outputs...> {
  using type = typename Join::template rules<Outputs...>;
};
template <class Join, class First, class... Others>
  requires detail::is_any_of<Join, Add, Multiply>
struct join_rules<Join, First, Others...>
    : RuleList<branches_keep_shape<Join, typename First::Shape, typename Others::Shape>...> {};
template <std::size_t axis, class First, class... Others>
struct join_rules<ConcatAlong<axis>, First, Others...>
    : RuleList<branches_keep_extents<axis, typename First::Shape, typename Others::Shape>...> {};
template <class First, class... Others>
struct join_rules<Concat, First, Others...> : join_rules<ConcatAlong<First::Shape::rank - 1>, First, Others...> {};

template <class Layer, std::size_t extent, std::size_t Begin, std::size_t Count, class X>
struct part_rules : RuleList<input_matches<X, Layer, !detail::is_bundle<typename X::Element>>,
                             slice_fits_extent<Layer, typename X::Shape, extent, Begin, Count>> {};
template <std::size_t axis, std::size_t Begin, std::size_t Count, class X>
struct layer_rules<SliceAlong<axis, Begin, Count>, X>
    : part_rules<SliceAlong<axis, Begin, Count>, X::Shape::extent(axis), Begin, Count, X> {};
template <std::size_t Begin, std::size_t Count, class X>
struct layer_rules<Slice<Begin, Count>, X> : part_rules<Slice<Begin, Count>, X::columns, Begin, Count, X> {};
template <std::size_t I, class X>
struct layer_rules<Part<I>, X> : RuleList<part_of_a_bundle<X, Part<I>>> {};
template <std::size_t I, class X>
  requires detail::is_bundle<typename X::Element>
struct layer_rules<Part<I>, X> : RuleList<bundle_has_part<Part<I>, X, I, X::Element::count>> {};
template <class Layer, class Name, class Found, class X>
using named_layer_rules =
    mp::mp_if<std::is_void<typename detail::shape_of_name<Name>::type>, mp::mp_list<name_declares_shape<Name>>,
              mp::mp_list<input_matches<X, Layer>,
                          named_value_has_its_shape<Layer, Found, typename detail::shape_of_name<Name>::type>>>;
template <class Name, class X>
struct layer_rules<Keep<Name>, X> {
  using type = named_layer_rules<Keep<Name>, Name, typename X::Shape, X>;
};
template <class Name, class End, class X>
struct layer_rules<KeepLength<Name, End>, X> {
  static constexpr std::size_t positions = detail::positions_of<Name>;
  static constexpr bool reads_tokens = std::is_integral_v<typename X::Element>;
  using type = mp::mp_list<
      within_names_length<Name>, input_matches<X, KeepLength<Name, End>, reads_tokens>,
      length_counts_its_text<KeepLength<Name, End>, (positions > 0 && reads_tokens ? X::size : positions), positions>>;
};
template <class Name, class X>
struct layer_rules<Read<Name>, X> {
  using type = named_layer_rules<Read<Name>, Name, typename detail::shape_of_name<Name>::type, X>;
};

/// How often a layer keeps a value of this name; what a Repeat holds counts twice.
template <class Name, class Layer>
inline constexpr std::size_t times_kept = std::is_same_v<Layer, Keep<Name>>;
template <class Name, class End>
inline constexpr std::size_t times_kept<Name, KeepLength<Name, End>> = 1;
template <class Name, class... Layers>
inline constexpr std::size_t times_kept<Name, mp::mp_list<Layers...>> =
    (std::size_t{0} + ... + times_kept<Name, Layers>);
template <class Name, Combinator Layer>
inline constexpr std::size_t times_kept<Name, Layer> = times_kept<Name, typename children<Layer>::type>;
template <class Name, std::size_t Count, class Block>
inline constexpr std::size_t times_kept<Name, Repeat<Count, Block>> = 2 * times_kept<Name, Block>;

/// The values that a layer keeps and reads, as a list of Keep and Read.
template <class Layer>
struct as_named : mp::mp_identity<mp::mp_list<>> {};
template <class Name>
struct as_named<Keep<Name>> : mp::mp_identity<mp::mp_list<Keep<Name>>> {};
template <class Name>
struct as_named<Read<Name>> : mp::mp_identity<mp::mp_list<Read<Name>>> {};
template <class Name, class End>
struct as_named<KeepLength<Name, End>> : as_named<Keep<Name>> {};
template <class Name, class Layout, detail::BiasIs bias, class Rate, class Norm>
struct as_named<detail::AttendTo<Name, Layout, bias, Rate, Norm>> : as_named<Read<Name>> {};
template <class Attend, class Name>
struct as_named<detail::AttendWithin<Attend, Name>> {
  using type = mp::mp_push_back<typename as_named<Attend>::type, Read<Name>>;
};
template <class Layer>
using as_named_t = typename as_named<Layer>::type;

/// The rules for what pads texts: a token of their vocabulary, and one for each text.
template <class Network>
struct padding_rules {
 private:
  template <class Layer>
  struct counts : std::false_type {};
  template <class Name, class End>
  struct counts<KeepLength<Name, End>> : std::true_type {};
  using Counted = mp::mp_copy_if<detail::layers_in<typename parts_t<Network>::Layers>, counts>;

  template <class Keep>
  using is_token = padding_is_a_token<mp::mp_second<Keep>, vocabulary_at<Network, Keep>()>;
  template <class Keep>
  using part = mp::mp_size_t<part_before<Network, Keep>()>;
  /// The first that counts the same text.
  template <class Keep>
  using first = mp::mp_at<Counted, mp::mp_find<mp::mp_transform<part, Counted>, part<Keep>>>;
  template <class Keep>
  using of_one_text = one_token_pads_a_text<mp::mp_second<first<Keep>>, mp::mp_second<Keep>>;

 public:
  using type = mp::mp_append<mp::mp_transform<is_token, Counted>, mp::mp_transform<of_one_text, Counted>>;
};

/// The rules for all names in a model's layers, in the order in which these are computed.
template <class Layers>
struct named_rules {
 private:
  using Named = mp::mp_flatten<mp::mp_transform<as_named_t, detail::layers_in<Layers>>>;
  using Names = mp::mp_unique<mp::mp_transform<mp::mp_first, Named>>;
  template <class Name>
  using before =
      named_value_is_kept<Name, (mp::mp_find<Named, Keep<Name>>::value <= mp::mp_find<Named, Read<Name>>::value)>;
  template <class Name>
  using once = value_is_kept_once<Name, (times_kept<Name, Layers> <= 1)>;

 public:
  using type = mp::mp_append<mp::mp_transform<before, Names>, mp::mp_transform<once, Names>>;
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
