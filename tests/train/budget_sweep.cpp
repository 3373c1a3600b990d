// Checkpoint<Budget<Bytes>> for GPT-2 of 1.5 billion parameters, with any budget: its recomputation beside the least that a
// dynamic program finds.
#include <regimen/engine/cuda/plan.hpp>
#include <regimen/models/gpt2.hpp>
#include <regimen/regimen.hpp>

#include "support/catch.hpp"

#include <boost/mp11.hpp>

#include <algorithm>
#include <limits>
#include <vector>

using namespace regimen;
namespace mp = boost::mp11;

namespace {

// ---- GPT-2 of 1.5 billion parameters

using OnH200 = mp::mp_list<Batch<64>, Precision<bf16, fp32>, Device<Cuda>, Attention<Tiled>, Target<targets::h200>>;
template <std::size_t Bytes>
using gpt2 = mp::mp_apply<Configured, mp::mp_push_back<OnH200, Checkpoint<Budget<Bytes>>>>;

/// The least operations of recomputation with which saved tensors of all blocks take at most some bytes: a dynamic
/// program, where each block may keep all, recompute layers of its own choice, or be recomputed in a segment of any
/// length, whose tensors must fit above what blocks before it keep. Nothing that is possible takes less.
///   choices  the cheapest first
///   room     bytes that are free when segments are recomputed and not when all blocks have their tensors
struct Choice {
  double bytes, operations;
};
struct LeastOperations {
  static constexpr double unit = 1 << 20, never = std::numeric_limits<double>::infinity();
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
        for (std::size_t length = 1; n + length <= depth; ++length) {
          const auto fits = [&](const Choice& one) { return double(length) * one.bytes <= above; };
          const auto cheapest = std::find_if(choices.begin(), choices.end(), fits);
          if (cheapest != choices.end())
            least = std::min(least, from[n + length][left - units(input)] + block + double(length - 1) * whole_block +
                                        double(length) * cheapest->operations);
        }
      }
  }
};

using Search = train::BudgetSearch<train::Recipe, Gpt2Xl, gpt2<138_GiB>>;
/// The dynamic program of GPT-2, made of what outlines say.
struct Relaxed {
  static constexpr std::size_t depth = 48, step = Search::segments.count;
  /// Segments of `segment` blocks with layers that are recomputed, without segments in the last `whole` blocks.
  static train::RankedSchedule ranked(std::size_t subset, std::size_t segment, std::size_t whole = 0) {
    return Search::ranked({subset * step + segment, subset * step, 0, 0, false}, whole, 0);
  }
  const double plain = double(ranked(0, 0).bound), block = ranked(0, 1).extra / depth;
  double others = 0;
  std::vector<Choice> choices;
  const LeastOperations least = solve();

  LeastOperations solve() {
    const double input = 64.0 * 1024 * 1600 * 2, whole_block = ranked(0, 2).extra / (depth / 2) - block;
    std::vector<Choice> all;
    for (std::size_t subset = 0; subset < Search::count / step; ++subset)
      all.push_back(
          {double(ranked(subset, 1, 47).bound - ranked(subset, 1, 46).bound) + input, ranked(subset, 0).extra / depth});
    others = plain - depth * all[0].bytes;
    const auto is_better = [](const Choice& one, const Choice& than) {
      return one.bytes <= than.bytes && one.operations <= than.operations &&
             (one.bytes < than.bytes || one.operations < than.operations);
    };
    for (const Choice& one : all)
      if (std::none_of(all.begin(), all.end(), [&](const Choice& other) { return is_better(other, one); }))
        choices.push_back(one);
    std::sort(choices.begin(), choices.end(),
              [](const Choice& a, const Choice& b) { return a.operations < b.operations; });
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

/// The cheapest schedule whose bound fits.
train::RankedSchedule best_of(std::size_t budget) {
  train::RankedSchedule best{};
  const auto consider = [&](const train::RankedSchedule& one) {
    if (one.fits && (!best.fits || one.before(best))) best = one;
  };
  for (train::RankedSchedule one : Search::uniforms) {
    one.fits = one.bound <= budget;
    consider(one);
  }
  for (std::size_t i = 0; i < Search::mixtures.made; ++i) consider(Search::with_most_last(i, budget));
  return best;
}

}  // namespace

TEST_CASE("GPT-2 of 1.5 billion parameters: little more than the least recomputation") {
  CHECK(relative_to_dynamic_program<158_GiB>() < 1.05);
  CHECK(relative_to_dynamic_program<70_GiB>() < 1.05);
  CHECK(relative_to_dynamic_program<47_GiB>() < 1.05);
}
TEST_CASE("GPT-2 of 1.5 billion parameters: with any budget little more than the least recomputation") {
  const Relaxed& gpt = relaxed();
  double most = 0, near_least = 0;
  std::size_t tried = 0;
  for (std::size_t budget = std::size_t(gpt.plain) - (64_MiB); double(budget) > gpt.others;
       budget -= (512_MiB), ++tried) {
    const train::RankedSchedule best = best_of(budget);
    if (!best.fits) break;
    const double ratio = best.extra / gpt.answer(double(budget));
    UNSCOPED_INFO(double(budget) / (1_GiB) << " GiB: " << best.extra << ", " << ratio << " of the least");
    (budget < (47_GiB) ? near_least : most) = std::max(budget < (47_GiB) ? near_least : most, ratio);
  }
  CHECK(tried > 290);
  CHECK(most < 1.05);
  CHECK(near_least < 1.1);  // here lengths of segments are the grain
}
