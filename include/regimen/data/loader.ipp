// regimen/data/loader.ipp — the bodies of loader.hpp.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/data/loader.hpp>

#include <algorithm>
#include <system_error>

namespace regimen::detail {

REGIMEN_INLINE std::size_t BatchRing::bytes() const {
  std::size_t sum = slots_.capacity() * sizeof(slots_[0]) + threads_.capacity() * sizeof(std::thread);
  for (const auto& slot : slots_) sum += sizeof(Slot) + slot->own_input.capacity() + slot->own_target.capacity();
  return sum;
}

REGIMEN_INLINE BatchRing::Slot::~Slot() {
  if (memory != nullptr) memory->give_back(place);
}

REGIMEN_INLINE BatchRing::BatchRing(const std::string& name, std::size_t size, const SampleShape& shape,
                                    const LoaderOptions& options, std::size_t input_bytes, std::size_t target_bytes,
                                    data::BatchMemory* memory)
    : shape_(shape), options_(options), size_(size), memory_(memory) {
  if (size_ == 0) throw Error(name, "at least one sample", "none");
  if (options.batch == 0) throw Error("Loader", "a batch of at least one sample", "0");
  if (options.rank >= options.ranks)
    throw Error("Loader", "a rank below " + std::to_string(options.ranks), std::to_string(options.rank));
  if (options.ranks == 0 || __builtin_mul_overflow(options.batch, options.ranks, &global_batch_))
    throw Error("Loader", "a batch of all ranks that can be counted",
                counted(options.batch, "sample") + " on each of " + std::to_string(options.ranks));
  if (options.remainder == Remainder::Drop && options.order != Order::Random && size_ < global_batch_) {
    throw Error(name, "at least one batch of " + counted(global_batch_, "sample"), counted(size_, "sample"),
                "use a smaller batch, or Remainder::Wrap to fill batches across epochs");
  }
  constexpr std::size_t most_ahead = 65536, most_workers = 1024;
  if (options.ahead > most_ahead)
    throw Error("Loader, ahead", "at most " + std::to_string(most_ahead) + " batches", std::to_string(options.ahead));
  if (options.workers > most_workers && options.workers != data::automatic)
    throw Error("Loader, workers", "at most " + std::to_string(most_workers) + " threads",
                std::to_string(options.workers));
  batching_ = Batching(size_, global_batch_, options.order, options.remainder, options.epochs, options.first);
  if (!count_batch(options.batch, shape.input, input_bytes, input_bytes_) ||
      !count_batch(options.batch, shape.target, target_bytes, target_bytes_))
    throw Error("Loader", "a batch that fits memory", counted(options.batch, "sample"));
  slots_.resize(batches_held(options) + on_their_way());
  for (auto& slot : slots_) slot = make_slot();
  threads_.reserve(first_workers());
}

REGIMEN_INLINE void BatchRing::start() {
  try {
    for (std::size_t i = 0; i < first_workers(); ++i) threads_.emplace_back(&BatchRing::work, this);
  } catch (...) {
    join();
    throw;
  }
}

REGIMEN_INLINE void BatchRing::join() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  freed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

REGIMEN_INLINE auto BatchRing::wait() -> Slot* {
  if (next_ >= steps()) {
    give_back(next_);
    return nullptr;
  }
  if (next_ > on_their_way()) give_back(next_ - on_their_way());
  Slot& slot = slot_of(next_);
  if (options_.workers == 0) {
    const Clock::time_point began = Clock::now();
    fill(slot, next_);
    waited_ += Clock::now() - began;
    return &slot;
  }
  {
    std::unique_lock lock(mutex_);
    if (!slot.ready) {
      const Clock::time_point began = Clock::now();
      filled_.wait(lock, [&] { return slot.ready; });
      waited_ += Clock::now() - began;
    }
    if (slot.error) std::rethrow_exception(slot.error);
  }
  if (options_.workers == data::automatic) add_if_waiting();
  return &slot;
}

REGIMEN_INLINE void BatchRing::refuse_id(const std::string& name, std::size_t bound, bool is_target, std::size_t sample,
                                         const std::string& found) {
  throw Error(name + ", sample " + std::to_string(sample),
              std::string(is_target ? "a target" : "an input") + " of at least 0 and below " + std::to_string(bound) +
                  ", the model's vocabulary or number of classes",
              found, "give the model more ids, or other data");
}

REGIMEN_INLINE auto BatchRing::make_slot() const -> std::unique_ptr<Slot> {
  auto slot = std::make_unique<Slot>();
  if (memory_ != nullptr) {
    slot->place = memory_->take(input_bytes_, target_bytes_);
    slot->memory = memory_;
  } else {
    slot->own_input.resize(input_bytes_);
    slot->own_target.resize(target_bytes_);
    slot->place = {slot->own_input.data(), slot->own_target.data()};
  }
  return slot;
}

REGIMEN_INLINE void BatchRing::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    freed_.wait(lock, [&] { return stop_ || claimed_ >= steps() || claimed_ < released_ + slots_.size(); });
    if (stop_ || claimed_ >= steps()) return;
    const std::uint64_t step = claimed_++;
    Slot& slot = slot_of(step);
    lock.unlock();
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

REGIMEN_INLINE void BatchRing::give_back(std::uint64_t end) {
  while (released_ < end) {  // only this thread changes it
    Slot& slot = slot_of(released_);
    if (memory_ != nullptr) memory_->wait(slot.place);
    {
      const std::lock_guard lock(mutex_);
      slot.ready = false;
      ++released_;
    }
    freed_.notify_one();
  }
}

REGIMEN_INLINE void BatchRing::add_if_waiting() {
  constexpr std::uint64_t few = 8;
  const Clock::time_point now = Clock::now();
  if (next_ == 0) {  // the first batch is always waited for
    since_ = now;
    waited_before_ = waited_;
  }
  const std::size_t most = std::max<std::size_t>(2, static_cast<std::size_t>(processor_count()));
  if (++batches_ < few || now - since_ < std::chrono::milliseconds(20) || threads_.size() >= most) return;
  if (waited_ - waited_before_ > (now - since_) / 20) add_worker();
  since_ = now;
  waited_before_ = waited_;
  batches_ = 0;
}

REGIMEN_INLINE void BatchRing::add_worker() {
  if (threads_.size() >= ahead()) {  // steps in the ring of slots move to their places in a larger one
    std::vector<std::unique_ptr<Slot>> larger(slots_.size() + 1);
    std::unique_ptr<Slot> free = make_slot();
    const std::lock_guard lock(mutex_);
    for (std::uint64_t step = released_; step < claimed_; ++step)
      larger[static_cast<std::size_t>(step % larger.size())] =
          std::move(slots_[static_cast<std::size_t>(step % slots_.size())]);
    slots_.push_back(std::move(free));
    for (std::size_t from = 0; auto& place : larger) {
      if (place) continue;
      while (!slots_[from]) ++from;
      place = std::move(slots_[from]);
    }
    slots_ = std::move(larger);
  }
  try {
    threads_.emplace_back(&BatchRing::work, this);
  } catch (const std::system_error&) {  // those that are there go on
  }
  freed_.notify_all();
}

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
