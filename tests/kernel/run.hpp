// tests/kernel/run.hpp — an operation carried out by its kernels: by the block of one thread, or by emulated blocks in
// any order.
#pragma once

#include "../engine/cpu/arena.hpp"

#include <regimen/engine/emulated/block.hpp>
#include <regimen/engine/emulated/compiled.hpp>
#include <regimen/kernel/block.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace test {

/// So many rows that all of them together are whole packs of 16 bytes where one row is not: a kernel that looks at the
/// number of elements alone must not take such rows for packs. Else a prime number.
constexpr std::size_t rows_for(std::size_t columns, std::size_t prime) {
  return columns % 8 == 0 ? prime : (prime + 7) / 8 * 8;
}

struct Way {
  const char* name;
  bool serial;
  regimen::emulated::Order order = regimen::emulated::Order::forward;
  std::uint64_t seed = 1;
  unsigned most_blocks = ~0u;  // of a launch; more work than blocks is more work for each
};
inline constexpr std::array<Way, 6> ways{{{"serial", true},
                                          {"forward", false, regimen::emulated::Order::forward},
                                          {"reverse", false, regimen::emulated::Order::reverse},
                                          {"random", false, regimen::emulated::Order::random, 3},
                                          {"random again", false, regimen::emulated::Order::random, 8},
                                          {"two blocks", false, regimen::emulated::Order::random, 8, 2}}};

inline regimen::emulated::BlockRunner& runner() {
  static regimen::emulated::BlockRunner one;
  return one;
}

/// A kernel around another: the same launch.
template <class K>
struct Around {
  static constexpr unsigned threads = K::threads;
  static constexpr std::size_t shared_bytes = regimen::kernel::shared_bytes<K>;
  K kernel;

  constexpr unsigned blocks() const { return kernel.blocks(); }
};

template <class K>
void run_kernel(const K& kernel, const Way& way) {
  if constexpr (requires { kernel.as_launched(); }) return run_kernel(kernel.as_launched(), way);
  runner().set_order(way.order, way.seed);
  runner().set_most_blocks(way.most_blocks);
  regimen::emulated::runner_of<K>()(&kernel, way.serial ? nullptr : &runner());
}

/// Values that begin `behind` elements behind a multiple of 16 bytes, with at least as many bytes around them.
template <class T>
regimen::View<T> put_behind(Arena& arena, std::size_t behind, const Values& values) {
  constexpr std::size_t line = 16 / sizeof(T);
  const std::size_t around = arena.room<T>(values.size() + behind + 4 * line).offset;
  const regimen::View<T> view{(around + 15) / 16 * 16 + (line + behind) * sizeof(T)};
  REQUIRE((reinterpret_cast<std::uintptr_t>(arena.memory()(view)) - behind * sizeof(T)) % 16 == 0);
  for (std::size_t i = 0; i < values.size(); ++i) arena.memory()(view)[i] = rounded<T>(values[i]);
  return view;
}
/// Those values and the 16 bytes before and behind them, which no kernel may change.
template <class T>
Values get_around(const Arena& arena, regimen::View<T> view, std::size_t count) {
  return arena.get(regimen::View<T>{view.offset - 16}, count + 32 / sizeof(T));
}

/// All launches of an operation.
template <class Operation>
void run(const Operation& operation, Arena& arena, const Way& way) {
  regimen::kernel::Memory memory{arena.memory().base};
  if (const std::size_t bytes = regimen::kernel::scratch_of(operation); bytes > 0)
    memory.scratch = arena.room<double>((bytes + 7) / 8).offset;
  regimen::kernel::for_each_launch(operation, memory, [&](const auto& kernel) { run_kernel(kernel, way); });
}

/// What `make(arena)` gives, carried out in every way: blocks of many threads agree bit for bit in any order and
/// number; how far the serial block may be from them is for the caller to say.   judge(arena, operation)
template <class Make, class Judge>
void in_every_way(std::size_t bytes, const Make& make, const Judge& judge) {
  std::vector<std::byte> first;
  for (const Way& way : ways) {
    INFO(way.name);
    Arena arena(bytes);
    const auto operation = make(arena);
    run(operation, arena, way);
    CHECK(arena.guards_hold());
    judge(arena, operation);
    if (way.serial) continue;
    if (first.empty()) first = arena.bytes();
    else CHECK((first == arena.bytes()));  // in parentheses: nobody reads two arenas in a message
  }
}

}  // namespace test
