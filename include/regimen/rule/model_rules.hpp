// regimen/rule/model_rules.hpp — the rules about a model and its policies, by stage: layers, names, shapes, ...
#pragma once

// What holds rules comes before what includes it: compilers print the way to a rule that is broken.
#include <regimen/rule/attention.hpp>
#include <regimen/rule/convolutions.hpp>
#include <regimen/rule/layer_rules.hpp>
#include <regimen/rule/norms.hpp>

#include <regimen/core/rules.hpp>
#include <regimen/programs/recipe.hpp>
#include <regimen/rule/branches.hpp>
#include <regimen/rule/checkpointing.hpp>
#include <regimen/rule/compose.hpp>
#include <regimen/rule/extensions.hpp>
#include <regimen/rule/layers.hpp>
#include <regimen/rule/layers_of_policies.hpp>
#include <regimen/rule/losses.hpp>
#include <regimen/rule/models.hpp>
#include <regimen/rule/output_rules.hpp>
#include <regimen/rule/recipe_rules.hpp>
#include <regimen/rule/shape_rules.hpp>
#include <regimen/rule/steps.hpp>
#include <regimen/rule/targets.hpp>

#include <type_traits>

namespace regimen {

namespace rule {

// ---- layers that couple the samples of a batch

template <class Configuration>
struct coupling_rules {
  template <class Layer>
  using together = std::conditional_t<
      requires { Layer::takes_pieces; },
      pieces_of_a_batch_are_meant<Layer, typename Configuration::accumulate, typename Configuration::communicator,
                                  typename Configuration::world>,
      coupled_samples_stay_together<Layer, typename Configuration::accumulate, typename Configuration::communicator,
                                    typename Configuration::world>>;
  template <class Layers>
  using of = mp::mp_append<mp::mp_transform<coupling_is_declared, Layers>, mp::mp_transform<together, Layers>>;
};

/// The layers of a model, without those whose statistics are kept: no batch changes these.
template <class Layer>
struct layers_that_couple : mp::mp_identity<mp::mp_list<Layer>> {};
template <class... Layers>
struct layers_that_couple<mp::mp_list<Layers...>> {
  using type = mp::mp_append<mp::mp_list<>, typename layers_that_couple<Layers>::type...>;
};
template <Combinator Layer>
struct layers_that_couple<Layer> {
 private:
  template <class Inside>
  using has_statistics = mp::mp_bool<detail::keeps_statistics<Layer>&& requires { Inside::takes_pieces; }>;

 public:
  using type = mp::mp_remove_if<typename layers_that_couple<typename children<Layer>::type>::type, has_statistics>;
};

// ---- inputs of several values

template <class Kind, class X>
struct input_extents {
  using type = extents_at_least_one<Input<Kind>, X::size>;
  static constexpr double elements = elements_in<typename X::Shape>;
};
template <class Kind, class... Values>
struct input_extents<Kind, Value<Bundled<Values...>, Shape<1>>> {
  using type = extents_at_least_one<Input<Kind>, Values::size...>;
  static constexpr double elements = (0.0 + ... + elements_in<typename Values::Shape>);
};

// ---- all of them, in stages

/// The tensors between the layers of a model.
template <class Network, class Configuration>
struct shapes_of {
  using P = parts_t<Network>;
  using Precision = typename Configuration::precision;
  using Roles = regimen::Roles<typename Precision::compute, typename Precision::master, typename Precision::reduce>;
  using X = typename P::InputKind::template value<typename Roles::statistic>;
  using Checked = mp::mp_apply<check_chain, mp::mp_push_front<typename P::Layers, X, Roles>>;

  /// Whether the bytes of so many samples do not overflow.
  static constexpr bool can_count(double samples) {
    constexpr double of_a_sample = input_extents<typename P::InputKind, X>::elements;
    return (Checked::contents.elements + of_a_sample) * samples < 0x1p+52 &&
           of_a_sample * samples * double(Configuration::accumulate::count) < 0x1p+60;
  }
};

/// The rules for a model with an input and a list of layers.
template <class Network, class Configuration, bool trains>
constexpr auto rules_of_layers() {
  using P = parts_t<Network>;
  using Roles = typename shapes_of<Network, Configuration>::Roles;
  using X = typename shapes_of<Network, Configuration>::X;
  using All = detail::layers_in<typename P::Layers>;
  using Tables = walk::tied_tables<typename P::Layers>;
  using AsTypes = mp::mp_unique<as_types<typename P::Layers>>;
  using Names = mp::mp_append<
      mp::mp_transform<as_rules<Configuration>::template fits, AsTypes>,
      mp::mp_transform<as_rules<Configuration>::template computed, AsTypes>,
      mp::mp_transform<as_rules<Configuration>::template scaled, mp::mp_if_c<trains, AsTypes, mp::mp_list<>>>,
      typename schedule_rules<typename Configuration::checkpoint, All, typename P::Layers>::type,
      mp::mp_transform<names_of<All>::template frozen, mp::mp_rename<typename Configuration::freeze, mp::mp_list>>,
      typename named_rules<typename P::Layers>::type, typename padding_rules<Network>::type,
      mp::mp_transform<names_of<All>::template tied, Tables>,
      mp::mp_transform<shared_types<typename Roles::computed, typename P::Layers>::template one, Tables>,
      mp::mp_transform<shared_types<typename Roles::computed, typename P::Layers>::template together, Tables>,
      typename shared_rules<typename Roles::computed, typename P::Layers>::type,
      mp::mp_list<outputs_come_last<Network>,
                  every_at_most_depth<typename Configuration::checkpoint, repeat_depth<typename P::Layers>>,
                  kept_blocks_below_depth<typename Configuration::checkpoint, repeat_depth<typename P::Layers>>>>;
  using Coupling = typename coupling_rules<Configuration>::template of<
      mp::mp_unique<typename layers_that_couple<typename P::Layers>::type>>;
  using Shapes = typename shapes_of<Network, Configuration>::Checked;
  using Extents = mp::mp_list<typename input_extents<typename P::InputKind, X>::type,
                              layers_one_to_255<Network, layer_count<typename P::Layers>>,
                              levels_at_most_7<Network, 1 + level_count<typename P::Layers>>>;
  if constexpr (!mp::mp_empty<broken_of<Extents>>::value) return broken_of<Extents>{};
  else if constexpr (!mp::mp_empty<broken_of<Names>>::value) return broken_of<Names>{};
  else if constexpr (!mp::mp_empty<typename Shapes::broken>::value) return typename Shapes::broken{};
  else if constexpr (!mp::mp_empty<broken_of<Coupling>>::value) return broken_of<Coupling>{};
  else {
    using Output = Value<typename Roles::statistic, typename Shapes::Output::Shape>;
    using Loss = typename Configuration::loss::function;
    using Last =
        mp::mp_append<typename last_layer_rules<mp::mp_back<typename P::Layers>>::type,
                      typename std::conditional_t<trains, loss_and_output_rules<Loss, Output, typename Shapes::Output>,
                                                  RuleList<>>::type>;
    using Endings =
        broken_of<typename std::conditional_t<trains, ending_rules<Loss, mp::mp_rename<typename P::Layers, Sequential>>,
                                              RuleList<>>::type>;
    constexpr double samples = Configuration::batch::largest ? 1 : double(Configuration::batch::size);
    if constexpr (!mp::mp_empty<broken_of<Last>>::value) return broken_of<Last>{};
    else if constexpr (!mp::mp_empty<Endings>::value) return Endings{};
    else if constexpr (!shapes_of<Network, Configuration>::can_count(samples))
      return mp::mp_list<bytes_can_be_counted<Network, typename Configuration::batch>>{};
    else return rules_of_bound_model<Network, Configuration, trains>();
  }
}

template <class Network, class Configuration, bool trains = true>
constexpr auto rules_of_model() {
  if constexpr (!requires { typename parts_t<Network>; }) {
    return mp::mp_list<model_begins_with_input<Network>>{};
  } else if constexpr (!input_takes_kind<typename parts_t<Network>::InputKind>::holds) {
    return mp::mp_list<input_takes_kind<typename parts_t<Network>::InputKind>>{};
  } else if constexpr (!bundle_holds_kinds<typename parts_t<Network>::InputKind>::holds) {
    return mp::mp_list<bundle_holds_kinds<typename parts_t<Network>::InputKind>>{};
  } else if constexpr (!holds_layers<typename parts_t<Network>::Layers>) {
    return mp::mp_unique<unknown_layers_in<typename parts_t<Network>::Layers>>{};
  } else {
    return rules_of_layers<Network, Configuration, trains>();
  }
}

}  // namespace rule

template <class Network, class Configuration>
  requires detail::is_model<Network>
struct model_rules<Network, Configuration> {
  using type = decltype(rule::rules_of_model<Network, Configuration>());
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
