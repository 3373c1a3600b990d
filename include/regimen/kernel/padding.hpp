// regimen/kernel/padding.hpp — texts that end before their tensor does: their lengths, and attention within these.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/kernel/attention.hpp>
#include <regimen/kernel/attention_backward.hpp>
#include <regimen/kernel/attention_bias.hpp>
#include <regimen/kernel/block.hpp>
#include <regimen/kernel/drop_factor.hpp>
#include <regimen/kernel/elementwise.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace regimen::kernel {

/// A thread for each sample, which reads its padding.
template <>
struct Kernel<op::CountTokens> final {
  static constexpr unsigned threads = detail::flat_threads;
  op::CountTokens o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.samples, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const std::int32_t* const tokens = at(o.tokens);
    std::int32_t* const lengths = at(o.lengths);
    for_pieces(block, o.samples, [&](std::size_t b) {
      std::size_t count = o.length;
      while (count > 1 && tokens[b * o.length + count - 1] == o.padding) --count;
      lengths[b] = static_cast<std::int32_t>(count);
    });
  }
};

/// As op::Attention, op::BiasedAttention and op::CrossAttention: each query reads the keys and values of its text alone.
template <class Operation, class T>
struct AttentionWithinLengths {
  using S = statistic_t<T>;
  using Tile = detail::AttentionTile<S>;
  static constexpr bool crosses = std::is_same_v<Operation, op::CrossAttention<T>>,
                        is_biased = std::is_same_v<Operation, op::BiasedAttention<T>>;
  static constexpr unsigned threads = Tile::threads, resident = 2;
  static constexpr std::size_t shared_bytes = Tile::shared_bytes_with_masks(1, 2);
  op::WithinLengths<Operation> o;
  Memory at;

  constexpr unsigned blocks() const {
    const op::AttentionShape& s = attention().shape;
    return blocks_for(s.batch * s.heads * s.length, 1);
  }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const auto& a = attention();
    const op::AttentionShape& s = a.shape;
    const std::int32_t* const lengths = at(o.lengths);
    for (std::size_t row = block.index(); row < s.batch * s.heads * s.length; row += block.blocks()) {
      const std::size_t head = row / s.length, t = row % s.length,
                        seen = op::seen_keys(lengths[head / s.heads], s.keys());
      const std::conditional_t<crosses, detail::CrossDropFactor<S>, detail::DropFactor<S>> drop(a.drop, at, s, head);
      const auto run = [&](const auto& bias) {
        detail::attend<S>(block, s,
                          detail::QueryTensors<T>{.query = part(head, 0)(t),
                                                  .keys = part(head, 1),
                                                  .values = part(head, 2),
                                                  .y = detail::HeadRows<T>::of_y(at(a.y), s, head)(t),
                                                  .softmax = at(a.softmax) + row},
                          t, seen, drop, bias);
      };
      if constexpr (is_biased)
        run(detail::BiasOfKeys<S>{at(o.whole.bias) + head % s.heads * s.distances() + s.length - 1 - t});
      else run(detail::NoBias{});
    }
  }

 private:
  using Rows = detail::HeadRows<const T>;
  REGIMEN_HD constexpr const auto& attention() const {
    if constexpr (is_biased) return o.whole.attention;
    else return o.whole;
  }
  REGIMEN_HD Rows part(std::size_t head, std::size_t of_three) const {
    const auto& a = attention();
    if constexpr (crosses)
      return of_three == 0 ? Rows::of_y(at(a.q), a.shape, head) : Rows::of_kv(at(a.kv), a.shape, head, of_three);
    else return Rows::of_qkv(at(a.qkv), a.shape, head, of_three);
  }
};
template <class T>
struct Kernel<op::WithinLengths<op::Attention<T>>> final : AttentionWithinLengths<op::Attention<T>, T> {};
template <class T>
struct Kernel<op::WithinLengths<op::BiasedAttention<T>>> final : AttentionWithinLengths<op::BiasedAttention<T>, T> {};
template <class T>
struct Kernel<op::WithinLengths<op::CrossAttention<T>>> final : AttentionWithinLengths<op::CrossAttention<T>, T> {};

/// The launches of the gradient alone; blocks of keys behind the length write zeros.
template <class Operation, class T, unsigned pass, KeysOf keys_of>
struct GradientWithinLengths {
  static constexpr bool crosses = keys_of == KeysOf::other_text;
  using Backward = std::conditional_t<crosses, op::CrossAttentionBackward<T>, op::AttentionBackward<T>>;
  using Alone = typename std::conditional_t<pass == 0, std::type_identity<Kernel<Backward, 0>>,
                                            std::type_identity<AttentionBackwardLaunch<T, pass, keys_of, true>>>::type;
  static constexpr unsigned passes = 3, threads = Alone::threads, resident = kernel::resident<Alone>;
  static constexpr std::size_t shared_bytes = kernel::shared_bytes<Alone>;
  op::WithinLengths<Operation> o;
  Memory at;

  constexpr unsigned blocks() const { return Alone{backward(), at}.blocks(); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    Alone alone{backward(), at};
    if constexpr (pass > 0) {
      alone.lengths = o.lengths;
      if constexpr (keys_of == KeysOf::distance) alone.bias = o.whole.bias;
    }
    alone(block);
  }

 private:
  REGIMEN_HD constexpr const Backward& backward() const {
    if constexpr (std::is_same_v<Operation, Backward>) return o.whole;
    else return o.whole.backward;
  }
};
template <class T, unsigned pass>
struct Kernel<op::WithinLengths<op::AttentionBackward<T>>, pass> final
    : GradientWithinLengths<op::AttentionBackward<T>, T, pass, KeysOf::heads> {};
template <class T, unsigned pass>
struct Kernel<op::WithinLengths<op::SharedAttentionBackward<T>>, pass> final
    : GradientWithinLengths<op::SharedAttentionBackward<T>, T, pass, KeysOf::heads> {};
template <class T, unsigned pass>
struct Kernel<op::WithinLengths<op::CrossAttentionBackward<T>>, pass> final
    : GradientWithinLengths<op::CrossAttentionBackward<T>, T, pass, KeysOf::other_text> {};
template <class T, unsigned pass>
  requires(pass < 3)
struct Kernel<op::WithinLengths<op::BiasedAttentionBackward<T>>, pass> final
    : GradientWithinLengths<op::BiasedAttentionBackward<T>, T, pass, KeysOf::distance> {
  static constexpr unsigned passes = 4;
};
template <class T>
struct Kernel<op::WithinLengths<op::BiasedAttentionBackward<T>>, 3> final {
  using Alone = Kernel<op::BiasedAttentionBackward<T>, 3>;
  static constexpr unsigned passes = 4, threads = Alone::threads, resident = Alone::resident;
  op::WithinLengths<op::BiasedAttentionBackward<T>> o;
  Memory at;

  constexpr unsigned blocks() const { return Alone{o.whole, at}.blocks(); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const std::int32_t* const lengths = at(o.lengths);
    Alone{o.whole, at}.over(block,
                            [&](std::size_t b) { return op::seen_keys(lengths[b], o.whole.backward.shape.keys()); });
  }
};

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
