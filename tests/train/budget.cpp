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

/// One set of weights for all blocks.
struct OneSet;
struct Albert final : Model<Input<Vector<16>>,
                            Repeat<4, Shared<OneSet, Residual<LayerNorm, Linear<64>, Gelu, Linear<16>>>>, Linear<7>> {};

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

/// The least operations of recomputation with which saved tensors of all blocks take at most some bytes: a dynamic
/// program, where each block may keep all, recompute layers of its own choice, or be recomputed in a segment of any
/// length, whose tensors must fit above what blocks before it keep. Nothing that is possible takes less.
///   room   bytes that are free when segments are recomputed and not when all blocks have their tensors
struct Choice {
  double bytes, operations;
};
struct LeastOperations {
  static constexpr double unit = 16 << 20, never = std::numeric_limits<double>::infinity();
  static std::size_t units(double amount) { return static_cast<std::size_t>(amount / unit); }  // rounded down: less
  std::vector<std::vector<double>> from;  // [block n][units that are left]

  LeastOperations(const std::vector<Choice>& choices, std::size_t depth, double most, double input, double block,
                  double whole_block, double room)
      : from(depth + 1, std::vector<double>(units(most) + 1, never)) {
    from[depth].assign(from[depth].size(), 0);
    for (std::size_t n = depth; n-- > 0;)
      for (std::size_t left = 0; left < from[n].size(); ++left) {
        double& least = from[n][left];
        for (const Choice& one : choices)
          if (units(one.bytes) <= left) least = std::min(least, from[n + 1][left - units(one.bytes)] + one.operations);
        if (units(input) > left) continue;
        const double above = double(left + 1) * unit + room;
        for (std::size_t length = 1; n + length <= depth; ++length)
          for (const Choice& one : choices)
            if (double(length) * one.bytes <= above)
              least = std::min(least, from[n + length][left - units(input)] + block + double(length - 1) * whole_block +
                                          double(length) * one.operations);
      }
  }
};

using Search = train::BudgetSearch<train::Recipe, Gpt2Xl, gpt2<138_GiB>>;
/// The dynamic program of GPT-2, made of what outlines say.
struct Relaxed {
  static train::RankedSchedule ranked(std::size_t index, std::size_t whole) {
    return Search::ranked(index, whole, Search::bytes);
  }
  static constexpr std::size_t depth = 48, step = Search::segments.count;
  const double plain = double(ranked(0, 0).bound), block = ranked(1, 0).extra / depth;
  double others = 0;
  std::vector<Choice> choices;
  const LeastOperations least = solve();

  LeastOperations solve() {
    const double input = 64.0 * 1024 * 1600 * 2, whole_block = ranked(2, 0).extra / (depth / 2) - block;
    std::vector<Choice> all;
    for (std::size_t subset = 0; subset < Search::count / step; ++subset)
      all.push_back({double(ranked(subset * step + 1, 47).bound - ranked(subset * step + 1, 46).bound) + input,
                     ranked(subset * step, 0).extra / depth});
    others = plain - depth * all[0].bytes;
    const auto is_better = [](const Choice& one, const Choice& than) {
      return one.bytes <= than.bytes && one.operations <= than.operations &&
             (one.bytes < than.bytes || one.operations < than.operations);
    };
    for (const Choice& one : all)
      if (std::none_of(all.begin(), all.end(), [&](const Choice& other) { return is_better(other, one); }))
        choices.push_back(one);
    return {choices, depth, plain - others, input, block, whole_block, others - double(Search::base)};
  }
  double answer(double budget) const { return least.from[0][LeastOperations::units(budget - others)]; }
};
const Relaxed& relaxed() {
  static const Relaxed solved;
  return solved;
}
template <std::size_t Bytes>
double relative_to_dynamic_program() {
  using Recipe = train::Recipe<Gpt2Xl, gpt2<Bytes>>;
  CHECK(Recipe::plan.peak <= Bytes);
  const double found = Recipe::step_walked.cost[1].flops -
                       train::Recipe<Gpt2Xl, mp::mp_apply<Configured, OnH200>>::step_walked.cost[1].flops;
  return found / relaxed().answer(double(Bytes));
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

TEST_CASE("it sees the layers of a set, which stand in several places") {
  using Kept = Checkpoint<Every<1>, KeepLast<2>>;
  constexpr std::size_t bytes = peak<Albert, Kept>;
  using Sets = train::BudgetSearch<train::Recipe, Albert, Configured<Batch<4>, Checkpoint<Budget<bytes>>>>;
  constexpr train::RankedSchedule rank = Sets::ranked(1, 2, bytes);
  CHECK(rank.extra == backward<Albert, Kept> - backward<Albert, Checkpoint<None>>);
  CHECK(rank.bound <= bytes);
  CHECK(backward<Albert, Checkpoint<Budget<bytes>>> <= backward<Albert, Kept>);
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
TEST_CASE("GPT-2 of 1.5 billion parameters: with any budget little more than the least recomputation") {
  const Relaxed& gpt = relaxed();
  const std::size_t first = std::size_t(gpt.plain);
  double most_blocks = 0, most = 0;
  std::size_t tried = 0;
  for (std::size_t budget = first; double(budget) > gpt.others; budget -= (512_MiB), ++tried) {
    train::RankedSchedule best{};
    for (std::size_t i = 0; i < Search::count; ++i) {
      const train::RankedSchedule one = Search::with_most_whole(i, budget);
      if (one.fits && (!best.fits || one.before(best))) best = one;
    }
    if (!best.fits) break;
    const double least = gpt.answer(double(budget)), blocks = (best.extra - least) / gpt.block;
    UNSCOPED_INFO(budget / (1_MiB) << " MiB: Every<" << best.schedule.segment << ">, " << best.schedule.whole
                                   << " whole, " << best.extra << ", " << blocks << " blocks above " << least);
    if (best.schedule.segment <= 1) most_blocks = std::max(most_blocks, blocks);
    else most = std::max(most, best.extra / least);
  }
  CHECK(tried > 290);
  // Where all blocks that are recomputed are so one by one, the grain is a block, and a layer that is recomputed in all of
  // them though some would do: which costs little, or another schedule would be cheaper.
  double cheapest = LeastOperations::never;
  for (const Choice& one : gpt.choices)
    if (one.operations > 0) cheapest = std::min(cheapest, one.operations);
  CHECK(most_blocks > 0.9);
  CHECK(most_blocks < 1 + Relaxed::depth * cheapest / gpt.block);
  CHECK(most < 1.26);  // near the least budget the grain is a length of all segments
}
