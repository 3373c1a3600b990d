// On an engine with two memories fit's batches go to the device from where the loader's threads wrote them, and are written
// over only when their copies have ended: the same bits as by a copy more, in every order of the device.
#include "support/on_runtime.hpp"
#include "train/deferred.hpp"

#include <regimen/engine/emulated/device.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace regimen;
using namespace regimen::test;

namespace {

/// Counts pinned memory by what it is for. Ranks have one each, in threads of their own.
struct Counting : emulated::Runtime {
  static inline thread_local std::size_t batches = 0, slots = 0;
  static inline thread_local std::size_t of_batches = 0;  // how many
  std::byte* allocate_pinned(std::size_t bytes, const char* name) {
    if (current != device()) throw std::logic_error("CUDA would make a context of another device");
    const std::string what = name;
    if (what == "batches that are read ahead") batches += bytes, ++of_batches;
    if (what == "a slot for inputs") slots += bytes;
    return Runtime::allocate_pinned(bytes, name);
  }
};
struct Counted {
  explicit Counted(std::uint64_t seed = 1) {
    emulated::Runtime::defaults = {.seed = seed, .memory = std::size_t{64} << 20};
    Counting::batches = Counting::slots = Counting::of_batches = 0;
  }
  ~Counted() { emulated::Runtime::defaults = {}; }
  Counted(const Counted&) = delete;
};

template <class... Policies>
using Train = Trainer<Gpt<1>, Batch<4>, Policies..., Device<OnRuntime<Counting>>>;

/// A slot of the ring: 64 bytes of numbers, 8 tokens of each sample and as many targets, each in whole 256.
constexpr std::size_t stride_of(std::size_t batch) {
  return 256 + 2 * TensorArena::align(batch * 8 * sizeof(std::int32_t));
}
constexpr std::size_t stride = stride_of(4);
constexpr std::uint64_t seeds = 8;  // two of each temper of the device

/// Without callbacks, so that the host is ahead; the last batch of an epoch is short.
template <class Train>
std::vector<double> by_fit(Train& trainer, FitOptions run = {}) {
  run.steps = 9;
  run.progress = false;
  trainer.fit(fake_data(), run);
  return support::weights_of<double>(trainer);
}

/// The same samples in spans of the program's own, which the engine has to copy.
template <class Train>
std::vector<double> by_steps(Train& trainer, const FitOptions& run) {
  auto loader = trainer.batches(fake_data(), run);
  for (int step = 0; step < 9; ++step) {
    std::vector<typename Train::Input> inputs;
    std::vector<typename Train::Label> targets;
    for (std::size_t m = 0; m < Train::micro_batches; ++m) {
      const auto batch = loader.next();
      inputs.insert(inputs.end(), batch.input.begin(), batch.input.end());
      targets.insert(targets.end(), batch.target.begin(), batch.target.end());
    }
    trainer.step(inputs, targets);
  }
  return support::weights_of<double>(trainer);
}

template <class... Policies>
void in_every_order(const char* what) {
  INFO(what);
  Trainer<Gpt<1>, Batch<4>, Policies..., Device<Emulated>> reference;
  reference.fit(fake_data(), {.steps = 9, .progress = false}, [](auto&, const auto&) {});  // waits for every step
  const std::vector<double> expected = support::weights_of<double>(reference);
  for (std::uint64_t seed = 0; seed < seeds; ++seed)
    for (const std::size_t workers : {0u, 2u}) {
      CAPTURE(seed, workers);
      const Counted counted(seed);
      Train<Policies...> trainer;
      trainer.poison_dead_memory();
      CHECK(by_fit(trainer, {.workers = workers}) == expected);
      CHECK(Counting::batches == (workers == 0 ? 2 : 2 + 2) * stride);
      CHECK(Counting::slots == 0);  // no copy between
      CHECK(trainer.planned().host == 0);
      CHECK(trainer.used().host == 0);
    }
}

}  // namespace

static_assert(engines::PinsInputs<Train<>::Engine> && engines::PinsInputs<Train<Debug<Profile>>::Engine>);
static_assert(!engines::PinsInputs<Trainer<Gpt<1>, Batch<4>>::Engine>);
static_assert(!engines::PinsInputs<Trainer<Gpt<1>, Batch<4>, Device<Deferred>>::Engine>);

TEST_CASE("fit trains the same bits in every order, from pinned batches alone") {
  in_every_order<>("one micro-batch");
  in_every_order<Graph<Off>>("without graphs");
  in_every_order<Accumulate<4>>("accumulated: the host is ahead by micro-batches");
  in_every_order<Steps<3>>("by launches");
  in_every_order<Steps<2>, Accumulate<3>>("by launches of accumulated steps");
}

TEST_CASE("batches of the program's own train the same, by a copy more") {
  const auto same = []<class... Policies>(std::type_identity<Policies>...) {
    const FitOptions run{.remainder = Remainder::Wrap};
    std::vector<double> expected;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      CAPTURE(seed);
      const Counted counted(seed);
      Train<Policies...> trainer, other;
      if (seed == 0) expected = by_fit(trainer, run);
      CHECK(by_steps(other, run) == expected);
      CHECK(Counting::slots == 2 * stride);
    }
  };
  same();
  same(std::type_identity<Accumulate<3>>{});
}

TEST_CASE("two ranks train the same bits in every order, also where one of them has no sample") {
  // 70 samples in batches of 2 * 8 and accumulated steps: the last batch of an epoch is short on one rank and empty on the
  // other, and the last step of the run has micro-batches behind the end of the data.
  static const Fake fake({.samples = 70, .classes = 5, .seed = 3});
  const auto run = [](std::uint64_t seed, std::size_t workers, bool listens) {
    std::array<std::vector<double>, 2> found;
    emulated::Runtime::defaults = {.seed = seed, .memory = std::size_t{64} << 20};
    launch(2, [&](comm::Threads& communicator) {
      Counting::batches = Counting::slots = 0;
      Trainer<Gpt<1>, Batch<8>, Accumulate<3>, Communicator<Threads>, Shard<ZeRO2>, Device<OnRuntime<Counting>>>
          trainer(communicator);
      trainer.poison_dead_memory();
      const FitOptions options{.epochs = 5, .workers = workers, .progress = false};
      if (listens) trainer.fit(fake, options, [](auto&, const auto&) {});
      else trainer.fit(fake, options);
      found[communicator.rank()] = support::weights_of<double>(trainer);
      if (Counting::batches != (workers == 0 ? 2 : 4) * stride_of(8)) throw std::logic_error("other pinned batches");
      if (Counting::slots > 2 * stride_of(8)) throw std::logic_error("more than what empty micro-batches need");
    });
    emulated::Runtime::defaults = {};
    return found;
  };
  const auto expected = run(0, 1, true);
  CHECK(expected[0] == expected[1]);
  for (std::uint64_t seed = 0; seed < seeds; ++seed)
    for (const std::size_t workers : {0u, 2u}) {
      CAPTURE(seed, workers);
      CHECK(run(seed, workers, false) == expected);
    }
}

TEST_CASE("a second fit has the blocks of the first, automatic workers take more") {
  const Counted counted;
  Train<Accumulate<2>> trainer;
  trainer.fit(fake_data(), {.steps = 4, .progress = false});
  CHECK(Counting::of_batches == 4);
  trainer.fit(fake_data(), {.steps = 8, .progress = false});
  CHECK(Counting::of_batches == 4);
  trainer.fit(fake_data(), {.steps = 12, .ahead = 5, .progress = false});
  CHECK(Counting::of_batches == 7);
  const Fitted fitted = trainer.fit(fake_data(), {.steps = 16, .workers = data::automatic, .progress = false});
  CHECK(fitted.ahead >= 2);
  CHECK(Counting::of_batches == 7);
  CHECK(Counting::batches == 7 * stride);
  CHECK(Counting::slots == 0);
}

TEST_CASE("batches are pinned for the trainer's device, whatever the thread's is") {
  const Counted counted;
  Counting::current = 1;
  Train<> trainer;
  Counting::current = 0;
  trainer.fit(fake_data(), {.steps = 2, .workers = data::automatic, .progress = false});
  CHECK(Counting::current == 0);
  CHECK(Counting::of_batches == 4);
}

namespace {

/// Cannot read a sample, once.
struct Fails {
  std::size_t at;
  bool* has_failed;
  std::string name() const { return "Fails"; }
  std::size_t size(const SampleShape& shape) const { return fake_data().size(shape); }
  template <class Sample>
  void read(std::size_t index, Sample sample) const {
    if (index == at && !std::exchange(*has_failed, true)) throw Error("Fails", "a sample", "none");
    fake_data().read(index, sample);
  }
};

}  // namespace

TEST_CASE("after an error in the middle of a step a run goes on with the same blocks") {
  std::vector<double> expected;
  for (std::uint64_t seed = 0; seed < seeds; ++seed)
    for (const std::size_t workers : {0u, 2u}) {
      CAPTURE(seed, workers);
      const Counted counted(seed);
      bool has_failed = false;
      const Fails source{17, &has_failed};
      const FitOptions run{.steps = 5, .order = Order::Sequential, .workers = workers, .progress = false};
      Train<Accumulate<3>> trainer;
      ::test::refuses([&] { trainer.fit(source, run); }, "Fails");
      CHECK(trainer.steps_done() == 1);  // sample 17 is in the second micro-batch of the second step
      trainer.fit(source, run);
      CHECK(Counting::of_batches == (workers == 0 ? 2 : 4));
      const std::vector<double> weights = support::weights_of<double>(trainer);
      if (expected.empty()) expected = weights;
      CHECK(weights == expected);
    }
}

TEST_CASE("a block is taken again only when its copy has ended") {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    CAPTURE(seed);
    const Counted counted(seed);
    using Engine = cuda::Engine<Counting>;
    Engine engine({.bytes = 1024});
    const op::InputRing ring{.taken = {0}, .first = 256, .stride = 16, .count = 2, .input = 8, .target = 12};
    trainers::PinnedBatches<Engine> batches(engine, ring);
    const std::uint64_t given = 5;
    const std::uint32_t input = 6, target = 7, junk = 9;
    const auto bytes = [](const auto& value) { return std::as_bytes(std::span(&value, 1)); };
    const data::BatchMemory::Place place = batches.take(4, 4);
    std::memcpy(place.input, &input, sizeof input);
    std::memcpy(place.target, &target, sizeof target);
    CHECK_FALSE(batches.feed(0, &input, bytes(given)));  // no block's
    CHECK(batches.feed(0, place.input, bytes(given)));
    const bool ends = seed % 2 == 1;
    if (ends) {
      batches.give_back(place);
      CHECK(batches.take(4, 4).input == place.input);
    } else {
      batches.wait(place);
    }
    std::memset(place.input - ring.input, int(junk), ring.stride);
    struct {
      std::uint64_t given;
      std::uint32_t input, target;
    } found{};
    engine.download(ring.slot(0), std::as_writable_bytes(std::span(&found, 1))).wait();
    CHECK(found.given == given);
    CHECK(found.input == input);
    CHECK(found.target == target);
  }
}
