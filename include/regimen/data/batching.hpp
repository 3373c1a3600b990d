// regimen/data/batching.hpp — the order of samples, and their batches: the samples of batch n, as a pure function.
#pragma once

#include <regimen/core/philox.hpp>
#include <regimen/data/dataset.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace regimen {

/// Shuffled     every sample once an epoch, in another order each epoch
/// Random       draws from all samples, with replacement, like nanoGPT's windows
/// Sequential   0, 1, 2, ... in every epoch
/// Runs         every sample once an epoch; a batch of all ranks is a run of neighbouring samples, and the runs come in
///              another order each epoch. For sorted sources, such as Documents by length. The last, shorter run is
///              shuffled with the others. The runs depend on the batch of all ranks: another number of ranks, or
///              SimulateWorld, changes them. If an epoch resumes with another batch, it keeps its runs; a batch may
///              then hold neighbours of two runs
enum class Order { Shuffled, Random, Sequential, Runs };

namespace detail {

/// floor(a · b / 2^64)
constexpr std::uint64_t multiply_high(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t a0 = a & 0xFFFF'FFFFu, a1 = a >> 32, b0 = b & 0xFFFF'FFFFu, b1 = b >> 32;
  const std::uint64_t middle = a1 * b0 + ((a0 * b0) >> 32), other = a0 * b1 + (middle & 0xFFFF'FFFFu);
  return a1 * b1 + (middle >> 32) + (other >> 32);
}

/// A permutation of [0, size), size ≤ 2^63: a Feistel network over the next larger power of four, applied repeatedly
/// until the value is in range (cycle walking).
constexpr std::uint64_t permute(std::uint64_t key, std::uint64_t index, std::uint64_t size) {
  constexpr int rounds = 8, least = 3;  // at least 64 states: a Feistel network over fewer reaches few permutations
  const int width = (static_cast<int>(std::bit_width(size - 1)) + 1) / 2, half = width < least ? least : width;
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  do {
    std::uint64_t left = index >> half, right = index & mask;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      const std::uint64_t next = left ^ (Philox::mix(key ^ right, round) & mask);
      left = right;
      right = next;
    }
    index = left << half | right;
  } while (index >= size);
  return index;
}

}  // namespace detail

/// The sample at place `index` of `epoch`. A pure function: a resumed run, any number of loader threads and all ranks
/// get the same sample (for Runs, with the same `run`).
///
///   index   in [0, size) for Shuffled and Runs, which are permutations of [0, size); any for Random;
///           taken modulo size for Sequential
///   size    in [1, 2^63]
///   run     samples of a batch of all ranks; at least 1; only used by Runs
///
/// error    Random prefers some samples by at most size / 2^64
/// source   Luby, Rackoff 1988 (Feistel networks as permutations); Black, Rogaway 2002, section 4 (cycle walking)
/// cost     for size > 64 on average fewer than four applications of 8 rounds, with two multiplications each
constexpr std::uint64_t index_in_order(Order order, std::uint64_t seed, std::uint64_t epoch, std::uint64_t index,
                                       std::uint64_t size, std::uint64_t run = 1) {
  if (order == Order::Sequential) return index % size;
  if (order == Order::Shuffled) return detail::permute(Philox::mix(Philox::mix(seed, 0x5A), epoch), index, size);
  if (order == Order::Runs) {
    const std::uint64_t key = Philox::mix(Philox::mix(seed, 0x5B), epoch), full = size / run, rest = size % run,
                        short_run = Philox::mix(key, 1) % (full + 1);
    if (index >= full * run) return short_run * run + index % run;
    const std::uint64_t at = detail::permute(key, index / run, full);
    return at * run + (at >= short_run ? rest : 0) + index % run;
  }
  const Philox::Words words = Philox::draw(Philox::mix(seed, 0xD2), index, epoch);
  return detail::multiply_high(std::uint64_t{words.word[0]} << 32 | words.word[1], size);
}

/// The end of an epoch whose last samples do not fill a batch.
///
///   Short   a shorter last batch                   the default; each sample once an epoch
///   Drop    leaves the samples out                 ⌊size / batch⌋ full batches an epoch
///   Wrap    fills the batch from the next epoch    every batch full, except the very last; each sample once an epoch
///
/// Order::Random has no remainder: an epoch has ⌈size / batch⌉ full batches, with Drop ⌊size / batch⌋. With Order::Runs
/// and Wrap a batch may hold the end of one run and the beginning of another. A batch here is a micro-batch; a step of
/// several micro-batches (Accumulate<N>) continues from one epoch to the next.
enum class Remainder { Short, Drop, Wrap };

namespace data {
/// As many workers as needed: a Loader begins with one, and adds workers while next() waits for more than a twentieth
/// of the time, up to the number of processors (at least 2). Batches do not depend on the number.
inline constexpr std::size_t automatic = (std::numeric_limits<std::size_t>::max)();
}  // namespace data

/// The position of a training run in its data: the number of samples of an epoch that all ranks together have used. A
/// run that resumes there, with any batch and any number of ranks, reads the rest of the epoch, each sample once.
struct DataPlace final {
  std::uint64_t epoch = 0, samples = 0;
  std::uint64_t run = 0;      // Order::Runs: samples of a run in this epoch, fixed when the epoch begins; 0: not yet
  std::uint64_t batches = 0;  // older files: finished batches of `run` samples

  /// This place, counted in samples, for data of `size` samples.
  constexpr DataPlace in_samples(std::uint64_t size) const {
    if (batches == 0) return *this;
    const std::uint64_t per_epoch = size / run + (size % run != 0), within = batches % per_epoch * run;
    return {epoch + batches / per_epoch, within, run, 0};
  }
  bool operator==(const DataPlace&) const = default;
};

/// The number of samples that a rank has of a batch of all ranks: each rank takes up to `batch`, in the order of ranks.
constexpr std::uint64_t samples_of_rank(std::uint64_t samples, std::uint64_t batch, std::uint64_t rank) {
  const std::uint64_t before = rank * batch;
  return samples < before ? 0 : samples - before < batch ? samples - before : batch;
}

/// Batches of `global_batch` samples; batch 0 begins at a given place.
class Batching final {
 public:
  constexpr Batching() = default;
  /// size, global_batch   at least 1      epochs   0: without end
  constexpr Batching(std::uint64_t size, std::uint64_t global_batch, Order order, Remainder remainder,
                     std::uint64_t epochs, const DataPlace& first)
      : size_(size),
        global_batch_(global_batch),
        order_(order),
        drops_(remainder == Remainder::Drop),
        epochs_(epochs),
        first_(first.in_samples(size)) {
    wraps_ = remainder == Remainder::Wrap && order != Order::Random;
    per_epoch_ = batches_of(size);
    if (per_epoch_ == 0) per_epoch_ = 1;
    const std::uint64_t left = first_.samples < size ? size - first_.samples : 0;
    in_first_ = first_.samples == 0 ? per_epoch_ : batches_of(left);
    if (in_first_ == 0) {  // end of the epoch
      first_ = {first_.epoch + 1, 0};
      in_first_ = per_epoch_;
    }
    if (first_.samples == 0 || first_.run == 0) first_.run = global_batch;
    count_ = count();
  }

  /// Batches from the first place to the end; without end the largest number of the type.
  constexpr std::uint64_t batches() const { return count_; }
  /// Batches of a whole epoch; rounded up under Remainder::Wrap.
  constexpr std::uint64_t per_epoch() const { return per_epoch_; }
  constexpr bool knows_data() const { return size_ > 0; }

  /// Where batch n begins.
  constexpr DataPlace place(std::uint64_t n) const {
    DataPlace at = first_;
    if (wraps_) {
      const bool is_end = epochs_ != 0 && n > 0 && n >= count_;  // the last batch may be short
      const std::uint64_t samples = first_.samples + (is_end ? left_in_run() : n * global_batch_);
      at.epoch += samples / size_;
      at.samples = samples % size_;
    } else if (n < in_first_) {
      at.samples += n * global_batch_;
    } else {
      at.epoch += 1 + (n - in_first_) / per_epoch_;
      at.samples = (n - in_first_) % per_epoch_ * global_batch_;
    }
    if (at.epoch != first_.epoch) at.run = global_batch_;
    return at;
  }
  /// Samples of batch n, on all ranks.
  constexpr std::uint64_t samples(std::uint64_t n) const {
    if (order_ == Order::Random) return global_batch_;
    std::uint64_t left = size_ - place(n).samples;
    if (wraps_) left = epochs_ != 0 && n + 1 == count_ ? left_in_run() - n * global_batch_ : global_batch_;
    return left < global_batch_ ? left : global_batch_;
  }
  /// Calls f(samples) for each number of samples, other than global_batch, of the first `most` batches; for some
  /// numbers more than once. Only the last batch of an epoch can be short, and later epochs end in the same way.
  constexpr void for_each_short(std::uint64_t most, auto&& f) const {
    for (const std::uint64_t n : {in_first_ - 1, in_first_ - 1 + per_epoch_, count_ - 1})
      if (n < count_ && n < most && samples(n) != global_batch_) f(samples(n));
  }
  /// The key of sample i of the batch that begins at `place`: its index in the source, and its own epoch.
  constexpr data::Key key(std::uint64_t seed, const DataPlace& place, std::uint64_t i) const {
    std::uint64_t epoch = place.epoch, at = place.samples + i;
    if (order_ != Order::Random) {
      epoch += at / size_;
      at %= size_;
    }
    const std::uint64_t run = epoch == place.epoch ? place.run : global_batch_;
    return {static_cast<std::size_t>(index_in_order(order_, seed, epoch, at, size_, run)), epoch, seed};
  }

 private:
  static constexpr std::uint64_t endless = (std::numeric_limits<std::uint64_t>::max)();

  constexpr std::uint64_t batches_of(std::uint64_t samples) const {
    return samples / global_batch_ + (!drops_ && samples % global_batch_ != 0);
  }
  /// The number of samples of all epochs, from the first place on.
  constexpr std::uint64_t left_in_run() const { return (epochs_ - first_.epoch) * size_ - first_.samples; }
  constexpr std::uint64_t count() const {
    if (epochs_ == 0) return endless;
    if (first_.epoch >= epochs_) return 0;
    const std::uint64_t further = epochs_ - first_.epoch - 1;
    std::uint64_t all = 0;
    if (__builtin_mul_overflow(further + 1, wraps_ ? size_ : per_epoch_, &all)) return endless;
    if (wraps_) return left_in_run() / global_batch_ + (left_in_run() % global_batch_ != 0);
    return __builtin_add_overflow(further * per_epoch_, in_first_, &all) ? endless : all;
  }

  std::uint64_t size_ = 0, global_batch_ = 1;
  Order order_ = Order::Shuffled;
  bool drops_ = false, wraps_ = false;
  std::uint64_t epochs_ = 0;
  DataPlace first_{};
  std::uint64_t per_epoch_ = 1, in_first_ = 1, count_ = 0;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
