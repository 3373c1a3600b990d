// tests/kernel/against_cpu.hpp — kernels beside the CPU engine, and kernels with a defect planted from outside.
#pragma once

#include "run.hpp"

#include <regimen/engine/cpu/execute.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test {

/// `make` in every way. judge(arena, operation, expected): `expected` is an arena after the CPU engine has run it.
template <class Make, class Judge>
void beside_the_cpu(std::size_t bytes, const Make& make, const Judge& judge) {
  Arena expected(bytes);
  const auto operation = make(expected);
  regimen::cpu::execute(operation, expected.memory_for(operation));
  in_every_way(bytes, make, [&](const Arena& arena, const auto& done) { judge(arena, done, expected); });
}

/// make(arena) by the CPU engine and by kernels in every way; judge(arena, operation) checks it by its definition.
template <class Make, class Judge>
void by_definition(std::size_t bytes, const Make& make, const Judge& judge) {
  {
    Arena arena(bytes);
    const auto operation = make(arena);
    regimen::cpu::execute(operation, arena.memory_for(operation));
    CHECK(arena.guards_hold());
    judge(arena, operation);
  }
  in_every_way(bytes, make, judge);
}

/// As get(arena, operation) gives it, the CPU engine's very numbers; NaN equals NaN.
template <class Make, class Get>
void is_the_cpu(std::size_t bytes, const Make& make, const Get& get) {
  beside_the_cpu(bytes, make, [&](const Arena& arena, const auto& done, const Arena& expected) {
    const Values own = get(arena, done), wanted = get(expected, done);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < own.size(); ++i)
      if (!(own[i] == wanted[i] || (std::isnan(own[i]) && std::isnan(wanted[i]))) && wrong++ == 0)
        UNSCOPED_INFO("element " << i << ": " << own[i] << " instead of " << wanted[i]);
    CHECK(wrong == 0);
  });
}

/// Small integers: their sums are exact, so only a wrong or missing element differs.
template <class T>
Values integers(std::size_t count, std::uint64_t seed = 1) {
  Values result = values<T>(count, 8, seed);
  for (double& value : result) value = std::round(value);
  return result;
}

inline regimen::View<std::int32_t> put_integers(Arena& arena, const std::vector<std::int32_t>& from) {
  const auto view = arena.room<std::int32_t>(from.size());
  std::copy(from.begin(), from.end(), arena.memory()(view));
  return view;
}

// ---- defects, planted around a kernel

/// A kernel whose barriers do nothing.
template <class K>
struct WithoutBarriers final : Around<K> {
  template <class Block>
  struct Deaf {
    const Block& block;
    unsigned thread() const { return block.thread(); }
    unsigned threads() const { return block.threads(); }
    unsigned index() const { return block.index(); }
    unsigned blocks() const { return block.blocks(); }
    void sync() const {}
    template <class T>
    auto shared(std::size_t offset, std::size_t count) const {
      return block.template shared<T>(offset, count);
    }
    template <class Combine, class T>
    T warp(T value) const {
      return block.template warp<Combine>(value);
    }
  };
  template <class Block>
  void operator()(const Block& block) const {
    this->kernel(Deaf<Block>{block});
  }
};

/// A kernel one of whose threads does nothing.
template <class K>
struct WithoutAThread final : Around<K> {
  template <class Block>
  void operator()(const Block& block) const {
    if (block.thread() != 1) this->kernel(block);
  }
};

template <template <class> class Planted, unsigned from, unsigned pass = 0, class Operation>
void run_planted(const Operation& operation, const regimen::kernel::Memory& memory, const Way& way) {
  if constexpr (pass < regimen::kernel::passes<Operation>) {
    using K = regimen::kernel::Kernel<Operation, pass>;
    if constexpr (pass < from) run_kernel(K{operation, memory}, way);
    else run_kernel(Planted<K>{{K{operation, memory}}}, way);
    run_planted<Planted, from, pass + 1>(operation, memory, way);
  }
}

/// What tells the defect, in each order of threads: an error's words, or "another result", or "nothing".
///   from   the first launch that has it
template <template <class> class Planted, unsigned from = 0, class Make, class Get>
std::vector<std::string> told(std::size_t bytes, const Make& make, const Get& get) {
  std::vector<std::string> all;
  for (const Way& way : ways) {
    if (way.serial) continue;
    Arena right(bytes), arena(bytes);
    const auto operation = make(right);
    make(arena);
    run(operation, right, way);
    regimen::kernel::Memory memory{arena.memory().base};
    if (const std::size_t scratch = regimen::kernel::scratch_of(operation); scratch > 0)
      memory.scratch = arena.template room<double>((scratch + 7) / 8).offset;
    try {
      run_planted<Planted, from>(operation, memory, way);
      all.push_back(get(arena, operation) == get(right, operation) ? "nothing" : "another result");
    } catch (const regimen::Error& error) { all.push_back(error.what()); }
  }
  return all;
}

}  // namespace test
