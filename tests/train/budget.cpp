// Checkpoint<Budget<Bytes>>: the cheapest schedule whose plan fits, against plans of all schedules of the space; and it
// trains as that schedule does.
#include <regimen/engine/cuda/plan.hpp>
#include <regimen/models/gpt2.hpp>
#include <regimen/regimen.hpp>

#include "support/catch.hpp"
#include "support/weights.hpp"

#include <boost/mp11.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

using namespace regimen;
namespace mp = boost::mp11;

namespace {

struct Deep final
    : Model<Input<Vector<16>>, Repeat<3, Residual<LayerNorm, Linear<64>, Gelu, Linear<16>>>, LayerNorm, Linear<7>> {};
struct Branched final
    : Model<Input<Vector<12>>, Linear<16>, Silu, Fork<Multiply, Sequential<Linear<16>, Gelu>, Dropout<Ratio<1, 4>>>,
            Residual<LayerNorm, Linear<16>>, Softmax, Linear<5>> {};

template <class Network, class Checkpoint_>
using recipe = train::Recipe<Network, Configured<Batch<4>, Checkpoint_>>;
template <class Network, class Checkpoint_>
constexpr std::size_t peak =
    std::max(recipe<Network, Checkpoint_>::step_walked.peak, recipe<Network, Checkpoint_>::evaluation_walked.peak);
template <class Network, class Checkpoint_>
constexpr double backward = recipe<Network, Checkpoint_>::step_walked.cost[1].flops;

// ---- all schedules of the space, written here from what the policy says

template <class... Schedules>
using list = mp::mp_list<Schedules...>;
template <class Layers>
using selective = std::conditional_t<mp::mp_empty<Layers>::value, list<>, list<mp::mp_apply<Selective, Layers>>>;
template <class Blocks, class Layers>
using joined = mp::mp_apply<Checkpoint, mp::mp_append<Blocks, selective<Layers>>>;
template <class Layers>
using subsets = mp::mp_power_set<Layers>;
/// Every<0> is none.
template <std::size_t N, std::size_t K>
using blocks = mp::mp_append<std::conditional_t<(N > 0), list<Every<N>>, list<>>,
                             std::conditional_t<(K > 0), list<KeepLast<K>>, list<>>>;
using BlocksOfThree = list<blocks<0, 0>, blocks<1, 0>, blocks<1, 1>, blocks<1, 2>, blocks<2, 0>, blocks<2, 1>>;
template <class Checkpoint_>
using or_none = std::conditional_t<std::is_same_v<Checkpoint_, Checkpoint<>>, Checkpoint<None>, Checkpoint_>;
template <class Blocks, class Layers>
using space = mp::mp_transform<or_none, mp::mp_product<joined, Blocks, subsets<Layers>>>;

struct Planned {
  std::size_t peak;
  double flops;
};
template <class Network, class... Checkpoints>
std::vector<Planned> plans_of(list<Checkpoints...>) {
  return {{peak<Network, Checkpoints>, backward<Network, Checkpoints>}...};
}

/// The chosen schedule is the cheapest of all that fit, and takes no more than a larger budget gives.
template <class Network, std::size_t... Budgets>
void is_cheapest(const std::vector<Planned>& all) {
  std::size_t below = 0;
  const auto check = [&](std::size_t budget, std::size_t taken, double flops) {
    CAPTURE(budget, taken);
    CHECK(taken <= budget);
    CHECK(taken >= below);
    double least = std::numeric_limits<double>::infinity();
    for (const Planned& one : all)
      if (one.peak <= budget) least = std::min(least, one.flops);
    CHECK(flops == least);
    below = taken;
  };
  (check(Budgets, peak<Network, Checkpoint<Budget<Budgets>>>, backward<Network, Checkpoint<Budget<Budgets>>>), ...);
}

template <class Checkpoint_>
struct Run {
  using Train = Trainer<Deep, Batch<4>, Loss<CrossEntropy>, Checkpoint_>;
  std::vector<double> weights;
  std::size_t used, planned;
};
template <class Checkpoint_>
Run<Checkpoint_> run() {
  typename Run<Checkpoint_>::Train trainer;
  trainer.poison_dead_memory();
  trainer.fit(Fake({.samples = 24, .classes = 7, .seed = 4}), {.steps = 5, .progress = false});
  return {support::weights_of<double>(trainer), trainer.used().peak, trainer.planned().peak};
}

// ---- GPT-2 of 1.5 billion parameters

using OnH200 = mp::mp_list<Batch<64>, Precision<bf16, fp32>, Device<Cuda>, Attention<Tiled>, Target<targets::h200>>;
template <std::size_t Bytes>
using gpt2 = mp::mp_apply<Configured, mp::mp_push_back<OnH200, Checkpoint<Budget<Bytes>>>>;

/// The least operations of recomputation with which saved tensors of all blocks take at most `bytes`: a dynamic program,
/// where each block may keep all, recompute layers of its own choice, or be recomputed in a segment of any length.
/// Memory outside of that is left out, so nothing that is possible takes less.
struct Choice {
  double bytes, operations;
};
double least_operations(const std::vector<Choice>& blocks, std::size_t depth, double bytes, double input, double block,
                        double whole_block) {
  constexpr double unit = 4 << 20, never = std::numeric_limits<double>::infinity();
  const auto units = [](double amount) { return static_cast<std::size_t>(amount / unit); };  // rounded down: less
  const std::size_t all = units(bytes);
  std::vector<std::vector<double>> least(depth + 1, std::vector<double>(all + 1, never));
  least[0][all] = 0;
  for (std::size_t n = 0; n < depth; ++n)
    for (std::size_t left = 0; left <= all; ++left) {
      const double now = least[n][left];
      if (now == never) continue;
      const auto to = [&](std::size_t next, double takes, double costs) {
        if (units(takes) > left) return;
        double& there = least[next][left - units(takes)];
        there = std::min(there, now + costs);
      };
      for (const Choice& one : blocks) to(n + 1, one.bytes, one.operations);
      for (std::size_t length = 1; n + length <= depth; ++length)
        to(n + length, input, block + double(length - 1) * whole_block);
    }
  return *std::min_element(least[depth].begin(), least[depth].end());
}
template <std::size_t Bytes>
double relative_to_dynamic_program() {
  using Recipe = train::Recipe<Gpt2Xl, gpt2<Bytes>>;
  using Search = train::BudgetSearch<train::Recipe, Gpt2Xl, gpt2<Bytes>>;
  constexpr std::size_t depth = 48, step = Search::segments.count;
  const double input = 64.0 * 1024 * 1600 * 2;
  std::vector<Choice> choices;
  for (std::size_t subset = 0; subset < Search::count / step; ++subset)
    choices.push_back(
        {double(Search::ranked(subset * step + 1, 47).bound - Search::ranked(subset * step + 1, 46).bound) + input,
         Search::ranked(subset * step, 0).extra / depth});
  const double plain = double(Search::ranked(0, 0).bound), block = Search::ranked(1, 0).extra / depth,
               whole_block = Search::ranked(2, 0).extra / (depth / 2) - block;
  const double least =
      least_operations(choices, depth, double(Bytes) - (plain - depth * choices[0].bytes), input, block, whole_block);
  CHECK(Recipe::plan.peak <= Bytes);
  const double found = Recipe::step_walked.cost[1].flops -
                       train::Recipe<Gpt2Xl, mp::mp_apply<Configured, OnH200>>::step_walked.cost[1].flops;
  return found / least;
}

}  // namespace

TEST_CASE("the cheapest schedule that fits, of all that there are: without blocks") {
  const auto all = plans_of<Branched>(space<list<blocks<0, 0>>, list<Linear<16>, Silu, LayerNorm>>{});
  CHECK(all.size() == 8);
  is_cheapest<Branched, 20'224, 20'479, 20'480, 20'991, 30'000>(all);
}
TEST_CASE("the cheapest schedule that fits, of all that there are: of three blocks") {
  const auto all = plans_of<Deep>(space<BlocksOfThree, list<LayerNorm, Linear<64>, Gelu>>{});
  CHECK(all.size() == 48);
  is_cheapest<Deep, 112'640, 112'900, 113'400, 114'500, 115'455, 116'992, 119'551, 119'552, 200'000>(all);
}

TEST_CASE("it trains as the schedule that is chosen, with the same bits") {
  using Chosen = typename Run<Checkpoint<Budget<113'400>>>::Train;
  static_assert(std::is_same_v<Chosen::Schedule, Checkpoint<Every<1>, KeepLast<1>, Selective<Linear<64>, Gelu>>>);
  static_assert(std::is_same_v<Chosen::Recipe::Bound, recipe<Deep, Chosen::Schedule>::Bound>);
  const auto found = run<Checkpoint<Budget<113'400>>>();
  CHECK(found.used == found.planned);
  CHECK(found.planned <= 113'400);
  CHECK(found.weights == run<Checkpoint<None>>().weights);
  CHECK(Chosen::plan().table().find("for Budget<113400>, recomputed: Every<1>, KeepLast<1>, linear, gelu") !=
        std::string::npos);
}
TEST_CASE("GPT-2 of 1.5 billion parameters: little more than the least recomputation") {
  CHECK(relative_to_dynamic_program<138_GiB>() < 1.05);
  CHECK(relative_to_dynamic_program<70_GiB>() < 1.05);
}
