// Checkpoint<Offload>: what blocks save waits in the host's memory, and training has the bits of one that keeps all on the
// device. Both memories are used as planned; copies run beside kernels.
#include "support/on_runtime.hpp"
#include "train/deferred.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using namespace regimen;
using namespace regimen::test;

/// A machine that takes a second for 512 bytes to or from the host, and none for all else.
struct slow_link final {
  static constexpr const char* name = "slow link";
  static constexpr std::size_t memory = 1_GiB;
  static constexpr double bandwidth = 1e15, link = 512;
  template <class T>
  static constexpr bool supports = ComputeType<T>;
  template <class T>
  static constexpr double flops = 1e18;
};

namespace {

/// Notes each copy between the host and the device that is on its way while kernels are queued, on the third stream.
///   taken   bytes of pinned memory for what is copied there
struct Noting : emulated::Runtime {
  static inline std::size_t out = 0, in = 0, alone = 0, bytes = 0, taken = 0;
  static void clear() { out = in = alone = bytes = taken = 0; }

  std::byte* allocate_pinned(std::size_t size, const char* what) {
    if (std::string_view(what) == "tensors between forward and backward") taken += size;
    return Runtime::allocate_pinned(size, what);
  }
  void upload(std::byte* to, const std::byte* from, std::size_t size, Stream stream) {
    note(stream, in, size);
    Runtime::upload(to, from, size, stream);
  }
  void download(std::byte* to, const std::byte* from, std::size_t size, Stream stream) {
    note(stream, out, size);
    Runtime::download(to, from, size, stream);
  }
  void wait(Stream stream, Event event) {
    if (stream.index == 0 && is_on_its_way_) alone += beside_ == 0, is_on_its_way_ = false;
    Runtime::wait(stream, event);
  }
  using Runtime::launch;
  template <class Kernel>
  void launch(const Kernel& kernel, cuda::Grid grid, Stream stream) {
    ++beside_;
    Runtime::launch(kernel, grid, stream);
  }

 private:
  void note(Stream stream, std::size_t& copies, std::size_t size) {
    if (stream.index != 2) return;
    ++copies;
    bytes += size;
    beside_ = 0;
    is_on_its_way_ = true;
  }
  bool is_on_its_way_ = false;
  std::size_t beside_ = 0;
};
using There = Device<OnRuntime<Noting>>;

constexpr std::size_t depth = 5;
template <class... Policies>
using TrainGpt = Trainer<Gpt<depth>, Batch<4>, Policies..., There>;

template <class Train>
DeferredOutcome trained() {
  const ::test::Directory folder;
  Noting::taken = 0;
  Train trainer;
  const DeferredOutcome outcome = regimen::test::train(trainer, folder / "state");
  CHECK(trainer.used().host == Train::plan().host);
  CHECK(Noting::taken == Train::plan().host);
  return outcome;
}

// ---- what it goes with

static_assert(Compatible<Checkpoint<Offload>, There> && !Compatible<Checkpoint<Offload>>);
static_assert(Compatible<Checkpoint<Offload, Selective<Gelu>>, There>);
static_assert(!Compatible<Checkpoint<Offload, Every<1>>, There> &&
              !Compatible<Checkpoint<Offload, KeepLast<1>>, There>);
static_assert(!Compatible<Checkpoint<Offload, None>, There> && !Compatible<Checkpoint<Offload, Budget<1>>, There>);
static_assert(Composable<Gpt<3>, Checkpoint<Offload>, There> && !Composable<Gpt<2>, Checkpoint<Offload>, There>);
static_assert(!Composable<Gpt<3>, Checkpoint<Offload>>);

// ---- the plan, by hand: a block's backward reads its input alone, 8 x 16 numbers of 4 bytes

template <std::size_t Depth>
struct Deep final : Model<Input<Vector<16>>, Repeat<Depth, Residual<Linear<16>>>, Linear<4>> {};
template <std::size_t Depth, class... Policies>
constexpr MemoryPlan plan_of = Trainer<Deep<Depth>, Batch<8>, Policies..., Device<Emulated>>::plan();
constexpr std::size_t one = 8 * 16 * 4;
constexpr MemoryPlan whole = plan_of<6>, moved = plan_of<6, Checkpoint<Offload>>,
                     thrice = plan_of<6, Checkpoint<Offload>, Accumulate<3>>;
static_assert(whole.host == 0 && whole.to_host() == 0 && whole.from_host() == 0);
static_assert(moved.host == 4 * one && moved.to_host() == 4 * one && moved.from_host() == 4 * one);
static_assert(thrice.host == 4 * one && thrice.to_host() == 12 * one && thrice.from_host() == 12 * one);
// At the peak, in the last layer, the inputs of five blocks are kept (the first one reads the model's input), or two places
// for blocks; with both the input of the last layer, and its output of 8 x 4 numbers, in a place of 256 bytes.
static_assert(whole.bytes(MemoryKind::saved) == 6 * one + 256 && moved.bytes(MemoryKind::saved) == 3 * one + 256);
static_assert(whole.peak - moved.peak == 3 * one);
static_assert(plan_of<60, Checkpoint<Offload>>.bytes(MemoryKind::saved) == moved.bytes(MemoryKind::saved));
static_assert(plan_of<60, Checkpoint<Offload>>.host == 58 * one);
static_assert(plan_of<3, Checkpoint<Offload>>.host == one);

static_assert(moved.seconds<fp32>(slow_link{}) >= 8 && moved.seconds<fp32>(slow_link{}) < 8.001);
static_assert(whole.seconds<fp32>(slow_link{}) < 0.001);

/// A plan that skips iterations counts what a plan that walks all of them does.
template <class Network, class... Policies>
constexpr bool skips_exactly() {
  using Recipe =
      programs::Recipe<Network, ConfigurationOf<Batch<4>, Checkpoint<Offload>, Policies..., Device<Emulated>>>;
  const auto skipped = Recipe::walk_step(4), full = Recipe::walk_step(4, true);
  const auto link = [](const auto& walk, std::size_t phase) { return walk.engine.cost[phase].link; };
  return skipped.arena.peak == full.arena.peak && skipped.host.peak == full.host.peak && skipped.host.peak > 0 &&
         link(skipped, 0) == link(full, 0) && link(skipped, 1) == link(full, 1) && link(full, 0) == link(full, 1) &&
         skipped.host.top == 0;
}
static_assert(skips_exactly<Gpt<9>>() && skips_exactly<PostNorm>() && skips_exactly<Nested>() &&
              skips_exactly<Surrounded>() && skips_exactly<ReadsLittle>());

}  // namespace

TEST_CASE("what blocks save waits in the host's memory, and no bit differs") {
  using Kept = TrainGpt<>;
  using Moved = TrainGpt<Checkpoint<Offload>>;
  // A block of a plan that keeps all.
  constexpr std::size_t block = (Trainer<Gpt<9>, Batch<4>, There>::plan().bytes(MemoryKind::saved) -
                                 Trainer<Gpt<8>, Batch<4>, There>::plan().bytes(MemoryKind::saved));
  static_assert(Moved::plan().host == (depth - 2) * block);
  static_assert(Kept::plan().peak - Moved::plan().peak > (depth - 3) * block - block / 4);
  const DeferredOutcome kept = trained<Kept>();
  CHECK(Noting::out + Noting::in == 0);
  for (std::uint64_t seed = 0; seed < 4; ++seed) {  // of a device that is lazy, mixed, unfair
    INFO("seed " << seed);
    emulated::Runtime::defaults = {.seed = seed};
    Noting::clear();
    CHECK(trained<Moved>() == kept);
    CHECK(Noting::out > 0);
    CHECK(Noting::out == Noting::in);
    CHECK(Noting::bytes == (Noting::out + Noting::in) * block);
    CHECK(Noting::alone == 0);
    CHECK(trained<TrainGpt<Checkpoint<Offload>, Graph<Off>>>() == kept);
    CHECK(trained<TrainGpt<Checkpoint<Offload>, Steps<3>>>() == kept);
    CHECK(trained<TrainGpt<Checkpoint<Selective<Gelu, LayerNorm>, Offload>>>() == kept);
  }
  emulated::Runtime::defaults = {};
}

TEST_CASE("a profile has the copies that the plan counts, and waiting for each of them changes no bit") {
  using Moved = TrainGpt<Checkpoint<Offload>>;
  using Profiled = TrainGpt<Checkpoint<Offload>, Accumulate<2>, Debug<Profile>>;
  using Quick = TrainGpt<Checkpoint<Offload>, Accumulate<2>>;
  Quick quick;
  Profiled slow;
  const FitOptions run{.steps = 3, .remainder = Remainder::Wrap, .progress = false};
  quick.fit(fake_data(), run);
  slow.fit(fake_data(), run);
  CHECK(support::weights_of<double>(quick) == support::weights_of<double>(slow));
  slow.profile().clear();
  slow.fit(fake_data(), {.steps = 5, .remainder = Remainder::Wrap, .progress = false});
  const std::string table = slow.profile().table();
  INFO(table);
  std::size_t out = 0, in = 0;
  for (const CopyTime& copy : slow.profile().copies()) {
    if (copy.kind == CopyTime::Kind::offload) out = copy.bytes;
    if (copy.kind == CopyTime::Kind::fetch) in = copy.bytes;
    CHECK(copy.seconds >= copy.fastest * double(copy.calls) * (1 - 1e-9));
    CHECK(::test::says(table, std::string(copy.name()) + " "));
    CHECK(::test::says(table, std::to_string(copy.bytes) + " bytes\n"));
  }
  CHECK(out == 2 * Profiled::plan().to_host());
  CHECK(in == 2 * Profiled::plan().from_host());
  CHECK(out == 2 * 2 * Moved::plan().host);
}

TEST_CASE("ranks that shard weights and accumulate move their blocks, and no bit differs") {
  const auto weights = []<class... Policies>(boost::mp11::mp_list<Policies...>) {
    std::vector<double> found;
    emulated::Runtime::defaults = {.seed = 2, .memory = std::size_t{64} << 20};
    launch(2, [&](comm::Threads& threads) {
      Trainer<Gpt<3>, Batch<2>, Accumulate<2>, Communicator<Threads>, Shard<ZeRO3>, Policies..., Device<Emulated>>
          trainer(threads);
      trainer.poison_dead_memory();
      trainer.fit(regimen::test::fake_data(), {.steps = 4, .progress = false});
      CHECK(trainer.used().peak == trainer.planned().peak);
      CHECK(trainer.used().host == trainer.planned().host);
      const std::vector<double> all = support::weights_of<double>(trainer);
      if (threads.rank() == 1) found = all;
    });
    emulated::Runtime::defaults = {};
    return found;
  };
  CHECK(weights(boost::mp11::mp_list<Checkpoint<Offload>>{}) == weights(boost::mp11::mp_list<>{}));
}
// SPDX-License-Identifier: Apache-2.0
