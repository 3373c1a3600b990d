// regimen/layer/decoding.hpp — the layers of a causal model for incremental decoding, with their caches.
#pragma once

#include <regimen/layer/children.hpp>
#include <regimen/layer/cross_attention.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/join.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/layer/part.hpp>
#include <regimen/layer/recurrent.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/layer/sinusoidal_positions.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen {

namespace detail {

/// PositionEmbedding of a window, for the positions from walk.position on.
template <std::size_t Window>
struct PositionsFrom final {
  static constexpr const char* name = "position_embedding";
  static constexpr bool couples_samples = false;

  template <class X, class Roles>
  struct Bound : PositionEmbedding::Bound<X, Roles> {
    using T = typename X::Element;
    static constexpr auto parameters = PositionEmbedding::Bound<Value<T, Shape<Window, X::columns>>, Roles>::parameters;

    static constexpr void forward(auto& walk, const auto& call) {
      const View<T> table{call.parameters};
      walk.run(op::AddTable<T>{.x = {call.x},
                               .table = table + walk.position * X::columns,
                               .y = {call.y},
                               .samples = walk.batch,
                               .elements = X::size});
    }
  };
};

/// The causal Attend of one sample, with a cache of keys and values: over the whole window from position 0 on, or for
/// one new position, which attends to the cache and itself.
template <class Layout, std::size_t Window>
struct AttendOn final {
  static constexpr const char* name = "attend";
  static constexpr bool couples_samples = false;

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using S = statistic_t<T>;
    static constexpr bool is_whole = X::rows == Window;
    static_assert(is_whole || X::rows == 1, "regimen: a model walks on by one position, or over its whole window");
    using Output = typename Layout::template Output<X>;
    using Saved = std::conditional_t<is_whole, Tensors<PerSample<S, 2 * Layout::heads * X::rows>>,
                                     Tensors<>>;  // as Attend declares them
    static constexpr std::size_t kept = Window * Layout::key_heads * (X::columns / Layout::all);
    using Cache = Tensors<FixedTensor<T, kept>, FixedTensor<T, kept>>;  // keys, values

    static constexpr void forward(auto& walk, const auto& call) {
      keep(walk, call);
      if constexpr (is_whole) run_attention<Layout>(walk, whole(walk, call));
      else walk.run(last(walk, call));
    }

   protected:
    static constexpr op::AttentionShape shape = Layout::template shape<X>(1, true);
    static constexpr void keep(auto& walk, const auto& call) {
      walk.run(op::KeepKeys<T>{.qkv = {call.x},
                               .keys = {call.cache[0]},
                               .values = {call.cache[1]},
                               .shape = shape,
                               .first = walk.position,
                               .window = Window});
    }
    static constexpr op::Attention<T> whole(auto&, const auto& call) {
      return {.qkv = {call.x}, .y = {call.y}, .softmax = {call.saved[0]}, .shape = shape};
    }
    static constexpr op::AttendKept<T> last(auto& walk, const auto& call) {
      // Skips each head's positions before the first visible one.
      const std::size_t first = shape.begin(walk.position), before = first * shape.width;
      return {.qkv = {call.x},
              .keys = View<T>{call.cache[0]} + before,
              .values = View<T>{call.cache[1]} + before,
              .y = {call.y},
              .shape = shape,
              .seen = walk.position + 1 - first,
              .window = Window};
    }
  };
};

/// AttendOn with a bias of distances.
template <class Layout, std::size_t Window, class Option>
struct AttendByDistanceOn final {
  static constexpr const char* name = "attend";
  static constexpr bool couples_samples = false;

  template <class X, class Roles>
  struct Bound : AttendOn<Layout, Window>::template Bound<X, Roles> {
    using Base = typename AttendOn<Layout, Window>::template Bound<X, Roles>;
    using typename Base::S;
    using typename Base::T;
    using Bias = distance_bias<Option>;
    using Element = std::conditional_t<Bias::is_trained, T, void>;
    static constexpr auto parameters = Bias::template parameters<Layout::heads, X>;
    using ForwardScratch = Tensors<FixedTensor<S, Layout::heads * Window>>;

    static constexpr void forward(auto& walk, const auto& call) {
      const View<S> bias{call.scratch[0]};
      Bias::template write<T, Layout::heads>(walk, call, bias, Window, true);
      Base::keep(walk, call);
      if constexpr (Base::is_whole)
        walk.run(op::BiasedAttention<T>{.attention = Base::whole(walk, call), .bias = bias});
      else walk.run(op::BiasedAttendKept<T>{.kept = Base::last(walk, call), .bias = bias});
    }
  };
};

/// AttendTo of one sample, with a cache of k and v of the text, which the first position of the target writes.
template <class Name, class Layout, BiasIs bias, class Norm>
struct AttendToOn final {
  static constexpr const char* name = "attend_to";
  static constexpr bool couples_samples = false;

  template <class X, class Roles>
  struct Bound : AttendTo<Name, Layout, bias, Ratio<0>, Norm>::template Bound<X, Roles> {
    using Base = typename AttendTo<Name, Layout, bias, Ratio<0>, Norm>::template Bound<X, Roles>;
    using typename Base::S;
    using typename Base::T;
    using Saved = Tensors<>;
    using Cache = Tensors<FixedTensor<T, Base::KeysAndValues::size>>;
    // Base's scratch; each row's log-sum-exp; k before its norm, and its rstd.
    using ForwardScratch = boost::mp11::mp_append<
        typename Base::ForwardScratch, Tensors<typename Base::OfRows>,
        std::conditional_t<Base::normalizes,
                           Tensors<typename Base::OfKeysAlone, PerSample<S, Base::Text::rows * Layout::key_heads>>,
                           Tensors<>>>;

    static constexpr void forward(auto& walk, const auto& call) {
      constexpr std::size_t own = Base::ForwardScratch::count;
      if (walk.position == 0) {
        typename Base::NormOfKeys norm{};
        if constexpr (Base::normalizes) norm = {call.scratch[own + 1], call.scratch[own + 2], call.scratch[own - 1]};
        Base::write_keys(walk, call, call.cache[0], norm);
      }
      walk.run(Base::attention(walk, call, call.cache[0], call.scratch[own], op::Drop{}));
    }
  };
};

/// Lstm or Gru of one sample, over the whole window from position 0 on, or for one new position. The cache has h, and
/// the state unless h is the state: zero before the first position, then after each position.
template <class Layer, std::size_t Window>
struct RecurrentOn final {
  static constexpr const char* name = Layer::name;
  static constexpr bool couples_samples = false;

  template <class X, class Roles>
  struct Bound : Layer::template Bound<X, Roles> {
    using Base = typename Layer::template Bound<X, Roles>;
    using Base::keeps_state;
    using typename Base::S;
    using typename Base::T;
    static constexpr std::size_t width = Base::Output::columns, kept = (Window + 1) * width;
    static constexpr bool is_whole = X::rows == Window;
    using Saved = std::conditional_t<is_whole, typename Base::Saved, Tensors<>>;
    using ForwardScratch = std::conditional_t<is_whole, typename Base::ForwardScratch, typename Base::ScratchOfOne>;
    using Cache = std::conditional_t<keeps_state, Tensors<FixedTensor<T, kept>, FixedTensor<S, kept>>,
                                     Tensors<FixedTensor<T, kept>>>;

    static constexpr void forward(auto& walk, const auto& call) {
      const View<T> h{call.cache[0]};
      const View<S> state{call.cache[keeps_state ? 1 : 0]};
      if constexpr (is_whole) {
        Base::forward(walk, call);
        walk.run(op::Copy<T>{.x = {call.y}, .y = h + width, .count = Window * width});
        if constexpr (keeps_state) Base::copy_state(walk, call, state + width);
      } else {
        const std::size_t before = walk.position * width, here = before + width;
        if (before == 0) {
          walk.run(op::Zero<T>{.y = h, .count = width});
          if constexpr (keeps_state) walk.run(op::Zero<S>{.y = state, .count = width});
        }
        Base::run_input(walk, call, {call.scratch[1]});
        Base::run_hidden(walk, call, h + before, {call.scratch[0]});
        Base::run_one(walk, call, state + before, state + here, h + here);
      }
    }
  };
};

/// The form of a layer that decodes incrementally within a window. A user's layer is its own form if it declares
/// `static constexpr bool couples_positions = false`: each row of its output depends only on the same row of its input.
template <class Layer, std::size_t Window>
struct decoding {
  static constexpr bool possible = requires { requires !Layer::couples_positions; };
  using type = Layer;
};
/// A layer that decodes as another one, Form.
template <class Form>
struct decodes_as {
  static constexpr bool possible = true;
  using type = Form;
};
template <std::size_t Window>
struct decoding<PositionEmbedding, Window> : decodes_as<PositionsFrom<Window>> {};
template <std::size_t Width, auto... More, std::size_t Window>
struct decoding<Lstm<Width, More...>, Window> : decodes_as<RecurrentOn<Lstm<Width, More...>, Window>> {};
template <std::size_t Width, auto... More, std::size_t Window>
struct decoding<Gru<Width, More...>, Window> : decodes_as<RecurrentOn<Gru<Width, More...>, Window>> {};
template <std::size_t Window>
struct decoding<SinusoidalPositions, Window> : decodes_as<Sinusoids<true>> {};
template <std::size_t Window>
struct decoding<SinusoidalPositionsWith<SinesFirst>, Window> : decodes_as<Sinusoids<true, true>> {};
template <std::size_t I, std::size_t Window>
struct decoding<Part<I>, Window> : decodes_as<Part<I>> {};
template <class HeadCount, class... Options, std::size_t Window>
struct decoding<in_order::SelfAttention<HeadCount, Options...>, Window> {
  using Attention = in_order::SelfAttention<HeadCount, Options...>;
  using Layout = typename Attention::Layout;
  using Chosen = typename Attention::Chosen;
  using Distances = typename Chosen::distances;
  using Attend = std::conditional_t<std::is_void_v<Distances>, AttendOn<Layout, Window>,
                                    AttendByDistanceOn<Layout, Window, Distances>>;
  static constexpr bool possible = Chosen::causal;
  using type = boost::mp11::mp_apply<
      Sequential, layers_of_parts<attention_parts<Layout, Chosen, typename with_table<Distances, Attend>::type, true>>>;
};
/// Possible if the encoder keeps the text before the decoder begins: Keep itself has no such form.
template <class Name, class HeadCount, class... Options, std::size_t Window>
struct decoding<in_order::CrossAttention<Name, HeadCount, Options...>, Window> {
  using Attention = in_order::CrossAttention<Name, HeadCount, Options...>;
  using Chosen = typename Attention::Chosen;
  using Alone = AttendToOn<Name, typename Attention::Layout, Chosen::bias, typename Chosen::norm>;
  using Kept = std::conditional_t<std::is_void_v<typename Chosen::lengths>, Alone,
                                  AttendWithinOn<Alone, typename Chosen::lengths>>;
  static constexpr bool possible = true;
  using type = boost::mp11::mp_apply<Sequential, layers_of_parts<typename Attention::template PartsWith<Kept>>>;
};
template <class Layers, std::size_t Window>
struct decoding_each;
template <class... Layers, std::size_t Window>
struct decoding_each<boost::mp11::mp_list<Layers...>, Window> {
  static constexpr bool possible = (decoding<Layers, Window>::possible && ...);
  template <class Whole>
  using of = typename children<Whole>::template with<typename decoding<Layers, Window>::type...>;
};
/// Whether a combinator decodes incrementally if its children do.
template <class Layer>
inline constexpr bool keeps_positions = true;
template <class Join, class... Branches>
inline constexpr bool keeps_positions<Fork<Join, Branches...>> = requires { requires !Join::couples_positions; };
template <Combinator Layer, std::size_t Window>
struct decoding<Layer, Window> {
  using Each = decoding_each<typename children<Layer>::type, Window>;
  static constexpr bool possible = Each::possible && keeps_positions<Layer>;
  using type = typename Each::template of<Layer>;
};

/// The model of tokens that decodes `Rows` positions at a time, with the same parameters in the same places.
template <class InputKind, class... Layers>
struct decoding_model {
  static constexpr bool possible = false, translates = false;
  static constexpr std::size_t window = 0;
  template <std::size_t>
  using by = Model<Input<InputKind>, Layers...>;
};
template <std::size_t Window, class... Layers>
struct decoding_model<Tokens<Window>, Layers...> {
  static constexpr bool possible = (decoding<Layers, Window>::possible && ...), translates = false;
  static constexpr std::size_t window = Window;
  template <std::size_t Rows>
  using by = Model<Input<Tokens<Rows>>, typename decoding<Layers, Window>::type...>;
};
/// For a model of two texts: the encoder unchanged, the decoder by positions of the target.
template <std::size_t Source, std::size_t Window, class Encoder, class Decoder, class... Layers>
struct decoding_model<Bundle<Tokens<Source>, Tokens<Window>>, Fork<Last, Encoder, Decoder>, Layers...> {
  static constexpr bool translates = reads_part<Encoder, 0> && reads_part<Decoder, 1>,
                        possible = translates && decoding<Decoder, Window>::possible &&
                                   (decoding<Layers, Window>::possible && ...);
  static constexpr std::size_t window = Window;
  template <std::size_t Rows>
  using by = Model<Input<Bundle<Tokens<Source>, Tokens<Rows>>>,
                   Fork<LastOn, Encoder, typename decoding<Decoder, Window>::type>,
                   typename decoding<Layers, Window>::type...>;
};
template <class InputKind, class... Layers>
decoding_model<InputKind, Layers...> decoding_of(const Model<Input<InputKind>, Layers...>*);

}  // namespace detail

/// The incremental form of `Network`; possible if the model is causal and every layer has such a form.
template <class Network>
using decoding_t = decltype(detail::decoding_of(static_cast<const Network*>(nullptr)));

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
