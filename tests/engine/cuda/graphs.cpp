// An engine keeps a bounded number of graphs: of the pieces that were used last.
#include <regimen/engine/emulated/device.hpp>

#include "support/catch.hpp"
#include "temporary.hpp"

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

using namespace regimen;

namespace {

/// Knows the graphs that were made and not destroyed.
struct Counting : emulated::Runtime {
  static inline std::set<std::size_t> alive;
  static inline std::size_t made = 0, most_alive = 0;

  Graph end_capture(Stream stream) {
    const Graph graph = Runtime::end_capture(stream);
    alive.insert(graph.index);
    ++made;
    most_alive = alive.size() > most_alive ? alive.size() : most_alive;
    return graph;
  }
  void destroy(Graph graph) {
    Runtime::destroy(graph);
    alive.erase(graph.index);
  }
};
using Engine = cuda::Engine<Counting>;
constexpr std::size_t most = cuda::Graphs<Counting, Engine::Transport>::most;

struct Seeded {
  explicit Seeded(std::uint64_t seed) {
    emulated::Runtime::defaults = {.seed = seed};
    Counting::alive.clear();
    Counting::made = Counting::most_alive = 0;
  }
  ~Seeded() { emulated::Runtime::defaults = {}; }
  Seeded(const Seeded&) = delete;
};

/// Adds 1 to the first `rows` of numbers, as a piece of a step on so many samples.
void add_one(Engine& engine, std::size_t rows, std::size_t all) {
  engine.replay({engines::Recording::Piece::step, rows},
                [&] { engine.run(op::Add<float>{.x = {all * sizeof(float)}, .y = {0}, .count = rows}); });
}

void fill_ones(Engine& engine, std::size_t all) {
  const std::vector<float> ones(all, 1);
  engine.upload(all * sizeof(float), std::as_bytes(std::span(ones))).wait();
}
std::vector<float> sums(Engine& engine, std::size_t all) {
  std::vector<float> found(all);
  engine.download(0, std::as_writable_bytes(std::span(found))).wait();
  return found;
}

}  // namespace

TEST_CASE("any number of batch sizes leaves a bounded number of graphs, and the results are right") {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {  // one of each temper of the device
    CAPTURE(seed);
    constexpr std::size_t all = 3 * most;
    const Seeded seeded(seed);
    Engine engine({.bytes = 2 * all * sizeof(float)});
    fill_ones(engine, all);
    for (std::size_t rows = 1; rows <= all; ++rows)
      for (int times = 0; times < 3; ++times) add_one(engine, rows, all);  // by calls, captured, again
    const std::vector<float> found = sums(engine, all);
    for (std::size_t i = 0; i < all; ++i) CHECK(found[i] == static_cast<float>(3 * (all - i)));
    CHECK(Counting::made == all);
    CHECK(Counting::most_alive == most);
    CHECK(Counting::alive.size() == most);
  }
}

TEST_CASE("the graph that was not used for longest is given up") {
  const Seeded seeded(1);
  constexpr std::size_t all = 2 * most;
  Engine engine({.bytes = 2 * all * sizeof(float)});
  fill_ones(engine, all);
  for (std::size_t rows = 1; rows <= all; ++rows) {
    for (int times = 0; times < 2; ++times) add_one(engine, rows, all);
    add_one(engine, 1, all);  // is used all the time
  }
  CHECK(Counting::made == all);
  add_one(engine, 1, all);
  add_one(engine, all, all);
  CHECK(Counting::made == all);  // both are there
  for (int times = 0; times < 2; ++times) add_one(engine, 2, all);
  CHECK(Counting::made == all + 1);  // that one was not
}

TEST_CASE("graphs are destroyed when memory is poisoned, since they do not poison it") {
  const Seeded seeded(1);
  Engine engine({.bytes = 64});
  for (int times = 0; times < 3; ++times) add_one(engine, 1, 1);
  CHECK(Counting::alive.size() == 1);
  engine.poison_dead();
  CHECK(Counting::alive.empty());
  for (int times = 0; times < 2; ++times) add_one(engine, 1, 1);
  CHECK(Counting::made == 2);
}

TEST_CASE("the device refuses to destroy a graph that may run, and to launch one that is destroyed") {
  emulated::Runtime device{{.seed = 1, .memory = std::size_t{1} << 20}};  // lazy
  const auto stream = device.make_stream();
  std::byte* const at = device.allocate(64, "all");
  device.begin_capture(stream);
  device.fill(at, 1, 64, stream);
  const auto graph = device.end_capture(stream);
  device.launch(graph, stream);
  test::refuses([&] { device.destroy(graph); }, "a graph that runs no more");
  const auto done = device.make_event();
  device.record(done, stream);
  device.synchronize(done);
  device.destroy(graph);
  test::refuses([&] { device.launch(graph, stream); }, "one that was destroyed");
  test::refuses([&] { device.destroy(graph); }, "one that was destroyed");
}
// SPDX-License-Identifier: Apache-2.0
