// What a profiler is told: ranges by phase and layer, around the operations that are queued or captured.
#include "support/on_runtime.hpp"
#include "train/deferred.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

using namespace regimen;
using namespace regimen::test;

namespace {

/// Notes each range, and in which ranges kernels were launched. Of each rank's thread.
struct Ranged : emulated::Runtime {
  static inline thread_local std::vector<std::string> open, all,
      around;  // around: the names, and the kernel's operation
  static inline thread_local std::size_t unbalanced = 0, opened_by_replay = 0, fails_at = ~std::size_t{0};

  static void begin_notes() {
    open = all = around = {};
    unbalanced = opened_by_replay = 0;
  }
  void open_range(const char* name) {
    open.push_back(name);
    all.push_back(joined());
  }
  void close_range() {
    if (open.empty()) ++unbalanced;
    else open.pop_back();
  }
  static std::string joined() {
    std::string text;
    for (const std::string& name : open) text += (text.empty() ? "" : " > ") + name;
    return text;
  }
  using Runtime::launch;
  template <class Kernel>
  void launch(const Kernel& kernel, cuda::Grid grid, Stream stream) {
    if constexpr (requires { decltype(Kernel::o)::name; })
      around.push_back(joined() + ": " + decltype(Kernel::o)::name);
    if (around.size() == fails_at) throw Error("a launch", "success", "a failure");
    Runtime::launch(kernel, grid, stream);
  }
  void launch(Graph graph, Stream stream) {
    opened_by_replay += open.size();
    Runtime::launch(graph, stream);
  }
};

template <class... Policies>
using Train = Trainer<Gpt<2>, Batch<4>, Policies..., Device<OnRuntime<Ranged>>>;
const FitOptions three_steps{.steps = 3, .remainder = Remainder::Wrap, .progress = false};

bool has(const std::vector<std::string>& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

}  // namespace

TEST_CASE("ranges have the names of phases and layers, around the operations that a graph holds") {
  Train<> trainer;
  Ranged::begin_notes();
  trainer.fit(fake_data(), three_steps);
  CHECK(Ranged::open.empty());
  CHECK(Ranged::unbalanced == 0);
  CHECK(Ranged::opened_by_replay == 0);
  for (const char* const expected :
       {"forward", "forward > 0 (embedding)", "forward > 3.1.0 (layer_norm), iteration 1",
        "backward > 3.1.0 (layer_norm), iteration 1", "backward > 3.0.1 (linear), iteration 0", "update"}) {
    INFO(expected);
    CHECK(has(Ranged::all, expected));
  }
  for (const char* const expected : {"forward: begin_step", "forward: take_input", "forward > 0 (embedding): embedding",
                                     "update: finish_gradient"}) {
    INFO(expected);
    CHECK(has(Ranged::around, expected));
  }
  // The first step ran by calls, the second was captured; the others open nothing.
  CHECK(std::count(Ranged::all.begin(), Ranged::all.end(), "update") == 2);
  const std::size_t opened = Ranged::all.size();
  trainer.fit(fake_data(), {.steps = 9, .remainder = Remainder::Wrap, .progress = false});
  CHECK(Ranged::all.size() == opened);
}

TEST_CASE("without graphs each step has the same ranges") {
  Train<> captured;
  Ranged::begin_notes();
  captured.fit(fake_data(), three_steps);
  const std::vector<std::string> twice = Ranged::all,
                                 once(twice.begin(), twice.begin() + static_cast<std::ptrdiff_t>(twice.size() / 2));
  std::vector<std::string> three;
  Train<Graph<Off>> trainer;
  Ranged::begin_notes();
  trainer.fit(fake_data(), three_steps);
  for (int i = 0; i < 3; ++i) three.insert(three.end(), once.begin(), once.end());
  CHECK(Ranged::all == three);
  CHECK(twice.size() == 2 * once.size());
  CHECK(Ranged::open.empty());
  CHECK(Ranged::unbalanced == 0);
}

TEST_CASE("the start of a collective is a range of its own, with its unit") {
  std::vector<std::string> all;
  std::size_t unbalanced = 0, open = 0;
  launch(2, [&](comm::Threads& threads) {
    Trainer<Gpt<2>, Batch<2>, Communicator<Nccl>, Shard<ZeRO3>, Device<OnRuntime<Ranged>>> trainer(threads);
    Ranged::begin_notes();
    trainer.fit(fake_data(), three_steps);
    if (threads.rank() > 0) return;
    all = Ranged::all;
    unbalanced = Ranged::unbalanced;
    open = Ranged::open.size();
  });
  const auto ends_with = [&](const std::string& text) {
    return std::any_of(all.begin(), all.end(), [&](const std::string& each) { return each.ends_with(text); });
  };
  for (const char* const expected : {"all_gather of 0 (embedding)", " > all_gather of 3 (repeat), iteration 1",
                                     "backward > 0 (embedding) > reduce_scatter of 0 (embedding)"}) {
    INFO(expected);
    CHECK(ends_with(expected));
  }
  CHECK(unbalanced == 0);
  CHECK(open == 0);
}

TEST_CASE("ranges are closed when an operation throws, in a capture or not") {
  const auto closes = []<class Trainer>(std::type_identity<Trainer>) {
    Trainer trainer;
    Ranged::begin_notes();
    Ranged::fails_at = 20;
    CHECK_FALSE(::test::error_of([&] { trainer.fit(fake_data(), three_steps); }).empty());
    Ranged::fails_at = ~std::size_t{0};
    CHECK(Ranged::around.size() == 20);
    CHECK(Ranged::open.empty());
    CHECK(Ranged::unbalanced == 0);
  };
  closes(std::type_identity<Train<>>{});
  closes(std::type_identity<Train<Graph<Off>>>{});
}
// SPDX-License-Identifier: Apache-2.0
