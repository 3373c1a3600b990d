// Defects of rank 1's calls of NCCL are found: an Error on all ranks, or other results in some order of the devices'
// work.
#include "support/on_runtime.hpp"
#include "train/deferred.hpp"
#include "train/planted_run.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace regimen;
using namespace regimen::test;
using std::chrono::milliseconds;

namespace {

constexpr std::uint64_t seeds = 8;  // two of each temper of the device
constexpr std::size_t ranks = 3, culprit = 1, compute = 0, collectives = 2;

enum class Defect : unsigned char {
  none,
  left_out,     // collective number `which`
  swapped,      // it comes after the next one
  overlapping,  // its slice lies across the others
  unawaited,    // stream number `which` does not wait for the others
  unrecorded,   // an event of stream number `which` stays where it was first
  ends,         // the rank throws in its place
  differs,      // its library has another version
  connects_not  // it throws where it should connect
};

/// The sound device, but for the culprit.
class Spoilt : public emulated::Runtime {
  using Base = emulated::Runtime;

 public:
  struct Plant {
    Defect what;
    std::size_t which;
    bool in_capture;  // among the collectives of graphs, or those before
  };
  static inline Plant planted{Defect::none, 0, false};
  static inline std::atomic<std::size_t> spoilt = 0;

  static std::string versions() {
    if (!is(Defect::differs)) return Base::versions();
    spoil();
    return "another NCCL";
  }
  Connection connect(const Id& id, std::size_t rank, std::size_t size) {
    if (is(Defect::connects_not)) {
      spoil();
      throw Error("rank 1", "a network", "none");
    }
    return Base::connect(id, rank, size);
  }
  void begin_capture(Stream stream) {
    Base::begin_capture(stream);
    if (!std::exchange(is_captured_, true)) calls_ = 0;
  }
  Graph end_capture(Stream stream) {
    is_captured_ = false;
    return Base::end_capture(stream);
  }
  void wait(Stream stream, Event event) {
    if (is(Defect::unawaited) && stream.index == planted.which) return spoil();
    Base::wait(stream, event);
  }
  void record(Event event, Stream stream) {
    if (recorded_.size() <= event.index) recorded_.resize(event.index + 1);
    if (is(Defect::unrecorded) && stream.index == planted.which && recorded_[event.index]) return spoil();
    recorded_[event.index] = true;
    Base::record(event, stream);
  }
  void collect(Connection& connection, const cuda::Collective& collective, const std::byte* own, std::byte* all,
               Stream stream) {
    const bool is_here = is_captured_ == planted.in_capture && calls_++ == planted.which;
    const auto go_on = [&] { Base::collect(connection, collective, own, all, stream); };
    if (is_here && is(Defect::left_out)) return spoil();
    if (is_here && is(Defect::ends)) {
      spoil();
      throw Error("rank 1", "a whole life", "an end");
    }
    if (is_here && is(Defect::overlapping)) {
      spoil();
      own = all + 16;
    }
    if (is_here && is(Defect::swapped)) {
      spoil();
      late_ = {true, collective, own, all};
      return;
    }
    go_on();
    if (!std::exchange(late_.is_there, false)) return;
    while (!Base::is_ready(connection)) {}
    Base::collect(connection, late_.collective, late_.own, late_.all, stream);
  }

 private:
  struct Late {
    bool is_there = false;
    cuda::Collective collective{};
    const std::byte* own = nullptr;
    std::byte* all = nullptr;
  };

  static bool is(Defect what) { return planted.what == what && current == culprit; }
  static void spoil() {
    if (++spoilt > 10'000) throw Error("a planted defect", "a run that ends", "10,000 calls");
  }

  std::size_t calls_ = 0;
  bool is_captured_ = false;
  std::vector<bool> recorded_;
  Late late_{};
};

Found run(std::uint64_t seed) {
  emulated::Runtime::defaults = {.seed = seed, .memory = std::size_t{64} << 20, .patience = milliseconds(500)};
  const Found all = in_a_process(Spoilt::spoilt, [](Found& found) {
    std::vector<std::vector<double>> numbers(ranks);
    launch(
        ranks,
        [&](comm::Threads& threads) {
          Trainer<Gpt<2>, Batch<2>, Communicator<Nccl>, Shard<ZeRO3>, Device<OnRuntime<Spoilt>>> trainer(threads);
          std::vector<double>& own = numbers[threads.rank()];
          trainer.poison_dead_memory();
          own = {trainer.fit(fake_data(), {.steps = 6, .progress = false}).loss, trainer.evaluate(fake_data()).loss};
          for (const double weight : support::weights_of<double>(trainer)) own.push_back(weight);
        },
        milliseconds(3000));
    for (const std::vector<double>& own : numbers) found.numbers.insert(found.numbers.end(), own.begin(), own.end());
  });
  emulated::Runtime::defaults = {};
  return all;
}

/// In how many orders the defect is found, and the errors.
std::size_t finds(const Spoilt::Plant& plant, std::vector<std::string>* errors = nullptr) {
  return orders_that_find(
      seeds, run, [&](bool now) { Spoilt::planted = now ? plant : Spoilt::Plant{Defect::none, 0, false}; }, errors);
}
void in_every_order(const Spoilt::Plant& plant, const char* words) {
  CAPTURE(int(plant.what), plant.which, plant.in_capture);
  std::vector<std::string> errors;
  CHECK(finds(plant, &errors) == seeds);
  all_say(errors, words);
}

}  // namespace

TEST_CASE("without a defect of a rank every order has the same results") {
  const Found first = run(0);
  CHECK(first.error == "");
  for (std::uint64_t seed = 1; seed < seeds; ++seed) CHECK(run(seed) == first);
}

TEST_CASE("a collective that a rank leaves out, or calls in another order, ends all ranks") {
  for (const bool in_capture : {false, true})
    for (const std::size_t which : {1u, 5u}) {
      in_every_order({Defect::left_out, which, in_capture}, "the collectives of the GPUs");
      in_every_order({Defect::swapped, which, in_capture}, "expected all ranks to take part");
    }
}

TEST_CASE("a slice that overlaps is refused") {
  for (const bool in_capture : {false, true}) in_every_order({Defect::overlapping, 2, in_capture}, "one that overlaps");
}

TEST_CASE("a rank that ends among its collectives, also in a capture, ends all, with its name") {
  for (const bool in_capture : {false, true})
    for (const std::size_t which : {0u, 3u}) in_every_order({Defect::ends, which, in_capture}, "rank 1 failed: ");
}

TEST_CASE("a rank whose library differs, or that does not connect, is told before the first step") {
  in_every_order({Defect::differs, 0, false}, "the same arithmetic on all 3 ranks");
  in_every_order({Defect::connects_not, 0, false}, "rank 1 failed: ");
}

TEST_CASE("an event that is left out between operations and collectives is found") {
  for (const std::size_t stream : {compute, collectives}) CHECK(finds({Defect::unawaited, stream, false}) > 0);
  CHECK(finds({Defect::unrecorded, compute, false}) > 0);
}
