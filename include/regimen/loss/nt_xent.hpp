// regimen/loss/nt_xent.hpp — the contrastive loss of SimCLR: two views of a sample find each other among all.
#pragma once

#include <regimen/core/arena.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/core/ratio.hpp>
#include <regimen/core/shape.hpp>
#include <regimen/policy/loss.hpp>
#include <regimen/policy/policy.hpp>

#include <cstddef>
#include <cstdint>

namespace regimen {

/// −log(exp(t_ij) / Σ_{k≠i} exp(t_ik)),  t_ik = cos(x_i, x_k) / Temperature, averaged over all embeddings i of the
/// global batch; j is the other view of i's sample, and k runs over all embeddings of all ranks
///
///   x (B,2,C) or (B,2 C): the embeddings of two views of each sample, first the one, then the other, at least fp32;
///   overwritten by the gradient. The loss divides an embedding by its length; length 0 stays 0, and has no gradient
///   target (B) int32: 0, or ignore_index, which leaves the sample out, also as a negative
///   Temperature: a Ratio above 0
///
/// Every rank gathers the embeddings of all ranks: N ranks compute the loss of one rank with N times the batch. Missing
/// rows of a short batch are not negatives. In evaluation `accuracy` is the share of embeddings that are more similar
/// to their other view than to all others.
///
/// cost     products of all pairs, once in forward and once in backward; memory for the embeddings of all ranks
/// wire     2 B (C + 1) elements, then 4 B, to each other rank
/// refuses  an output whose first extent is odd; Accumulate and SimulateWorld, which cut the batch
/// source   Chen et al. 2020, "A simple framework for contrastive learning of visual representations", equation 1
template <class Temperature = Ratio<1, 2>>
struct NtXent final {
  using option_of = axis::loss;
  using temperature = Temperature;
  static constexpr bool couples_samples = true, gathers_samples = true, counts_as_it_runs = true;
  template <class Output>
  using Labels = Value<std::int32_t, Shape<1>>;
  template <class Output>
  static constexpr std::size_t labels_below = 1;
  template <class Output>
  static constexpr bool accepts = Number<typename Output::Element> && Output::Shape::extent(0) % 2 == 0;
  template <class Output>
  static constexpr std::size_t rows = 2;  // embeddings of a sample; the loss is their mean

  template <bool gradient, class Output>
  static constexpr void run(auto& walk, std::size_t output, std::size_t target, View<Scalars> scalars, double scale) {
    using S = typename Output::Element;
    const std::size_t views = 2 * walk.capacity;
    const Everywhere<S> z(walk, views * (Output::size / 2 + 1));
    const Everywhere<op::SoftmaxRow<S>> softmax(walk, views);
    const op::Embeddings<S> embeddings{.all = {z.all},
                                       .ranks = walk.ranks,
                                       .rank = walk.rank,
                                       .rows = views,
                                       .columns = Output::size / 2,
                                       .slice = z.bytes / sizeof(S),
                                       .sum_slice = softmax.bytes / sizeof(op::SoftmaxRow<S>)};
    walk.path = path;
    walk.run(op::NormalizeViews<S>{{output}, {target}, embeddings, walk.batch});
    z.gather(walk);
    walk.run(op::NtXent<S>{embeddings, {softmax.all}, scalars, Temperature::value});
    if constexpr (gradient) {
      softmax.gather(walk);
      walk.run(op::NtXentBackward<S>{.z = embeddings,
                                     .softmax = {softmax.all},
                                     .d_x = {output},
                                     .scalars = scalars,
                                     .samples = walk.batch,
                                     .temperature = Temperature::value,
                                     .scale = scale});
    }
    walk.arena.give(softmax.all);
    walk.arena.give(z.all);
  }

 private:
  static constexpr LayerPath path = LayerPath::outside(9, "loss");

  /// A buffer with a slice of each rank.
  template <class S>
  struct Everywhere {
    std::size_t bytes, all;
    constexpr Everywhere(auto& walk, std::size_t elements)
        : bytes(TensorArena::align(elements * sizeof(S))),
          all(walk.arena.take(walk.ranks * bytes, walk.ranks > 1 ? MemoryKind::communication : MemoryKind::scratch,
                              path)) {}
    constexpr void gather(auto& walk) const {
      if (walk.ranks > 1)
        walk.await(walk.all_gather({.own = all + walk.rank * bytes, .all = all, .bytes = bytes, .path = path}));
    }
  };
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
