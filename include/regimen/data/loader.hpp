// regimen/data/loader.hpp — batches, read ahead by worker threads, in an order that does not depend on them.
#pragma once

#include <regimen/core/operation.hpp>  // ignore_index
#include <regimen/data/order.hpp>
#include <regimen/data/source.hpp>
#include <regimen/rule/source_writes_samples.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace regimen {

/// What becomes of the samples that do not fill the last batch of an epoch.
///
///   Short   they are a short batch             each sample once an epoch; the default, since it leaves nothing out
///   Drop    they are left out                   ⌊size / batch⌋ full batches an epoch
///   Wrap    the next epoch fills their batch    every batch full but the very last, each sample once an epoch
///
/// Order::Random has no remainder: every batch is full, and an epoch is ⌈size / batch⌉ of them, ⌊ ⌋ with Drop. With Order::Runs and Wrap a batch may
/// hold the end of one run and the beginning of another.
enum class Remainder { Short, Drop, Wrap };

struct LoaderOptions {
  std::size_t batch = 1;  // samples
  Order order = Order::Shuffled;
  Remainder remainder = Remainder::Short;
  std::uint64_t seed = 0;
  std::uint64_t first_step = 0;     // where to begin: step n of a fresh loader is step 0 of one with first_step = n
  std::uint64_t epochs = 0;         // 0: without end
  std::size_t workers = 1;          // threads that read ahead; 0: next() reads, when asked
  std::size_t ahead = 2;            // batches held ready beside the one in use
  std::size_t rank = 0, ranks = 1;  // batch n is part `rank` of the n-th run of batch · ranks samples; only it is read
};

/// Reads batches from a source.
///
///   for (auto batch = loader.next(); batch; batch = loader.next()) { ... }
///
///   input     (samples, shape.input)    In         contiguous; valid until the following next()
///   target    (samples, shape.target)   Target
///   samples   options.batch, or fewer in a short batch, of which a rank may have none; 0 after the last epoch
///
/// Batch n is a pure function of (source, shape, options without workers and ahead, n). Nothing is allocated after
/// construction. next() belongs to one thread. Destruction waits for reads that have begun, not for more.
///
/// failure  the constructor throws Error when the source cannot serve the shape, or when an epoch has no batch. next()
///          throws what the source threw, and Error for an integer input outside [0, bound), or an integer target that
///          is neither there nor ignore_index; thrown at the batch it belongs to, and again when asked again
/// cost     (ahead + 1) batches of memory, 1 with workers = 0
template <class In, class Target, class S>
class Loader final {
  static_assert(sizeof(typename rule::source_writes_samples<S, In, Target>::must_hold));

 public:
  struct Batch {
    std::span<const In> input;
    std::span<const Target> target;
    std::size_t samples = 0;
    std::uint64_t step = 0;   // number of the batch, from 0 over all epochs
    std::uint64_t epoch = 0;  // of its first sample
    bool exists = false;      // false after the last epoch
    explicit operator bool() const { return exists; }
  };

  Loader(S source, const SampleShape& shape, const LoaderOptions& options)
      : source_(std::move(source)),
        shape_(shape),
        options_(options),
        size_(size_of(source_, shape)),
        claimed_(options.first_step),
        next_(options.first_step) {
    const std::string name = detail::name_of_source(source_);
    if (size_ == 0) throw Error(name, "at least one sample", "none");
    if (options.batch == 0) throw Error("Loader", "a batch of at least one sample", "0");
    if (options.rank >= options.ranks) throw Error("Loader", "a rank below " + std::to_string(options.ranks), std::to_string(options.rank));
    if (options.ranks == 0 || __builtin_mul_overflow(options.batch, options.ranks, &together_))
      throw Error("Loader", "a batch of all ranks that can be counted",
                  std::to_string(options.batch) + " samples on each of " + std::to_string(options.ranks));
    if (options.remainder == Remainder::Drop && options.order != Order::Random && size_ < together_) {
      throw Error(name, "at least one batch of " + std::to_string(together_) + " samples", std::to_string(size_) + " samples",
                  "use a smaller batch, or Remainder::Wrap to fill batches across epochs");
    }
    constexpr std::size_t most_ahead = 65536, most_workers = 1024;
    if (options.ahead > most_ahead) throw Error("Loader, ahead", "at most " + std::to_string(most_ahead) + " batches", std::to_string(options.ahead));
    if (options.workers > most_workers)
      throw Error("Loader, workers", "at most " + std::to_string(most_workers) + " threads", std::to_string(options.workers));
    const std::uint64_t full = size_ / together_, rest = size_ % together_ != 0;
    per_epoch_ = std::max<std::uint64_t>(1, options.remainder == Remainder::Drop ? full : full + rest);
    steps_ = count_steps();
    allocate();
    try {
      for (std::size_t i = 0; i < options.workers; ++i) threads_.emplace_back([this] { work(); });
    } catch (...) {
      join();
      throw;
    }
  }
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;
  ~Loader() { join(); }

  /// The next batch; one of 0 samples after the last.
  Batch next() {
    if (next_ >= steps_) {
      if (holding_) release();
      return {{}, {}, 0, next_, options_.epochs, false};
    }
    Slot& slot = slot_of(next_);
    if (options_.workers == 0) {
      fill(slot, next_);
    } else {
      if (holding_) release();
      std::unique_lock lock(mutex_);
      filled_.wait(lock, [&] { return slot.ready; });
      if (slot.error) std::rethrow_exception(slot.error);
      holding_ = true;
    }
    return {{slot.input.data(), slot.samples * shape_.input},
            {slot.target.data(), slot.samples * shape_.target},
            slot.samples,
            next_++,
            slot.epoch,
            true};
  }

  /// Samples of an epoch.
  std::size_t size() const { return size_; }
  /// Number of the batch that next() gives: what a resumed loader takes as first_step.
  std::uint64_t step() const { return next_; }
  /// Batches of all epochs, counted from step 0; the largest number there is when there is no end.
  std::uint64_t steps() const { return steps_; }
  /// Batches of one epoch; rounded up under Remainder::Wrap.
  std::uint64_t steps_per_epoch() const { return per_epoch_; }

 private:
  struct Slot {
    std::vector<In> input;
    std::vector<Target> target;
    std::size_t samples = 0;
    std::uint64_t epoch = 0;
    bool ready = false;
    std::exception_ptr error;
  };

  static std::size_t size_of(const S& source, const SampleShape& shape) {
    if constexpr (Source<S, In, Target>) {
      return source.size(shape);
    } else {
      return 0;  // refused above, once
    }
  }

  bool wraps() const { return options_.remainder == Remainder::Wrap && options_.order != Order::Random; }

  std::uint64_t count_steps() const {
    constexpr std::uint64_t endless = (std::numeric_limits<std::uint64_t>::max)();
    std::uint64_t total = 0;
    if (options_.epochs == 0) return endless;
    if (__builtin_mul_overflow(options_.epochs, wraps() ? size_ : per_epoch_, &total)) return endless;
    return wraps() ? total / together_ + (total % together_ != 0) : total;
  }

  void allocate() {
    std::size_t inputs = 0, targets = 0;
    if (__builtin_mul_overflow(options_.batch, shape_.input, &inputs) || __builtin_mul_overflow(options_.batch, shape_.target, &targets)) {
      throw Error("Loader", "a batch that fits memory", std::to_string(options_.batch) + " samples");
    }
    slots_.resize(options_.workers == 0 ? 1 : std::max<std::size_t>(options_.ahead, 1) + 1);
    for (Slot& slot : slots_) {
      slot.input.resize(inputs);
      slot.target.resize(targets);
    }
    threads_.reserve(options_.workers);
  }

  Slot& slot_of(std::uint64_t step) { return slots_[static_cast<std::size_t>((step - options_.first_step) % slots_.size())]; }

  void fill(Slot& slot, std::uint64_t step) const {
    const std::uint64_t before = options_.rank * options_.batch;  // samples of the ranks before this one
    std::uint64_t epoch = step / per_epoch_, first = step % per_epoch_ * together_, samples = together_;
    if (wraps()) {
      first = step * together_;
      epoch = first / size_;
      first %= size_;
      if (options_.epochs != 0 && step + 1 == steps_) samples = options_.epochs * size_ - step * together_;
    } else if (options_.order != Order::Random) {
      samples = std::min<std::uint64_t>(together_, size_ - first);
    }
    first += before;
    slot.samples = static_cast<std::size_t>(samples < before ? 0 : std::min<std::uint64_t>(samples - before, options_.batch));
    slot.epoch = epoch;
    for (std::size_t i = 0; i < slot.samples; ++i) {
      std::uint64_t place = first + i, turn = epoch;
      if (options_.order != Order::Random) {
        turn += place / size_;
        place %= size_;
      }
      const auto index = static_cast<std::size_t>(position(options_.order, options_.seed, turn, place, size_, together_));
      const std::span<In> input(slot.input.data() + i * shape_.input, shape_.input);
      const std::span<Target> target(slot.target.data() + i * shape_.target, shape_.target);
      if constexpr (Source<S, In, Target>) source_.read(index, Sample<In, Target>{input, target});
      const std::size_t bound = shape_.vocabulary_or_classes;
      check(std::span<const In>(input), bound, false, index);
      check(std::span<const Target>(target), shape_.classes != 0 ? shape_.classes : bound, true, index);
    }
  }

  template <class T>
  void check(std::span<const T> ids, std::size_t bound, bool may_be_ignored, std::size_t sample) const {
    if constexpr (std::is_integral_v<T>) {
      if (bound == 0) return;
      for (const T id : ids) {
        if (std::cmp_less(id, bound) && (std::cmp_greater_equal(id, 0) || (may_be_ignored && std::cmp_equal(id, ignore_index)))) continue;
        throw Error(detail::name_of_source(source_) + ", sample " + std::to_string(sample),
                    std::string(may_be_ignored ? "a target" : "an input") + " of at least 0 and below " + std::to_string(bound) +
                        ", the model's vocabulary or number of classes",
                    std::to_string(id), "give the model more ids, or other data");
      }
    }
  }

  /// A worker: claims the lowest step that nobody reads, when its place in the ring is free.
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      freed_.wait(lock, [&] { return stop_ || claimed_ >= steps_ || claimed_ - options_.first_step < released_ + slots_.size(); });
      if (stop_ || claimed_ >= steps_) return;
      const std::uint64_t step = claimed_++;
      lock.unlock();
      Slot& slot = slot_of(step);
      std::exception_ptr error;
      try {
        fill(slot, step);
      } catch (...) { error = std::current_exception(); }
      lock.lock();
      slot.error = std::move(error);
      slot.ready = true;
      filled_.notify_one();
    }
  }

  /// Gives the batch in use back to the workers.
  void release() {
    holding_ = false;
    {
      const std::lock_guard lock(mutex_);
      slot_of(next_ - 1).ready = false;
      ++released_;
    }
    freed_.notify_one();
  }

  void join() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    freed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  const S source_;
  const SampleShape shape_;
  const LoaderOptions options_;
  const std::size_t size_;
  std::size_t together_ = 1;  // samples of a batch of all ranks
  std::uint64_t per_epoch_ = 1, steps_ = 0;
  std::vector<Slot> slots_;
  std::vector<std::thread> threads_;

  std::mutex mutex_;
  std::condition_variable filled_, freed_;
  std::uint64_t claimed_;       // guarded: the next step to be read
  std::uint64_t released_ = 0;  // guarded: batches given back
  bool stop_ = false;           // guarded
  std::uint64_t next_;          // the caller's: the next step to be given out
  bool holding_ = false;        // the caller's: is a batch in use?
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
