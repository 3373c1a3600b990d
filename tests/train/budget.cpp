// Checkpoint<Budget<Bytes>>: the first schedule whose plan fits, in an order in which no later one recomputes less; and it
// trains as that schedule does.
#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/layer/activation.hpp>
#include <regimen/layer/dropout.hpp>
#include <regimen/layer/join.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/softmax.hpp>
#include <regimen/loss/cross_entropy.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"
#include "support/weights.hpp"

#include <boost/mp11.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <vector>

using namespace regimen;
namespace mp = boost::mp11;

namespace {

template <std::size_t Depth>
struct Blocks final
    : Model<Input<Vector<16>>, Repeat<Depth, Residual<LayerNorm, Linear<64>, Gelu, Linear<16>>>, LayerNorm, Linear<7>> {
};
using Deep = Blocks<3>;
struct Branched final
    : Model<Input<Vector<12>>, Linear<16>, Silu, Fork<Multiply, Sequential<Linear<16>, Gelu>, Dropout<Ratio<1, 4>>>,
            Residual<LayerNorm, Linear<160>, Linear<16>>, Softmax, Linear<5>> {};
/// One set of weights for all blocks.
struct OneSet;
struct Albert final : Model<Input<Vector<16>>,
                            Repeat<4, Shared<OneSet, Residual<LayerNorm, Linear<64>, Gelu, Linear<16>>>>, Linear<7>> {};
/// What is cheap for its bytes, in all, is more than a block, and more than all blocks.
template <std::size_t width, class Block>
struct Head final : Model<Input<Vector<16>>, Repeat<8, Block>, Linear<width>, Gelu, Linear<7>> {};
using Wide = Head<320, Residual<Linear<64>, Gelu, Linear<16>>>;
using Widest = Head<1024, Residual<Linear<32>, Gelu, Linear<16>>>;
/// Layers of few operations that save nothing, since backward reads either what they read or what they give.
struct Kinked final : Model<Input<Vector<16>>, Repeat<4, Residual<Linear<32>, Relu, Linear<16>>>, Linear<7>> {};

template <class Network, class Checkpoint_>
using recipe = programs::Recipe<Network, ConfigurationOf<Batch<4>, Checkpoint_>>;
template <class Network, class Checkpoint_>
constexpr std::size_t peak =
    std::max(recipe<Network, Checkpoint_>::step_walked.peak, recipe<Network, Checkpoint_>::evaluation_walked.peak);
template <class Network, class Checkpoint_>
constexpr double backward = recipe<Network, Checkpoint_>::step_walked.cost[1].flops;
template <class Network, std::size_t Bytes>
using chosen = typename recipe<Network, Checkpoint<Budget<Bytes>>>::Schedule;

// ---- the order, written here from what the policy says

using Cheap = Selective<LayerNorm, Gelu>;
template <std::size_t K, class... Layers>
using kept = Checkpoint<Every<1>, Layers..., KeepLast<K, Layers...>>;
template <class Network>
struct order;
template <>
struct order<Deep> {
  using type = mp::mp_list<Checkpoint<None>, Checkpoint<Cheap>, kept<2, Cheap>, kept<1, Cheap>, Checkpoint<Every<1>>,
                           Checkpoint<Every<1>, Cheap>>;
};
template <>
struct order<Albert> {
  using type = mp::mp_list<Checkpoint<None>, Checkpoint<Cheap>, kept<3, Cheap>, kept<2, Cheap>, kept<1, Cheap>,
                           Checkpoint<Every<1>>, Checkpoint<Every<1>, Cheap>, Checkpoint<Every<2>, Cheap>>;
};
template <>
struct order<Wide> {  // not KeepLast<1>: with the head's GELU that recomputes more than Every<1>
  template <class I>
  using kept_but = kept<7 - I::value, Selective<Gelu>>;
  using type = mp::mp_append<
      mp::mp_list<Checkpoint<None>, Checkpoint<Selective<Gelu>>>, mp::mp_transform<kept_but, mp::mp_iota_c<6>>,
      mp::mp_list<Checkpoint<Every<1>>, Checkpoint<Every<1>, Selective<Gelu>>, Checkpoint<Every<2>, Selective<Gelu>>>>;
};
template <>
struct order<Widest> {
  template <class I>
  using kept_but = kept<7 - I::value>;
  using type = mp::mp_append<mp::mp_list<Checkpoint<None>>, mp::mp_transform<kept_but, mp::mp_iota_c<7>>,
                             mp::mp_list<Checkpoint<Every<1>>, Checkpoint<Selective<Gelu>>,
                                         Checkpoint<Every<1>, Selective<Gelu>>, Checkpoint<Every<2>, Selective<Gelu>>>>;
};
template <>
struct order<Kinked> {
  using type = mp::mp_list<Checkpoint<None>, kept<3>, kept<2>, kept<1>, Checkpoint<Every<1>>, Checkpoint<Every<2>>>;
};
template <>
struct order<Blocks<40>> {  // at most 16 numbers of blocks: every third
  template <class I>
  using kept_by_three = kept<3 * (13 - I::value), Cheap>;
  using type = mp::mp_append<mp::mp_list<Checkpoint<None>, Checkpoint<Cheap>>,
                             mp::mp_transform<kept_by_three, mp::mp_iota_c<13>>,
                             mp::mp_list<Checkpoint<Every<1>>, Checkpoint<Every<1>, Cheap>, Checkpoint<Every<2>, Cheap>,
                                         Checkpoint<Every<4>, Cheap>>>;
};
template <>
struct order<Branched> {  // of fewer than 8, of fewer than 64, of any number of operations for a byte
  template <class... Layers>
  using selective = Checkpoint<Selective<Layers...>>;
  using Dropped = Dropout<Ratio<1, 4>>;
  using type = mp::mp_list<Checkpoint<None>, selective<Silu, Dropped, LayerNorm>,
                           selective<Silu, Dropped, LayerNorm, Linear<160>, Linear<5>>,
                           selective<Linear<16>, Silu, Dropped, LayerNorm, Linear<160>, Linear<5>>>;
};

/// KeepLast<K> is tried where Every<1> fits.
template <class Network, std::size_t Bytes>
struct fits_into {
  template <class Checkpoint_>
  using fn = mp::mp_bool<(peak<Network, Checkpoint_> <= Bytes &&
                          (Checkpoint_::whole == 0 || peak<Network, Checkpoint<Every<1>>> <= Bytes))>;
};
template <class Network, class Order, std::size_t Bytes>
constexpr bool is_first_that_fits() {
  constexpr std::size_t first = mp::mp_find_if_q<Order, fits_into<Network, Bytes>>::value;
  if constexpr (first == mp::mp_size<Order>::value) return true;  // below the least peak
  else return std::is_same_v<chosen<Network, Bytes>, mp::mp_at_c<Order, first>>;
}
/// With what each schedule takes as a budget, and a byte less, the first that fits is chosen; no later one recomputes less.
template <class Network, class... Schedules>
void is_order(mp::mp_list<Schedules...> all) {
  using Order = decltype(all);
  const std::vector<std::size_t> peaks{peak<Network, Schedules>...};
  const std::vector<double> operations{backward<Network, Schedules>...};
  CHECK(std::is_sorted(operations.begin(), operations.end()));
  constexpr std::size_t least = std::min({Schedules::whole > 0 ? ~std::size_t{0} : peak<Network, Schedules>...});
  static_assert(recipe<Network, Checkpoint<Budget<1>>>::Choice::peak == least);
  const std::vector<bool> at{is_first_that_fits<Network, Order, peak<Network, Schedules>>()...},
      below{is_first_that_fits<Network, Order, peak<Network, Schedules> - 1>()...};
  for (std::size_t i = 0; i < at.size(); ++i) {
    CAPTURE(i, peaks[i], operations[i]);
    CHECK(at[i]);
    CHECK(below[i]);
  }
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

}  // namespace

TEST_CASE("the first that fits: of three blocks, of forty, of one set of weights") {
  is_order<Deep>(typename order<Deep>::type{});
  is_order<Blocks<40>>(typename order<Blocks<40>>::type{});
  is_order<Albert>(typename order<Albert>::type{});
}
TEST_CASE("the first that fits: none that recomputes more than Every<1> comes before it") {
  static_assert(backward<Wide, kept<1, Selective<Gelu>>> > backward<Wide, Checkpoint<Every<1>>>);
  is_order<Wide>(typename order<Wide>::type{});
  is_order<Widest>(typename order<Widest>::type{});
}
TEST_CASE("the first that fits: layers that save nothing are not recomputed") {
  static_assert(peak<Kinked, Checkpoint<Selective<Relu>>> >= peak<Kinked, Checkpoint<None>>);
  is_order<Kinked>(typename order<Kinked>::type{});
}
TEST_CASE("the first that fits: without blocks") { is_order<Branched>(typename order<Branched>::type{}); }

TEST_CASE("it trains as the schedule that is chosen, with the same bits") {
  using Chosen = typename Run<Checkpoint<Budget<113'500>>>::Train;
  static_assert(std::is_same_v<Chosen::Schedule, kept<1, Cheap>>);
  static_assert(std::is_same_v<Chosen::Recipe::Bound, recipe<Deep, Chosen::Schedule>::Bound>);
  const auto found = run<Checkpoint<Budget<113'500>>>();
  CHECK(found.used == found.planned);
  CHECK(found.planned <= 113'500);
  CHECK(found.weights == run<Checkpoint<None>>().weights);
  CHECK(Chosen::plan().table().find("for Budget<113500>, recomputed: Every<1>, layer_norm, gelu; of the last 1 blocks: "
                                    "layer_norm, gelu") != std::string::npos);
}
TEST_CASE("the plan names layers of several types, each name once") {
  constexpr RecomputationPlan found = programs::recomputation_of(
      static_cast<const Checkpoint<Every<1>, Selective<Linear<16>, Gelu, Linear<5>>>*>(nullptr));
  CHECK(found.of[0].segment == 1);
  CHECK(std::string_view(found.of[0].layers[0]) == "linear");
  CHECK(std::string_view(found.of[0].layers[1]) == "gelu");
  CHECK(found.of[0].layers[2] == nullptr);
}
// SPDX-License-Identifier: Apache-2.0
