// tests/train/budget_pairs.hpp — pairs of a model and a budget, drawn from seeds: what Checkpoint<Budget<Bytes>> promises.
// The plan fits; a larger budget recomputes no more; what Every<1> takes is enough; below the least peak the rule refuses,
// and names that peak.
#pragma once

#include <regimen/comm/threads.hpp>
#include <regimen/core/philox.hpp>
#include <regimen/data/fake.hpp>
#include <regimen/layer/batch_norm.hpp>
#include <regimen/layer/conv.hpp>
#include <regimen/layer/dropout.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/join.hpp>
#include <regimen/layer/named.hpp>
#include <regimen/layer/pool.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/regimen.hpp>
#include <regimen/rule/recipe_rules.hpp>

#include "support/catch.hpp"

#include <boost/mp11.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace regimen::test {

namespace mp = boost::mp11;

// ---- what a seed draws

template <std::uint64_t Seed>
struct Draw {
  static constexpr std::size_t below(std::uint64_t which, std::size_t bound) {
    return static_cast<std::size_t>((Philox::mix(Philox::mix(Seed, 17), which) >> 20) % bound);
  }
  static constexpr std::size_t depth = 3 + below(0, 2), width = 8 * (1 + below(1, 4)), wide = width * (2 + below(2, 3));
  template <std::uint64_t which, class... Choices>
  using one_of = mp::mp_at_c<mp::mp_list<Choices...>, below(which, sizeof...(Choices))>;
  template <class... Policies>
  using list = mp::mp_list<Policies...>;
  using Norm = one_of<3, LayerNorm, RmsNorm>;
  using Kinked = one_of<4, Relu, Tanh>;  // keeps its output, which cannot be computed again
  using In = Input<Vector<width>>;

  using Ranks =
      one_of<8, list<>, list<Shard<ZeRO1>, World<2>>, list<Shard<ZeRO2>, World<3>>, list<Shard<ZeRO3>, World<4>>>;
  static constexpr bool is_alone = mp::mp_empty<Ranks>::value;
  using Policies = mp::mp_append<
      list<Batch<50 + below(5, 200)>>, one_of<6, list<>, list<>, list<Accumulate<2>>, list<Accumulate<3>>>,
      one_of<7, list<>, list<Precision<bf16, fp32>>>, std::conditional_t<is_alone, list<>, list<Communicator<Threads>>>,
      Ranks, one_of<9, list<>, list<Optimizer<Sgd>>>>;
};

/// The kinds of models: a seed makes the one of its remainder.
inline constexpr std::size_t kinds = 12;
template <std::uint64_t Seed, std::size_t kind = Seed % kinds>
struct model_of;
template <std::uint64_t Seed>
using model = typename model_of<Seed>::type;
struct OneSet;
template <std::uint64_t Seed>
struct model_of<Seed, 0> {
  using D = Draw<Seed>;
  using type =
      Model<typename D::In,
            Repeat<D::depth, Residual<typename D::Norm, Linear<D::wide>, typename D::Kinked, Linear<D::width>>>,
            Linear<7>>;
};
template <std::uint64_t Seed>
struct model_of<Seed, 1> {  // values that go from block to block through no sum
  using D = Draw<Seed>;
  using type =
      Model<typename D::In, Repeat<D::depth, Sequential<Linear<D::wide>, typename D::Kinked, Linear<D::width>, Tanh>>,
            typename D::Norm, Linear<5>>;
};
template <std::uint64_t Seed>
struct model_of<Seed, 2> {
  using D = Draw<Seed>;
  using type = Model<Input<Tokens<8>>, Embedding<Vocabulary<11>, D::width>, PositionEmbedding,
                     Repeat<2, Residual<SelfAttention<Heads<2>, Causal>>>, Linear<11>>;
};
template <std::uint64_t Seed>
struct model_of<Seed, 3> {
  using D = Draw<Seed>;
  using type = Model<
      typename D::In,
      Repeat<D::depth, Fork<Add, Sequential<Linear<D::wide>, typename D::Kinked, Linear<D::width>>, Linear<D::width>>>,
      Linear<7>>;
};
template <std::uint64_t Seed>
struct model_of<Seed, 4> {
  using D = Draw<Seed>;
  using type = Model<
      typename D::In,
      Repeat<D::depth, Residual<Fork<Multiply, Sequential<Linear<D::wide>, Tanh>, Linear<D::wide>>, Linear<D::width>>>,
      Linear<7>>;
};
template <std::uint64_t Seed>
struct model_of<Seed, 5> {  // convolutions
  using D = Draw<Seed>;
  using type =
      Model<Input<Image<6, 6, 3>>, Conv2d<8, 3, Padding<1>, NoBias>,
            Repeat<D::depth, Residual<Conv2d<8, 3, Padding<1>, NoBias>, BatchNorm<PerMicroBatch>, typename D::Kinked>>,
            GlobalAveragePool, Linear<5>>;
};
template <std::uint64_t Seed>
struct model_of<Seed, 6> {  // whole blocks of attention
  using D = Draw<Seed>;
  using type = Model<Input<Tokens<8>>, Embedding<Vocabulary<11>, D::width>,
                     Repeat<D::depth, Sequential<Residual<typename D::Norm, SelfAttention<Heads<2>, Causal>>,
                                                 Residual<typename D::Norm, Linear<D::wide>, Gelu, Linear<D::width>>>>,
                     typename D::Norm, Linear<11>>;
};
template <std::uint64_t Seed>
struct model_of<Seed, 7> {  // Repeats of other depths
  using D = Draw<Seed>;
  using type = Model<typename D::In, Repeat<D::depth + 1, Residual<Linear<D::wide>, Relu, Linear<D::width>>>,
                     Linear<D::width>, Repeat<D::depth, Residual<Linear<D::width>, Relu>>, Linear<4>>;
};
template <std::uint64_t Seed>
struct model_of<Seed, 8> {  // a Repeat in another
  using D = Draw<Seed>;
  using type =
      Model<typename D::In,
            Repeat<3, Sequential<Linear<D::wide>, Repeat<D::depth, Residual<Linear<D::wide>, Relu>>, Linear<D::width>>>,
            Linear<4>>;
};
template <std::uint64_t Seed>
struct model_of<Seed, 9> {  // one set of weights for all blocks
  using D = Draw<Seed>;
  using type = Model<typename D::In,
                     Repeat<D::depth, Shared<OneSet, Residual<Linear<D::wide>, Relu, Linear<D::width>>>>, Linear<7>>;
};
template <std::uint64_t Seed>
struct model_of<Seed, 10> {  // two element types
  using D = Draw<Seed>;
  using type = Model<typename D::In, Repeat<D::depth, Residual<Linear<D::wide>, As<fp32, Relu>, Linear<D::width>>>,
                     As<fp32, Linear<7>>>;
};
template <std::uint64_t Seed>
struct model_of<Seed, 11> {  // no Repeat, random numbers, and what is computed again in any case
  using D = Draw<Seed>;
  using type = Model<typename D::In, Linear<D::wide>, Silu, Dropout<Ratio<1, 4>>, Checkpointed<Linear<D::wide>, Gelu>,
                     Residual<LayerNorm, Linear<D::wide>>, Linear<5>>;
};

// ---- what a budget takes

template <std::uint64_t Seed, class Checkpoint_>
using configured = mp::mp_apply<ConfigurationOf, mp::mp_push_back<typename Draw<Seed>::Policies, Checkpoint_>>;
template <std::uint64_t Seed, class Checkpoint_>
using recipe = programs::Recipe<model<Seed>, configured<Seed, Checkpoint_>>;
template <class Recipe>
constexpr std::size_t peak = (std::max)(Recipe::step_walked.peak, Recipe::evaluation_walked.peak);
template <class Recipe>
constexpr double flops = Recipe::step_walked.cost[1].flops;  // of backward, with all that is computed again

template <std::uint64_t Seed, std::size_t Bytes>
using budgeted = recipe<Seed, Checkpoint<Budget<Bytes>>>;
template <std::uint64_t Seed>
constexpr std::size_t whole = peak<recipe<Seed, Checkpoint<None>>>;
/// The least peak, as the search that finds nothing says.
template <std::uint64_t Seed>
constexpr std::size_t least = budgeted<Seed, 1>::Choice::peak;

/// A budget, and its plan.
struct Pair {
  std::size_t budget, taken;
  double flops;
};
template <std::uint64_t Seed, std::size_t Bytes>
constexpr Pair pair_of{Bytes, peak<budgeted<Seed, Bytes>>, flops<budgeted<Seed, Bytes>>};

/// Budgets. First the ends: the least; all that the model takes, and a byte less.
inline constexpr std::size_t ends = 3;
template <std::uint64_t Seed, std::size_t number>
constexpr std::size_t budget_of = [] {
  if constexpr (number == 0) return least<Seed>;
  else if constexpr (number < ends) return whole<Seed> - (number - 1);
  else return least<Seed> + Draw<Seed>::below(101 + number, whole<Seed> - least<Seed>);
}();

struct Tried {
  std::size_t drawn = 0, recompute = 0;
};
template <std::uint64_t Seed, std::size_t... number>
void hold_for(Tried& tried, std::index_sequence<number...>) {
  static_assert(whole<Seed> > least<Seed>);
  std::vector<Pair> all{pair_of<Seed, budget_of<Seed, number>>...};
  CAPTURE(Seed);
  const double plain = flops<recipe<Seed, Checkpoint<None>>>;
  CHECK(all[1].flops == plain);
  for (std::size_t i = ends; i < all.size(); ++i) tried.recompute += all[i].flops > plain ? 1 : 0;
  tried.drawn += all.size() - ends;

  std::sort(all.begin(), all.end(), [](const Pair& one, const Pair& other) { return one.budget < other.budget; });
  Pair smaller = all[0];
  for (const Pair& pair : all) {
    CAPTURE(pair.budget);
    CHECK(pair.taken <= pair.budget);
    CHECK(pair.flops <= smaller.flops);
    smaller = pair;
  }
  if constexpr (Seed % kinds != 11) {
    using EveryOne = recipe<Seed, Checkpoint<Every<1>>>;
    CHECK(least<Seed> <= peak<EveryOne>);
    CHECK(flops<budgeted<Seed, peak<EveryOne>>> <= flops<EveryOne>);
  }
}
template <std::uint64_t... seed>
Tried hold() {
  Tried tried;
  (hold_for<seed>(tried, std::make_index_sequence<ends + 11>{}), ...);
  return tried;
}

/// At the least peak the plan takes that; a byte below it, the rule does not hold, and names it.
template <std::uint64_t Seed>
constexpr bool ends_at_least =
    pair_of<Seed, least<Seed>>.taken == least<Seed> &&
    mp::mp_empty<
        decltype(rule::budget_rules<model<Seed>, configured<Seed, Checkpoint<Budget<least<Seed>>>>>())>::value &&
    std::is_same_v<decltype(rule::budget_rules<model<Seed>, configured<Seed, Checkpoint<Budget<least<Seed> - 1>>>>()),
                   mp::mp_list<rule::budget_reaches_least<least<Seed> - 1, least<Seed>>>> &&
    !rule::budget_reaches_least<least<Seed> - 1, least<Seed>>::holds;

/// A run takes what the plan of that pair says.
template <std::uint64_t Seed>
void run_takes(std::size_t classes) {
  static_assert(Draw<Seed>::is_alone);
  constexpr std::size_t budget = budget_of<Seed, ends>;
  using Train = mp::mp_apply<
      Trainer,
      mp::mp_push_front<mp::mp_push_back<typename Draw<Seed>::Policies, Checkpoint<Budget<budget>>>, model<Seed>>>;
  Train trainer;
  trainer.fit(Fake({.samples = 512, .classes = classes, .seed = 4}), {.steps = 2, .progress = false});
  CHECK(trainer.used().peak == pair_of<Seed, budget>.taken);
  CHECK(Train::plan().peak == pair_of<Seed, budget>.taken);
}

}  // namespace regimen::test
// SPDX-License-Identifier: Apache-2.0
