// regimen/layer/embedding.hpp — tokens and positions as vectors.
#pragma once

#include <regimen/layer/layer.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/padded.hpp>
#include <regimen/layer/padding.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace regimen {

/// The size of the vocabulary.
template <std::size_t Size>
struct Vocabulary final {
  static constexpr std::size_t size = Size;
};

namespace detail {
constexpr Parameter table(std::size_t rows, std::size_t columns, std::int32_t zero_row = -1) {
  constexpr InitialValue fill{InitialValue::Kind::normal, 0.02}, torch{InitialValue::Kind::normal, 1};
  Parameter weight = in_rows("weight", ParameterRole::table, rows, columns, fill, torch);
  weight.zero_row = zero_row;
  return weight;
}
}  // namespace detail

/// y[b,t,:] = weight[x[b,t],:]
///
///   x (B,T) tokens in [0,V)   y (B,T,C) the compute type   weight (V,C) normal(0, 0.02)
///
/// failure  a token outside the vocabulary is an Error when its batch is loaded; in a kernel it gives a row of NaN
/// cost     saves the tokens; reads and writes one row per token; backward writes the whole table's gradient
/// option   PaddedWith<token>: the row of this token begins at 0, and its lookups add no gradient, as with padding_idx
///          in PyTorch. A TiedLinear still adds its gradient to this row
template <class Words, std::size_t Channels, class... End>
struct Embedding final {
  static constexpr const char* name = "embedding";
  static constexpr bool couples_samples = false, couples_positions = false;

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename Roles::compute;
    using G = typename Roles::reduce;
    using Element = T;
    using Output = Value<T, Shape<X::size, Channels>>;
    static constexpr std::int32_t padding = (std::max)({std::int32_t{-1}, detail::padding_token<End>...});
    static constexpr std::array<Parameter, 1> parameters{detail::table(Words::size, Channels, padding)};

    static constexpr void forward(auto& walk, const auto& call) {
      walk.run(op::Embed<T>{.token = {call.x},
                            .table = {call.parameters},
                            .y = {call.y},
                            .count = walk.batch * X::size,
                            .vocabulary = Words::size,
                            .columns = Channels});
    }
    static constexpr void backward(auto& walk, const auto& call) {
      if (call.trains())
        walk.run(op::EmbedBackward<T, G>{.token = {call.x},
                                         .d_y = {call.d_y},
                                         .d_table = {call.gradients},
                                         .count = walk.batch * X::size,
                                         .vocabulary = Words::size,
                                         .columns = Channels,
                                         .add = call.add,
                                         .padding = padding});
    }
    static constexpr bool backward_reads_parameters(bool) { return false; }
    static constexpr Reads backward_reads(bool trains) { return trains ? Reads::input : Reads::nothing; }
  };
};

/// y[b,t,:] = x[b,t,:] + weight[t,:]
///
///   x, y (B,T,C)   weight (T,C) normal(0, 0.02)
///
/// cost     in place; saves nothing
struct PositionEmbedding final {
  static constexpr const char* name = "position_embedding";
  static constexpr bool couples_samples = false;

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using G = typename Roles::reduce;
    using Element = T;
    using Output = X;
    static constexpr std::array<Parameter, 1> parameters{detail::table(X::rows, X::columns)};
    static constexpr bool in_place = true;
    static constexpr bool backward_reads_parameters(bool) { return false; }

    static constexpr void forward(auto& walk, const auto& call) {
      walk.run(op::AddTable<T>{
          .x = {call.x}, .table = {call.parameters}, .y = {call.y}, .samples = walk.batch, .elements = X::size});
    }
    static constexpr void backward(auto& walk, const auto& call) {
      if (call.trains())
        walk.run(op::AddTableBackward<T, G>{.d_y = {call.d_y},
                                            .d_table = {call.gradients},
                                            .samples = walk.batch,
                                            .elements = X::size,
                                            .add = call.add});
      if (call.wants_d_x() && call.d_x != call.d_y) walk.run(op::Copy<T>{{call.d_y}, {call.d_x}, walk.batch * X::size});
    }
  };
};

/// y[b,t,v] = Σ_c x[b,t,c] · weight[v,c], with the table of the model's Embedding: input
/// and output share one parameter.
///
///   x (B,T,C)   y (B,T,V) at least fp32 as the last layer   weight: the Embedding's (V,C); no bias
///
/// refuses  a model without such an Embedding
/// cost     saves x
/// source   Press, Wolf 2017
template <class Table>
struct TiedLinear;
template <class Words, std::size_t Channels, class... End>
struct TiedLinear<Embedding<Words, Channels, End...>> final {
  static constexpr const char* name = "tied_linear";
  static constexpr bool couples_samples = false, couples_positions = false;
  using Table = Embedding<Words, Channels, End...>;

  /// A Linear whose weight is the table.
  template <class X, class Roles, class Out>
  struct BoundTo : detail::LinearBound<Words::size, X, detail::WithoutEpilogues<Roles>, Out, detail::BiasIs::absent> {
    static constexpr auto parameters = Table::template Bound<X, Roles>::parameters;
  };
  template <class X, class Roles>
  using Bound = BoundTo<X, Roles, typename X::Element>;
};

namespace detail {

/// The form of a last layer: it writes its output in a wider type.
template <class Table, class Out>
struct TiedLinearTo final {
  static constexpr const char* name = "tied_linear";
  static constexpr bool couples_samples = false;
  template <class X, class Roles>
  using Bound = typename TiedLinear<Table>::template BoundTo<X, Roles, Out>;
};

template <class Table>
inline constexpr bool writes_padded_rows<TiedLinear<Table>> = true;
template <class Table, class Out>
inline constexpr bool writes_padded_rows<TiedLinearTo<Table, Out>> = true;

}  // namespace detail
}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
