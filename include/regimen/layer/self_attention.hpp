// regimen/layer/self_attention.hpp — multi-head attention among the positions of a sample.
#pragma once

#include <regimen/core/ratio.hpp>
#include <regimen/layer/attention_bias.hpp>
#include <regimen/layer/children.hpp>
#include <regimen/layer/dropout.hpp>
#include <regimen/layer/layer.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/layer/norm.hpp>

#include <array>
#include <cstddef>
#include <type_traits>

namespace regimen {

/// The number of heads, which share the channels equally, if no HeadWidth<D> says otherwise.
template <std::size_t Count>
struct Heads final {
  static constexpr std::size_t count = Count;
};

/// The number of key heads, whose keys and values equally many neighbouring heads share.
///
/// source   Ainslie et al. 2023 (grouped-query attention); Shazeer 2019 (one key head for all)
template <std::size_t Count>
struct KeyHeads final {
  static constexpr std::size_t count = Count;
};

/// The channels of a head.
template <std::size_t Channels>
struct HeadWidth final {
  static constexpr std::size_t channels = Channels;
};

/// A position attends to itself and earlier positions only.
struct Causal final {};

/// A position attends to the N positions up to itself alone, as in Mistral 7B.
///
/// source   Child et al. 2019; Beltagy et al. 2020; Jiang et al. 2023, section 2
template <std::size_t N>
struct SlidingWindow final {
  static constexpr std::size_t positions = N;
};

/// The second product without a bias, as in Qwen 2.5.
struct WithoutProjectionBias final {};

/// Both products without a bias.
struct WithoutBias final {};

/// Scores are q kᵀ, not q kᵀ / √D, as in T5, whose initial weights make up for it.
struct WithoutScale final {};

/// RmsNorm of each head's q and of each head's k, with a weight of D numbers for all heads of q and one for all of k,
/// before they are turned: scores stay small, whatever the products grow to.
///
/// epsilon  Epsilon<Ratio<...>>, by default 1e-6, as in Qwen3
/// source   Henry et al. 2020; by RMS norms: Qwen Team 2025, "Qwen3 Technical Report", section 2
template <class Added = Epsilon<Ratio<1, 1'000'000>>>
struct QueryKeyNorm final {};

/// Rotary frequencies as training gives them.
struct Unscaled final {};

/// Rotary frequencies for longer texts than those of training, as Llama 3.1 has them: pairs that turn fewer than
/// LowFrequency times within OriginalLength positions turn `Factor` times slower, pairs that turn more than
/// HighFrequency times as before, others in between.
///
///   Factor, LowFrequency, HighFrequency   Ratios above 0, LowFrequency below HighFrequency
///
/// source   Llama Team 2024, "The Llama 3 Herd of Models"; the formula is that of their reference code
template <class Factor = Ratio<8>, class LowFrequency = Ratio<1>, class HighFrequency = Ratio<4>,
          std::size_t OriginalLength = 8192>
struct Llama3Scaling final {};

/// Rotary position embedding: q and k are turned by angles that grow with their position, so that their products depend
/// on distances. Channel i of a head and channel i + D/2 are a pair, which turns by Theta^(−2i/D) per position, as in
/// Llama and GPT-NeoX.
///
///   Theta     a Ratio above 0
///   Scaling   Unscaled, or Llama3Scaling<...>
///
/// error    angles in fp64: off by at most 2^−34 up to position 131072, also with Llama3Scaling<>
/// source   Su et al. 2021, section 3.2.2
template <class Theta = Ratio<10'000>, class Scaling = Unscaled>
struct Rotary;
template <class Theta>
struct Rotary<Theta, Unscaled> final {
  static constexpr op::RotaryFrequencies frequencies() { return {.theta = Theta::value}; }
};
template <class Theta, class Factor, class LowFrequency, class HighFrequency, std::size_t OriginalLength>
struct Rotary<Theta, Llama3Scaling<Factor, LowFrequency, HighFrequency, OriginalLength>> final {
  static constexpr op::RotaryFrequencies frequencies() {
    return {.theta = Theta::value,
            .factor = Factor::value,
            .low = LowFrequency::value,
            .high = HighFrequency::value,
            .original_length = static_cast<double>(OriginalLength)};
  }
};

namespace detail {

/// A Value between the products of attention: `channels` is the width before the first and behind the last.
template <class Dense, std::size_t Channels>
struct InAttention final {
  using Element = typename Dense::Element;
  using Shape = typename Dense::Shape;
  static constexpr std::size_t size = Dense::size, rows = Dense::rows, columns = Dense::columns;
  static constexpr std::size_t leading = Dense::leading, bytes = Dense::bytes, channels = Channels;
};

/// How many heads there are of queries and of keys, how wide they are: 0 if they share the channels equally, how many
/// positions they see: 0 for all, and whether scores are divided by √D.
template <std::size_t Count, std::size_t KeyCount, std::size_t Width, std::size_t Window = 0, bool scaled = true>
struct HeadLayout final {
  static constexpr std::size_t heads = Count, key_heads = KeyCount, all = Count + 2 * KeyCount, window = Window;
  static constexpr bool is_scaled = scaled;
  /// Of so many channels before attention.
  static constexpr std::size_t width_in(std::size_t channels) { return Width > 0 ? Width : channels / Count; }
  /// Of q, k and v side by side in X.
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
  /// What attention makes of X.
  template <class X>
  using Output =
      InAttention<Value<typename X::Element, typename with_columns<typename X::Shape, X::columns / all * heads>::type>,
                  X::channels>;
};

/// q, k and v of all heads, side by side.
template <class Layout, BiasIs bias>
struct HeadsProduct final {
  static constexpr const char* name = "linear";
  static constexpr bool couples_samples = false;
  template <class X, class Roles>
  struct Bound : LinearBound<Layout::all * Layout::width_in(X::columns), X, Roles, typename X::Element, bias> {
    using Dense = LinearBound<Layout::all * Layout::width_in(X::columns), X, Roles, typename X::Element, bias>;
    using Output = InAttention<typename Dense::Output, X::columns>;
  };
};
/// Back to the width before attention.
template <BiasIs bias>
struct ProjectionProduct final {
  static constexpr const char* name = "linear";
  static constexpr bool couples_samples = false;
  template <class X, class Roles>
  using Bound = LinearBound<X::channels, X, Roles, typename X::Element, bias>;
};

template <class Layout, class T>
constexpr void run_attention(auto& engine, const op::Attention<T>& attention) {
  if constexpr (Layout::window > 0) engine.run(op::WindowAttention<T>{attention});
  else engine.run(attention);
}

/// softmax(q kᵀ / √D) v per head; q, k and v lie side by side.
template <class Layout, bool causal, class Rate>
struct Attend final {
  static constexpr const char* name = "attend";
  static constexpr bool couples_samples = false;

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using S = statistic_t<T>;
    using Output = typename Layout::template Output<X>;
    using Saved = Tensors<PerSample<S, Layout::heads * X::rows>>;            // each row's log-sum-exp
    using BackwardScratch = Tensors<PerSample<S, Layout::heads * X::rows>>;  // y · d_y
    static constexpr Reads backward_reads(bool) { return Reads::input_and_output; }

    static constexpr void forward(auto& engine, const auto& call) {
      run_attention<Layout>(engine, op::Attention<T>{.qkv = {call.x},
                                                     .y = {call.y},
                                                     .log_sum = {call.saved[0]},
                                                     .shape = Layout::template shape<X>(engine.batch, causal),
                                                     .drop = drop_of<Rate>(engine, call.path)});
    }
    static constexpr void backward(auto& engine, const auto& call) {
      const op::AttentionBackward<T> o{.qkv = {call.x},
                                       .y = {call.y},
                                       .d_y = {call.d_y},
                                       .d_qkv = {call.d_x},
                                       .log_sum = {call.saved[0]},
                                       .row_dot = {call.scratch[0]},
                                       .shape = Layout::template shape<X>(engine.batch, causal),
                                       .drop = drop_of<Rate>(engine, call.path)};
      if constexpr (Layout::window > 0) engine.run(op::WindowAttentionBackward<T>{o});
      else if constexpr (Layout::key_heads < Layout::heads) engine.run(op::SharedAttentionBackward<T>{o});
      else engine.run(o);
    }
  };
};

/// RmsNorm of neighbouring heads of each row of a tensor, which are copied side by side, and back.
///   row   elements from row to row of the tensor
template <class T, class G, class Epsilon, std::size_t width, std::size_t row>
struct HeadsNorm final {
  using S = statistic_t<T>;
  static constexpr void gather(auto& engine, View<T> all, View<T> copy, std::size_t rows, std::size_t heads) {
    const std::size_t columns = heads * width;
    engine.run(
        op::CopyColumns<T>{.x = all, .y = copy, .rows = rows, .columns = columns, .from_row = row, .to_row = columns});
  }
  static constexpr void scatter(auto& engine, View<T> copy, View<T> all, std::size_t rows, std::size_t heads) {
    const std::size_t columns = heads * width;
    engine.run(
        op::CopyColumns<T>{.x = copy, .y = all, .rows = rows, .columns = columns, .from_row = columns, .to_row = row});
  }
  static constexpr void normalize(auto& engine, View<T> x, View<T> gain, View<T> y, View<S> rstd, std::size_t heads) {
    engine.run(op::Normalize<false, T>{
        .x = x, .gain = gain, .y = y, .rstd = rstd, .rows = heads, .columns = width, .epsilon = epsilon(Epsilon{})});
  }
  /// d_y becomes d_x.
  static constexpr void differentiate(auto& engine, View<T> x, View<T> gain, View<T> d_y, View<S> rstd, View<G> d_gain,
                                      std::size_t heads, bool add) {
    engine.run(op::NormalizeBackward<false, T, G>{.x = x,
                                                  .gain = gain,
                                                  .d_y = d_y,
                                                  .d_x = d_y,
                                                  .rstd = rstd,
                                                  .d_gain = d_gain,
                                                  .rows = heads,
                                                  .columns = width,
                                                  .add = add});
  }

 private:
  template <class Value>
  static constexpr double epsilon(regimen::Epsilon<Value>) {
    return Value::value;
  }
};
constexpr Parameter head_gain(const char* name, std::size_t width) {
  return {name, ParameterRole::gain, 1, {width, 1, 1, 1}, {InitialValue::Kind::one, 1}};
}

/// QueryKeyNorm behind the first product: heads are copied side by side, normalised, and copied back. Saves its input.
/// Where that has no keys, of q alone.
template <class Layout, class Epsilon>
struct NormalizeHeads final {
  static constexpr const char* name = "query_key_norm";
  static constexpr bool couples_samples = false;

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using S = statistic_t<T>;
    using Element = T;
    using Output = X;
    static constexpr std::size_t width = X::columns / Layout::all, parts = Layout::key_heads > 0 ? 2 : 1;
    using Norm = HeadsNorm<T, typename Roles::reduce, Epsilon, width, X::columns>;
    static constexpr auto parameters = [] {
      if constexpr (parts == 1) return std::array<Parameter, 1>{head_gain("query", width)};
      else return std::array<Parameter, 2>{head_gain("query", width), head_gain("key", width)};
    }();
    using OfQueries = PerSample<S, X::rows * Layout::heads>;  // rstd
    using OfKeys = PerSample<S, X::rows * Layout::key_heads>;
    using Saved = std::conditional_t<parts == 1, Tensors<OfQueries>, Tensors<OfQueries, OfKeys>>;
    using Copy = PerSample<T, X::rows * Layout::heads * width>;
    using ForwardScratch = Tensors<Copy>;
    using BackwardScratch = Tensors<Copy, Copy>;
    static constexpr Reads backward_reads(bool) { return Reads::input; }
    static constexpr bool in_place = true;

    static constexpr void forward(auto& engine, const auto& call) {
      const std::size_t rows = engine.batch * X::rows;
      const View<T> x{call.x}, y{call.y}, copy{call.scratch[0]};
      for (std::size_t part = 0; part < parts; ++part) {
        const std::size_t heads = heads_of(part);
        Norm::gather(engine, x + begin_of(part), copy, rows, heads);
        Norm::normalize(engine, copy, {call.parameters[part]}, copy, {call.saved[part]}, rows * heads);
        Norm::scatter(engine, copy, y + begin_of(part), rows, heads);
      }
      copy_values(engine, x, y);
    }
    static constexpr void backward(auto& engine, const auto& call) {
      const std::size_t rows = engine.batch * X::rows;
      const View<T> x{call.x}, d_y{call.d_y}, d_x{call.d_x}, copy{call.scratch[0]}, d_copy{call.scratch[1]};
      for (std::size_t part = 0; part < parts; ++part) {
        const std::size_t heads = heads_of(part);
        Norm::gather(engine, x + begin_of(part), copy, rows, heads);
        Norm::gather(engine, d_y + begin_of(part), d_copy, rows, heads);
        Norm::differentiate(engine, copy, {call.parameters[part]}, d_copy, {call.saved[part]}, {call.gradients[part]},
                            rows * heads, call.add);
        if (call.wants_d_x()) Norm::scatter(engine, d_copy, d_x + begin_of(part), rows, heads);
      }
      if (call.wants_d_x()) copy_values(engine, d_y, d_x);
    }

   private:
    static constexpr std::size_t heads_of(std::size_t part) { return part == 0 ? Layout::heads : Layout::key_heads; }
    /// Where q, k or v begins at a position.
    static constexpr std::size_t begin_of(std::size_t part) {
      return (part == 0 ? 0 : Layout::heads + (part - 1) * Layout::key_heads) * width;
    }
    static constexpr void copy_values(auto& engine, View<T> from, View<T> to) {
      if (parts == 1 || from.offset == to.offset) return;
      engine.run(op::CopyColumns<T>{.x = from + begin_of(2),
                                    .y = to + begin_of(2),
                                    .rows = engine.batch * X::rows,
                                    .columns = heads_of(2) * width,
                                    .from_row = X::columns,
                                    .to_row = X::columns});
    }
  };
};

/// Rotary between the first product and Attend, in place: the gradient of a rotation is the rotation by the negative
/// angle.
///   walks_on   in incremental decoding: from the position on that the engine has come to
template <class Layout, class Rotary, bool walks_on = false>
struct RotateHeads final {
  static constexpr const char* name = "rotary";
  static constexpr bool couples_samples = false;

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using Output = X;
    static constexpr bool in_place = true;

    static constexpr void forward(auto& engine, const auto& call) { engine.run(turned(engine, call.x, call.y, false)); }
    static constexpr void backward(auto& engine, const auto& call) {
      if (call.wants_d_x()) engine.run(turned(engine, call.d_y, call.d_x, true));
    }

   private:
    static constexpr op::Rotate<T> turned(const auto& engine, std::size_t x, std::size_t y, bool inverse) {
      std::size_t first = 0;
      if constexpr (walks_on) first = engine.position;
      return {.x = {x},
              .y = {y},
              .shape = Layout::template shape<X>(engine.batch, false),
              .frequencies = Rotary::frequencies(),
              .first = first,
              .inverse = inverse};
    }
  };
};

/// 0 if Heads<N> does not come first: then only the rule attention_takes_option reports an error.
template <class HeadCount>
inline constexpr std::size_t heads_in = 0;
template <std::size_t Count>
inline constexpr std::size_t heads_in<Heads<Count>> = Count;

template <class... Options>
struct attention_options {
  using rate = Ratio<0>;
  using rotary = void;
  using norm = void;       // its epsilon
  using distances = void;  // Alibi, or RelativeBias<...>
  static constexpr bool causal = false, scaled = true;
  static constexpr BiasIs bias = BiasIs::added_here;
  static constexpr std::size_t key_heads = 0, width = 0, window = 0;  // not given
  static constexpr bool projects_with_bias = true;
};
template <class... Rest>
struct attention_options<WithoutProjectionBias, Rest...> : attention_options<Rest...> {
  static constexpr bool projects_with_bias = false;
};
template <std::size_t N, class... Rest>
struct attention_options<SlidingWindow<N>, Rest...> : attention_options<Rest...> {
  static constexpr std::size_t window = N;
};
template <class... Rest>
struct attention_options<Causal, Rest...> : attention_options<Rest...> {
  static constexpr bool causal = true;
};
template <class... Rest>
struct attention_options<WithoutScale, Rest...> : attention_options<Rest...> {
  static constexpr bool scaled = false;
};
template <class... Rest>
struct attention_options<Alibi, Rest...> : attention_options<Rest...> {
  using distances = Alibi;
};
template <std::size_t Buckets, std::size_t MaxDistance, class Table, class... Rest>
struct attention_options<RelativeBias<Buckets, MaxDistance, Table>, Rest...> : attention_options<Rest...> {
  using distances = RelativeBias<Buckets, MaxDistance, Table>;
};
template <class... Rest>
struct attention_options<WithoutBias, Rest...> : attention_options<Rest...> {
  static constexpr BiasIs bias = BiasIs::absent;
};
template <std::size_t Count, class... Rest>
struct attention_options<KeyHeads<Count>, Rest...> : attention_options<Rest...> {
  static constexpr std::size_t key_heads = Count;
};
template <std::size_t Channels, class... Rest>
struct attention_options<HeadWidth<Channels>, Rest...> : attention_options<Rest...> {
  static constexpr std::size_t width = Channels;
};
template <class Epsilon, class... Rest>
struct attention_options<QueryKeyNorm<Epsilon>, Rest...> : attention_options<Rest...> {
  using norm = Epsilon;
};
template <class Theta, class Scaling, class... Rest>
struct attention_options<Rotary<Theta, Scaling>, Rest...> : attention_options<Rest...> {
  using rotary = Rotary<Theta, Scaling>;
};
template <class Rate, class... Rest>
struct attention_options<Dropout<Rate>, Rest...> : attention_options<Rest...> {
  using rate = Rate;
};

struct qkv_label {
  static constexpr const char* text = "qkv";
};
struct norm_label {
  static constexpr const char* text = "norm";
};
struct rotary_label {
  static constexpr const char* text = "rotary";
};
struct attend_label {
  static constexpr const char* text = "attend";
};
struct projection_label {
  static constexpr const char* text = "projection";
};

/// A layer that attention is made of, and its name in paths.
template <class Layer_, class Label_>
struct AttentionPart final {
  using Layer = Layer_;
  using Label = Label_;
};
template <class Part>
using layer_of_part = typename Part::Layer;

/// The norm, where there is one.
template <class Layout, class Norm>
using norm_part = std::conditional_t<std::is_void_v<Norm>, boost::mp11::mp_list<>,
                                     boost::mp11::mp_list<AttentionPart<NormalizeHeads<Layout, Norm>, norm_label>>>;

template <class Layout, class Chosen, class Distances = typename Chosen::distances>
struct attend_of {
  using type =
      typename with_table<Distances, AttendByDistance<Layout, Chosen::causal, typename Chosen::rate, Distances>>::type;
};
template <class Layout, class Chosen>
struct attend_of<Layout, Chosen, void> {
  using type = Attend<Layout, Chosen::causal, typename Chosen::rate>;
};

template <class Chosen>
inline constexpr BiasIs projection_bias = Chosen::projects_with_bias ? Chosen::bias : BiasIs::absent;

/// What stands for attention: two products, `Attend` between them, and before that the norm and the rotation.
template <class Layout, class Chosen, class Attend, bool walks_on>
using attention_parts = boost::mp11::mp_append<
    boost::mp11::mp_list<AttentionPart<HeadsProduct<Layout, Chosen::bias>, qkv_label>>,
    norm_part<Layout, typename Chosen::norm>,
    std::conditional_t<
        std::is_void_v<typename Chosen::rotary>, boost::mp11::mp_list<>,
        boost::mp11::mp_list<AttentionPart<RotateHeads<Layout, typename Chosen::rotary, walks_on>, rotary_label>>>,
    boost::mp11::mp_list<AttentionPart<Attend, attend_label>,
                         AttentionPart<ProjectionProduct<projection_bias<Chosen>>, projection_label>>>;

}  // namespace detail

/// y = projection(concat over heads of softmax(q kᵀ / √D) v),  (q, k, v) = qkv(x)
///
///   x, y (B,T,C)   H = N heads of D = C / H channels, K = H key heads
///   qkv.weight ((H+2K)D,C), qkv.bias ((H+2K)D)   projection.weight (C,HD), projection.bias (C)
///   options, in any order:
///     Causal                 a position does not attend to later ones
///     SlidingWindow<N>       with Causal: position t attends to t − N + 1, ..., t; tiles of keys outside are skipped
///     Dropout<Ratio<...>>    on the probabilities
///     KeyHeads<K>            H / K neighbouring heads share keys and values
///     HeadWidth<D>           the channels of a head, whatever C is
///     QueryKeyNorm<>         each head's q and k are normalised: norm.query (D), norm.key (D)
///     Rotary<Theta, ...>     q and k are turned by their positions
///     Alibi                  scores fall with the distance, at the slope of the head
///     RelativeBias<...>      scores have a trained number for their head and distance: attend.table (buckets,H)
///     WithoutScale           scores are q kᵀ
///     WithoutBias            neither product has a bias
///     WithoutProjectionBias  the second has none
///
/// refuses  heads that do not divide C, if no width is given; key heads that do not divide heads; Rotary with an odd D;
///          SlidingWindow without Causal; that, Alibi, RelativeBias, and fewer key heads than heads, in
///          Attention<Composed> and Attention<Cudnn>, and so in the default of a GPU
/// source   Vaswani et al. 2017, section 3.2; computed in tiles as Dao et al. 2022, so (T,T) is never stored
/// cost     saves q, k, v, the heads' output, and B·H·T statistics; with QueryKeyNorm q, k, v twice, and statistics of
///          each; with Alibi and RelativeBias some H·T numbers while it runs, RelativeBias B·H·T more in backward, and
///          2·T² additions a head; decoding keeps 2·T·K·D numbers of a text, also with a window, of which it reads N positions
template <class HeadCount, class... Options>
struct SelfAttention final {
  static constexpr const char* name = "self_attention";
  static constexpr std::size_t heads = detail::heads_in<HeadCount>;
  using Chosen = detail::attention_options<Options...>;
  using Layout = detail::HeadLayout<heads, (Chosen::key_heads > 0 ? Chosen::key_heads : heads), Chosen::width,
                                    Chosen::window, Chosen::scaled>;
  using Attend = typename detail::attend_of<Layout, Chosen>::type;
  using Parts = detail::attention_parts<Layout, Chosen, Attend, false>;
};

/// Written out where it stands.
template <class HeadCount, class... Options>
struct children<SelfAttention<HeadCount, Options...>> {
  using type = boost::mp11::mp_transform<detail::layer_of_part, typename SelfAttention<HeadCount, Options...>::Parts>;
  static constexpr std::size_t levels = 0;
};

namespace detail {
template <class Layout, bool causal, class Rate>
inline constexpr bool is_composite<Attend<Layout, causal, Rate>> = true;
template <class Layout, class Epsilon>
inline constexpr bool is_composite<NormalizeHeads<Layout, Epsilon>> = true;
template <class Layout, class Rotary, bool walks_on>
inline constexpr bool is_composite<RotateHeads<Layout, Rotary, walks_on>> = true;
}  // namespace detail

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
