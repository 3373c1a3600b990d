// regimen/rule/shape_rules.hpp — the rules about shapes: checks the layers in order, up to the first that refuses.
#pragma once

#include <regimen/core/rules.hpp>
#include <regimen/layer/join.hpp>
#include <regimen/rule/attention.hpp>
#include <regimen/rule/branches.hpp>
#include <regimen/rule/compose.hpp>
#include <regimen/rule/convolutions.hpp>
#include <regimen/rule/extensions.hpp>
#include <regimen/rule/layer_rules.hpp>
#include <regimen/rule/layers.hpp>
#include <regimen/rule/model_layers.hpp>
#include <regimen/rule/norms.hpp>
#include <regimen/rule/precision.hpp>
#include <regimen/rule/rule_list.hpp>
#include <regimen/rule/shapes.hpp>
#include <regimen/rule/weights.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::rule {

/// The number of elements, in floating point, so that it does not overflow.
template <class TensorShape>
inline constexpr double elements_in = 1;
template <std::size_t... Extents>
inline constexpr double elements_in<Shape<Extents...>> = (1.0 * ... * double(Extents));
template <class... Shapes>
inline constexpr double elements_in<JoinedShapes<Shapes...>> = (0.0 + ... + elements_in<Shapes>);

/// What a layer has.
///   elements     of its parameters, and of its output for one sample, in floating point, so that they do not overflow
///   weights, statistics   whether it has parameters, and statistics of batches, which are buffers
struct Contents {
  double elements = 0;
  bool weights = false, statistics = false;

  constexpr Contents operator+(const Contents& other) const {
    return {elements + other.elements, weights || other.weights, statistics || other.statistics};
  }
};
template <class Bound>
constexpr Contents contents_of() {
  Contents all{elements_in<typename Bound::Output::Shape>, Bound::parameters.size() > 0, Bound::buffers.size() > 0};
  for (const Parameter& parameter : Bound::parameters) {
    double product = 1;
    for (const std::size_t extent : parameter.extents) product *= double(extent);
    all.elements += product;
  }
  return all;
}

/// What is broken; if nothing is, what is broken of Rules.
template <class Broken, class Rules>
using broken_else = typename detail::FirstBroken<mp::mp_identity<Broken>, detail::BrokenOf<Rules>>::type;

/// The end of what is checked: no layer is left, or rules are broken.
template <class X, class Broken = mp::mp_list<>>
struct CheckEnd {
  using broken = Broken;
  using Output = X;
  static constexpr Contents contents{};
};
template <class X, class Roles, class... Layers>
struct check_chain : CheckEnd<X> {};

/// Broken: what the layer's rules refuse; if that is nothing, whether it can be bound.
template <class Layer, class X, class Roles, class Broken>
struct check_bound : CheckEnd<X, Broken> {};
template <class Layer, class X, class Roles>
struct check_bound<Layer, X, Roles, mp::mp_list<>> : CheckEnd<X, mp::mp_list<layer_goes_both_ways<Layer>>> {};
template <class Layer, class X, class Roles>
  requires GoesBothWays<typename Layer::template Bound<X, Roles>>
struct check_bound<Layer, X, Roles, mp::mp_list<>> {
  using broken = mp::mp_list<>;
  using Output = typename Layer::template Bound<X, Roles>::Output;
  static constexpr Contents contents = contents_of<typename Layer::template Bound<X, Roles>>();
};
template <class Layer, class X, class Roles>
struct check_layer : check_bound<Layer, X, Roles, broken_of<typename layer_rules<Layer, X>::type>> {};
/// A combinator of a program's own: each child reads its input.
template <class Layer, class X, class Roles, class... Children>
struct check_branches {
  using broken = broken_else<mp::mp_append<mp::mp_list<>, typename check_chain<X, Roles, Children>::broken...>,
                             mp::mp_list<combinator_has_walker<Layer, X, Roles>>>;
  using Output = typename children<Layer>::template output<X, typename check_chain<X, Roles, Children>::Output...>;
  static constexpr Contents contents = (Contents{} + ... + check_chain<X, Roles, Children>::contents);
};
template <Combinator Layer, class X, class Roles>
struct check_layer<Layer, X, Roles>
    : mp::mp_apply<check_branches, mp::mp_append<mp::mp_list<Layer, X, Roles>, typename children<Layer>::type>> {};
template <class HeadCount, class... Options, class X, class Roles>
struct check_layer<in_order::SelfAttention<HeadCount, Options...>, X, Roles> {
  using broken = broken_of<typename layer_rules<in_order::SelfAttention<HeadCount, Options...>, X>::type>;
  using Output = X;
  // At most: what lies between the products is as wide as q, k and v, or narrower.
  static constexpr double between = [] {
    using Layout = typename in_order::SelfAttention<HeadCount, Options...>::Layout;
    return Layout::heads == 0 ? 0.0 : double(Layout::all) * double(Layout::width_in(X::columns));
  }();
  static constexpr Contents contents{
      3 * double(X::rows) * (between + double(X::columns)) + 2 * (double(X::columns) + 1) * (between + 1), true};
};
template <class Name, class HeadCount, class... Options, class X, class Roles>
struct check_layer<in_order::CrossAttention<Name, HeadCount, Options...>, X, Roles> {
  using broken = broken_of<typename layer_rules<in_order::CrossAttention<Name, HeadCount, Options...>, X>::type>;
  using Output = X;
  // At most, as of SelfAttention, of both texts.
  static constexpr Contents contents{
      [] {
        using Layout = typename in_order::CrossAttention<Name, HeadCount, Options...>::Layout;
        if constexpr (Layout::heads == 0 || !mp::mp_empty<broken>::value) return 0.0;
        else {
          using Text = Value<typename X::Element, typename Name::Shape>;
          const double between = double(Layout::all) * double(Layout::width_in(X::columns)),
                       columns = double(X::columns) + double(Text::columns);
          return 3 * (double(X::rows) + double(Text::rows)) * (between + columns) + 3 * (columns + 1) * (between + 1);
        }
      }(),
      true};
};
/// Layers in sequence.
template <class Layer, class X, class Roles>
struct check_sequence {
  using Children = typename children<Layer>::type;
  using Inner = mp::mp_apply<check_chain, mp::mp_append<mp::mp_list<X, Roles>, Children>>;
  using broken =
      mp::mp_append<broken_of<mp::mp_list<layers_one_to_255<Layer, layer_count<Children>>>>, typename Inner::broken>;
  using Output = typename Inner::Output;
  static constexpr Contents contents = Inner::contents;
};
template <Combinator Layer, class X, class Roles>
  requires requires { requires children<Layer>::in_sequence; }
struct check_layer<Layer, X, Roles> : check_sequence<Layer, X, Roles> {};
/// It may have none, and counts where it stands.
template <class... Layers, class X, class Roles>
struct check_layer<Sequential<Layers...>, X, Roles> : check_chain<X, Roles, Layers...> {};
template <class... Layers, class X, class Roles>
struct check_layer<Frozen<Layers...>, X, Roles> : check_sequence<Frozen<Layers...>, X, Roles> {
  using Inside = check_sequence<Frozen<Layers...>, X, Roles>;
  using broken = broken_else<typename Inside::broken,
                             mp::mp_list<frozen_layer_has_weights<Frozen<Layers...>, Inside::contents.weights>,
                                         kept_statistics_exist<Frozen<Layers...>, Inside::contents.statistics>>>;
};
template <class T, class... Layers, class X, class Roles>
struct check_layer<As<T, Layers...>, X, Roles>
    : CheckEnd<X, mp::mp_list<
                      std::conditional_t<is_unbuilt_number<T>, element_type_is_built<T>, as_takes_element_type<T>>>> {};
template <ComputeType T, class... Layers, class X, class Around>
struct check_layer<As<T, Layers...>, X, Around>  // not `Roles`: nvcc would take the base's template for the parameter
    : check_sequence<As<T, Layers...>,
                     std::conditional_t<Number<typename X::Element>, Value<stored_t<T>, typename X::Shape>, X>,
                     Roles<T, typename Around::master, typename Around::reduce>> {};
template <class... Layers, class X, class Roles>
struct check_layer<Residual<Layers...>, X, Roles> {
  using Inner = check_chain<X, Roles, Layers...>;
  using broken =
      mp::mp_append<broken_of<mp::mp_list<input_matches<X, Residual<Layers...>>,
                                          layers_one_to_255<Residual<Layers...>, layer_count<mp::mp_list<Layers...>>>>>,
                    broken_else<typename Inner::broken,
                                mp::mp_list<residual_keeps_shape<typename X::Shape, typename Inner::Output::Shape>>>>;
  using Output = X;
  static constexpr Contents contents = Inner::contents;
};
template <class Join, class... Outputs>
using output_of_join = typename Join::template of<Outputs...>::Output;
template <bool sound, class Join, class X, class... Outputs>
struct joined : CheckEnd<X> {};
template <class Join, class X, class... Outputs>
struct joined<true, Join, X, Outputs...> {
  using broken = broken_else<broken_of<typename join_rules<Join, Outputs...>::type>,
                             mp::mp_list<join_goes_both_ways<Join, Outputs...>>>;
  using Output = mp::mp_eval_if_not<mp::mp_empty<broken>, X, output_of_join, Join, Outputs...>;
};
/// The layers of all branches; 0 if one of them has none.
template <class... Branches>
inline constexpr std::size_t layers_of_branches =
    ((layer_count<Branches> > 0) && ...) ? (std::size_t{0} + ... + layer_count<Branches>) : 0;
template <class Join, class... Branches, class X, class Roles>
struct check_layer<Fork<Join, Branches...>, X, Roles> {
 private:
  using own = broken_of<mp::mp_list<fork_joins_branches<Fork<Join, Branches...>>,
                                    layers_one_to_255<Fork<Join, Branches...>, layers_of_branches<Branches...>>>>;
  using sound = mp::mp_append<own, typename check_chain<X, Roles, Branches>::broken...>;
  using inner =
      broken_else<sound, mp::mp_list<branches_keep_element<
                             Fork<Join, Branches...>, typename check_chain<X, Roles, Branches>::Output::Element...>>>;
  using Joined = joined<mp::mp_empty<inner>::value, Join, X, typename check_chain<X, Roles, Branches>::Output...>;

 public:
  using broken = mp::mp_append<inner, typename Joined::broken>;
  using Output = typename Joined::Output;
  static constexpr Contents contents =
      (Contents{elements_in<typename Output::Shape>} + ... + check_chain<X, Roles, Branches>::contents);
};
template <std::size_t Count, class Block, class X, class Roles>
struct check_layer<Repeat<Count, Block>, X, Roles> {
  using Inner = check_layer<Block, X, Roles>;
  using broken =
      mp::mp_append<broken_of<mp::mp_list<extents_at_least_one<Repeat<Count, Block>, Count>,
                                          layers_one_to_255<Repeat<Count, Block>, layer_count<Block>>>>,
                    broken_else<typename Inner::broken,
                                mp::mp_list<repeat_keeps_shape<typename X::Shape, typename Inner::Output::Shape>>>,
                    broken_of<typename iteration_rules<Count, Block>::type>>;
  using Output = X;
  static constexpr Contents contents{double(Count) * Inner::contents.elements, Inner::contents.weights,
                                     Inner::contents.statistics};
};

template <class X, class Roles, class First, class... Rest>
struct check_chain<X, Roles, First, Rest...> {
 private:
  // The next layer's input is in the compute type: As casts its own input and output.
  using In = std::conditional_t<Number<typename X::Element>, Value<typename Roles::compute, typename X::Shape>, X>;
  using Checked = check_layer<First, In, Roles>;
  // A mistake inside of the layer is the only one told: what follows may suffer from the same.
  using Own = broken_else<typename Checked::broken, typename neighbour_rules<First, Rest...>::type>;
  template <class Done, bool sound>
  struct next : CheckEnd<X, Own> {};
  template <class Done>
  struct next<Done, true> : check_chain<typename Done::Output, Roles, Rest...> {};
  using Next = next<Checked, mp::mp_empty<Own>::value>;

 public:
  using broken = typename Next::broken;
  using Output = typename Next::Output;
  static constexpr Contents contents = Checked::contents + Next::contents;
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
