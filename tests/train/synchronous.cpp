// Debug<Synchronous> and Debug<Profile> on a device that works late: each operation is waited for, named, and measured.
#include "train/deferred.hpp"

#include <regimen/engine/emulated/device.hpp>

#include <string>

namespace {

/// Writes behind its memory.
struct Stray final {
  static constexpr const char* name = "stray";
  regimen::View<float> at;

  constexpr regimen::Cost cost() const { return {0, 4, 1}; }
};

}  // namespace

template <>
struct regimen::kernel::Kernel<Stray> final {
  static constexpr unsigned threads = warp_lanes;
  Stray o;
  Memory at;

  static constexpr unsigned blocks() { return 1; }
  template <class Block>
  void operator()(const Block& block) const {
    if (block.thread() == 0) *at(o.at) = 1;
  }
};

using namespace regimen;
using namespace regimen::test;

TEST_CASE("an engine that waits names the operation and the layer of an error") {
  using Engine = engine::OfConfiguration<Configured<Device<Emulated>>>::type;
  const auto error = [](bool waits) {
    Engine engine({.bytes = 100, .captures = false, .waits = waits});
    engine.name_layer(Path::outside(1, "input"));
    return ::test::error_of([&] {
      engine.run(Stray{{0}});
      engine.run(Stray{{104}});
      engine.run(Stray{{4}});
      engine.download(0, {}).wait();
    });
  };
  INFO(error(true));
  CHECK(::test::says(error(true), "the operation stray, at or after layer"));
  CHECK(::test::says(error(true), "input"));
  INFO(error(false));
  CHECK(error(false).find("the operation") == std::string::npos);
  CHECK(::test::says(error(false), "no write behind the end"));
}

TEST_CASE("a run that waits for each operation has the same bits, and a profile has every operation") {
  using Quick = Trainer<Gpt<2>, Batch<4>, Device<Emulated>>;
  using Slow = Trainer<Gpt<2>, Batch<4>, Device<Emulated>, Debug<Profile, Synchronous>>;
  Quick quick;
  Slow slow;
  const FitOptions run{.steps = 4, .remainder = Remainder::Wrap, .progress = false};
  quick.fit(fake_data(), run);
  slow.fit(fake_data(), run);
  CHECK(support::weights_of<double>(quick) == support::weights_of<double>(slow));
  CHECK(slow.profile().operations() == 4 * Slow::plan().operations());
}
