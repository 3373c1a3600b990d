// A run that goes on with another batch, accumulation or number of ranks: every sample once an epoch, wherever it was
// saved.
#include <regimen/comm/launch.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"
#include "temporary.hpp"

#include <atomic>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <vector>

using namespace regimen;

namespace {

constexpr std::size_t samples = 200;
constexpr std::uint64_t epochs = 4;

struct Net : Model<Input<Vector<2>>, Linear<3>> {};

/// Counts who is read.
struct Counted {
  std::size_t size(const SampleShape&) const { return samples; }
  void read(std::size_t index, Sample<float, std::int32_t> sample) const {
    ++(*seen)[index];
    sample.input[0] = float(index) / 100, sample.input[1] = 1;
    sample.target[0] = static_cast<std::int32_t>(index % 3);
  }
  void forget(std::initializer_list<std::size_t> asked) const {
    for (const std::size_t index : asked) --(*seen)[index];
  }
  std::shared_ptr<std::vector<std::atomic<int>>> seen = std::make_shared<std::vector<std::atomic<int>>>(samples);
};

FitOptions run_of(std::uint64_t steps, Order order) {
  return {.steps = steps, .epochs = epochs, .order = order, .workers = 0, .progress = false};
}

/// Goes on for so many steps, or to the end.
template <std::size_t batch, std::size_t micro_batches, std::size_t ranks>
void leg(const std::string& path, std::uint64_t steps, const Counted& data, Order order) {
  const auto on = [&](auto& trainer) {
    if (std::filesystem::exists(path)) trainer.load(path);
    trainer.fit(data, run_of(trainer.steps_done() + steps, order));
    if (ranks > 1) data.forget({0, samples / 2, samples - 1});  // which ranks compare
    trainer.save(path);
  };
  if constexpr (ranks == 1) {
    Trainer<Net, Batch<batch>, Accumulate<micro_batches>> trainer({.threads = 1});
    on(trainer);
  } else {
    launch(ranks, [&](comm::Threads& communicator) {
      Trainer<Net, Batch<batch>, Accumulate<micro_batches>, Communicator<Threads>, Shard<ZeRO3>> trainer(
          communicator, {.threads = 1});
      on(trainer);
    });
  }
}
using Leg = void (*)(const std::string&, std::uint64_t, const Counted&, Order);
const std::vector<Leg> legs{leg<64, 1, 1>,  leg<48, 1, 1>, leg<7, 3, 1>, leg<150, 1, 1>,
                            leg<300, 1, 1>, leg<33, 2, 3>, leg<64, 1, 2>};

void check_each(const Counted& data, int times) {
  for (std::size_t index = 0; index < samples; ++index) {
    INFO("sample " << index);
    REQUIRE((*data.seen)[index] == times);
  }
}

}  // namespace

TEST_CASE("saved anywhere and resumed with any batch, accumulation and ranks, a run sees every sample once an epoch") {
  for (const Order order : {Order::Shuffled, Order::Runs})
    for (std::uint64_t trial = 0; trial < 12; ++trial) {
      INFO("trial " << trial);
      const ::test::Directory folder;
      const Counted data;
      for (std::uint64_t i = 0; i < 5; ++i)
        legs[Philox::mix(trial, i) % legs.size()](folder / "state", 1 + Philox::mix(trial, 10 + i) % 4, data, order);
      legs[trial % legs.size()](folder / "state", 1000, data, order);
      check_each(data, epochs);
    }
}

TEST_CASE("after whole epochs under a batch that leaves a remainder, the next begins with its first sample") {
  for (std::size_t first = 0; first < legs.size(); ++first)
    for (std::size_t second = 0; second < legs.size(); second += 2) {
      INFO(first << " then " << second);
      const ::test::Directory folder;
      const Counted data;
      legs[first](folder / "state", 1000, data, Order::Shuffled);
      check_each(data, epochs);
      std::map<std::string, std::string> before = saves::SavedState(folder / "state").metadata();
      CHECK(before.at("regimen.epoch") == "4");
      CHECK(before.at("regimen.samples") == "0");
      legs[second](folder / "state", 1000, data, Order::Shuffled);
      check_each(data, epochs);
      CHECK(saves::SavedState(folder / "state").metadata().at("regimen.step") == before.at("regimen.step"));
    }
}

TEST_CASE("a file that counts batches goes on where it was saved") {
  using Train = Trainer<Net, Batch<64>>;
  const ::test::Directory folder;
  const std::string state = folder / "state", old = folder / "old", again = folder / "again";
  const Counted data;
  Train trainer({.threads = 1});
  trainer.fit(data, run_of(7, Order::Shuffled));  // an epoch has 64 + 64 + 64 + 8 samples
  trainer.save(state);
  {
    const safetensors::File file(state);
    CHECK(file.value("regimen.epoch") == "1");
    CHECK(file.value("regimen.samples") == "192");
    auto metadata = file.metadata();
    for (const char* key : {"regimen.epoch", "regimen.samples", "regimen.run"}) metadata.erase(key);
    metadata["regimen.batches"] = "7";
    metadata["regimen.together"] = "64";
    safetensors::write(old, file.tensors(), metadata);
    metadata["regimen.together"] = "0";
    safetensors::write(folder / "bad", file.tensors(), metadata);
  }
  CHECK(::test::says(::test::error_of([&] { trainer.load(folder / "bad"); }),
                     "expected batches of at least one sample, found 0"));
  trainer.load(old);
  trainer.save(again);  // before anybody said how many samples there are
  for (const std::string& path : {old, again}) {
    const Counted rest;
    Trainer<Net, Batch<30>> other({.threads = 1});
    other.load(path);
    other.fit(rest, run_of(1000, Order::Shuffled));
    for (std::size_t index = 0; index < samples; ++index) (*rest.seen)[index] += (*data.seen)[index];
    check_each(rest, epochs);
  }
}

TEST_CASE("a loop by hand moves the place in the data that batches() reads, and no other") {
  using Train = Trainer<Net, Batch<7>, Accumulate<3>>;
  const ::test::Directory folder;
  const Counted data;
  Train trainer({.threads = 1});
  const auto step = [&](const auto& read) {
    for (std::size_t m = 0; m < 3; ++m) {
      const auto batch = read();
      auto gradients = trainer.backward(trainer.forward(batch.input, batch.target));
      if (m == 2) trainer.apply(gradients);
    }
  };
  {
    auto loader = trainer.batches(data, {.epochs = epochs, .workers = 0});
    for (int i = 0; i < 13; ++i)
      step([&] { return loader.next(); });  // 28 batches of 7 and one of 4 are an epoch; 10 of the next
  }
  trainer.save(folder / "state");
  CHECK(safetensors::File(folder / "state").value("regimen.epoch") == "1");
  CHECK(safetensors::File(folder / "state").value("regimen.samples") == "70");
  Trainer<Net, Batch<40>> other({.threads = 1});
  other.load(folder / "state");
  other.fit(data, run_of(1000, Order::Shuffled));
  check_each(data, epochs);

  trainer.load(folder / "state");  // from here on the program reads by itself
  const std::vector<float> inputs(14, 1);
  const std::vector<std::int32_t> targets(7, 1);
  step([&] { return Loader<float, std::int32_t, Counted>::Batch{inputs, targets, 7, 0, 0, true}; });
  trainer.save(folder / "state");
  CHECK(safetensors::File(folder / "state").value("regimen.samples") == "70");
}
// SPDX-License-Identifier: Apache-2.0
