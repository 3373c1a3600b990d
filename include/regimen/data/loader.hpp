// regimen/data/loader.hpp — worker threads prefetch batches; the order of batches does not depend on them.
#pragma once

#include <regimen/core/operation.hpp>  // ignore_index
#include <regimen/core/rules.hpp>
#include <regimen/core/threads.hpp>
#include <regimen/data/batch_memory.hpp>
#include <regimen/data/batching.hpp>
#include <regimen/data/rules.hpp>
#include <regimen/data/source.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace regimen {

struct LoaderOptions {
  std::size_t batch = 1;  // samples
  Order order = Order::Shuffled;
  Remainder remainder = Remainder::Short;
  std::uint64_t seed = 0;
  DataPlace first{};                // where to begin: place() of any loader of these data
  std::uint64_t epochs = 0;         // 0: without end
  std::size_t workers = 1;          // prefetching threads; 0: next() reads by itself; data::automatic
  std::size_t ahead = 2;            // prefetched batches, besides the one in use; automatic workers: at least one each
  std::size_t rank = 0, ranks = 1;  // the loader reads part `rank` of each batch of batch · ranks samples
};

namespace detail {

/// Batches that a Loader holds from its start.
constexpr std::size_t batches_held(const LoaderOptions& options) {
  return options.workers == 0 ? 1 : (options.ahead > 1 ? options.ahead : 1) + 1;
}
/// Bytes of the inputs, or of the targets, of a batch: `values` of a sample, of `bytes` each. False: too many to count.
constexpr bool count_batch(std::size_t batch, std::size_t values, std::size_t bytes, std::size_t& sum) {
  return !__builtin_mul_overflow(batch, values, &sum) && !__builtin_mul_overflow(sum, bytes, &sum);
}

}  // namespace detail

namespace data {

/// Bytes of the batches that a Loader of such samples holds on its rank from its start, in its own memory.
/// Loader::bytes() adds a few numbers for each batch and thread, and the batches of added automatic workers.
///
///   static_assert(data::staged_bytes<float, std::int32_t>(Train::sample_shape(), {.batch = 512}) < 1_GiB);
///
/// failure  Error if the number overflows; then it is no constant
template <class In, class Label>
constexpr std::size_t staged_bytes(const SampleShape& shape, const LoaderOptions& options) {
  std::size_t input = 0, target = 0, all = 0;
  if (!regimen::detail::count_batch(options.batch, shape.input, sizeof(In), input) ||
      !regimen::detail::count_batch(options.batch, shape.target, sizeof(Label), target) ||
      __builtin_add_overflow(input, target, &all) ||
      __builtin_mul_overflow(all, regimen::detail::batches_held(options), &all))
    throw Error("staged_bytes", "batches that fit memory", regimen::detail::counted(options.batch, "sample"));
  return all;
}

}  // namespace data

namespace detail {

/// The part of a Loader that does not depend on the types of its samples: a ring of batches, and the threads that fill
/// it.
class BatchRing {
 public:
  /// Samples of an epoch.
  std::size_t size() const { return size_; }
  /// The place of the batch of the following next(): the `first` of a loader that continues here.
  DataPlace place() const { return batching_.place(next_); }
  /// Number of the batch of the following next().
  std::uint64_t step() const { return next_; }
  /// Batches from options.first to the end of the last epoch; without end the largest number of the type.
  std::uint64_t steps() const { return batching_.batches(); }
  /// Batches of a whole epoch; rounded up under Remainder::Wrap.
  std::uint64_t steps_per_epoch() const { return batching_.per_epoch(); }
  /// Whether batch `step` is full on every rank.
  bool is_full(std::uint64_t step) const { return batching_.samples(step) == global_batch_; }
  /// The samples of each batch.
  const Batching& batching() const& { return batching_; }
  Batching batching() const&& { return batching(); }
  /// Seconds that next() has waited for data, or has read them itself.
  double waited() const { return std::chrono::duration<double>(waited_).count(); }
  /// The numbers of reading threads, and of batches that they keep ready; both change if workers are automatic.
  std::size_t workers() const { return threads_.size(); }
  std::size_t ahead() const { return options_.workers == 0 ? 0 : slots_.size() - 1 - on_their_way(); }
  /// Allocated bytes, without the source, the threads' stacks and batches in a BatchMemory.
  std::size_t bytes() const;

 protected:
  using Clock = std::chrono::steady_clock;
  struct Slot {
    data::BatchMemory* memory = nullptr;  // whose the place is; null: the slot's own
    data::BatchMemory::Place place{};     // of values of trivial types
    std::vector<std::byte> own_input, own_target;
    std::size_t samples = 0;
    std::uint64_t epoch = 0;
    bool ready = false;
    std::exception_ptr error;

    Slot() = default;
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
    ~Slot();
  };

  /// input_bytes, target_bytes   of one value      memory   null: the loader's own
  BatchRing(const std::string& name, std::size_t size, const SampleShape& shape, const LoaderOptions& options,
            std::size_t input_bytes, std::size_t target_bytes, data::BatchMemory* memory);
  ~BatchRing() = default;

  /// Writes batch `step`; called from several threads, between start and join.
  virtual void fill(Slot& slot, std::uint64_t step) const = 0;

  void start();
  void join();

  /// The next batch, number next_; null after the last one.
  Slot* wait();

  [[noreturn, gnu::cold]] static void refuse_id(const std::string& name, std::size_t bound, bool is_target,
                                                std::size_t sample, const std::string& found);

  const SampleShape shape_;
  const LoaderOptions options_;
  Batching batching_;
  std::uint64_t next_ = 0;  // the caller's: the next step to be given out

 private:
  std::unique_ptr<Slot> make_slot() const;
  /// The number of batches, in addition to the one in use, that a device may still read.
  std::size_t on_their_way() const { return memory_ == nullptr ? 0 : 1; }
  std::size_t first_workers() const { return options_.workers == data::automatic ? 1 : options_.workers; }

  Slot& slot_of(std::uint64_t step) { return *slots_[static_cast<std::size_t>(step % slots_.size())]; }

  /// A worker: claims the lowest unread step when its slot in the ring is free.
  void work();

  /// Gives the batches before number `end` back to the workers, each when its last reader has ended.
  void give_back(std::uint64_t end);

  /// Automatic workers: adds one, if next() has waited for much of the last batches.
  void add_if_waiting();
  void add_worker();

  const std::size_t size_;
  std::size_t global_batch_ = 1;  // samples of a batch of all ranks
  std::size_t input_bytes_ = 0, target_bytes_ = 0;
  data::BatchMemory* memory_;
  std::vector<std::unique_ptr<Slot>> slots_;  // the caller changes it, guarded
  std::vector<std::thread> threads_;

  std::mutex mutex_;
  std::condition_variable filled_, freed_;
  std::uint64_t claimed_ = 0;   // guarded: the next step to be read
  std::uint64_t released_ = 0;  // guarded: batches given back
  bool stop_ = false;           // guarded
  // Of the caller: the time of its waits. Of automatic workers: a measurement's begin, the waits before it, its
  // batches.
  Clock::duration waited_{}, waited_before_{};
  Clock::time_point since_{};
  std::uint64_t batches_ = 0;
};

}  // namespace detail

/// Reads batches from a source.
///
///   for (auto batch = loader.next(); batch; batch = loader.next()) { ... }
///
///   input     (samples, shape.input)    In         contiguous; valid until the following next(), in a BatchMemory
///                                                  until the next() after that one, and its wait
///   target    (samples, shape.target)   Label
///   samples   options.batch; fewer, possibly 0, in a short batch; 0 after the last epoch
///
/// Batch n, counted from options.first, is a pure function of (source, shape, options without workers and ahead, n).
/// After construction only automatic workers allocate, and the keys of a batch for sources that read several samples at
/// once. next() belongs to one thread. The destructor waits only for reads that have begun.
///
/// failure  the constructor throws Error if the source cannot serve the shape, or an epoch has no batch. next()
///          rethrows the source's exceptions, and throws Error for an integer input outside [0, bound), or an integer
///          target that is neither in range nor ignore_index: at this batch, and at every later call
/// cost     (ahead + 1) batches of memory, 1 with workers = 0: data::staged_bytes; bytes() has the exact sum. With a
///          BatchMemory the batches are there, and one more: the one on its way
template <class In, class Label, class S>
class Loader final : public detail::BatchRing {
  static_assert(sizeof(typename rule::source_writes_samples<S, In, Label>::must_hold));
  static_assert(std::is_trivially_copyable_v<In> && std::is_trivially_copyable_v<Label> &&
                alignof(In) <= alignof(std::max_align_t) && alignof(Label) <= alignof(std::max_align_t));

 public:
  struct Batch {
    std::span<const In> input{};
    std::span<const Label> target{};
    std::size_t samples = 0;
    std::uint64_t step = 0;   // number of the batch, counted from 0 over all epochs
    std::uint64_t epoch = 0;  // of its first sample
    bool exists = false;      // false after the last epoch
    explicit operator bool() const { return exists; }
  };

  [[gnu::noinline]] Loader(S source, const SampleShape& shape, const LoaderOptions& options,
                           data::BatchMemory* memory = nullptr)
      : BatchRing(detail::name_of_source(source), size_of(source, shape), shape, options, sizeof(In), sizeof(Label),
                  memory),
        source_(std::move(source)) {
    start();
  }
  [[gnu::noinline]] ~Loader() { join(); }

  /// The next batch; after the last one, a batch of 0 samples.
  [[gnu::noinline]] Batch next() & {
    Slot* const slot = wait();
    if (slot == nullptr) return {.step = next_, .epoch = options_.epochs};
    const Sample<In, Label> all = samples_of(*slot);
    return {.input = all.input,
            .target = all.target,
            .samples = slot->samples,
            .step = next_++,
            .epoch = slot->epoch,
            .exists = true};
  }
  template <class Self = Loader>
  Batch next() && {
    static_assert(sizeof(typename rule::borrows_no_temporary<Self>::must_hold));
    return {};
  }

 private:
  static std::size_t size_of(const S& source, const SampleShape& shape) {
    if constexpr (Source<S, In, Label>) return source.size(shape);
    else return 0;  // refused above
  }
  Sample<In, Label> samples_of(const Slot& slot) const {
    return {{reinterpret_cast<In*>(slot.place.input), slot.samples * shape_.input},
            {reinterpret_cast<Label*>(slot.place.target), slot.samples * shape_.target}};
  }

  void fill(Slot& slot, std::uint64_t step) const override {
    const std::uint64_t before = options_.rank * options_.batch;  // samples of the lower ranks
    const DataPlace place = batching_.place(step);
    slot.samples = static_cast<std::size_t>(samples_of_rank(batching_.samples(step), options_.batch, options_.rank));
    slot.epoch = place.epoch;
    const Sample<In, Label> all = samples_of(slot);
    const auto key_of = [&](std::size_t i) { return batching_.key(options_.seed, place, before + i); };
    if constexpr (BatchSource<S, In, Label>) {
      std::vector<data::Key> keys(slot.samples);
      for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = key_of(i);
      if (!keys.empty()) source_.read(std::span<const data::Key>(keys), all);
    }
    for (std::size_t i = 0; i < slot.samples; ++i) {
      const data::Key key = key_of(i);
      const std::span<In> input = all.input.subspan(i * shape_.input, shape_.input);
      const std::span<Label> target = all.target.subspan(i * shape_.target, shape_.target);
      if constexpr (Source<S, In, Label> && !BatchSource<S, In, Label>)
        detail::read_sample(source_, key, Sample<In, Label>{input, target});
      const std::size_t bound = shape_.vocabulary_or_classes;
      check(std::span<const In>(input), bound, false, key.index);
      check(std::span<const Label>(target), shape_.classes != 0 ? shape_.classes : bound, true, key.index);
    }
  }

  template <class T>
  void check(std::span<const T> ids, std::size_t bound, bool may_be_ignored, std::size_t sample) const {
    if constexpr (std::is_integral_v<T>) {
      if (bound == 0) return;
      for (const T id : ids) {
        if (std::cmp_less(id, bound) &&
            (std::cmp_greater_equal(id, 0) || (may_be_ignored && std::cmp_equal(id, ignore_index))))
          continue;
        refuse_id(detail::name_of_source(source_), bound, may_be_ignored, sample, std::to_string(id));
      }
    }
  }

  const S source_;
};

}  // namespace regimen

#if !REGIMEN_COMPILED
#include <regimen/data/loader.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
