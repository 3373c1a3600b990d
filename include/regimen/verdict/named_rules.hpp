// regimen/verdict/named_rules.hpp — the rules about values with names: what is read has been kept, once.
#pragma once

#include <regimen/layer/children.hpp>
#include <regimen/layer/cross_attention.hpp>
#include <regimen/layer/named.hpp>
#include <regimen/layer/padding.hpp>
#include <regimen/rule/branches.hpp>
#include <regimen/rule/texts.hpp>
#include <regimen/verdict/model_layers.hpp>

#include <boost/mp11.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace regimen::verdict {

/// How often a layer keeps a value of this name; what a Repeat holds counts twice.
template <class Name, class Layer>
inline constexpr std::size_t times_kept = std::is_same_v<Layer, Keep<Name>>;
template <class Name, class End>
inline constexpr std::size_t times_kept<Name, KeepLength<Name, End>> = 1;
template <class Name, class... Layers>
inline constexpr std::size_t times_kept<Name, boost::mp11::mp_list<Layers...>> =
    (std::size_t{0} + ... + times_kept<Name, Layers>);
template <class Name, Combinator Layer>
inline constexpr std::size_t times_kept<Name, Layer> = times_kept<Name, typename children<Layer>::type>;
template <class Name, std::size_t Count, class Block>
inline constexpr std::size_t times_kept<Name, Repeat<Count, Block>> = 2 * times_kept<Name, Block>;

template <class Layer>
struct is_named : std::false_type {};
template <class Name>
struct is_named<Keep<Name>> : std::true_type {};
template <class Name>
struct is_named<Read<Name>> : std::true_type {};

/// What else keeps and reads values counts as their Keep and Read.
template <class Layer>
struct as_named {
  using type = boost::mp11::mp_list<Layer>;
};
template <class Name, class Layout, detail::BiasIs bias, class Rate, class Norm>
struct as_named<detail::AttendTo<Name, Layout, bias, Rate, Norm>> {
  using type = boost::mp11::mp_list<Read<Name>>;
};
template <class Name, class End>
struct as_named<KeepLength<Name, End>> {
  using type = boost::mp11::mp_list<Keep<Name>>;
};
template <class Attend, class Name>
struct as_named<detail::AttendWithin<Attend, Name>> {
  using type = boost::mp11::mp_push_back<typename as_named<Attend>::type, Read<Name>>;
};
template <class Layer>
using as_named_t = typename as_named<Layer>::type;

/// The rules for what pads texts: a token of their vocabulary, and one for each text.
template <class Network>
struct padding_rules {
 private:
  template <class Layer>
  struct of {
    using type = boost::mp11::mp_list<>;
  };
  template <class Name, class End>
  struct of<KeepLength<Name, End>> {
    using type = boost::mp11::mp_list<KeepLength<Name, End>>;
  };
  template <class Layer>
  using of_t = typename of<Layer>::type;
  using Counted = boost::mp11::mp_append<
      boost::mp11::mp_list<>,
      boost::mp11::mp_flatten<boost::mp11::mp_transform<of_t, detail::layers_in<typename parts_t<Network>::Layers>>>>;

  template <class Counts>
  using end = boost::mp11::mp_second<Counts>;
  template <class Counts>
  struct is_token {
    static constexpr std::size_t words = vocabulary_at<Network, Counts>();
    static constexpr std::int64_t token = regimen::detail::padding_token<end<Counts>>;
    using type =
        rule::padding_is_a_token<end<Counts>, words, (token >= 0 && (words == 0 || token < std::int64_t(words)))>;
  };
  template <class Counts>
  using is_token_t = typename is_token<Counts>::type;
  /// The first that counts the same text.
  template <class Counts>
  struct of_one_text {
    template <class Other>
    using is_of_it = boost::mp11::mp_bool<part_before<Network, Other>() == part_before<Network, Counts>()>;
    using First = boost::mp11::mp_at<Counted, boost::mp11::mp_find_if<Counted, is_of_it>>;
    using type = rule::one_token_pads_a_text<end<First>, end<Counts>>;
  };
  template <class Counts>
  using of_one_text_t = typename of_one_text<Counts>::type;

 public:
  using type = boost::mp11::mp_append<boost::mp11::mp_transform<is_token_t, Counted>,
                                      boost::mp11::mp_transform<of_one_text_t, Counted>>;
};

/// The rules for all names in a model's layers, in the order in which these are computed.
template <class Layers>
struct named_rules {
 private:
  using All = boost::mp11::mp_flatten<boost::mp11::mp_transform<as_named_t, detail::layers_in<Layers>>>;
  using Named = boost::mp11::mp_copy_if<All, is_named>;
  using Names = boost::mp11::mp_unique<boost::mp11::mp_transform<boost::mp11::mp_first, Named>>;
  template <class Name>
  using before = rule::named_value_is_kept<Name, (boost::mp11::mp_find<Named, Keep<Name>>::value <=
                                                  boost::mp11::mp_find<Named, Read<Name>>::value)>;
  template <class Name>
  using once = rule::value_is_kept_once<Name, (times_kept<Name, Layers> <= 1)>;

 public:
  using type = boost::mp11::mp_append<boost::mp11::mp_transform<before, Names>, boost::mp11::mp_transform<once, Names>>;
};

}  // namespace regimen::verdict
// SPDX-License-Identifier: Apache-2.0
