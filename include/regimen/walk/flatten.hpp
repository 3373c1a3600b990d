// regimen/walk/flatten.hpp — turns the user's layers into the list that is walked: flattened, with casts, fused.
#pragma once

#include <regimen/layer/activation.hpp>
#include <regimen/layer/cast.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/layer/self_attention.hpp>

#include <boost/mp11.hpp>

#include <string>
#include <type_traits>

namespace regimen::walk {

namespace mp = boost::mp11;

/// A child's index in the user's list; names of parameters contain it.
template <std::size_t I>
struct Index final {
  static std::string text() { return std::to_string(I); }
};
/// A child with a name of its own, in place of its index.
template <class Named>
struct Label final {
  static std::string text() { return Named::text; }
};

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
template <class Linear, detail::BiasIs bias, class Out>
struct origin<detail::LinearForm<Linear, bias, Out>> {
  using output = Linear;
  using parameters = Linear;
};
template <class Activation, class Linear>
struct origin<detail::BiasActivation<Activation, Linear>> {
  using output = Activation;
  using parameters = Linear;
};
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

/// Flattens nested sequences and composites, and inserts a Cast where the element type changes. `Current` is the
/// element type of the input: int32 for tokens.
template <class Done, class Current, class Compute, class Prefix, std::size_t index, class... Layers>
struct Writer {
  using type = Done;
  using element = Current;
};

template <class Current, class Compute>
inline constexpr bool needs_cast = Number<Current> && !std::is_same_v<Current, Compute>;

template <class Done, class Current, class Compute>
using with_cast = mp::mp_if_c<needs_cast<Current, Compute>, mp::mp_push_back<Done, Placed<detail::Cast<Compute>, Compute, mp::mp_list<>>>, Done>;

template <class Done, class Current, class Compute, class Prefix, std::size_t index, class Layer, class... Rest>
struct Writer<Done, Current, Compute, Prefix, index, Layer, Rest...>
    : Writer<mp::mp_push_back<with_cast<Done, Current, Compute>, Placed<Layer, Compute, mp::mp_push_back<Prefix, Index<index>>>>, Compute, Compute,
             Prefix, index + 1, Rest...> {};

template <class Done, class Current, class Compute, class Prefix, std::size_t index, class... Inner, class... Rest>
struct Writer<Done, Current, Compute, Prefix, index, Sequential<Inner...>, Rest...> {
 private:
  using Written = Writer<Done, Current, Compute, mp::mp_push_back<Prefix, Index<index>>, 0, Inner...>;
  using Next = Writer<typename Written::type, typename Written::element, Compute, Prefix, index + 1, Rest...>;

 public:
  using type = typename Next::type;
  using element = typename Next::element;
};

template <class Done, class Current, class Compute, class Prefix, std::size_t index, class T, class... Inner, class... Rest>
struct Writer<Done, Current, Compute, Prefix, index, As<T, Inner...>, Rest...> {
 private:
  using Written = Writer<Done, Current, T, mp::mp_push_back<Prefix, Index<index>>, 0, Inner...>;
  using Next = Writer<typename Written::type, typename Written::element, Compute, Prefix, index + 1, Rest...>;

 public:
  using type = typename Next::type;
  using element = typename Next::element;
};

template <class Done, class Current, class Compute, class Prefix, std::size_t index, class HeadCount, class... Options, class... Rest>
struct Writer<Done, Current, Compute, Prefix, index, SelfAttention<HeadCount, Options...>, Rest...> {
 private:
  using Attention = SelfAttention<HeadCount, Options...>;
  using Here = mp::mp_push_back<Prefix, Index<index>>;
  template <class Named>
  using Labels = mp::mp_push_back<Here, Label<Named>>;
  using Written = mp::mp_push_back<with_cast<Done, Current, Compute>, Placed<detail::LinearTimes<3>, Compute, Labels<detail::qkv_label>>,
                                   Placed<typename Attention::Attend, Compute, Labels<detail::attend_label>>,
                                   Placed<detail::LinearTimes<1>, Compute, Labels<detail::projection_label>>>;
  using Next = Writer<Written, Compute, Compute, Prefix, index + 1, Rest...>;

 public:
  using type = typename Next::type;
  using element = typename Next::element;
};

/// Replaces neighbours by their fused form. Names and, within rounding, results stay the same.
template <class Done, class... Rest>
struct Fuser {
  using type = Done;
};
template <class Done, class First, class... Rest>
struct Fuser<Done, First, Rest...> : Fuser<mp::mp_push_back<Done, First>, Rest...> {};

template <class Activation>
concept FusedWithBias =
    std::is_same_v<Activation, Relu> || std::is_same_v<Activation, Silu> || std::is_same_v<Activation, Gelu> || std::is_same_v<Activation, GeluTanh>;

template <class Done, std::size_t Width, class Compute, class Labels, FusedWithBias Activation, class ActivationLabels, class... Rest>
struct Fuser<Done, Placed<Linear<Width>, Compute, Labels>, Placed<Activation, Compute, ActivationLabels>, Rest...>
    : Fuser<mp::mp_push_back<Done, Placed<detail::LinearForm<Linear<Width>, detail::BiasIs::added_by_neighbour, void>, Compute, Labels>,
                             Placed<detail::BiasActivation<Activation, Linear<Width>>, Compute, Labels>>,
            Rest...> {};

// A product that rounds once, to the wider type of the final output.
template <class Done, std::size_t Width, class Compute, class Labels, class To>
struct Fuser<Done, Placed<Linear<Width>, Compute, Labels>, Placed<detail::Cast<To>, To, mp::mp_list<>>>
    : Fuser<mp::mp_push_back<Done, Placed<detail::LinearForm<Linear<Width>, detail::BiasIs::added_here, To>, Compute, Labels>>> {};
template <class Done, class Table, class Compute, class Labels, class To>
struct Fuser<Done, Placed<TiedLinear<Table>, Compute, Labels>, Placed<detail::Cast<To>, To, mp::mp_list<>>>
    : Fuser<mp::mp_push_back<Done, Placed<detail::TiedLinearTo<Table, To>, Compute, Labels>>> {};

/// The list to walk. `Final` is the element type of its output.
template <bool fuses, class Current, class Compute, class Final, class... Layers>
struct flatten {
 private:
  using Written = Writer<mp::mp_list<>, Current, Compute, mp::mp_list<>, 0, Layers...>;
  using Ended = with_cast<typename Written::type, typename Written::element, Final>;
  template <class... Entries>
  static auto fused(mp::mp_list<Entries...>) -> typename Fuser<mp::mp_list<>, Entries...>::type;

 public:
  using type = std::conditional_t<fuses, decltype(fused(Ended{})), Ended>;
};

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
