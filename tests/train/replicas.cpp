// Weights that several ranks keep: one bit that differs on one of them is found, at the next comparison, with the
// rank's name. And ranks that
// would compute other bits from the start are refused at the start.
#include <regimen/comm/detail/around.hpp>
#include <regimen/trainers/replicas.hpp>

#include "train/shard.hpp"

#include <bit>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using namespace regimen;
using namespace regimen::test;

namespace {

template <class Stage>
using Train = Trainer<Tied<3>, Batch<2>, Communicator<Threads>, Shard<Stage>>;

std::string failure_of(std::size_t ranks, const auto& body) {
  try {
    launch(ranks, body, std::chrono::seconds(60));
  } catch (const std::exception& error) { return error.what(); }
  return "";
}
bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::uint64_t hash_of(const std::vector<float>& values) { return cpu::hash_of_bytes(std::as_bytes(std::span(values))); }

/// A steps' worth of a run that compares after every third step; `change` is called behind each.
template <class Stage>
std::string run(std::size_t ranks, const auto& change) {
  return failure_of(ranks, [&](comm::Threads& communicator) {
    Train<Stage> trainer(communicator, {.compare_weights_every = 3});
    trainer.fit(Fake({.samples = 40, .classes = 11}), {.steps = 7, .progress = false}, change);
  });
}

}  // namespace

TEST_CASE("one changed bit changes the hash, wherever it is") {
  for (const std::size_t count : {std::size_t{1}, std::size_t{7}, std::size_t{100}}) {
    std::vector<float> values(count, 0.25f);
    const std::uint64_t before = hash_of(values);
    for (float& value : values)
      for (int bit = 0; bit < 32; ++bit) {
        const float kept = value;
        value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ (1u << bit));
        CHECK(hash_of(values) != before);
        value = kept;
      }
    CHECK(hash_of(values) == before);
  }
  std::vector<float> values(200000, 0.25f);  // several chunks
  const std::uint64_t before = hash_of(values);
  for (const std::size_t i : {0u, 65535u, 65536u, 131072u, 199999u}) {
    values[i] = -values[i];
    CHECK(hash_of(values) != before);
    values[i] = -values[i];
  }
  std::swap(values[3] = 1, values[70000]);
  const std::uint64_t swapped = hash_of(values);
  std::swap(values[3], values[70000]);
  CHECK(swapped != hash_of(values));
}

TEST_CASE("two changed signs do not cancel") {
  std::vector<float> values(64, 0.25f);
  const std::uint64_t before = hash_of(values);
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t j = i + 1; j < values.size(); ++j) {
      values[i] = values[j] = -0.25f;
      CHECK(hash_of(values) != before);
      values[i] = values[j] = 0.25f;
    }
}

TEST_CASE("the ranks that differ from most are named") {
  const auto compare = [](const std::vector<std::uint64_t>& hashes, std::size_t slices) -> std::string {
    try {
      trainers::compare_hashes(hashes, [slices](std::size_t r) { return r % slices; }, 12);
    } catch (const Error& error) { return error.what(); }
    return "";
  };
  CHECK(compare({5, 5, 5, 5}, 1).empty());
  CHECK(compare({5, 6, 5, 6}, 2).empty());
  CHECK(mentions(
      compare({5, 5, 9, 5}, 1),
      "Trainer, after step 12: expected the same weights on all ranks that keep them, found others on rank 2;"));
  CHECK(mentions(compare({9, 5, 5, 5}, 1), "others on rank 0;"));
  CHECK(mentions(compare({5, 9}, 1), "others on rank 1;"));
  CHECK(mentions(compare({5, 6, 5, 9, 7, 6}, 2), "others on rank 3, 4;"));
}

TEST_CASE("a weight that differs on one rank is found at the next comparison") {
  const auto flips = [](std::size_t who) {
    return [who](auto& trainer, const StepResult& result) {
      if (result.step != 4) return;
      auto parameters = trainer.parameters();
      auto& value = parameters[1].values[0];
      if (trainer.rank() == who) value += 0.25f;  // a last place may be rounded away by what is added in the next steps
      trainer.parameters_changed();
    };
  };
  CHECK(run<Replicated>(3, flips(9)).empty());
  CHECK(mentions(run<Replicated>(3, flips(2)),
                 "after step 6: expected the same weights on all ranks that keep them, found others on rank 2;"));
  CHECK(mentions(run<Replicated>(3, flips(0)),
                 "after step 6: expected the same weights on all ranks that keep them, found others on rank 0;"));
  // Ranks 0 and 2 keep one half, 1 and 3 the other: the first elements lie in the first.
  CHECK(run<Hybrid<2>>(4, flips(9)).empty());
  CHECK(mentions(run<Hybrid<2>>(4, flips(2)),
                 "after step 6: expected the same weights on all ranks that keep them, found others on rank 2;"));
  CHECK(failure_of(2, [&](comm::Threads& communicator) {
          Train<Replicated> trainer(communicator, {.compare_weights_every = 0});
          trainer.fit(Fake({.samples = 40, .classes = 11}), {.steps = 7, .progress = false}, flips(1));
        }).empty());
}

namespace {

/// Gathers what the others sent, but for one bit.
class Flipping final : public comm::detail::Around<Flipping, comm::Threads> {
  using Base = comm::detail::Around<Flipping, comm::Threads>;

 public:
  explicit Flipping(comm::Threads& inner) : Base(inner) {}
  void all_gather(const std::byte* own, std::byte* all, std::size_t bytes, comm::Teams teams = {}) {
    Base::all_gather(own, all, bytes, teams);
    if (flips && bytes > 0) all[0] ^= std::byte{1};
  }
  bool flips = false;
};

}  // namespace

TEST_CASE("a weight that came to one rank as another is found where ranks keep slices of the state") {
  for (const bool flips : {false, true}) {
    const std::string failure = failure_of(2, [&](comm::Threads& threads) {
      Flipping communicator(threads);
      Train<ZeRO1> trainer(communicator, {.compare_weights_every = 1});
      trainer.fit(Fake({.samples = 40, .classes = 11}), {.steps = 4, .progress = false},
                  [&](auto&, const StepResult& result) {
                    communicator.flips = flips && result.step == 2 && threads.rank() == 1;
                  });
    });
    INFO(failure);
    CHECK(mentions(failure,
                   "after step 3: expected the same weights on all ranks that keep them, found others on rank 1;") ==
          flips);
    CHECK(failure.empty() == !flips);
  }
}

namespace {

/// Says of rank 1 that its registers are others, as one would that was built for another processor.
class OtherProcessor final : public comm::detail::Around<OtherProcessor, comm::Threads> {
  using Base = comm::detail::Around<OtherProcessor, comm::Threads>;

 public:
  explicit OtherProcessor(comm::Threads& inner) : Base(inner), rank_(inner.rank()) {}
  void all_gather_small(const std::byte* own, std::byte* all, std::size_t bytes) {
    std::vector<std::byte> said(own, own + bytes);
    const std::string_view text(reinterpret_cast<const char*>(own), bytes), mark = "registers: ";
    const std::size_t at = text.find(mark);
    if (rank_ == 1 && text.find("products: ") != text.npos && at != text.npos) said[at + mark.size()] = std::byte{'9'};
    Base::all_gather_small(said.data(), all, bytes);
  }

 private:
  std::size_t rank_;
};

}  // namespace

TEST_CASE(
    "ranks that compute otherwise are refused before they train, with what each computes with; numbers of threads may differ") {
  const std::string failure = failure_of(2, [](comm::Threads& ranks) {
    OtherProcessor communicator(ranks);
    Train<ZeRO3> trainer(communicator);
  });
  INFO(failure);
  CHECK(mentions(failure, "Trainer: expected the same arithmetic on all 2 ranks"));
  CHECK(mentions(failure, "registers: " + std::to_string(cpu::vector_bytes) + " bytes"));
  CHECK(mentions(failure, "registers: 9"));
#if defined(__FMA__)
  CHECK(mentions(failure, "fused multiply-add"));
#endif
  CHECK(failure_of(2, [](comm::Threads& ranks) {
          Train<ZeRO3> trainer(ranks, {.threads = 1 + int(ranks.rank())});
        }).empty());
}
