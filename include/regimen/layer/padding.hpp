// regimen/layer/padding.hpp — texts shorter than their tensor: their lengths, and attention that ends with the text.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/layer/children.hpp>
#include <regimen/layer/layer.hpp>
#include <regimen/layer/part.hpp>

#include <boost/mp11/list.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace regimen {

/// The name of a length: a number for each sample. `Positions` is the extent of the texts' tensor:
///
///   struct SourceLength : NamedLength<48> {};
template <std::size_t Positions>
struct NamedLength {
  static constexpr std::size_t length_of = Positions;
};

/// The token that fills the tensor after the end of a text.
template <std::int32_t Token>
struct PaddedWith final {
  static constexpr std::int32_t token = Token;
};

namespace detail {
/// The positions of the texts whose length has this name; 0 if the type is no name of a length.
template <class Name>
inline constexpr std::size_t positions_of = 0;
template <class Name>
  requires requires { Name::length_of; }
inline constexpr std::size_t positions_of<Name> = Name::length_of;

/// The token of PaddedWith; −1 for other types.
template <class End>
inline constexpr std::int32_t padding_token = -1;
template <std::int32_t Token>
inline constexpr std::int32_t padding_token<PaddedWith<Token>> = Token;
}  // namespace detail

/// y = x. Keeps the length of each text for every later Within<Name>: the number of tokens before the padding at its
/// end, 1 if all tokens are padding
///
///   struct SourceLength : NamedLength<48> {};
///   Sequential<Part<0>, KeepLength<SourceLength, PaddedWith<0>>, Embedding<...>, ...>
///   SelfAttention<Heads<8>, Within<SourceLength>>     CrossAttention<Encoded, Heads<8>, Within<SourceLength>>
///
///   x, y (B,T) tokens; exact. A Repeat may not contain it. Padding between two other tokens counts as part of the
///   text. A Within<Name> needs one key for each of the T positions: no layer before it may change their number
///
/// refuses  texts with another number of positions than Name has; Within<Name> with another number of keys; a token
///          outside the vocabulary; two padding tokens for one text (the model's input, or a Part of it)
/// cost     a number per sample, from the beginning of forward to the end of backward
template <class Name, class End>
struct KeepLength final {
  static constexpr const char* name = "keep_length";
  static constexpr bool couples_samples = false, keeps_element = true;

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using Output = X;
    using Named = Name;
    static constexpr bool in_place = true;

    static constexpr void forward(auto& walk, const auto& call) {
      walk.run(op::CountTokens{.tokens = {call.x},
                               .lengths = {call.named},
                               .samples = walk.batch,
                               .length = X::size,
                               .padding = End::token});
      if (call.x != call.y)
        walk.run(detail::copy_of_rows<T>({call.x, X::size}, {call.y, X::size}, walk.batch, X::size));
    }
    static constexpr void backward(auto&, const auto&) {}
  };
};

/// An option of SelfAttention and CrossAttention: the positions of a sample see only the keys before the end of its
/// text. Name is the name of the KeepLength of the text with the keys.
template <class Name>
struct Within final {};

namespace detail {

/// A walk whose attention sees only keys within lengths.
template <class Walk>
struct WalkWithinLengths final {
  Walk& walk;
  View<std::int32_t> lengths;
  std::size_t batch, position;
  bool training;

  constexpr WalkWithinLengths(Walk& of, std::size_t at)
      : walk(of), lengths{at}, batch(of.batch), position(of.position), training(of.training) {}
  template <class Operation>
  constexpr void run(const Operation& operation) {
    if constexpr (op::reads_all_keys<Operation>) walk.run(op::WithinLengths<Operation>{operation, lengths});
    else walk.run(operation);
  }
  constexpr auto random() const { return walk.random(); }
};

/// Attend, AttendByDistance or AttendTo, whose keys end at the named length.
template <class Attend, class Name>
struct AttendWithin final {
  static constexpr const char* name = Attend::name;
  static constexpr bool couples_samples = false, is_part = true;

  template <class X, class Roles>
  struct Bound : Attend::template Bound<X, Roles> {
    using Base = typename Attend::template Bound<X, Roles>;
    using Lengths = Name;
    static constexpr void forward(auto& walk, const auto& call) {
      WalkWithinLengths within(walk, call.lengths);
      Base::forward(within, call);
    }
    static constexpr void backward(auto& walk, const auto& call) {
      WalkWithinLengths within(walk, call.lengths);
      Base::backward(within, call);
    }
  };
};

/// As AttendWithin, for AttendToOn. Its cache ends with the length.
template <class Attend, class Name>
struct AttendWithinOn final {
  static constexpr const char* name = Attend::name;
  static constexpr bool couples_samples = false;

  template <class X, class Roles>
  struct Bound : Attend::template Bound<X, Roles> {
    using Base = typename Attend::template Bound<X, Roles>;
    using Lengths = Name;
    using Cache = boost::mp11::mp_push_back<typename Base::Cache, FixedTensor<std::int32_t, 1>>;
    static constexpr void forward(auto& walk, const auto& call) {
      const std::size_t kept = call.cache[Cache::count - 1];
      if (walk.position == 0) walk.run(copy_of_rows<std::int32_t>({call.lengths, 1}, {kept, 1}, 1, 1));
      WalkWithinLengths within(walk, kept);
      Base::forward(within, call);
    }
  };
};

/// The source of a model of two texts, and attention to it. `token` pads the source; below 0 no token does.
template <std::int32_t token, class Length>
using source_part = std::conditional_t<(token < 0), Part<0>,
                                       Sequential<Part<0>, KeepLength<Length, PaddedWith<(token < 0 ? 0 : token)>>>>;
template <std::int32_t token, class Length, class Attention>
using within_source = std::conditional_t<(token < 0), Attention, boost::mp11::mp_push_back<Attention, Within<Length>>>;

/// Attend, within lengths if there are any.
template <class Lengths, class Attend>
using attend_within = std::conditional_t<std::is_void_v<Lengths>, Attend, AttendWithin<Attend, Lengths>>;

}  // namespace detail
}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
