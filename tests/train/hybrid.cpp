// ZeRO-3 in groups, replicated over them: what each rank keeps and sends, what it saves, what it refuses. (The bits:
// shard.cpp.)
#include <regimen/comm/counting.hpp>

#include "support/weights.hpp"
#include "temporary.hpp"
#include "train/shard.hpp"

using namespace regimen;
using namespace regimen::test;
using support::weights_of;

namespace {

template <class Stage, class... Policies>
using Sharded = Trainer<Tied<3>, Batch<2>, Communicator<Threads>, Shard<Stage>, Policies...>;

const Fake& fake_data() {
  static const Fake fake({.samples = 43, .classes = 11, .seed = 3});
  return fake;
}

/// Elements of all units, each cut into as many parts as ranks.
template <class Train>
std::size_t padded(std::size_t ranks) {
  std::size_t sum = 0;
  for (const walk::UnitRecord& unit : Train::Recipe::Bound::units(ranks))
    sum += unit.count * ranks * unit.gradient_part;
  return sum;
}

}  // namespace

TEST_CASE("weights travel within a group, sums within it and over the groups") {
  constexpr std::size_t group = 2;
  using Train = Sharded<Hybrid<group>>;
  for (const std::size_t ranks : {2u, 4u, 6u}) {
    INFO(ranks << " ranks");
    const std::size_t groups = ranks / group, psi = padded<Train>(ranks);
    std::vector<std::size_t> gathered(ranks), reduced(ranks), planned(ranks);
    launch(ranks, [&](comm::Threads& communicator) {
      comm::Counting<comm::Threads> counting(communicator);
      Train trainer(counting);
      trainer.fit(fake_data(), {.steps = 1, .progress = false});
      counting.reset();
      trainer.fit(fake_data(), {.steps = 2, .progress = false});
      gathered[communicator.rank()] = counting.count(comm::CollectiveKind::AllGather).bytes;
      reduced[communicator.rank()] = counting.count(comm::CollectiveKind::ReduceScatter).bytes;
      planned[communicator.rank()] = trainer.planned().wire();
    });
    const std::size_t within = psi / group * (group - 1) * sizeof(float),
                      over = psi / ranks * (groups - 1) * sizeof(float);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      CHECK(reduced[rank] == within + over);
      CHECK(gathered[rank] >
            within + over);  // every unit forward, some again backward, and the sums to all who keep the slice
      CHECK(gathered[rank] <= 2 * within + over);
      CHECK(gathered[rank] + reduced[rank] == planned[rank]);
    }
  }
}

TEST_CASE("a group of all ranks is ZeRO-3, and more groups keep no less") {
  const MemoryPlan whole = Sharded<ZeRO3>::plan(2, 4), one = Sharded<Hybrid<4>>::plan(2, 4),
                   two = Sharded<Hybrid<4>>::plan(2, 8);
  CHECK(one.peak == whole.peak);
  CHECK(one.kept == whole.kept);
  CHECK(one.wire() == whole.wire());
  // A slice of four consists of two parts of eight. In whole lines 2 ceil(c / 2) is at most one more than ceil(c):
  // padding.
  CHECK(two.kept >= whole.kept);
  std::size_t units = 0;
  for (const walk::UnitRecord& unit : Sharded<ZeRO3>::Recipe::Bound::units(4)) units += unit.count;
  const std::size_t buffers = 4;  // weights, gradients, two moments
  CHECK(two.kept - whole.kept <= units * buffers * TensorArena::alignment);
}

TEST_CASE("saved by groups, loaded by any ranks, and the other way round") {
  const ::test::Directory folder;
  const std::string path = folder / "state", whole = folder / "whole";
  std::vector<float> saved, later;
  launch(4, [&](comm::Threads& communicator) {
    Sharded<Hybrid<2>> trainer(communicator);
    trainer.fit(fake_data(), {.steps = 5, .progress = false});
    trainer.save(path);
    trainer.save_whole(whole);
    const std::vector<float> now = weights_of(trainer);
    trainer.fit(fake_data(), {.steps = 8, .progress = false});
    const std::vector<float> then = weights_of(trainer);
    if (communicator.rank() == 0) saved = now, later = then;
  });
  const auto load = [&]<class Train>(std::size_t ranks, const std::string& file, Train*) {
    std::vector<float> now, then;
    launch(ranks, [&](comm::Threads& communicator) {
      Train trainer(communicator, {.seed = 77});
      trainer.load(file);
      const std::vector<float> loaded = weights_of(trainer);
      trainer.fit(fake_data(), {.steps = 8, .progress = false});
      const std::vector<float> trained = weights_of(trainer);
      if (communicator.rank() == 0) now = loaded, then = trained;
    });
    CHECK(now == saved);
    if (ranks == 4) CHECK(then == later);
  };
  for (const std::string& file : {path, whole}) {
    load(4, file, static_cast<Sharded<Hybrid<2>>*>(nullptr));
    load(8, file, static_cast<Sharded<Hybrid<2>>*>(nullptr));
    load(3, file, static_cast<Sharded<ZeRO3>*>(nullptr));
    load(4, file, static_cast<Sharded<ZeRO3>*>(nullptr));
  }
}

TEST_CASE("ranks that do not make groups are refused") {
  const auto said = [](auto&& what) {
    try {
      what();
    } catch (const Error& error) { return std::string(error.what()); }
    return std::string("nothing");
  };
  const std::string expected = "expected a multiple of 2 ranks, as Hybrid says, found ";
  CHECK(said([] { return Sharded<Hybrid<2>>::plan(2, 3); }).find(expected + "3") != std::string::npos);
  for (const std::size_t ranks : {1u, 3u}) {
    const std::string error =
        said([&] { launch(ranks, [](comm::Threads& communicator) { Sharded<Hybrid<2>> trainer(communicator); }); });
    INFO(error);
    CHECK(error.find(expected + std::to_string(ranks)) != std::string::npos);
  }
}
// SPDX-License-Identifier: Apache-2.0
