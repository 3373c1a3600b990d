// regimen/train/model_rules.hpp — the rules that tie a model to its policies: shapes, names of layers, memory.
#pragma once

#include <regimen/layer/norm.hpp>
#include <regimen/loss/mean_squared_error.hpp>
#include <regimen/policy/compose.hpp>
#include <regimen/rule/as_takes_element_type.hpp>
#include <regimen/rule/attention_takes_option.hpp>
#include <regimen/rule/data_type_matches.hpp>
#include <regimen/rule/as_fits_precision.hpp>
#include <regimen/rule/as_fp16_needs_loss_scale.hpp>
#include <regimen/rule/every_at_most_depth.hpp>
#include <regimen/rule/extents_at_least_one.hpp>
#include <regimen/rule/final_output_at_least_fp32.hpp>
#include <regimen/rule/fits_target.hpp>
#include <regimen/rule/freeze_names_a_layer.hpp>
#include <regimen/rule/heads_divide_width.hpp>
#include <regimen/rule/inner_extent_matches.hpp>
#include <regimen/rule/input_matches.hpp>
#include <regimen/rule/layers_one_to_255.hpp>
#include <regimen/rule/loss_accepts_output.hpp>
#include <regimen/rule/narrowing_data.hpp>
#include <regimen/rule/rate_below_one.hpp>
#include <regimen/rule/recomputed_layer_is_replayable.hpp>
#include <regimen/rule/repeat_keeps_shape.hpp>
#include <regimen/rule/residual_keeps_shape.hpp>
#include <regimen/rule/scaled_gradients_need_unscale.hpp>
#include <regimen/rule/backward_needs_scaled_loss.hpp>
#include <regimen/rule/selective_names_a_layer.hpp>
#include <regimen/rule/tied_layer_exists.hpp>
#include <regimen/train/recipe.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>

namespace regimen {

/// An owner of memory in an error: a layer, the iteration over all Repeats, and how many bytes.
template <class Layer, std::size_t Iteration, std::size_t Bytes>
struct Owner final {};

namespace train {

namespace mp = boost::mp11;

// ---- shapes: every layer is asked in order, and nothing is bound behind the first that refuses

template <class Rules>
using broken_of = mp::mp_copy_if<Rules, detail::broken>;

/// What a layer asks of its input. Layers of users may add `template <class X> using rules = mp_list<...>`.
template <class Layer, class X>
struct layer_rules {
  using type = mp::mp_list<rule::input_matches<X, Layer, Number<typename X::Element>>>;
};
template <class Layer, class X>
  requires requires { typename Layer::template rules<X>; }
struct layer_rules<Layer, X> {
  using type = typename Layer::template rules<X>;
};
template <std::size_t Width, class X>
struct layer_rules<Linear<Width>, X> {
  using type = mp::mp_list<rule::input_matches<X, Linear<Width>, Number<typename X::Element>>, rule::extents_at_least_one<Linear<Width>, Width>>;
};
template <class Words, std::size_t Channels, class X>
struct layer_rules<Embedding<Words, Channels>, X> {
  using type = mp::mp_list<rule::input_matches<X, Embedding<Words, Channels>, std::is_integral_v<typename X::Element>>,
                           rule::extents_at_least_one<Embedding<Words, Channels>, Words::size, Channels>>;
};
/// The rate of Dropout among the options of attention, or something that is none.
template <class Option>
struct attention_option {
  static constexpr bool known = std::is_same_v<Option, Causal>;
  using rules = mp::mp_list<>;
};
template <class Rate>
struct attention_option<Dropout<Rate>> {
  static constexpr bool known = true;
  using rules = mp::mp_list<rule::rate_below_one<Rate>>;
};
template <class HeadCount, class... Options, class X>
struct layer_rules<SelfAttention<HeadCount, Options...>, X> {
  using type = mp::mp_list<rule::input_matches<X, SelfAttention<HeadCount, Options...>, Number<typename X::Element>>,
                           rule::attention_takes_option<HeadCount, false>>;
};
template <std::size_t Count, class... Options, class X>
struct layer_rules<SelfAttention<Heads<Count>, Options...>, X> {
  using type = mp::mp_append<mp::mp_list<rule::input_matches<X, SelfAttention<Heads<Count>, Options...>, Number<typename X::Element>>,
                                         rule::heads_divide_width<Heads<Count>, typename X::Shape>,
                                         rule::attention_takes_option<Options, attention_option<Options>::known>...>,
                             typename attention_option<Options>::rules...>;
};
template <class Rate, class X>
struct layer_rules<Dropout<Rate>, X> {
  using type = mp::mp_list<rule::input_matches<X, Dropout<Rate>, Number<typename X::Element>>, rule::rate_below_one<Rate>>;
};
template <class Words, std::size_t Channels, class X>
struct layer_rules<TiedLinear<Embedding<Words, Channels>>, X> {
  using type = mp::mp_list<rule::input_matches<X, TiedLinear<Embedding<Words, Channels>>, Number<typename X::Element>>,
                           rule::inner_extent_matches<Shape<X::rows, Channels>, typename X::Shape>>;
};

/// How many layers this is once it is written out, casts aside.
template <class Layer>
inline constexpr std::size_t layer_count = 1;
template <class... Layers>
inline constexpr std::size_t layer_count<Sequential<Layers...>> = (std::size_t{0} + ... + layer_count<Layers>);
template <class T, class... Layers>
inline constexpr std::size_t layer_count<As<T, Layers...>> = layer_count<Sequential<Layers...>>;
template <class HeadCount, class... Options>
inline constexpr std::size_t layer_count<SelfAttention<HeadCount, Options...>> = 3;

template <class X, class Roles, class... Layers>
struct check_chain {
  using broken = mp::mp_list<>;
  using Output = X;
};

template <class Layer, class X, class Roles>
struct check_layer {
  using broken = broken_of<typename layer_rules<Layer, X>::type>;
  template <class Checked, bool sound>
  struct output {
    using type = X;
  };
  template <class Checked>
  struct output<Checked, true> {
    using type = typename Checked::template Bound<X, Roles>::Output;
  };
  using Output = typename output<Layer, mp::mp_empty<broken>::value>::type;
};
template <class HeadCount, class... Options, class X, class Roles>
struct check_layer<SelfAttention<HeadCount, Options...>, X, Roles> {
  using broken = broken_of<typename layer_rules<SelfAttention<HeadCount, Options...>, X>::type>;
  using Output = X;
};
template <class... Layers, class X, class Roles>
struct check_layer<Sequential<Layers...>, X, Roles> : check_chain<X, Roles, Layers...> {};
template <class T, class... Layers, class X, class Roles>
struct check_layer<As<T, Layers...>, X, Roles> {
  using broken = broken_of<mp::mp_list<rule::as_takes_element_type<T>>>;
  using Output = X;
};
template <Number T, class... Layers, class X, class Roles>
struct check_layer<As<T, Layers...>, X, Roles> {
  using In = std::conditional_t<Number<typename X::Element>, Value<T, typename X::Shape>, X>;
  using Inner = check_chain<In, regimen::Roles<T, typename Roles::master, typename Roles::reduce>, Layers...>;
  using broken = typename Inner::broken;
  using Output = typename Inner::Output;
};
template <class... Layers, class X, class Roles>
struct check_layer<Residual<Layers...>, X, Roles> {
  using Inner = check_chain<X, Roles, Layers...>;
  using broken = mp::mp_append<broken_of<mp::mp_list<rule::input_matches<X, Residual<Layers...>, Number<typename X::Element>>,
                                                     rule::layers_one_to_255<Residual<Layers...>, layer_count<Sequential<Layers...>>>>>,
                               typename Inner::broken,
                               broken_of<mp::mp_list<std::conditional_t<mp::mp_empty<typename Inner::broken>::value,
                                                                        rule::residual_keeps_shape<typename X::Shape, typename Inner::Output::Shape>,
                                                                        rule::residual_keeps_shape<X, X>>>>>;
  using Output = X;
};
template <std::size_t Count, class Block, class X, class Roles>
struct check_layer<Repeat<Count, Block>, X, Roles> {
  using Inner = check_layer<Block, X, Roles>;
  using broken = mp::mp_append<broken_of<mp::mp_list<rule::extents_at_least_one<Repeat<Count, Block>, Count>,
                                                     rule::layers_one_to_255<Repeat<Count, Block>, layer_count<Block>>>>,
                               typename Inner::broken,
                               broken_of<mp::mp_list<std::conditional_t<mp::mp_empty<typename Inner::broken>::value,
                                                                        rule::repeat_keeps_shape<typename X::Shape, typename Inner::Output::Shape>,
                                                                        rule::repeat_keeps_shape<X, X>>>>>;
  using Output = X;
};

template <class X, class Roles, class First, class... Rest>
struct check_chain<X, Roles, First, Rest...> {
 private:
  // Numbers that flow on are in the compute type: As casts at its borders.
  using In = std::conditional_t<Number<typename X::Element>, Value<typename Roles::compute, typename X::Shape>, X>;
  using Checked = check_layer<First, In, Roles>;
  template <class Done, bool sound>
  struct next {
    using broken = typename Done::broken;
    using Output = X;
  };
  template <class Done>
  struct next<Done, true> : check_chain<typename Done::Output, Roles, Rest...> {};
  using Next = next<Checked, mp::mp_empty<typename Checked::broken>::value>;

 public:
  using broken = typename Next::broken;
  using Output = typename Next::Output;
};

// ---- which layers a model has

template <class... Layers>
struct layers_in {
  using type = mp::mp_append<mp::mp_list<>, typename layers_in<Layers>::type...>;
};
template <class Layer>
struct layers_in<Layer> {
  using type = mp::mp_list<Layer>;
};
template <class... Layers>
struct layers_in<mp::mp_list<Layers...>> {
  using type = mp::mp_append<mp::mp_list<>, typename layers_in<Layers>::type...>;
};
template <class... Layers>
struct layers_in<Sequential<Layers...>> : layers_in<mp::mp_list<Layers...>> {};
template <class... Layers>
struct layers_in<Residual<Layers...>> : layers_in<mp::mp_list<Layers...>> {};
template <std::size_t Count, class Block>
struct layers_in<Repeat<Count, Block>> : layers_in<Block> {};
template <class T, class... Layers>
struct layers_in<As<T, Layers...>> : layers_in<mp::mp_list<Layers...>> {};
template <class HeadCount, class... Options>
struct layers_in<SelfAttention<HeadCount, Options...>> {
  using Attention = SelfAttention<HeadCount, Options...>;
  using type = mp::mp_list<detail::LinearTimes<3>, typename Attention::Attend, detail::LinearTimes<1>>;
};

/// The element types that As names anywhere in a model.
template <class Layer>
struct as_types {
  using type = mp::mp_list<>;
};
template <class... Layers>
struct as_types<mp::mp_list<Layers...>> {
  using type = mp::mp_append<mp::mp_list<>, typename as_types<Layers>::type...>;
};
template <class... Layers>
struct as_types<Sequential<Layers...>> : as_types<mp::mp_list<Layers...>> {};
template <class... Layers>
struct as_types<Residual<Layers...>> : as_types<mp::mp_list<Layers...>> {};
template <std::size_t Count, class Block>
struct as_types<Repeat<Count, Block>> : as_types<Block> {};
template <class T, class... Layers>
struct as_types<As<T, Layers...>> {
  using type = mp::mp_push_front<typename as_types<mp::mp_list<Layers...>>::type, T>;
};
template <class Configuration>
struct as_rules {
  template <class T>
  using fits = rule::as_fits_precision<T, typename Configuration::precision>;
  template <class T>
  using scaled = rule::as_fp16_needs_loss_scale<T, typename Configuration::loss_scale>;
};

template <class InputKind_, class... Layers_>
struct Parts {
  using InputKind = InputKind_;
  using Layers = mp::mp_list<Layers_...>;
};
template <class InputKind, class... Layers>
Parts<InputKind, Layers...> parts_of(const Model<Input<InputKind>, Layers...>*);
template <class Network>
using parts_t = decltype(parts_of(static_cast<const Network*>(nullptr)));

template <class Layer>
struct repeat_depth {
  static constexpr std::size_t value = 0;
};
template <std::size_t Count, class Block>
struct repeat_depth<Repeat<Count, Block>> {
  static constexpr std::size_t value = Count > repeat_depth<Block>::value ? Count : repeat_depth<Block>::value;
};
template <class... Layers>
struct repeat_depth<mp::mp_list<Layers...>> {
  static constexpr std::size_t value = [] {
    std::size_t largest = 0;
    for (std::size_t depth : {std::size_t{0}, repeat_depth<Layers>::value...}) largest = depth > largest ? depth : largest;
    return largest;
  }();
};
template <class... Layers>
struct repeat_depth<Sequential<Layers...>> : repeat_depth<mp::mp_list<Layers...>> {};
template <class... Layers>
struct repeat_depth<Residual<Layers...>> : repeat_depth<mp::mp_list<Layers...>> {};
template <class T, class... Layers>
struct repeat_depth<As<T, Layers...>> : repeat_depth<mp::mp_list<Layers...>> {};

/// How many different tokens the model's Embedding knows; 0 without one.
template <class Layer>
struct vocabulary {
  static constexpr std::size_t size = 0;
};
template <class Words, std::size_t Channels>
struct vocabulary<Embedding<Words, Channels>> {
  static constexpr std::size_t size = Words::size;
};
template <class Network>
constexpr std::size_t vocabulary_of() {
  std::size_t size = 0;
  mp::mp_for_each<mp::mp_transform<vocabulary, typename layers_in<typename parts_t<Network>::Layers>::type>>([&](auto layer) {
    if (decltype(layer)::size != 0) size = decltype(layer)::size;
  });
  return size;
}

// ---- names in policies

template <class All>
struct names_of {
  template <class Layer>
  using selected = rule::selective_names_a_layer<Layer, mp::mp_contains<All, Layer>::value>;
  template <class Layer>
  using frozen = rule::freeze_names_a_layer<Layer, mp::mp_contains<All, Layer>::value>;
  template <class Table>
  using tied = rule::tied_layer_exists<Table, mp::mp_contains<All, Table>::value, (vocabulary<Table>::size > 0)>;
};

template <class Layer>
constexpr bool is_replayable() {
  if constexpr (requires { Layer::replayable; }) return Layer::replayable;
  else return true;
}

template <class Schedule, class All>
struct schedule_rules {
  using type = mp::mp_list<>;
};
template <std::size_t N, class All>
struct schedule_rules<Every<N>, All> {
  template <class Layer>
  using replays = rule::recomputed_layer_is_replayable<Layer, is_replayable<Layer>()>;
  using type = mp::mp_transform<replays, mp::mp_unique<All>>;
};
template <class... Layers, class All>
struct schedule_rules<Selective<Layers...>, All> {
  using type = mp::mp_list<typename names_of<All>::template selected<Layers>..., rule::recomputed_layer_is_replayable<Layers, is_replayable<Layers>()>...>;
};

template <class Freeze, class All>
struct freeze_rules;
template <class... Layers, class All>
struct freeze_rules<Freeze<Layers...>, All> {
  using type = mp::mp_list<typename names_of<All>::template frozen<Layers>...>;
};

// ---- the last layer

template <class Layer>
inline constexpr bool is_as = false;
template <class T, class... Layers>
inline constexpr bool is_as<As<T, Layers...>> = true;

/// What As makes of the output of this layer; fp32 without one.
template <class Layer>
struct explicit_element {
  using type = fp32;
};
template <class T, class... Layers>
  requires(sizeof...(Layers) > 0)
struct explicit_element<As<T, Layers...>> {
  using Last = mp::mp_back<mp::mp_list<Layers...>>;
  using type = std::conditional_t<is_as<Last>, typename explicit_element<Last>::type, T>;
};
template <class... Layers>
  requires(sizeof...(Layers) > 0)
struct explicit_element<Sequential<Layers...>> : explicit_element<mp::mp_back<mp::mp_list<Layers...>>> {};

template <class Loss, class Output>
constexpr bool accepts_output() {
  if constexpr (requires { Loss::template accepts<Output>; }) return Loss::template accepts<Output>;
  else return Number<typename Output::Element>;
}

// ---- data

/// Whether a span of T can be read from Data as they are.
template <class Data, class T>
concept ReadAs = std::is_convertible_v<const Data&, std::span<const T>>;

/// The element type of what was given as data; itself where it is no range.
template <class Data>
struct element_of_data {
  using type = Data;
};
template <class Data>
  requires requires { typename Data::value_type; }
struct element_of_data<Data> {
  using type = typename Data::value_type;
};
template <class T, std::size_t N>
struct element_of_data<T[N]> {
  using type = std::remove_cv_t<T>;
};
/// A class that says, when it is completed, what is wrong with Data where T is read.
template <class Data, class T, class From = typename element_of_data<Data>::type>
using refused_data = typename std::conditional_t<rule::narrowing_data<From, T>::holds, rule::data_type_matches<From, T>, rule::narrowing_data<From, T>>::must_hold;
template <class Inputs, class In, class Targets, class Target>
using refused_sample = std::conditional_t<ReadAs<Inputs, In>, refused_data<Targets, Target>, refused_data<Inputs, In>>;

// ---- memory

struct step_scalars;
struct input_buffer;

template <class N>
struct node_parts {
  using layer = void;
};
template <class Layer, class X, class Context, bool flows>
struct node_parts<walk::Node<Layer, X, Context, flows>> {
  using layer = typename walk::origin<Layer>::output;
};

template <class Chain, std::uint64_t digits>
constexpr auto owner_at() {
  constexpr int level = [] {
    int count = 0;
    for (std::uint64_t rest = digits; rest >= 256; rest /= 256) ++count;
    return count;
  }();
  constexpr std::uint64_t power = [] {
    std::uint64_t value = 1;
    for (int i = 0; i < level; ++i) value *= 256;
    return value;
  }();
  constexpr std::size_t index = static_cast<std::size_t>(digits / power) - 1;
  if constexpr (index >= Chain::count) {
    return mp::mp_identity<std::conditional_t<(index > 250), input_buffer, step_scalars>>{};
  } else {
    using N = typename Chain::template At<index>;
    if constexpr (level == 0) return mp::mp_identity<typename node_parts<N>::layer>{};
    else if constexpr (requires { typename N::Branch; }) return owner_at<typename N::Branch, digits % power>();
    else if constexpr (requires { typename N::Body; }) return owner_at<typename N::Body, digits % power>();
    else return mp::mp_identity<typename node_parts<N>::layer>{};
  }
}

template <class Recipe, std::size_t line>
using owner_of_line = Owner<typename decltype(owner_at<typename Recipe::Bound::Body, Recipe::plan.largest[line].item.path.digits>())::type,
                            static_cast<std::size_t>(Recipe::plan.largest[line].item.path.iteration), Recipe::plan.largest[line].bytes()>;

template <class Recipe>
constexpr auto memory_rules() {
  if constexpr (Recipe::Target::memory == targets::unlimited::memory) return mp::mp_list<>{};
  else if constexpr (Recipe::plan.peak <= Recipe::Target::memory) return mp::mp_list<>{};
  else
    return mp::mp_list<rule::fits_target<Recipe::plan.peak, Recipe::Target::memory, owner_of_line<Recipe, 0>, owner_of_line<Recipe, 1>,
                                         owner_of_line<Recipe, 2>>>{};
}

template <class... Layers>
using counted = mp::mp_size_t<layer_count<Sequential<Layers...>>>;

template <class Network, class Configuration, bool trains = true>
constexpr auto rules_of_model() {
  using P = parts_t<Network>;
  using Precision = typename Configuration::precision;
  using Roles = regimen::Roles<typename Precision::compute, typename Precision::master, typename Precision::reduce>;
  using Bound = std::conditional_t<trains, Recipe<Network, Configuration>, InferenceRecipe<Network, Configuration>>;
  using X = typename P::InputKind::template value<typename Roles::statistic>;
  using All = typename layers_in<typename P::Layers>::type;
  using Tables = typename walk::tied_tables<mp::mp_list<>, mp::mp_rename<typename P::Layers, Sequential>>::type;
  using AsTypes = mp::mp_unique<typename as_types<typename P::Layers>::type>;
  using Names = mp::mp_append<mp::mp_transform<as_rules<Configuration>::template fits, AsTypes>,
                              mp::mp_transform<as_rules<Configuration>::template scaled, AsTypes>,
                              typename schedule_rules<typename Configuration::checkpoint::schedule, All>::type,
                              typename freeze_rules<typename Configuration::freeze, All>::type,
                              mp::mp_transform<names_of<All>::template tied, Tables>,
                              mp::mp_list<rule::every_at_most_depth<typename Configuration::checkpoint, repeat_depth<typename P::Layers>::value>>>;
  using Shapes = mp::mp_apply<check_chain, mp::mp_push_front<typename P::Layers, X, Roles>>;
  using Extents = mp::mp_list<rule::extents_at_least_one<Input<typename P::InputKind>, X::size>,
                              rule::layers_one_to_255<Network, mp::mp_apply<counted, typename P::Layers>::value>>;
  if constexpr (!mp::mp_empty<broken_of<Extents>>::value) return broken_of<Extents>{};
  else if constexpr (!mp::mp_empty<broken_of<Names>>::value) return broken_of<Names>{};
  else if constexpr (!mp::mp_empty<typename Shapes::broken>::value) return typename Shapes::broken{};
  else {
    using Output = Value<typename Roles::statistic, typename Shapes::Output::Shape>;
    using Loss = typename Configuration::loss::function;
    using Last = mp::mp_list<rule::final_output_at_least_fp32<typename explicit_element<mp::mp_back<typename P::Layers>>::type>,
                             rule::loss_accepts_output<Loss, Output, !trains || accepts_output<Loss, typename Shapes::Output>()>>;
    if constexpr (!mp::mp_empty<broken_of<Last>>::value) return broken_of<Last>{};
    else return memory_rules<Bound>();
  }
}

}  // namespace train

template <class Network, class Configuration>
  requires requires { typename train::parts_t<Network>; }
struct model_rules<Network, Configuration> {
  using type = decltype(train::rules_of_model<Network, Configuration>());
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
