// Checkpoint<Budget<Bytes>> with any budget. For GPT-2 of 1.5 billion parameters: its recomputation beside the least that a
// dynamic program finds. For small models: what it finds by bounds beside all mixtures of two schedules, by their outlines.
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
using gpt2 = mp::mp_apply<ConfigurationOf, mp::mp_push_back<OnH200, Checkpoint<Budget<Bytes>>>>;

/// The least operations of recomputation with which saved tensors of all blocks take at most some bytes: a dynamic
/// program, where each block may keep all, recompute layers of its own choice, or be recomputed in a segment of any
/// length, whose tensors, and what backward of a block takes besides, must fit above what blocks before it keep. Nothing
/// that is possible takes less.
///   choices  the cheapest first
///   beside   what backward of a block takes
///   room     bytes that are free when segments are recomputed and not when all blocks have their tensors
struct Choice {
  double bytes, operations, beside;
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
          const auto fits = [&](const Choice& one) { return double(length) * one.bytes + one.beside <= above; };
          const auto cheapest = std::find_if(choices.begin(), choices.end(), fits);
          if (cheapest != choices.end())
            least = std::min(least, from[n + length][left - units(input)] + block + double(length - 1) * whole_block +
                                        double(length) * cheapest->operations);
        }
      }
  }
};

using Search = programs::BudgetSearch<programs::Recipe, Gpt2Xl, gpt2<138_GiB>>;
/// The dynamic program of GPT-2, made of what outlines say.
struct Relaxed {
  static constexpr std::size_t depth = 48, step = Search::segments.count;
  /// Segments of `segment` blocks with layers that are recomputed, without segments in the last `whole` blocks.
  static programs::RankedSchedule ranked(std::size_t subset, std::size_t segment, std::size_t whole = 0) {
    return Search::ranked({subset * step + segment, subset * step}, whole, 0);
  }
  /// Bytes that a segment of all blocks takes.
  static double in_one_segment(std::size_t subset) {
    programs::OutlineSchedules schedules{};
    schedules.of[0] = {Search::schedule_of(subset * step).layers, depth};
    programs::Sketch<Search::size> sketch(Search::parts.data(), schedules);
    sketch.walk_on(Search::base);
    return double(sketch.bound - Search::base);
  }
  const double plain = double(ranked(0, 0).bound), block = ranked(0, 1).extra / depth;
  double others = 0;
  std::vector<Choice> choices;
  const LeastOperations least = solve();

  LeastOperations solve() {
    const double input = 64.0 * 1024 * 1600 * 2, whole_block = ranked(0, 2).extra / (depth / 2) - block;
    std::vector<Choice> all;
    for (std::size_t subset = 0; subset < Search::count / step; ++subset) {
      const double bytes = double(ranked(subset, 1, 47).bound - ranked(subset, 1, 46).bound) + input;
      all.push_back({bytes, ranked(subset, 0).extra / depth, in_one_segment(subset) - depth * bytes});
    }
    others = plain - depth * all[0].bytes;
    const auto is_better = [](const Choice& one, const Choice& than) {
      return one.bytes <= than.bytes && one.operations <= than.operations && one.beside <= than.beside &&
             (one.bytes < than.bytes || one.operations < than.operations || one.beside < than.beside);
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
  using Recipe = programs::Recipe<Gpt2Xl, gpt2<Bytes>>;
  CHECK(Recipe::plan.peak <= Bytes);
  const double found = Recipe::step_walked.cost[1].flops -
                       programs::Recipe<Gpt2Xl, mp::mp_apply<ConfigurationOf, OnH200>>::step_walked.cost[1].flops;
  return found / relaxed().answer(double(Bytes));
}

/// What a search finds, by outlines.
template <class Search>
typename Search::Mixed::State found_by(const programs::Wanted& wanted) {
  auto state = Search::Mixed::start(wanted);
  while (!Search::Mixed::is_done(state)) state = Search::Mixed::advance(state, wanted);
  return state;
}

// ---- small models

template <std::size_t Depth>
struct Blocks final
    : Model<Input<Vector<64>>, Repeat<Depth, Residual<LayerNorm, Linear<64>, Gelu, Linear<64>>>, Linear<4>> {};
template <std::size_t Depth>
struct Wide final
    : Model<Input<Vector<16>>, Repeat<Depth, Residual<LayerNorm, Linear<64>, Gelu, Linear<16>>>, LayerNorm, Linear<7>> {
};
/// Encoder and decoder of other depths, and a Repeat within another.
struct Uneven final : Model<Input<Vector<64>>, Linear<64>,
                            Repeat<6, Sequential<Residual<LayerNorm, Linear<96>, Gelu, Linear<64>>,
                                                 Residual<LayerNorm, Linear<64>, Silu>>>,
                            Linear<64>, Repeat<3, Residual<Linear<64>, Relu>>, Linear<4>> {};
struct Nested final
    : Model<Input<Vector<64>>, Linear<64>,
            Repeat<6, Sequential<Linear<96>, Gelu, Repeat<3, Residual<LayerNorm, Linear<96>, Silu>>, Linear<64>>>,
            Linear<4>> {};

/// With any budget the search finds the first of all its mixtures, and the next behind that; less memory for less budget.
///   most   how much more than the cheapest of all mixtures of two schedules that may cost
template <class Network, std::size_t Samples>
void finds_the_first(double most) {
  using Small =
      programs::BudgetSearch<programs::Recipe, Network, ConfigurationOf<Batch<Samples>, Checkpoint<Budget<1_GiB>>>>;
  using Mixed = typename Small::Mixed;
  std::vector<programs::RankedSchedule> all(Small::uniforms.begin(), Small::uniforms.end()), pairs = all;
  const auto add = [](std::vector<programs::RankedSchedule>& to, const programs::Mixture& mixture, std::size_t index) {
    for (std::size_t whole = 1; whole + mixture.odd < Small::depth; ++whole)
      to.push_back(Small::ranked(mixture, whole, index));
  };
  for (std::size_t i = 0; i < Mixed::count(); ++i)
    if (Mixed::is_apart(Mixed::at(i))) add(all, Mixed::at(i), Small::count + i);
  for (std::size_t first = 0; first < Small::count; ++first)
    for (std::size_t last = 0; last < Small::count; ++last) add(pairs, {first, last}, 0);
  const auto sort = [](std::vector<programs::RankedSchedule>& some) {
    for (programs::RankedSchedule& one : some) one.fits = true;
    std::sort(some.begin(), some.end(), [](const auto& one, const auto& other) { return one.before(other); });
  };
  sort(all);
  sort(pairs);
  const auto is = [](const programs::RankedSchedule& one, const programs::RankedSchedule& other) {
    return one.fits && one.index == other.index && one.whole == other.whole;
  };

  const auto by_bound = [](const auto& one, const auto& other) { return one.takes_less_than(other); };
  const auto least = std::min_element(all.begin(), all.end(), by_bound);
  CHECK(is(found_by<Small>({~std::size_t{0}, true, {}}).best, *least));
  CHECK_FALSE(found_by<Small>({least->bound - 1, false, {}}).best.fits);
  const std::size_t range = Small::uniforms[0].bound - least->bound;
  std::size_t taken = 0;
  for (std::size_t i = 0; i <= 100; ++i) {
    const std::size_t budget = least->bound + range * i * i / 10'000;
    CAPTURE(budget);
    const auto fits = [&](const programs::RankedSchedule& one) { return one.bound <= budget; };
    const auto best = std::find_if(all.begin(), all.end(), fits), next = std::find_if(best + 1, all.end(), fits);
    const programs::RankedSchedule found = found_by<Small>({budget, false, {}}).best;
    CHECK(is(found, *best));
    CHECK(found.bound >= taken);
    taken = found.bound;
    const auto pair = std::find_if(pairs.begin(), pairs.end(), fits);
    if (pair != pairs.end()) CHECK(found.extra <= most * pair->extra);
    if (next != all.end() && i % 10 == 0) CHECK(is(found_by<Small>({budget, false, found}).best, *next));
  }
}

}  // namespace

TEST_CASE("GPT-2 of 1.5 billion parameters: little more than the least recomputation") {
  CHECK(relative_to_dynamic_program<158_GiB>() < 1.05);
  CHECK(relative_to_dynamic_program<70_GiB>() < 1.05);
  CHECK(relative_to_dynamic_program<47_GiB>() < 1.05);
}
TEST_CASE("GPT-2 of 1.5 billion parameters: with any budget little more than the least recomputation") {
  const Relaxed& gpt = relaxed();
  const std::size_t least = found_by<Search>({~std::size_t{0}, true, {}}).best.bound;
  double most = 0;
  std::size_t tried = 0, taken = ~std::size_t{0};
  const auto look_at = [&](std::size_t budget) {
    const programs::RankedSchedule best = found_by<Search>({budget, false, {}}).best;
    CHECK(best.fits);
    CHECK(best.bound <= taken);
    taken = best.bound;
    const double ratio = best.extra / gpt.answer(double(budget));
    UNSCOPED_INFO(double(budget) / (1_GiB) << " GiB: " << best.extra << ", " << ratio << " of the least");
    most = std::max(most, ratio);
    ++tried;
  };
  for (std::size_t budget = std::size_t(gpt.plain) - (64_MiB); budget >= least; budget -= (1_GiB)) look_at(budget);
  taken = ~std::size_t{0};
  for (std::size_t budget = 47_GiB; budget > least; budget -= (64_MiB)) look_at(budget);
  look_at(least);
  CHECK(tried > 100);
  // 1.0603 at 40.81 GiB, a quarter of a GiB above the least; where there is more room, at most 1.0381 (from 46.51 to 46.69
  // GiB, where segments of more lengths than these two would do).
  CHECK(most < 1.07);
}
TEST_CASE("the search finds the first of all mixtures") {
  finds_the_first<Wide<3>, 4>(1);
  finds_the_first<Wide<8>, 256>(1);
  finds_the_first<Blocks<8>, 4096>(1);
  finds_the_first<Blocks<16>, 4096>(1);
}
// No bound is known here: the numbers are a little above what was measured, 1.2 and 4.4, and hold that fast.
TEST_CASE("where Repeats are not alike, fewer schedules are mixed") {
  finds_the_first<Uneven, 64>(1.3);
  finds_the_first<Nested, 64>(5);
}
