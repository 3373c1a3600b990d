// regimen/layer/attention_parts.hpp — the layers that make up attention.
#pragma once

#include <regimen/core/ratio.hpp>
#include <regimen/layer/children.hpp>
#include <regimen/layer/dropout.hpp>
#include <regimen/layer/layer.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/norm.hpp>

#include <array>
#include <cstddef>
#include <type_traits>

namespace regimen::detail {

/// A Value between the products of attention: `channels` is the width before the first and after the last.
template <class Dense, std::size_t Channels>
struct InAttention final {
  using Element = typename Dense::Element;
  using Shape = typename Dense::Shape;
  static constexpr std::size_t size = Dense::size, rows = Dense::rows, columns = Dense::columns;
  static constexpr std::size_t leading = Dense::leading, bytes = Dense::bytes, channels = Channels;
};

/// The numbers of heads of queries and of keys; their width, 0 if they share the channels equally; the positions that
/// they see, 0 for all; whether scores are divided by √D.
template <std::size_t Count, std::size_t KeyCount, std::size_t Width, std::size_t Window = 0, bool scaled = true>
struct HeadLayout final {
  static constexpr std::size_t heads = Count, key_heads = KeyCount, all = Count + 2 * KeyCount, window = Window;
  static constexpr bool is_scaled = scaled;
  /// From the channels before attention.
  static constexpr std::size_t width_in(std::size_t channels) { return Width > 0 ? Width : channels / Count; }
  /// X has q, k and v side by side.
  template <class X>
  static constexpr op::AttentionShape shape(std::size_t batch, bool causal) {
    return {.batch = batch,
            .length = X::rows,
            .heads = heads,
            .width = X::columns / all,
            .causal = causal,
            .key_heads = key_heads == heads ? 0 : key_heads,
            .window = causal ? Window : 0,
            .is_scaled = scaled};
  }
  /// Attention's output for X.
  template <class X>
  using Output =
      InAttention<Value<typename X::Element, typename with_columns<typename X::Shape, X::columns / all * heads>::type>,
                  X::channels>;
};

template <std::size_t count>
constexpr std::array<Parameter, count> out_projection(std::array<Parameter, count> product) {
  if constexpr (count > 1) product[1].torch = {};
  return product;
}
/// The initial values of torch.nn's MultiheadAttention: q, k and v as one weight, in_proj_weight, or as three if keys
/// and values have other inputs; Glorot's uniform distribution, ±√(6 / (inputs + outputs)); all biases zero.
template <std::size_t count>
constexpr std::array<Parameter, count> in_projection(std::array<Parameter, count> product, std::size_t inputs,
                                                     std::size_t outputs) {
  product[0].torch = {InitialValue::Kind::uniform, inverse_square_root(double(inputs + outputs) / 6)};
  return out_projection(product);
}

/// q, k and v of all heads, side by side.
///   Text   a value whose keys and values another product computes; void: this product does
template <class Layout, BiasIs bias, class Text = void>
struct HeadsProduct final {
  static constexpr const char* name = "linear";
  static constexpr bool couples_samples = false;
  /// How many products of this width in_proj_weight has.
  static constexpr std::size_t shares([[maybe_unused]] std::size_t columns) {
    if constexpr (std::is_void_v<Text>) return 1;
    else return Text::columns == columns ? 3 : 1;
  }
  template <class X, class Roles>
  struct Bound : LinearBound<Layout::all * Layout::width_in(X::columns), X, Roles, typename X::Element, bias> {
    using Dense = LinearBound<Layout::all * Layout::width_in(X::columns), X, Roles, typename X::Element, bias>;
    using Output = InAttention<typename Dense::Output, X::columns>;
    static constexpr auto parameters =
        in_projection(Dense::parameters, X::columns, shares(X::columns) * Dense::Output::columns);
  };
};
/// Back to the width before attention.
template <BiasIs bias>
struct ProjectionProduct final {
  static constexpr const char* name = "linear";
  static constexpr bool couples_samples = false;
  template <class X, class Roles>
  struct Bound : LinearBound<X::channels, X, Roles, typename X::Element, bias> {
    using Dense = LinearBound<X::channels, X, Roles, typename X::Element, bias>;
    static constexpr auto parameters = out_projection(Dense::parameters);
  };
};

template <class Layout, class T>
constexpr void run_attention(auto& walk, const op::Attention<T>& attention) {
  if constexpr (Layout::window > 0) walk.run(op::WindowAttention<T>{attention});
  else walk.run(attention);
}

/// softmax(q kᵀ / √D) v per head; q, k and v lie side by side.
template <class Layout, bool causal, class Rate>
struct Attend final {
  static constexpr const char* name = "attend";
  static constexpr bool couples_samples = false, is_part = true;

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using S = statistic_t<T>;
    using Output = typename Layout::template Output<X>;
    using Saved = Tensors<PerSample<S, 2 * Layout::heads * X::rows>>;        // each row's softmax
    using BackwardScratch = Tensors<PerSample<S, Layout::heads * X::rows>>;  // y · d_y
    static constexpr Reads backward_reads(bool) { return Reads::input_and_output; }

    static constexpr void forward(auto& walk, const auto& call) { run_attention<Layout>(walk, attention(walk, call)); }
    static constexpr void backward(auto& walk, const auto& call) {
      const op::AttentionBackward<T> o = gradients(walk, call);
      if constexpr (Layout::window > 0) walk.run(op::WindowAttentionBackward<T>{o});
      else if constexpr (Layout::key_heads < Layout::heads) walk.run(op::SharedAttentionBackward<T>{o});
      else walk.run(o);
    }

   protected:
    static constexpr op::Attention<T> attention(auto& walk, const auto& call) {
      return {.qkv = {call.x},
              .y = {call.y},
              .softmax = {call.saved[0]},
              .shape = Layout::template shape<X>(walk.batch, causal),
              .drop = drop_of<Rate>(walk, call.path)};
    }
    static constexpr op::AttentionBackward<T> gradients(auto& walk, const auto& call) {
      return {.qkv = {call.x},
              .y = {call.y},
              .d_y = {call.d_y},
              .d_qkv = {call.d_x},
              .softmax = {call.saved[0]},
              .row_dot = {call.scratch[0]},
              .shape = Layout::template shape<X>(walk.batch, causal),
              .drop = drop_of<Rate>(walk, call.path)};
    }
  };
};

/// RmsNorm of neighbouring heads of each row of a tensor, which are copied side by side, and back.
///   row   elements from row to row of the tensor
template <class T, class G, class Epsilon, std::size_t width, std::size_t row>
struct HeadsNorm final {
  using S = statistic_t<T>;
  static constexpr void gather(auto& walk, View<T> all, View<T> copy, std::size_t rows, std::size_t heads) {
    walk.run(copy_of_rows<T>({all.offset, row}, {copy.offset, heads * width}, rows, heads * width));
  }
  /// o.x and o.y are copies of x and y.
  static constexpr void forward(auto& walk, View<T> x, View<T> y, op::Normalize<false, T> o, std::size_t rows,
                                std::size_t heads) {
    gather(walk, x, o.x, rows, heads);
    o.rows = rows * heads;
    o.columns = width;
    o.epsilon = boost::mp11::mp_front<Epsilon>::value;
    walk.run(o);
    scatter(walk, o.y, y, rows, heads);
  }
  /// o.d_y and o.d_x are copies of d_y and d_x.
  static constexpr void backward(auto& walk, View<T> d_y, View<T> d_x, op::NormalizeBackward<false, T, G> o,
                                 std::size_t rows, std::size_t heads) {
    gather(walk, d_y, o.d_y, rows, heads);
    o.rows = rows * heads;
    o.columns = width;
    walk.run(o);
    if (!d_x.is_absent()) scatter(walk, o.d_x, d_x, rows, heads);
  }

 private:
  static constexpr void scatter(auto& walk, View<T> copy, View<T> all, std::size_t rows, std::size_t heads) {
    walk.run(copy_of_rows<T>({copy.offset, heads * width}, {all.offset, row}, rows, heads * width));
  }
};

/// QueryKeyNorm after the first product: heads are copied side by side, normalised, and copied back. Saves its input.
/// If the product has no keys, only q is normalised.
template <class Layout, class Epsilon>
struct NormalizeHeads final {
  static constexpr const char* name = "query_key_norm";
  static constexpr bool couples_samples = false, is_part = true;

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using S = statistic_t<T>;
    using Element = T;
    using Output = X;
    static constexpr std::size_t width = X::columns / Layout::all, parts = Layout::key_heads > 0 ? 2 : 1;
    using Norm = HeadsNorm<T, typename Roles::reduce, Epsilon, width, X::columns>;
    static constexpr auto parameters = [] {
      if constexpr (parts == 1) return std::array<Parameter, 1>{gain_of_norm("query", width)};
      else return std::array<Parameter, 2>{gain_of_norm("query", width), gain_of_norm("key", width)};
    }();
    using OfQueries = PerSample<S, X::rows * Layout::heads>;  // rstd
    using OfKeys = PerSample<S, X::rows * Layout::key_heads>;
    using Saved = std::conditional_t<parts == 1, Tensors<OfQueries>, Tensors<OfQueries, OfKeys>>;
    using Copy = PerSample<T, X::rows * Layout::heads * width>;
    using ForwardScratch = Tensors<Copy>;
    using BackwardScratch = Tensors<Copy, Copy>;
    static constexpr Reads backward_reads(bool) { return Reads::input; }
    static constexpr bool in_place = true;

    static constexpr void forward(auto& walk, const auto& call) {
      const std::size_t rows = walk.batch * X::rows;
      const View<T> x{call.x}, y{call.y}, copy{call.scratch[0]};
      for (std::size_t part = 0; part < parts; ++part) {
        const std::size_t heads = heads_of(part);
        Norm::forward(walk, x + begin_of(part), y + begin_of(part),
                      {.x = copy, .gain = {call.parameters[part]}, .y = copy, .rstd = {call.saved[part]}}, rows, heads);
      }
      copy_values(walk, x, y);
    }
    static constexpr void backward(auto& walk, const auto& call) {
      const std::size_t rows = walk.batch * X::rows;
      const View<T> x{call.x}, d_y{call.d_y}, d_x{call.d_x}, copy{call.scratch[0]}, d_copy{call.scratch[1]};
      for (std::size_t part = 0; part < parts; ++part) {
        const std::size_t heads = heads_of(part);
        Norm::gather(walk, x + begin_of(part), copy, rows, heads);
        Norm::backward(walk, d_y + begin_of(part), d_x + begin_of(part),
                       {.x = copy,
                        .gain = {call.parameters[part]},
                        .d_y = d_copy,
                        .d_x = d_copy,
                        .rstd = {call.saved[part]},
                        .d_gain = {call.gradients[part]},
                        .add = call.add},
                       rows, heads);
      }
      if (call.wants_d_x()) copy_values(walk, d_y, d_x);
    }

   private:
    static constexpr std::size_t heads_of(std::size_t part) { return part == 0 ? Layout::heads : Layout::key_heads; }
    /// Begin of q, k or v in a position.
    static constexpr std::size_t begin_of(std::size_t part) {
      return (part == 0 ? 0 : Layout::heads + (part - 1) * Layout::key_heads) * width;
    }
    static constexpr void copy_values(auto& walk, View<T> from, View<T> to) {
      if (parts == 1 || from.offset == to.offset) return;
      walk.run(copy_of_rows<T>({(from + begin_of(2)).offset, X::columns}, {(to + begin_of(2)).offset, X::columns},
                               walk.batch * X::rows, heads_of(2) * width));
    }
  };
};

/// Rotary between the first product and Attend, in place: the gradient of a rotation is the rotation by the negative
/// angle.
///   walks_on   in incremental decoding: from walk.position on
template <class Layout, class Rotary, bool walks_on = false>
struct RotateHeads final {
  static constexpr const char* name = "rotary";
  static constexpr bool couples_samples = false, is_part = true;

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using Output = X;
    static constexpr bool in_place = true;

    static constexpr void forward(auto& walk, const auto& call) { walk.run(turned(walk, call.x, call.y, false)); }
    static constexpr void backward(auto& walk, const auto& call) {
      if (call.wants_d_x()) walk.run(turned(walk, call.d_y, call.d_x, true));
    }

   private:
    static constexpr op::Rotate<T> turned(const auto& walk, std::size_t x, std::size_t y, bool inverse) {
      std::size_t first = 0;
      if constexpr (walks_on) first = walk.position;
      return {.x = {x},
              .y = {y},
              .shape = Layout::template shape<X>(walk.batch, false),
              .frequencies = Rotary::frequencies(),
              .first = first,
              .inverse = inverse};
    }
  };
};

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
