// regimen/walk/fusion.hpp — the fusion pass: a list in which neighbours are replaced by their fused forms. Names and,
// within rounding, results stay the same.
#pragma once

#include <regimen/layer/activation.hpp>
#include <regimen/layer/cast.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/padded.hpp>
#include <regimen/walk/list_entry.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::walk {

/// What the fusion pass may do.
template <bool fuses_, class Epilogues_, class Freeze_>
struct Fuses final {
  static constexpr bool fuses = fuses_;
  using Epilogues = Epilogues_;
  using Freeze = Freeze_;
};

template <class Activation>
concept FusedWithBias =
    mp::mp_contains<mp::mp_list<Relu, Silu, Gelu, GeluTanh, Sigmoid, Tanh, HardSwish>, Activation>::value;

/// A Linear with a bias, as the pass sees it: the forms that it may take.
///   Own      the activation that it applies, or void
///   takes    whether it can apply the activation behind it
///   lends    whether the layer behind it can multiply by the derivative of Own
template <class Layer>
struct product_of {
  static constexpr bool exists = false, takes = false, lends = false;
};
template <std::size_t Width, detail::BiasIs bias, class Out, class Own_, detail::DerivativeIs derivative, class Before>
struct product_of<detail::LinearForm<Linear<Width>, bias, Out, Own_, derivative, Before>> {
  using Own = Own_;
  static constexpr std::size_t width = Width;
  static constexpr bool is_whole = bias == detail::BiasIs::added_here && std::is_void_v<Out>, exists = true,
                        takes = is_whole && std::is_void_v<Own>, lends = is_whole && !std::is_void_v<Own>;
  using without_bias =
      detail::LinearForm<Linear<Width>, detail::BiasIs::added_by_neighbour, Out, Own, derivative, Before>;
  using lending = detail::LinearForm<Linear<Width>, bias, Out, Own, detail::DerivativeIs::taken_by_next, Before>;
  template <class Activation>
  using applying = detail::LinearForm<Linear<Width>, bias, Out, Activation, derivative, Before>;
  template <class Activation>
  using behind = detail::LinearForm<Linear<Width>, bias, Out, Own, derivative, Activation>;
  template <class To>
  using rounding_to = detail::LinearForm<Linear<Width>, bias, To, Own, derivative, Before>;
};
template <std::size_t Width>
struct product_of<Linear<Width>> : product_of<detail::LinearForm<Linear<Width>, detail::BiasIs::added_here, void>> {};
template <class Entry>
using ProductAt = product_of<typename Entry::Layer>;
/// Another layer in the place of an entry.
template <class Entry, class Layer>
using InPlaceOf = ListEntry<Layer, typename Entry::Compute, typename Entry::Labels>;

/// A product and its activation.
template <class Before, class Next>
concept WithActivation = ProductAt<Before>::takes && FusedWithBias<typename Next::Layer> &&
                         std::is_same_v<typename Before::Compute, typename Next::Compute>;
/// A product and its activation, if the device's product applies this activation as its epilogue.
template <class Before, class Next, class Epilogues>
concept WithEpilogue = WithActivation<Before, Next> &&
                       Epilogues::template has<typename Next::Layer::Function, stored_t<typename Before::Compute>>(
                           ProductAt<Before>::width);
/// A product that applies an activation, and the next product, which computes the gradient of that one's output and may
/// multiply it by the derivative. Not if it is frozen: then it may be that the activation's output is not saved, and
/// what is saved lies elsewhere.
template <class Before, class Next, class Fusing>
concept WithDerivative =
    ProductAt<Before>::lends && ProductAt<Next>::exists &&
    !Fusing::Freeze::template freezes<typename origin<typename Next::Layer>::parameters> &&
    !lead_through_frozen<typename Next::Labels> &&
    Fusing::Epilogues::template has_backward<typename ProductAt<Before>::Own::Function,
                                             stored_t<typename Before::Compute>>(ProductAt<Before>::width);

/// What comes of a layer and the next one, if they are fused.
///   behind<Done>   the list Done, with what is fused no more behind it
///   Last           what may be fused with the layer after next
template <class Fusing, class Before, class Next>
struct fused_pair;
template <class Fusing, class Before, class Next>
  requires WithActivation<Before, Next>
struct fused_pair<Fusing, Before, Next> {
  template <class Done>
  using behind = mp::mp_push_back<Done, InPlaceOf<Before, typename ProductAt<Before>::without_bias>>;
  using Last = InPlaceOf<Before, detail::BiasActivation<typename Next::Layer, Linear<ProductAt<Before>::width>>>;
};
template <class Fusing, class Before, class Next>
  requires WithEpilogue<Before, Next, typename Fusing::Epilogues>
struct fused_pair<Fusing, Before, Next> {
  template <class Done>
  using behind = Done;
  using Last = InPlaceOf<Before, typename ProductAt<Before>::template applying<typename Next::Layer>>;
};
template <class Fusing, class Before, class Next>
  requires WithDerivative<Before, Next, Fusing>
struct fused_pair<Fusing, Before, Next> {
  template <class Done>
  using behind = mp::mp_push_back<Done, InPlaceOf<Before, typename ProductAt<Before>::lending>>;
  using Last = InPlaceOf<Next, typename ProductAt<Next>::template behind<typename ProductAt<Before>::Own>>;
};

/// A product that rounds once, to the wider type of the final output.
template <class Layer, class To>
struct rounding_to;
template <class Layer, class To>
  requires(product_of<Layer>::takes)
struct rounding_to<Layer, To> {
  using type = typename product_of<Layer>::template rounding_to<To>;
};
template <std::size_t Width, class To>
struct rounding_to<Linear<Width, NoBias>, To> {
  using type = detail::LinearForm<Linear<Width, NoBias>, detail::BiasIs::absent, To>;
};
template <class Table, class To>
struct rounding_to<TiedLinear<Table>, To> {
  using type = detail::TiedLinearTo<Table, To>;
};

/// A list after the fusion pass, from left to right: Done, and what is left.
template <class Fusing, class Done, class... Rest>
struct fused;
template <class Fusing, class Done, class Last>
struct fused<Fusing, Done, Last> {
  using type = mp::mp_push_back<Done, Last>;
};
template <class Fusing, class Done, class Before, class... Rest>
struct fused<Fusing, Done, Before, Rest...> : fused<Fusing, mp::mp_push_back<Done, Before>, Rest...> {};
template <class Fusing, class Done, class Before, class Next, class... Rest>
  requires requires { typename fused_pair<Fusing, Before, Next>::Last; }
struct fused<Fusing, Done, Before, Next, Rest...>
    : fused<Fusing, typename fused_pair<Fusing, Before, Next>::template behind<Done>,
            typename fused_pair<Fusing, Before, Next>::Last, Rest...> {};
template <class Fusing, class Done, class Before, class To>
  requires requires { typename rounding_to<typename Before::Layer, To>::type; }
struct fused<Fusing, Done, Before, ListEntry<detail::Cast<To>, To, mp::mp_list<>>> {
  using type = mp::mp_push_back<Done, InPlaceOf<Before, typename rounding_to<typename Before::Layer, To>::type>>;
};

template <class Fusing, class Entries>
struct fuse {
  using type = Entries;
};
template <class Fusing, class... Entries>
  requires Fusing::fuses
struct fuse<Fusing, mp::mp_list<Entries...>> : fused<Fusing, mp::mp_list<>, Entries...> {};

/// A layer whose rows begin at multiples of so many bytes, if it can write them so.
template <class Entry, std::size_t row_alignment>
using padded_rows =
    std::conditional_t<(row_alignment > 1 && detail::writes_padded_rows<typename Entry::Layer>),
                       InPlaceOf<Entry, detail::PaddedRows<typename Entry::Layer, row_alignment>>, Entry>;
/// The list with such a layer at its end.
template <std::size_t row_alignment, class Entries>
using padded_end = mp::mp_push_back<mp::mp_pop_back<Entries>, padded_rows<mp::mp_back<Entries>, row_alignment>>;

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
