// regimen/walk/flatten.hpp — turns the user's layers into the list that is walked: flattened, with casts, fused.
#pragma once

#include <regimen/layer/activation.hpp>
#include <regimen/layer/cast.hpp>
#include <regimen/layer/children.hpp>
#include <regimen/layer/cross_attention.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/join.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/layer/padded.hpp>
#include <regimen/layer/part.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/walk/tensor_path.hpp>

#include <boost/mp11.hpp>

#include <string>
#include <type_traits>

namespace regimen::walk {

namespace mp = boost::mp11;

/// A child's index in the user's list; names of parameters contain it.
template <std::size_t I>
struct Index final {
  static std::string text() { return std::to_string(I); }
  static constexpr TensorPath behind(const TensorPath& path) { return name_inside(path, I); }
};
/// A child with a name of its own, in place of its index.
template <class Named>
struct Label final {
  static std::string text() { return Named::text; }
  static constexpr TensorPath behind(const TensorPath& path) { return path + Named::text; }
};

/// No part of a name: the layers behind it stand in a Frozen.
template <bool keeps_statistics_>
struct InFrozen final {
  static constexpr bool keeps_statistics = keeps_statistics_;
  static constexpr TensorPath behind(const TensorPath& path) { return path; }
};
template <class Label>
inline constexpr bool is_in_frozen = false;
template <bool keeps_statistics>
inline constexpr bool is_in_frozen<InFrozen<keeps_statistics>> = true;
/// Whether labels lead through a Frozen, and through one that keeps statistics.
template <class Labels>
inline constexpr bool lead_through_frozen = false;
template <class... Labels>
inline constexpr bool lead_through_frozen<mp::mp_list<Labels...>> = (is_in_frozen<Labels> || ...);
template <class Labels>
inline constexpr bool lead_through_kept = false;
template <class... Labels>
inline constexpr bool lead_through_kept<mp::mp_list<Labels...>> = (std::is_same_v<Labels, InFrozen<true>> || ...);

/// A layer to be walked: its compute type, and the labels that lead to it from its list.
template <class Layer_, class Compute_, class Labels_>
struct Placed final {
  using Layer = Layer_;
  using Compute = Compute_;
  using Labels = Labels_;
};

/// The user's layers whose output and parameters a walked layer has: fused forms keep the user's names.
template <class Layer>
struct origin {
  using output = Layer;
  using parameters = Layer;
};
template <class Linear, detail::BiasIs bias, class Out, class Activation, detail::DerivativeIs derivative, class Before>
struct origin<detail::LinearForm<Linear, bias, Out, Activation, derivative, Before>> {
  using output = mp::mp_if<std::is_void<Activation>, Linear, Activation>;
  using parameters = Linear;
};
template <class Activation, class Linear>
struct origin<detail::BiasActivation<Activation, Linear>> {
  using output = Activation;
  using parameters = Linear;
};
/// Whether the parameters of a walked layer belong to the one before it: a bias that a product leaves to its activation.
template <class Layer>
inline constexpr bool has_bias_of_layer_before = false;
template <class Activation, class Linear>
inline constexpr bool has_bias_of_layer_before<detail::BiasActivation<Activation, Linear>> = true;
template <class Table>
struct origin<TiedLinear<Table>> {
  using output = TiedLinear<Table>;
  using parameters = Table;
};
template <class Table, class Out>
struct origin<detail::TiedLinearTo<Table, Out>> {
  using output = TiedLinear<Table>;
  using parameters = Table;
};

template <class Layer, std::size_t row_alignment>
struct origin<detail::PaddedRows<Layer, row_alignment>> : origin<Layer> {};

/// How many places of the list that paths refer to a walked layer has: what stands for two layers keeps the places of
/// both, so that random numbers, which depend on the path, are those of the two.
template <class Layer>
inline constexpr std::size_t places_of = 1;
template <class Linear, detail::BiasIs bias, class Out, class Activation, detail::DerivativeIs derivative, class Before>
inline constexpr std::size_t places_of<detail::LinearForm<Linear, bias, Out, Activation, derivative, Before>> =
    std::is_void_v<Activation> ? 1 : 2;

/// Whether the output of a layer has the element type of its input, tokens too.
template <class Layer>
inline constexpr bool keeps_element = false;
template <class Layer>
  requires requires { Layer::keeps_element; }
inline constexpr bool keeps_element<Layer> = Layer::keeps_element;

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
struct Written final {
  using Entries = Entries_;
  using Element = Element_;
  /// With a Cast behind it where the element type changes.
  template <class Compute, class Stored = stored_t<Compute>>
  using cast_to =
      Written<mp::mp_if_c<Number<Element> && !std::is_same_v<Element, Stored>,
                          mp::mp_push_back<Entries, Placed<detail::Cast<Stored>, Stored, mp::mp_list<>>>, Entries>,
              Stored>;
  /// With layers of one compute type. Of a layer that keeps what it reads tokens stay tokens.
  template <class Layer, class... More>
  using with =
      Written<mp::mp_push_back<typename cast_to<typename Layer::Compute>::Entries, Layer, More...>,
              typename element_behind<typename Layer::Layer, Element, stored_t<typename Layer::Compute>>::type>;
};

/// The layers of a Checkpointed, as they are walked, not yet fused; the first is child `place` of the list that paths
/// refer to.
template <std::size_t place, class... Entries>
struct Again final {
  static constexpr const char* name = mp::mp_first<mp::mp_list<Entries...>>::Layer::name;
};
template <std::size_t place, class... Entries>
inline constexpr std::size_t places_of<Again<place, Entries...>> = (places_of<typename Entries::Layer> + ...);

/// A list of entries that begins at a later child of another.
template <class Entry, std::size_t by>
struct moved {
  using type = Entry;
};
template <std::size_t place, class... Entries, class Compute, class Labels, std::size_t by>
struct moved<Placed<Again<place, Entries...>, Compute, Labels>, by> {
  using type = Placed<Again<place + by, typename moved<Entries, by>::type...>, Compute, Labels>;
};
template <class Entries, std::size_t by>
struct begins_at {
  using type = Entries;
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
  using placed = Placed<Layer, Compute, Labels>;
  template <class Layer, class Named>
  using named = Placed<Layer, Compute, mp::mp_push_back<Labels, Label<Named>>>;
  using next = Cursor<Compute, Outer, index + 1>;
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

/// Flattens nested sequences and composites, and inserts a Cast where the element type changes.
template <class Done, class At, class... Layers>
struct Writer {
  using type = Done;
};

template <class Done, class At, class Layer, class... Rest>
struct Writer<Done, At, Layer, Rest...>
    : Writer<typename Done::template with<typename At::template placed<Layer>>, typename At::next, Rest...> {};

template <class Done, class At, class... Inner, class... Rest>
struct Writer<Done, At, Sequential<Inner...>, Rest...>
    : Writer<typename Writer<Done, typename At::template inside<typename At::Compute>, Inner...>::type,
             typename At::next, Rest...> {};

template <class Done, class At, class Layers>
struct WriterOf;
template <class Done, class At, class... Layers>
struct WriterOf<Done, At, mp::mp_list<Layers...>> : Writer<Done, At, Layers...> {};
template <class Done, class At, class... Inner, class... Rest>
struct Writer<Done, At, Frozen<Inner...>, Rest...>
    : Writer<typename WriterOf<Done, typename At::template frozen<detail::keeps_statistics<Frozen<Inner...>>>,
                               typename children<Frozen<Inner...>>::type>::type,
             typename At::template after<listed_places<Frozen<Inner...>>>, Rest...> {};

template <class Done, class At, class T, class... Inner, class... Rest>
struct Writer<Done, At, As<T, Inner...>, Rest...>
    : Writer<typename Writer<Done, typename At::template inside<T>, Inner...>::type, typename At::next, Rest...> {};

/// A list with the layers of a Checkpointed, which are one entry.
template <class Done, class Compute, class Inside, class Entries>
struct with_again;
template <class... Before, class Element, class Compute, class Inside, class... Entries>
struct with_again<Written<mp::mp_list<Before...>, Element>, Compute, Inside, mp::mp_list<Entries...>> {
  static constexpr std::size_t place = (std::size_t{0} + ... + places_of<typename Before::Layer>);
  using type = Written<
      mp::mp_list<Before..., Placed<Again<place, typename moved<Entries, place>::type...>, Compute, mp::mp_list<>>>,
      typename Inside::Element>;
};
template <class Done, class At, class... Inner, class... Rest>
struct Writer<Done, At, Checkpointed<Inner...>, Rest...> {
 private:
  using Inside = typename Writer<Written<mp::mp_list<>, typename Done::Element>,
                                 typename At::template inside<typename At::Compute>, Inner...>::type;

 public:
  using type = typename Writer<typename with_again<Done, typename At::Compute, Inside, typename Inside::Entries>::type,
                               typename At::next, Rest...>::type;
};

/// The parts of attention, with their own names.
template <class Done, class At, class Parts>
struct with_parts;
template <class Done, class At, class... Parts>
struct with_parts<Done, At, mp::mp_list<Parts...>> {
  using type =
      typename Done::template with<typename At::template named<typename Parts::Layer, typename Parts::Label>...>;
};
template <class Done, class At, class HeadCount, class... Options, class... Rest>
struct Writer<Done, At, in_order::SelfAttention<HeadCount, Options...>, Rest...>
    : Writer<typename with_parts<Done, At, typename in_order::SelfAttention<HeadCount, Options...>::Parts>::type,
             typename At::next, Rest...> {};

template <class Done, class At, class Name, class HeadCount, class... Options, class... Rest>
struct Writer<Done, At, in_order::CrossAttention<Name, HeadCount, Options...>, Rest...>
    : Writer<typename with_parts<Done, At, typename in_order::CrossAttention<Name, HeadCount, Options...>::Parts>::type,
             typename At::next, Rest...> {};

/// Replaces neighbours by their fused form. Names and, within rounding, results stay the same.
template <class Done, class... Rest>
struct Fuser {
  using type = Done;
};
template <class Done, class First, class... Rest>
struct Fuser<Done, First, Rest...> : Fuser<mp::mp_push_back<Done, First>, Rest...> {};

template <class Activation>
concept FusedWithBias =
    std::is_same_v<Activation, Relu> || std::is_same_v<Activation, Silu> || std::is_same_v<Activation, Gelu> ||
    std::is_same_v<Activation, GeluTanh> || std::is_same_v<Activation, Sigmoid> || std::is_same_v<Activation, Tanh> ||
    std::is_same_v<Activation, HardSwish>;

template <class Done, std::size_t Width, class Compute, class Labels, FusedWithBias Activation, class ActivationLabels,
          class... Rest>
struct Fuser<Done, Placed<Linear<Width>, Compute, Labels>, Placed<Activation, Compute, ActivationLabels>, Rest...>
    : Fuser<mp::mp_push_back<
                Done,
                Placed<detail::LinearForm<Linear<Width>, detail::BiasIs::added_by_neighbour, void>, Compute, Labels>,
                Placed<detail::BiasActivation<Activation, Linear<Width>>, Compute, Labels>>,
            Rest...> {};

// A product that rounds once, to the wider type of the final output.
template <class Done, std::size_t Width, class Compute, class Labels, class To>
struct Fuser<Done, Placed<Linear<Width>, Compute, Labels>, Placed<detail::Cast<To>, To, mp::mp_list<>>>
    : Fuser<mp::mp_push_back<
          Done, Placed<detail::LinearForm<Linear<Width>, detail::BiasIs::added_here, To>, Compute, Labels>>> {};
template <class Done, std::size_t Width, class Compute, class Labels, class To>
struct Fuser<Done, Placed<Linear<Width, NoBias>, Compute, Labels>, Placed<detail::Cast<To>, To, mp::mp_list<>>>
    : Fuser<mp::mp_push_back<
          Done, Placed<detail::LinearForm<Linear<Width, NoBias>, detail::BiasIs::absent, To>, Compute, Labels>>> {};
template <class Done, class Table, class Compute, class Labels, class To>
struct Fuser<Done, Placed<TiedLinear<Table>, Compute, Labels>, Placed<detail::Cast<To>, To, mp::mp_list<>>>
    : Fuser<mp::mp_push_back<Done, Placed<detail::TiedLinearTo<Table, To>, Compute, Labels>>> {};

/// Replaces a Linear and its activation by one product, where products have the epilogue.
template <class Epilogues, class Done, class... Rest>
struct Applier {
  using type = Done;
};
template <class Epilogues, class Done, class First, class... Rest>
struct Applier<Epilogues, Done, First, Rest...> : Applier<Epilogues, mp::mp_push_back<Done, First>, Rest...> {};
template <class Epilogues, class Done, std::size_t Width, class Compute, class Labels, class Activation, class... Rest>
  requires(Epilogues::template has<typename Activation::Function, stored_t<Compute>>(Width))
struct Applier<Epilogues, Done,
               Placed<detail::LinearForm<Linear<Width>, detail::BiasIs::added_by_neighbour, void>, Compute, Labels>,
               Placed<detail::BiasActivation<Activation, Linear<Width>>, Compute, Labels>, Rest...>
    : Applier<
          Epilogues,
          mp::mp_push_back<Done, Placed<detail::LinearForm<Linear<Width>, detail::BiasIs::added_here, void, Activation>,
                                        Compute, Labels>>,
          Rest...> {};

/// A Linear as it is behind an activation whose derivative it multiplies by.
template <class Layer, class Activation>
struct behind {
  static constexpr bool exists = false;
};
template <std::size_t Width, class Activation>
struct behind<Linear<Width>, Activation> {
  static constexpr bool exists = true;
  using type = detail::LinearForm<Linear<Width>, detail::BiasIs::added_here, void, void,
                                  detail::DerivativeIs::taken_here, Activation>;
};
template <class Linear, detail::BiasIs bias, class Out, class Own, class Activation>
struct behind<detail::LinearForm<Linear, bias, Out, Own>, Activation> {
  static constexpr bool exists = true;
  using type = detail::LinearForm<Linear, bias, Out, Own, detail::DerivativeIs::taken_here, Activation>;
};

/// Gives the derivative of an activation that a product applies to the product that computes the gradient of its
/// output, if a Linear comes next. Not if that is frozen: then it may be that the activation's output is not saved, and
/// what is saved lies elsewhere.
template <class Epilogues, class Freeze, class Done, class... Rest>
struct Deriver {
  using type = Done;
};
template <class Epilogues, class Freeze, class Done, class First, class... Rest>
struct Deriver<Epilogues, Freeze, Done, First, Rest...>
    : Deriver<Epilogues, Freeze, mp::mp_push_back<Done, First>, Rest...> {};
template <class Epilogues, class Freeze, class Done, std::size_t Width, class Activation, class Before, class Compute,
          class Labels, class Next, class NextCompute, class NextLabels, class... Rest>
  requires(!std::is_void_v<Activation> && behind<Next, Activation>::exists &&
           !Freeze::template freezes<typename origin<Next>::parameters> && !lead_through_frozen<NextLabels> &&
           Epilogues::template has_backward<typename detail::function_of<Activation>::type, stored_t<Compute>>(Width))
struct Deriver<Epilogues, Freeze, Done,
               Placed<detail::LinearForm<Linear<Width>, detail::BiasIs::added_here, void, Activation,
                                         detail::DerivativeIs::taken_here, Before>,
                      Compute, Labels>,
               Placed<Next, NextCompute, NextLabels>, Rest...>
    : Deriver<Epilogues, Freeze,
              mp::mp_push_back<Done, Placed<detail::LinearForm<Linear<Width>, detail::BiasIs::added_here, void,
                                                               Activation, detail::DerivativeIs::taken_by_next, Before>,
                                            Compute, Labels>>,
              Placed<typename behind<Next, Activation>::type, NextCompute, NextLabels>, Rest...> {};

/// The list, whose last layer writes rows that begin at multiples of so many bytes, if it can.
template <std::size_t row_alignment, class Entries>
struct padded_end {
 private:
  template <class Layer, class Compute, class Labels>
  static auto padded(Placed<Layer, Compute, Labels>) {
    if constexpr (detail::writes_padded_rows<Layer>)
      return Placed<detail::PaddedRows<Layer, row_alignment>, Compute, Labels>{};
    else return Placed<Layer, Compute, Labels>{};
  }

 public:
  using type = mp::mp_replace_at_c<Entries, mp::mp_size<Entries>::value - 1, decltype(padded(mp::mp_back<Entries>{}))>;
};
template <class Entries>
struct padded_end<1, Entries> {
  using type = Entries;
};

/// What the fusion pass may do.
template <bool fuses_, class Epilogues_, class Freeze_>
struct Fuses final {
  static constexpr bool fuses = fuses_;
  using Epilogues = Epilogues_;
  using Freeze = Freeze_;
};

/// A list after the fusion pass.
template <class Fusing, class Entries>
struct fuse {
 private:
  template <class... All>
  static auto fused(mp::mp_list<All...>) -> typename Fuser<mp::mp_list<>, All...>::type;
  template <class... All>
  static auto applied(mp::mp_list<All...>) -> typename Applier<typename Fusing::Epilogues, mp::mp_list<>, All...>::type;
  template <class... All>
  static auto derived(mp::mp_list<All...>) ->
      typename Deriver<typename Fusing::Epilogues, typename Fusing::Freeze, mp::mp_list<>, All...>::type;
  static auto whole() {
    if constexpr (!Fusing::fuses) return Entries{};
    else if constexpr (!Fusing::Epilogues::any) return decltype(fused(Entries{})){};
    else return decltype(derived(applied(fused(Entries{})))){};
  }

 public:
  using type = decltype(whole());
};

/// The list to walk. `Final` is the element type of its output.
template <class Fusing, class Current, class Compute, class Final, class... Layers>
struct flatten {
 private:
  using Ended = typename Writer<Written<mp::mp_list<>, Current>, Cursor<Compute, mp::mp_list<>, 0>,
                                Layers...>::type::template cast_to<Final>::Entries;

 public:
  using type = typename fuse<Fusing, Ended>::type;
};

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
