// regimen/engine/emulated/block.hpp — what a kernel sees of an emulated block: its place, its barriers, its shared
// memory.
#pragma once

#include <regimen/engine/emulated/block_runner.hpp>
#include <regimen/kernel/block.hpp>

#include <algorithm>
#include <cstddef>
#include <string>

namespace regimen::emulated {

/// An array in shared memory whose every access is looked at.
template <class T>
struct SharedArray final {
  static_assert(sizeof(T) % 4 == 0, "shared memory is watched in units of four bytes");

  struct Element final {
    const SharedArray& array;
    std::size_t i;

    operator T() const {
      for (std::size_t part = 0; part < sizeof(T); part += 4)
        array.runner->on_read(array.me, array.offset + i * sizeof(T) + part);
      return array.data[i];
    }
    const Element& operator=(T value) const {
      for (std::size_t part = 0; part < sizeof(T); part += 4)
        array.runner->on_write(array.me, array.offset + i * sizeof(T) + part);
      array.data[i] = value;
      return *this;
    }
  };

  BlockRunner* runner;
  unsigned me;
  std::size_t offset, count;
  T* data;

  Element operator[](std::size_t i) const {
    if (i >= count) beyond(i);
    return {*this, i};
  }

 private:
  [[noreturn, gnu::cold]] void beyond(std::size_t i) const {
    throw Error("an array in shared memory", "an element below " + std::to_string(count), std::to_string(i));
  }
};

/// What a kernel sees.
struct Block final {
  BlockRunner* runner;
  unsigned me;

  unsigned thread() const { return me; }
  unsigned threads() const { return runner->threads(); }
  unsigned index() const { return runner->index(); }
  unsigned blocks() const { return runner->blocks(); }
  void sync(const char* file = __builtin_FILE(), int line = __builtin_LINE()) const { runner->sync(me, file, line); }
  template <class T>
  SharedArray<T> shared(std::size_t offset, std::size_t count) const {
    return {runner, me, offset, count, reinterpret_cast<T*>(runner->shared(offset, count * sizeof(T)))};
  }
  template <class Combine, class T>
  T warp(T value, const char* file = __builtin_FILE(), int line = __builtin_LINE()) const {
    return runner->template warp<Combine>(me, value, file, line);
  }
};

template <class K>
void BlockRunner::run(const K& kernel) {
  run_blocks([](const void* what, BlockRunner& runner,
                unsigned thread) { (*static_cast<const K*>(what))(Block{&runner, thread}); },
             &kernel, (std::min)(kernel.blocks(), most_blocks_), K::threads, kernel::shared_bytes<K>);
}

}  // namespace regimen::emulated
// SPDX-License-Identifier: Apache-2.0
