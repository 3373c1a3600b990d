// regimen/engine/emulated/block_runner.hpp — many threads of a block on one thread of the host, in any order, with
// barriers that are checked.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/philox.hpp>
#include <regimen/engine/emulated/swap_stack.hpp>
#include <regimen/kernel/block.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <numeric>
#include <string>
#include <vector>

#include <sys/mman.h>

namespace regimen::emulated {

/// The order in which blocks, and the threads of a block, run. A kernel with correct barriers gives the same bits in
/// each.
enum class Order { forward, reverse, random };

/// Runs blocks, one at a time, and finds errors that a GPU does not report:
///
///   a barrier or a warp operation that not all threads reach, or at different places     Error, with both places
///   shared memory that is read before it is written, or touched by two threads with no barrier between     Error, with
///   both threads
///   shared memory beyond what the kernel declared     Error
///
/// A fiber (a stack of its own) is spent on a thread that waits alone: threads that meet no barrier are calls on one
/// stack.
///
/// cost     some 5 ns a thread without a barrier, 20 to 50 ns a thread and barrier
class BlockRunner final {
 public:
  static constexpr unsigned most_threads = 1024;
  static constexpr std::size_t stack_bytes = 64 * 1024, most_shared = 227 * 1024, page = 4096;
  /// Stacks begin at different sets of a cache. At one distance of a power of two all would share a few sets, and each
  /// thread would find its stack in slower memory after a barrier.
  static constexpr std::size_t shift = 9 * 64, most_shift = 16 * 1024;

  BlockRunner() : shared_(most_shared), cells_(most_shared / 4), threads_(most_threads), fibers_(most_threads) {
    void* const stacks = ::mmap(nullptr, most_threads * stack_bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stacks == MAP_FAILED)
      throw Error("emulated::BlockRunner", "64 MiB of addresses for the threads of a block", "none",
                  "raise the limit of address space");
    stacks_ = static_cast<std::byte*>(stacks);
    detail::permit(stacks_, most_threads * stack_bytes);
    for (unsigned i = 0; i < most_threads; ++i) {
      fibers_[i].stack = stacks_ + i * stack_bytes;
      ::mprotect(fibers_[i].stack, page, PROT_NONE);  // who needs more ends the program
    }
  }
  BlockRunner(const BlockRunner&) = delete;
  BlockRunner& operator=(const BlockRunner&) = delete;
  ~BlockRunner() {
    end_fibers();
    detail::permit(stacks_, most_threads * stack_bytes);
    ::munmap(stacks_, most_threads * stack_bytes);
  }

  /// Of what runs from now on; the seed chooses among random orders.
  void set_order(Order order, std::uint64_t seed = 1) {
    order_ = order;
    seed_ = seed;
    draws_ = 0;
  }
  /// Of launches from now on; fewer blocks have more work each.
  void set_most_blocks(unsigned most) { most_blocks_ = most; }
  /// All blocks of a kernel. Defined in block.hpp.
  template <class K>
  void run(const K& kernel);

  // ---- what a thread of a block asks for

  unsigned index() const { return block_; }
  unsigned blocks() const { return blocks_; }
  unsigned threads() const { return count_; }

  void sync(unsigned me, const char* file, int line) {
    Thread& thread = threads_[me];
    thread.file = file, thread.line = line;
    if (++waiting_ < count_) {
      thread.state = State::in_barrier;
      return yield(me);
    }
    for (unsigned t = 0; t < count_; ++t) go_on(t, me, "all threads of a block at one barrier");
    waiting_ = 0;
    ++epoch_;
  }

  /// The tree of __shfl_xor: 16 lanes apart first.
  template <class Combine, class T>
  T warp(unsigned me, T value, const char* file, int line) {
    static_assert(sizeof(T) <= sizeof(Thread::value));
    Thread& thread = threads_[me];
    thread.file = file, thread.line = line;
    std::memcpy(thread.value, &value, sizeof(T));
    const unsigned first = me / kernel::warp_lanes * kernel::warp_lanes;
    if (++threads_[first].lanes_here < kernel::warp_lanes) {
      thread.state = State::in_warp;
      yield(me);
    } else {
      threads_[first].lanes_here = 0;
      T parts[kernel::warp_lanes];
      for (unsigned lane = 0; lane < kernel::warp_lanes; ++lane) {
        go_on(first + lane, me, "all lanes of a warp in one operation");
        std::memcpy(&parts[lane], threads_[first + lane].value, sizeof(T));
      }
      for (unsigned apart = kernel::warp_lanes / 2; apart > 0; apart /= 2)
        for (unsigned lane = 0; lane < apart; ++lane) parts[lane] = Combine{}(parts[lane], parts[lane + apart]);
      for (unsigned lane = 0; lane < kernel::warp_lanes; ++lane)
        std::memcpy(threads_[first + lane].value, &parts[0], sizeof(T));
    }
    std::memcpy(&value, thread.value, sizeof(T));
    return value;
  }

  std::byte* shared(std::size_t offset, std::size_t bytes) {
    if (bytes > shared_bytes_ || offset > shared_bytes_ - bytes)
      throw Error("a kernel", "shared memory as declared, " + std::to_string(shared_bytes_) + " bytes",
                  std::to_string(offset + bytes) + " bytes used", "declare shared_bytes");
    return shared_.data() + offset;
  }
  void on_read(unsigned me, std::size_t at) {
    Cell& cell = cells_[at / 4];
    if (cell.write_epoch < first_epoch_) unwritten(me, at);
    if (cell.write_epoch == epoch_ && cell.writer != me) race(cell.writer, "wrote", me, "reads", at);
    cell.reader = cell.read_epoch == epoch_ && cell.reader != me ? many : me;
    cell.read_epoch = epoch_;
  }
  void on_write(unsigned me, std::size_t at) {
    Cell& cell = cells_[at / 4];
    if (cell.write_epoch == epoch_ && cell.writer != me) race(cell.writer, "wrote", me, "writes", at);
    if (cell.read_epoch == epoch_ && cell.reader != me) race(cell.reader, "read", me, "writes", at);
    cell.writer = me;
    cell.write_epoch = epoch_;
  }

 private:
  enum class State : unsigned char { fresh, ready, in_barrier, in_warp, left };
  static constexpr unsigned many = ~0u;
  using Body = void (*)(const void* kernel, BlockRunner&, unsigned thread);

  struct Thread {
    State state = State::fresh;
    unsigned fiber = 0, lanes_here = 0;  // lanes_here: of the warp, in its first thread
    alignas(16) std::byte value[16]{};
    const char* file = "";
    int line = 0;
  };
  struct Fiber {
    void* top = nullptr;
    std::byte* stack = nullptr;
    void* fake = nullptr;  // ASan's
  };
  struct Cell {
    std::uint64_t write_epoch = 0, read_epoch = 0;
    unsigned writer = 0, reader = 0;
  };
  /// 0 ... count − 1, forward, backward, or in steps that share no divisor with count. Without a division: take() runs
  /// for every thread at every barrier.
  struct Walk {
    unsigned count = 1, start = 0, step = 1;
    unsigned take() {
      const unsigned here = start;
      start = step < count - start ? start + step : start - (count - step);
      return here;
    }
  };

  Walk walk_over(unsigned count) {
    if (order_ == Order::forward || count < 2) return {count, 0, 1};
    if (order_ == Order::reverse) return {count, count - 1, count - 1};
    const Philox::Words drawn = Philox::draw(seed_, ++draws_, 0);
    unsigned step = 1 + drawn.word[1] % (count - 1);
    while (std::gcd(step, count) != 1) step = step % count + 1;
    return {count, drawn.word[0] % count, step};
  }

  void run_blocks(Body body, const void* kernel, unsigned blocks, unsigned threads, std::size_t shared_bytes) {
    if (threads == 0 || threads > most_threads || threads % kernel::warp_lanes != 0)
      throw Error("a launch", "32 to 1024 threads of a block, whole warps", std::to_string(threads));
    if (shared_bytes > most_shared)
      throw Error("a launch", "at most 227 KiB of shared memory", std::to_string(shared_bytes) + " bytes");
    body_ = body, kernel_ = kernel, blocks_ = blocks, count_ = threads, shared_bytes_ = (shared_bytes + 3) / 4 * 4;
    Walk walk = walk_over(blocks);
    for (unsigned i = 0; i < blocks; ++i) run_block(walk.take());
  }

  void run_block(unsigned block) {
    block_ = block;
    left_ = waiting_ = 0;
    first_epoch_ = ++epoch_;
    failure_ = nullptr;
    main_bottom_ = nullptr;
    for (unsigned t = 0; t < count_; ++t) threads_[t].state = State::fresh, threads_[t].lanes_here = 0;
    for (std::size_t at = 0; at < shared_bytes_; at += 4) std::memcpy(shared_.data() + at, &junk_, 4);
    while (left_ < count_ && !failure_) {
      walk_ = walk_over(count_);
      position_ = 0;
      const std::uint64_t before = progress_;
      enter(pick(), main_, main_fake_);  // comes back when the walk has met everybody
      if (!failure_ && progress_ == before)
        failure_ =
            std::make_exception_ptr(Error("a block", "all threads at its barriers and warp operations", stuck()));
    }
    if (failure_) {  // some threads will never go on
      detail::permit(stacks_, next_fiber_ * stack_bytes);
      end_fibers();
      std::rethrow_exception(failure_);
    }
  }

  /// Thread t may go on, if it waits where `me` is.
  void go_on(unsigned t, unsigned me, const char* expected) {
    if (threads_[t].line != threads_[me].line || threads_[t].file != threads_[me].file) elsewhere(t, me, expected);
    threads_[t].state = State::ready;
  }

  /// The next thread, which is the current one from now on; count_ if none can run.
  unsigned pick() {
    while (!failure_ && position_ < count_) {
      ++position_;
      const unsigned t = walk_.take();
      if (threads_[t].state != State::fresh && threads_[t].state != State::ready) continue;
      ++progress_;
      return current_ = t;
    }
    return count_;
  }

  // The thread sanitizer counts calls and returns. A block leaves its fibers in the functions with this attribute, so
  // they must not be counted.
  /// Leaves the stack that runs for that of a thread, or, if there is none, for the one that called.
  __attribute__((no_sanitize("thread"))) void enter(unsigned next, void*& save, void*& fake) {
    if (next == count_) return go(save, fake, main_, nullptr);
    if (threads_[next].state == State::fresh) threads_[next].fiber = spare();
    Fiber& fiber = fibers_[threads_[next].fiber];
    go(save, fake, fiber.top, fiber.stack);
  }
  __attribute__((no_sanitize("thread"))) void go(void*& save, void*& fake, void* load, const std::byte* stack) {
    if (&save == &main_ && stack == nullptr) return;  // from the caller's stack to itself: nobody can run
    if (stack != nullptr) detail::leaves_stack(&fake, stack, stack_bytes);
    else detail::leaves_stack(&fake, main_bottom_, main_size_);
    detail::swap_stack(&save, load);
    landed(fake);
  }
  void landed(void* fake) {
    const void* bottom = nullptr;
    std::size_t size = 0;
    detail::enters_stack(fake, &bottom, &size);
    if (main_bottom_ == nullptr)
      main_bottom_ = bottom, main_size_ = size;  // the first to land on a fiber comes from the caller's stack
  }

  void yield(unsigned me) {
    Fiber& fiber = fibers_[threads_[me].fiber];
    enter(pick(), fiber.top, fiber.fake);
    current_ = me;
  }

  /// Those that no thread has go to their end: ASan has a second stack for each, which only its fiber gives back. For
  /// the same reason fibers stay from block to block.
  void end_fibers() {
    main_bottom_ = nullptr;
    is_ending_ = true;
    if (detail::has_second_stacks)
      for (const unsigned fiber : free_) go(main_, main_fake_, fibers_[fiber].top, fibers_[fiber].stack);
    is_ending_ = false;
    free_.clear();
    next_fiber_ = 0;
  }

  unsigned spare() {
    if (!free_.empty()) {
      const unsigned fiber = free_.back();
      free_.pop_back();
      return fiber;
    }
    Fiber& fiber = fibers_[next_fiber_];
    void** top = reinterpret_cast<void**>(fiber.stack + stack_bytes - next_fiber_ * shift % most_shift);
    *--top = nullptr;
    *--top = reinterpret_cast<void*>(&BlockRunner::begin);
    for (int i = 0; i < 6; ++i) *--top = nullptr;
    fiber.top = top;
    fiber.fake = nullptr;
    starting_ = this;
    return next_fiber_++;
  }
  __attribute__((no_sanitize("thread"))) static void begin() { starting_->serve(); }

  /// What a fiber does: threads, one after another, as long as none of them waits.
  __attribute__((no_sanitize("thread"))) void serve() {
    landed(nullptr);
    for (;;) {
      const unsigned me = current_, fiber = threads_[me].fiber;
      try {
        body_(kernel_, *this, me);
      } catch (...) { failure_ = std::current_exception(); }
      threads_[me].state = State::left;
      ++left_;
      const unsigned next = pick();
      if (next < count_ && threads_[next].state == State::fresh) {  // as a call, on this stack
        threads_[next].fiber = fiber;
        continue;
      }
      free_.push_back(fiber);
      enter(next, fibers_[fiber].top, fibers_[fiber].fake);
      if (is_ending_) {
        detail::leaves_stack(nullptr, main_bottom_, main_size_);
        detail::swap_stack(&fibers_[fiber].top, main_);
      }
    }  // comes back here when this fiber gets another thread
  }

  std::string stuck() const {
    std::string what;
    unsigned shown = 0;
    for (unsigned t = 0; t < count_ && shown < 3; ++t) {
      if (t > 0 && threads_[t].state == threads_[t - 1].state && threads_[t].line == threads_[t - 1].line) continue;
      what += (shown++ == 0 ? "thread " : ", thread ") + std::to_string(t) +
              (threads_[t].state == State::left ? " has left the kernel" : " waits at " + where(t));
    }
    return what;
  }
  std::string where(unsigned t) const { return std::string(threads_[t].file) + ":" + std::to_string(threads_[t].line); }
  std::string who(unsigned t) const {
    return (t == many ? "several threads" : "thread " + std::to_string(t)) + " of block " + std::to_string(block_);
  }
  // (Apart from the checks, which so are as small as what they check.)
  [[noreturn, gnu::cold]] void unwritten(unsigned me, std::size_t at) const {
    throw Error(who(me), "shared memory that was written", "byte " + std::to_string(at) + ", which was not",
                "write it, and sync()");
  }
  [[noreturn, gnu::cold]] void elsewhere(unsigned t, unsigned me, const char* expected) const {
    throw Error(where(t), expected,
                "thread " + std::to_string(me) + " at " + where(me) + ", thread " + std::to_string(t) + " here");
  }
  [[noreturn, gnu::cold]] void race(unsigned first, const char* did, unsigned second, const char* does,
                                    std::size_t at) const {
    throw Error("byte " + std::to_string(at) + " of shared memory", "a barrier between two threads that touch it",
                who(first) + " " + did + " it, " + who(second) + " " + does + " it, and none between", "sync()");
  }

  static inline thread_local BlockRunner* starting_ = nullptr;  // whose fiber begins
  Order order_ = Order::forward;
  std::uint64_t seed_ = 1, draws_ = 0;
  unsigned most_blocks_ = ~0u;
  std::byte* stacks_ = nullptr;
  std::vector<std::byte> shared_;
  std::vector<Cell> cells_;
  std::vector<Thread> threads_;
  std::vector<Fiber> fibers_;
  std::vector<unsigned> free_{};
  void *main_ = nullptr, *main_fake_ = nullptr;
  const void* main_bottom_ = nullptr;  // for ASan
  std::size_t main_size_ = 0;
  bool is_ending_ = false;

  Body body_ = nullptr;
  const void* kernel_ = nullptr;
  unsigned blocks_ = 0, block_ = 0, count_ = 0, left_ = 0, waiting_ = 0, next_fiber_ = 0, current_ = 0, position_ = 0;
  std::size_t shared_bytes_ = 0;
  Walk walk_{};
  std::uint64_t epoch_ = 1, first_epoch_ = 1, progress_ = 0;
  std::uint32_t junk_ = 0x7FB0'0BAD;  // a signalling NaN
  std::exception_ptr failure_{};
};

}  // namespace regimen::emulated

// SPDX-License-Identifier: Apache-2.0
