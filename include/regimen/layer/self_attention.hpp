// regimen/layer/self_attention.hpp — multi-head attention among the positions of a sample.
#pragma once

#include <regimen/layer/children.hpp>
#include <regimen/layer/dropout.hpp>
#include <regimen/layer/layer.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>

#include <type_traits>

namespace regimen {

/// The number of heads, which share the channels equally.
template <std::size_t Count>
struct Heads final {
  static constexpr std::size_t count = Count;
};

/// A position attends to itself and earlier positions only.
struct Causal final {};

namespace detail {

/// softmax(q kᵀ / √D) v per head; q, k and v lie side by side.
template <std::size_t HeadCount, bool causal, class Rate>
struct Attend final {
  static constexpr const char* name = "attend";
  static constexpr bool couples_samples = false;

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    using S = statistic_t<T>;
    static constexpr std::size_t channels = X::columns / 3, width = channels / HeadCount;
    using Output = Value<T, typename with_columns<typename X::Shape, channels>::type>;
    using Saved = Tensors<PerSample<S, HeadCount * X::rows>>;            // each row's log-sum-exp
    using BackwardScratch = Tensors<PerSample<S, HeadCount * X::rows>>;  // y · d_y
    static constexpr Reads backward_reads(bool) { return Reads::input_and_output; }

    static constexpr void forward(auto& engine, const auto& call) {
      engine.run(op::Attention<T>{.qkv = {call.x},
                                  .y = {call.y},
                                  .log_sum = {call.saved[0]},
                                  .shape = shape(engine),
                                  .drop = drop_of<Rate>(engine, call.path)});
    }
    static constexpr void backward(auto& engine, const auto& call) {
      engine.run(op::AttentionBackward<T>{.qkv = {call.x},
                                          .y = {call.y},
                                          .d_y = {call.d_y},
                                          .d_qkv = {call.d_x},
                                          .log_sum = {call.saved[0]},
                                          .row_dot = {call.scratch[0]},
                                          .shape = shape(engine),
                                          .drop = drop_of<Rate>(engine, call.path)});
    }

   private:
    static constexpr op::AttentionShape shape(const auto& engine) {
      return {.batch = engine.batch, .length = X::rows, .heads = HeadCount, .width = width, .causal = causal};
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
  static constexpr bool causal = false;
};
template <class... Rest>
struct attention_options<Causal, Rest...> : attention_options<Rest...> {
  static constexpr bool causal = true;
};
template <class Rate, class... Rest>
struct attention_options<Dropout<Rate>, Rest...> : attention_options<Rest...> {
  using rate = Rate;
};

struct qkv_label {
  static constexpr const char* text = "qkv";
};
struct attend_label {
  static constexpr const char* text = "attend";
};
struct projection_label {
  static constexpr const char* text = "projection";
};

}  // namespace detail

/// y = projection(concat over heads of softmax(q kᵀ / √D) v),  (q, k, v) = qkv(x)
///
///   x, y (B,T,C)   D = C / heads   qkv.weight (3C,C), qkv.bias (3C)   projection.weight (C,C), projection.bias (C)
///   options: Causal; Dropout<Ratio<...>> on the probabilities; in any order
///
/// refuses  heads that do not divide C
/// source   Vaswani et al. 2017, section 3.2; computed in tiles as Dao et al. 2022, so (T,T) is never stored
/// cost     saves q, k, v, the heads' output, and B·H·T statistics
template <class HeadCount, class... Options>
struct SelfAttention final {
  static constexpr const char* name = "self_attention";
  static constexpr std::size_t heads = detail::heads_in<HeadCount>;
  using Chosen = detail::attention_options<Options...>;
  using Attend = detail::Attend<heads, Chosen::causal, typename Chosen::rate>;
};

/// Written out where it stands: two products, and Attend between them.
template <class HeadCount, class... Options>
struct children<SelfAttention<HeadCount, Options...>> {
  using type = boost::mp11::mp_list<detail::LinearTimes<3>, typename SelfAttention<HeadCount, Options...>::Attend,
                                    detail::LinearTimes<1>>;
  static constexpr std::size_t levels = 0;
};

namespace detail {
template <std::size_t HeadCount, bool causal, class Rate>
inline constexpr bool is_composite<Attend<HeadCount, causal, Rate>> = true;
}  // namespace detail

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
