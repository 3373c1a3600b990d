// Units that a predicate chooses: the same training under other units.
#include "temporary.hpp"
#include "train/shard.hpp"
#include "train/wire.hpp"

#include <cmath>

using namespace regimen;
using namespace regimen::test;

namespace {

template <class Layer>
struct is_norm : std::is_same<Layer, LayerNorm> {};
template <class Layer>
struct is_linear : std::false_type {};
template <std::size_t Width>
struct is_linear<Linear<Width>> : std::true_type {};
template <class Layer>
struct is_block : std::false_type {};
template <class... Layers>
struct is_block<Sequential<Layers...>> : std::true_type {};

template <class Network, class Shard, class... Policies>
using Train = Trainer<Network, Batch<2>, Communicator<Threads>, Shard, Policies...>;

/// The same bits, but for the norm, by which nothing is clipped here. The sum of squares is cut where units are: sums
/// of less than 2^14 positive numbers in fp64, in another order.
void same(const Outcome& wrapped, const Outcome& each) {
  CHECK(wrapped.losses == each.losses);
  CHECK(wrapped.weights == each.weights);
  CHECK(wrapped.evaluations == each.evaluations);
  REQUIRE(wrapped.norms.size() == each.norms.size());
  for (std::size_t i = 0; i < each.norms.size(); ++i)
    CHECK(std::abs(wrapped.norms[i] - each.norms[i]) <= 0x1p-38 * each.norms[i]);
}

template <class Network, template <class> class Predicate, class... Policies>
void agrees() {
  using Wrap = WrapIf<Predicate>;
  for (const std::size_t ranks : {1u, 3u, 4u}) {
    INFO(ranks << " ranks");
    const Outcome replicated = train_on<Train<Network, Shard<Replicated, Wrap>, Policies...>>(ranks);
    CHECK(train_on<Train<Network, Shard<ZeRO3, Wrap>, Policies...>>(ranks, true) == replicated);
    same(replicated, train_on<Train<Network, Shard<Replicated>, Policies...>>(ranks));
  }
}

/// What is saved, and the peak of one rank, are as without units that are chosen.
template <class Network, class Schedule>
void keeps_as_much() {
  using Each = typename Train<Network, Shard<ZeRO3>, Checkpoint<Schedule>>::Recipe;
  using Wrapped = typename Train<Network, Shard<ZeRO3, WrapIf<is_block>>, Checkpoint<Schedule>>::Recipe;
  const typename Each::PlanWalk engine(2, 1, 0);
  CHECK(Each::Bound::Body::footprint(engine, walk::Place::saved) ==
        Wrapped::Bound::Body::footprint(engine, walk::Place::saved));
  CHECK(Each::make_plan(2, 1).peak == Wrapped::make_plan(2, 1).peak);
  CHECK(train_on<Train<Network, Shard<ZeRO3, WrapIf<is_block>>, Checkpoint<Schedule>>>(2, true).weights ==
        train_on<Train<Network, Shard<Replicated>>>(2).weights);
}

template <class Train>
std::vector<std::string> units_of() {
  std::vector<std::string> units;
  for (const walk::UnitRecord& unit : Train::Recipe::Bound::units(2))
    units.push_back(unit.path.place() + " x " + std::to_string(unit.count) + ", " + std::to_string(unit.elements));
  return units;
}

}  // namespace

TEST_CASE("blocks are units, and what stands before them, and behind") {
  using Wrapped = Train<Gpt<9>, Shard<ZeRO3, WrapIf<is_block>>>;
  CHECK(units_of<Wrapped>() == std::vector<std::string>{"0 x 1, " + std::to_string(table_elements + position_elements),
                                                        "3 x 9, " + std::to_string(block_elements),
                                                        "4 x 1, " + std::to_string(norm_elements + 16 * 11 + 11)});
  const std::vector<UnitShape> units{
      {"0", 1, table_elements + position_elements}, {"3", 9, block_elements}, {"4", 1, norm_elements + 16 * 11 + 11}};
  for (const std::size_t ranks : {2u, 3u}) {
    // The blocks are gathered for backward, too; tables are not read there, and what forward read last is still there.
    const Wire expected = expected_wire(
        units, ranks, [](const std::string& place, std::size_t) { return std::pair(place == "3" ? 2 : 1, 1); });
    CHECK(text_of(wire_of<Wrapped>(ranks)) == text_of(expected));
  }
}

TEST_CASE("a Repeat whose block is not chosen is in one unit with its neighbours") {
  CHECK(units_of<Train<Gpt<4>, Shard<ZeRO3, WrapIf<is_norm>>>>() ==
        std::vector<std::string>{"0 x 1, " + std::to_string(table_elements + position_elements + 4 * block_elements),
                                 "4 x 1, " + std::to_string(norm_elements), "5 x 1, " + std::to_string(16 * 11 + 11)});
}

TEST_CASE("other units, the same bits") { agrees<Gpt<4>, is_block>(); }
TEST_CASE("other units: accumulation, every second block again") {
  agrees<Tied<5>, is_block, Checkpoint<Every<2>>, Accumulate<2, ReduceEach>>();
}
TEST_CASE("other units: a chain of everything, layers computed again") {
  agrees<Gpt<3>, is_norm, Checkpoint<Selective<LayerNorm, Gelu>>, Precision<bf16, fp32>>();
}

TEST_CASE("what is kept for backward is the same, layers that are computed again included") {
  keeps_as_much<PostNorm, Selective<LayerNorm>>();
  keeps_as_much<PostNorm, Selective<PositionEmbedding, LayerNorm>>();  // one of them to compute the other
  keeps_as_much<Gpt<3>, Selective<PositionEmbedding>>();               // which nobody reads
}

TEST_CASE("a layer that is walked as two is one unit") {
  using Wrapped = Trainer<Mlp, Batch<2>, Communicator<Threads>, Shard<ZeRO3, WrapIf<is_linear>>>;
  CHECK(units_of<Wrapped>() == std::vector<std::string>{"1 x 1, " + std::to_string(24 * 32 + 32),
                                                        "4 x 1, " + std::to_string(32 * 32 + 32),
                                                        "6 x 1, " + std::to_string(32 * 5 + 5)});
}

TEST_CASE("state has the same names, and loads under other units") {
  static const Fake data({.samples = 43, .classes = 11, .seed = 3});
  const ::test::Directory folder;
  const std::string path = folder / "state";
  std::vector<std::string> names, others;
  std::vector<float> saved, loaded;
  launch(3, [&](comm::Threads& communicator) {
    Train<Tied<3>, Shard<ZeRO3, WrapIf<is_block>>> trainer(communicator);
    trainer.fit(data, {.steps = 5, .progress = false});
    trainer.save(path);
    const auto parameters = trainer.parameters();  // of all ranks: each must ask
    if (communicator.rank() != 0) return;
    for (const auto& parameter : parameters) {
      names.push_back(parameter.name);
      saved.insert(saved.end(), parameter.values.begin(), parameter.values.end());
    }
  });
  launch(2, [&](comm::Threads& communicator) {
    Train<Tied<3>, Shard<ZeRO2>> trainer(communicator, {.seed = 9});
    trainer.load(path);
    const auto parameters = trainer.parameters();
    if (communicator.rank() != 0) return;
    for (const auto& parameter : parameters) {
      others.push_back(parameter.name);
      loaded.insert(loaded.end(), parameter.values.begin(), parameter.values.end());
    }
  });
  CHECK(names == others);
  CHECK(saved == loaded);
  CHECK(saved.size() > 1000);
}
// SPDX-License-Identifier: Apache-2.0
