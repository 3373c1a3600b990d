// Vision transformers of the published sizes, and small ones: what they take is what is planned, and neither a block
// of the program's own, nor recomputation, nor sharding changes a bit.
#include <regimen/comm/launch.hpp>
#include <regimen/models/vit.hpp>
#include <regimen/regimen.hpp>

#include "support/catch.hpp"
#include "support/weights.hpp"

#include <vector>

using namespace regimen;

namespace {

template <class Network>
inline constexpr std::size_t planned_parameters =
    train::InferenceRecipe<Network, Configured<Precision<bf16>, Batch<1>>>::plan.parameters;
static_assert(planned_parameters<VitTiny16> == 5'717'416);
static_assert(planned_parameters<VitBase16> == 86'567'656);
static_assert(planned_parameters<Vit1B> == 1'263'558'120);
static_assert(planned_parameters<Vit800M> == 809'516'008);

struct OfToken : VitOf {
  static constexpr std::size_t image = 8, patch = 4, width = 16, heads = 2, depth = 2, classes = 5;
  using MlpRatio = Ratio<5, 2>;
};
struct OfMean : OfToken {
  static constexpr bool class_token = false;
};
static_assert(planned_parameters<VitModel<OfToken>> == vit_parameters<OfToken> && vit_hidden<OfToken> == 40);
static_assert(planned_parameters<VitModel<OfMean>> == vit_parameters<OfMean>);

template <class Of>
using AgainBlock = Checkpointed<VitBlock<Of>>;
struct Token final : VitModel<OfToken> {};
struct TokenAgain final : VitModel<OfToken, AgainBlock> {};
struct Mean final : VitModel<OfMean> {};

std::vector<double> numbers(auto& trainer) {
  trainer.poison_dead_memory();
  const double loss = trainer.fit(Fake({.samples = 24, .classes = 5, .seed = 4}), {.steps = 4, .progress = false}).loss;
  CHECK(trainer.used().peak == trainer.planned().peak);
  std::vector<double> all = support::weights_of<double>(trainer);
  all.push_back(loss);
  return all;
}
template <class Network, class... Policies>
std::vector<double> trained() {
  Trainer<Network, Batch<4>, Policies...> trainer;
  return numbers(trainer);
}
template <class Network, class... Policies>
std::vector<double> on_two() {
  std::vector<double> found;
  launch(2, [&](comm::Threads& ranks) {
    Trainer<Network, Batch<2>, Communicator<Threads>, Policies...> trainer(ranks);
    const auto own = numbers(trainer);
    if (ranks.rank() == 0) found = own;
  });
  return found;
}

}  // namespace

TEST_CASE("a vision transformer trains as planned, and a recomputed or sharded one has the same bits") {
  const std::vector<double> token = trained<Token>();
  CHECK(trained<Token, Checkpoint<Every<1>>>() == token);
  CHECK(trained<TokenAgain>() == token);
  CHECK(on_two<Token, Shard<ZeRO3>>() == on_two<Token>());
  CHECK(trained<Mean, Checkpoint<Every<1>>>() == trained<Mean>());
}
// SPDX-License-Identifier: Apache-2.0
