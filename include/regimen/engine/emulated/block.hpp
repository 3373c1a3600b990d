// regimen/engine/emulated/block.hpp — what a kernel sees of an emulated block: its place, its barriers, its shared
// memory.
#pragma once

#include <regimen/engine/emulated/block_runner.hpp>
#include <regimen/kernel/block.hpp>

#include <cstddef>
#include <string>

namespace regimen::emulated {

/// An array in shared memory whose every access is looked at.
template <class T>
class SharedArray final {
  static_assert(sizeof(T) % 4 == 0, "shared memory is watched in units of four bytes");

 public:
  class Element final {
   public:
    Element(const SharedArray& array, std::size_t i) : array_(array), i_(i) {}
    operator T() const {
      for (std::size_t part = 0; part < sizeof(T); part += 4)
        array_.runner_->on_read(array_.me_, array_.offset_ + i_ * sizeof(T) + part);
      return array_.data_[i_];
    }
    const Element& operator=(T value) const {
      for (std::size_t part = 0; part < sizeof(T); part += 4)
        array_.runner_->on_write(array_.me_, array_.offset_ + i_ * sizeof(T) + part);
      array_.data_[i_] = value;
      return *this;
    }

   private:
    const SharedArray& array_;
    std::size_t i_;
  };

  SharedArray(BlockRunner& runner, unsigned me, std::size_t offset, std::size_t count)
      : data_(reinterpret_cast<T*>(runner.shared(offset, count * sizeof(T)))),
        runner_(&runner),
        offset_(offset),
        count_(count),
        me_(me) {}
  Element operator[](std::size_t i) const {
    if (i >= count_)
      throw Error("an array in shared memory", "an element below " + std::to_string(count_), std::to_string(i));
    return {*this, i};
  }

 private:
  T* data_;
  BlockRunner* runner_;
  std::size_t offset_, count_;
  unsigned me_;
};

/// What a kernel sees.
class Block final {
 public:
  Block(BlockRunner& runner, unsigned thread) : runner_(&runner), thread_(thread) {}
  unsigned thread() const { return thread_; }
  unsigned threads() const { return runner_->threads(); }
  unsigned index() const { return runner_->index(); }
  unsigned blocks() const { return runner_->blocks(); }
  void sync(const char* file = __builtin_FILE(), int line = __builtin_LINE()) const {
    runner_->sync(thread_, file, line);
  }
  template <class T>
  SharedArray<T> shared(std::size_t offset, std::size_t count) const {
    return {*runner_, thread_, offset, count};
  }
  template <class Combine, class T>
  T warp(T value, const char* file = __builtin_FILE(), int line = __builtin_LINE()) const {
    return runner_->template warp<Combine>(thread_, value, file, line);
  }

 private:
  BlockRunner* runner_;
  unsigned thread_;
};

template <class K>
void BlockRunner::run(const K& kernel) {
  run_blocks([](const void* what, BlockRunner& runner,
                unsigned thread) { (*static_cast<const K*>(what))(Block(runner, thread)); },
             &kernel, kernel.blocks(), K::threads, kernel::shared_bytes<K>);
}

}  // namespace regimen::emulated
// SPDX-License-Identifier: Apache-2.0
