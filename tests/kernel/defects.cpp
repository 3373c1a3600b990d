// tests/kernel/defects.cpp — what a GPU would do wrong in silence, the emulated block says: each of these kernels has
// one defect.
#include "run.hpp"

#include <regimen/core/error.hpp>
#include <regimen/kernel/elementwise.hpp>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>

using namespace regimen;
using namespace test;

namespace {

/// y[i] = Σ of x over a block's threads, by way of shared memory; what is left out is the defect.
enum class Defect { none, no_barrier, wrong_lane, tail, left_early, two_barriers, not_written, too_much, odd_warp };

template <Defect defect>
struct Rotate {
  static constexpr unsigned threads = 64;
  static constexpr std::size_t shared_bytes = threads * sizeof(float);
  const float* x;
  float* y;
  std::size_t count;

  constexpr unsigned blocks() const { return kernel::blocks_for(count, threads); }

  template <class Block>
  void operator()(const Block& block) const {
    const unsigned t = block.thread();
    const std::size_t i = std::size_t{block.index()} * threads + t;
    auto all = block.template shared<float>(0, defect == Defect::too_much ? threads + 1 : threads);
    if (defect == Defect::left_early && i >= count) return;
    if (defect != Defect::not_written || t != 5) all[t] = i < count ? x[i] : 0.0f;
    if (defect == Defect::two_barriers && t % 2 == 1) block.sync();
    else if (defect != Defect::no_barrier) block.sync();
    const unsigned neighbour = defect == Defect::wrong_lane ? (t + 2) % threads : (t + 1) % threads;
    float value = all[neighbour];
    if (defect == Defect::odd_warp && t % 32 == 7) return;
    value = block.template warp<kernel::Largest>(value) > 1e30f ? 0.0f : value;
    if (i < count + (defect == Defect::tail ? 1 : 0)) y[i] = value;
  }
};

/// What the emulation says to it: the words of its error; empty when it ran, and every element is right and nothing
/// else was written.
template <Defect defect>
std::string said(emulated::Order order, std::uint64_t seed) {
  constexpr std::size_t count = 150;
  Arena arena;
  const auto x = arena.put<float>(values<float>(count)), y = arena.room<float>(count);
  const float* const from = arena.memory()(x);
  try {
    runner().set_order(order, seed);
    runner().run(Rotate<defect>{from, arena.memory()(y), count});
  } catch (const Error& error) { return error.what(); }
  if (!arena.guards_hold()) return "a write beyond the tensor";
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t block = i / 64, neighbour = block * 64 + (i % 64 + 1) % 64;
    if (arena.get(y, count)[i] != (neighbour < count ? double(from[neighbour]) : 0.0)) return "another result";
  }
  return {};
}

template <Defect defect>
void told(const char* words) {
  for (const auto order : {emulated::Order::forward, emulated::Order::reverse, emulated::Order::random}) {
    for (std::uint64_t seed = 1; seed <= (order == emulated::Order::random ? 5u : 1u); ++seed) {
      INFO("order " << int(order) << ", seed " << seed);
      const std::string text = said<defect>(order, seed);
      CHECK_THAT(text, Catch::Contains(words));
    }
  }
}

}  // namespace

TEST_CASE("the kernel without a defect") {
  for (const auto order : {emulated::Order::forward, emulated::Order::reverse, emulated::Order::random})
    for (std::uint64_t seed = 1; seed <= 5; ++seed) CHECK(said<Defect::none>(order, seed).empty());
}
TEST_CASE("a missing barrier") {
  // In some orders the neighbour has not written yet, in others it has: both are told.
  for (const auto order : {emulated::Order::forward, emulated::Order::reverse, emulated::Order::random}) {
    const std::string text = said<Defect::no_barrier>(order, 2);
    INFO(text);
    CHECK((text.find("shared memory that was written") != std::string::npos ||
           text.find("a barrier between two threads") != std::string::npos));
  }
}
TEST_CASE("the wrong lane") { told<Defect::wrong_lane>("another result"); }
TEST_CASE("one element too many") { told<Defect::tail>("a write beyond the tensor"); }
TEST_CASE("a thread that leaves before a barrier") { told<Defect::left_early>("has left the kernel"); }
TEST_CASE("a barrier in two places") { told<Defect::two_barriers>("all threads of a block at one barrier"); }
TEST_CASE("shared memory that nobody wrote") { told<Defect::not_written>("shared memory that was written"); }
TEST_CASE("more shared memory than was declared") { told<Defect::too_much>("declare shared_bytes"); }
TEST_CASE("a lane that is missing from a warp") { told<Defect::odd_warp>("has left the kernel"); }

// What a GPU would fault on, and a host reads in silence.
TEST_CASE("a pack at an address that is no multiple of its bytes") {
  Arena arena;
  const auto x = arena.put<float>(values<float>(8));
  const float* const from = arena.memory()(x);
  CHECK_NOTHROW(kernel::detail::read<4>(from));
  CHECK_NOTHROW(kernel::detail::read<1>(from + 1));
  CHECK_THROWS_WITH(kernel::detail::read<4>(from + 1),
                    Catch::Contains("a pack of 16 bytes in a kernel") && Catch::Contains("found 4 bytes past one"));
  CHECK_THROWS_AS(kernel::detail::write(kernel::Pack<float, 2>{}, arena.memory()(x) + 1), Error);
}

/// Bytes of addresses that this program has.
static std::size_t addresses() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * 4096;
}

// Each thread that waits has a stack, and a second one of ASan's, if it looks for uses of what a function left
// (ASAN_OPTIONS=detect_stack_use_after_return=1; clang's default): a megabyte of addresses, of 64 threads in 3 blocks.
TEST_CASE("blocks that ended leave no memory behind") {
  const auto run_many = [] {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      said<Defect::none>(emulated::Order::random, seed);
      emulated::BlockRunner own;
      const float x = 1;
      float y = 0;
      own.run(Rotate<Defect::none>{&x, &y, 1});
    }
  };
  run_many();
  const std::size_t before = addresses();
  run_many();
  CHECK(addresses() <= before + (std::size_t{256} << 20));
}

TEST_CASE("a block after a defect runs as if there had been none") {
  CHECK_FALSE(said<Defect::two_barriers>(emulated::Order::forward, 1).empty());
  CHECK(said<Defect::none>(emulated::Order::forward, 1).empty());
}
