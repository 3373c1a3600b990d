// Saved by N ranks, loaded by M, under the same or another Shard: the same bits, and the run goes on.
#include "support/weights.hpp"
#include "temporary.hpp"
#include "train/shard.hpp"

using namespace regimen;
using namespace regimen::test;
using support::weights_of;

namespace {

template <class Stage>
using Sharded = Trainer<Tied<3>, Batch<2>, Communicator<Threads>, Shard<Stage>>;

const Fake& fake_data() {
  static const Fake fake({.samples = 43, .classes = 11, .seed = 3});
  return fake;
}

struct Kept {
  std::vector<float> weights, later;
  std::uint64_t steps = 0;
};

/// Five steps, saved in both forms, and three more.
template <class Stage>
Kept save_on(std::size_t ranks, const std::string& path, const std::string& whole) {
  Kept kept;
  launch(ranks, [&](comm::Threads& communicator) {
    Sharded<Stage> trainer(communicator);
    trainer.fit(fake_data(), {.steps = 5, .progress = false});
    trainer.save(path);
    trainer.save_whole(whole);
    const std::vector<float> weights = weights_of(trainer);
    trainer.fit(fake_data(), {.steps = 8, .progress = false});
    const std::vector<float> later = weights_of(trainer);
    if (communicator.rank() == 0) kept = {weights, later, 5};
  });
  return kept;
}
template <class Stage>
Kept load_on(std::size_t ranks, const std::string& path) {
  Kept kept;
  launch(ranks, [&](comm::Threads& communicator) {
    typename Sharded<Stage>::Options options;
    options.seed = 77;  // another start, which the file replaces
    Sharded<Stage> trainer(communicator, options);
    trainer.load(path);
    const std::uint64_t steps = trainer.steps_done();
    const std::vector<float> weights = weights_of(trainer);
    trainer.fit(fake_data(), {.steps = 8, .progress = false});
    const std::vector<float> later = weights_of(trainer);
    if (communicator.rank() == 0) kept = {weights, later, steps};
  });
  return kept;
}

template <class From, class To>
void exchange(const char* what) {
  const ::test::Directory folder;
  for (const std::size_t before : {1u, 2u, 3u, 4u, 8u}) {
    const std::string path = folder / "state", whole = folder / "whole";
    const Kept saved = save_on<From>(before, path, whole);
    for (const std::size_t after : {1u, 2u, 3u, 4u, 8u}) {
      INFO(what << ", " << before << " to " << after << " ranks");
      for (const std::string& file : {path, whole}) {
        const Kept loaded = load_on<To>(after, file);
        CHECK(loaded.steps == 5);
        CHECK(loaded.weights == saved.weights);
        if (before == after) CHECK(loaded.later == saved.later);
      }
    }
  }
}

}  // namespace

TEST_CASE("saved in slices, loaded whole") { exchange<ZeRO3, Replicated>("ZeRO-3 to Replicated"); }
TEST_CASE("saved whole, loaded in slices") { exchange<Replicated, ZeRO3>("Replicated to ZeRO-3"); }
// SPDX-License-Identifier: Apache-2.0
