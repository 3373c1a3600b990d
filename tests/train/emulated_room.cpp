// A plan that the device's free memory does not hold is refused before anything is allocated, with its table.
#include "support/catch.hpp"
#include "support/on_runtime.hpp"
#include "temporary.hpp"

#include <regimen/engine/cpu/device.hpp>
#include <regimen/layer/activation.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/loss/cross_entropy.hpp>
#include <regimen/optimizer/adamw.hpp>
#include <regimen/trainers/inference.hpp>
#include <regimen/trainers/trainer.hpp>

#include <regimen/comm/launch.hpp>
#include <regimen/engine/emulated/device.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>

using namespace regimen;

namespace {

struct Wide final : Model<Input<Vector<8>>, Linear<64>, Relu, Linear<4>> {};
using OnDevice = Trainer<Wide, Loss<CrossEntropy>, Optimizer<AdamW>, Batch<4>, Device<Emulated>>;

struct WithMemory {
  explicit WithMemory(std::size_t bytes) { emulated::Runtime::defaults.memory = bytes; }
  WithMemory(const WithMemory&) = delete;
  ~WithMemory() { emulated::Runtime::defaults = {}; }
};

/// A device that counts its free memory as a GPU does, and needs no meeting to be shared.
struct Counts final : emulated::Runtime {
  static std::size_t new_device() = delete;
  static inline std::atomic<std::size_t> used = 0;
  static inline std::size_t all = 0;
  static std::size_t unused_memory() { return all - used; }

  Counts() = default;
  ~Counts() { used -= own_; }
  std::byte* allocate(std::size_t bytes, const char* name) {
    used += bytes;
    own_ += bytes;
    return Runtime::allocate(bytes, name);
  }

 private:
  std::size_t own_ = 0;
};

}  // namespace

TEST_CASE("Ranks that share a device make one Trainer after the other, in memory for one of each") {
  using OfRanks =
      Trainer<Wide, Batch<4>, Communicator<Threads>, Shard<ZeRO1>, Device<regimen::test::OnRuntime<Counts>>>;
  constexpr std::size_t ranks = 2;
  Counts::all = ranks * OfRanks::plan(OfRanks::batch, ranks).peak;
  const std::size_t device = emulated::Runtime::new_device();
  for (int round = 0; round < 10; ++round)
    CHECK(::test::error_of([&] {
            launch(ranks, [&](comm::Threads& threads) {
              emulated::Runtime::share_device(device);
              for (int time = 0; time < 3; ++time) {
                OfRanks trainer(threads);
                if (threads.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(5));
              }
            });
          }) == "");
}

TEST_CASE("A plan with one byte more than is free is refused, with its table") {
  const std::size_t peak = OnDevice::plan().peak;
  {
    const WithMemory enough(peak + (std::size_t{1} << 20));  // the emulated device puts guards around what it gives
    CHECK_NOTHROW(OnDevice());
  }
  const WithMemory short_of(peak - 1);
  std::string error = "none";
  try {
    const OnDevice trainer;
  } catch (const Error& thrown) { error = thrown.what(); }
  CHECK(error.find("memory of the GPU: expected at most " + std::to_string(peak - 1) +
                   " bytes, which are free, found " + std::to_string(peak) + " bytes, as planned") == 0);
  CHECK(error.find(OnDevice::plan().table()) != std::string::npos);
  CHECK_THROWS_AS((Inference<Wide, Batch<100'000>, Device<Emulated>>()), Error);
}

TEST_CASE("The plans of ranks that share a device are refused together") {
  using OfRanks = Trainer<Wide, Optimizer<AdamW>, Batch<4>, Communicator<Threads>, Shard<ZeRO1>, Device<Emulated>>;
  constexpr std::size_t ranks = 3;
  const std::size_t needed = ranks * OfRanks::plan(OfRanks::batch, ranks).peak;
  const auto said = [&] {
    std::string of_all[ranks];
    (void)::test::error_of([&] {
      launch(ranks, [&](comm::Threads& threads) {
        of_all[threads.rank()] = ::test::error_of([&] { const OfRanks trainer(threads); });
      });
    });
    CHECK(of_all[1] == of_all[0]);
    CHECK(of_all[2] == of_all[0]);
    return of_all[0];
  };
  {
    const WithMemory enough(needed + (std::size_t{1} << 20));
    CHECK(said() == "");
  }
  const WithMemory short_of(needed - 1);
  CHECK(::test::says(said(), "expected at most " + std::to_string(needed - 1) + " bytes, which are free, found " +
                                 std::to_string(needed) + " bytes, as planned for the 3 ranks that share it"));
}
