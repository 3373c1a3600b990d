// regimen/service/detail/pool.hpp — a trainer's side of the data service, whatever the types of its samples are.
#pragma once

#include <regimen/comm/rendezvous.hpp>
#include <regimen/core/say.hpp>
#include <regimen/service/detail/frame.hpp>
#include <regimen/service/detail/owner.hpp>
#include <regimen/service/detail/part.hpp>
#include <regimen/service/detail/remote_options.hpp>
#include <regimen/service/detail/worker.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace regimen::data::service {

/// Samples from several workers. Each worker has a thread here, which takes parts of batches from one queue. A part
/// without an answer returns to the queue; since a sample is a function of its key, every worker writes the same bytes
/// to the same place. A reader waits for samples, not for workers: a worker that connects again and again and sends
/// none uses up the patience, too.
class Pool final {
 public:
  Pool(const std::vector<std::string>& addresses, const RemoteOptions& options, std::string types,
       std::unique_ptr<const Samples> local)
      : options_(options),
        types_(std::move(types)),
        local_(std::move(local)),
        secret_(options.secret ? *options.secret : comm::secret_of_environment()) {
    comm::detail::checked(options.deadline);
    constexpr std::size_t most_workers = 1024, most_depth = 256;
    if (addresses.empty() || addresses.size() > most_workers)
      throw Error("Remote", "the addresses of 1 to " + std::to_string(most_workers) + " workers",
                  std::to_string(addresses.size()));
    if (options.chunk > most_keys)
      throw Error("Remote, chunk", "at most " + std::to_string(most_keys) + " samples", std::to_string(options.chunk));
    if (options.depth > most_depth)
      throw Error("Remote, depth", "at most " + std::to_string(most_depth) + " requests",
                  std::to_string(options.depth));
    for (const std::string& address : addresses) workers_.push_back(std::make_unique<Worker>(address));
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  /// In a fork of the process that connected it, only descriptors are closed: threads that were not copied hold the
  /// rest, such as locks, and the other process goes on with the connections.
  struct Delete {
    void operator()(Pool* pool) const {
      if (!pool->owner_.is_another()) delete pool;
      else
        for (const auto& worker : pool->workers_) worker->line.leave();
    }
  };
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
      for (const auto& worker : workers_) worker->line.interrupt();
    }
    todo_.notify_all();
    for (const auto& worker : workers_)
      if (worker->thread.joinable()) worker->thread.join();
  }

  /// The number of samples, after every worker has been called once, and one has answered.
  std::size_t size(const Extents& shape) {
    expect_owner();
    std::unique_lock lock(mutex_);
    begin(shape);
    const Clock::time_point until = end_of(options_.patience);
    const auto all_called = [this] {
      return std::all_of(workers_.begin(), workers_.end(), [](const auto& worker) { return worker->was_called; });
    };
    while (!is_settled_) {
      for (const auto& worker : workers_)
        if (worker->refusal) std::rethrow_exception(worker->refusal);
      if (all_called() && (up_ > 0 || local_)) break;
      if (changed_.wait_until(lock, until) == std::cv_status::timeout && Clock::now() >= until) {
        if (up_ == 0 && !local_)
          throw Error("the data service", "one of its workers within " + words(options_.patience), words_of_workers(),
                      "start them, or correct their addresses");
        break;
      }
    }
    is_settled_ = true;
    return static_cast<std::size_t>(pipeline_->opened.size);
  }
  std::string name() {
    const std::string unknown = "the data service at " + workers_[0]->line.address();
    if (owner_.is_another()) return unknown;
    const std::lock_guard lock(mutex_);
    return pipeline_ ? pipeline_->name : unknown;
  }
  std::vector<RemoteWorker> workers() {
    std::vector<RemoteWorker> all;
    if (owner_.is_another()) {
      for (const auto& worker : workers_)
        all.push_back({worker->line.address(), false, 0, "another process, of which this is a fork, has connected it"});
      return all;
    }
    const std::lock_guard lock(mutex_);
    for (const auto& worker : workers_)
      all.push_back({worker->line.address(), worker->is_up, worker->samples, worker->reason});
    return all;
  }

  /// Writes the samples of these keys: all inputs, one behind the other, and all targets.
  void read(std::span<const Key> keys, std::byte* input, std::size_t inputs, std::byte* target, std::size_t targets) {
    expect_owner();
    std::unique_lock lock(mutex_);
    if (!is_settled_ || inputs != keys.size() * shape_->bytes_of_input() ||
        targets != keys.size() * shape_->bytes_of_target())
      throw Error("Remote", "size(shape) to be called before read, and samples of that shape", "others",
                  "give it to fit or a Loader, or call size(shape) first");
    Reading job(keys, *shape_, input, target);
    if (readers_++ == 0 && !is_barren_) heard_ = Clock::now();
    const std::size_t part = part_of(keys.size());
    for (std::size_t first = 0; first < keys.size(); first += part)
      parts_.emplace_back(job, first, (std::min)(part, keys.size() - first));
    todo_.notify_all();
    while (job.left > 0 && !job.error) {
      if (local_ && compute_part(lock, job)) continue;
      const Clock::time_point until = end_of(options_.patience, heard_);
      if (Clock::now() < until) {
        changed_.wait_until(lock, until);
        continue;
      }
      cut_all();
      is_barren_ = local_ != nullptr;
      if (!local_)
        job.error = std::make_exception_ptr(
            Error("the data service", "a sample within " + words(options_.patience) + " after the last one",
                  words_of_workers(), "start workers again, and resume from the last saved state"));
      else  // what they held comes back, and is computed here
        changed_.wait(lock, [&] { return job.held == 0 || job.error; });
    }
    // Nobody may write to the caller's memory after this.
    std::erase_if(parts_, [&](const Part& one) { return one.job == &job; });
    changed_.wait(lock, [&] { return job.held == 0; });
    --readers_;
    if (job.error) std::rethrow_exception(job.error);
  }

 private:
  void begin(const Extents& shape) {
    if (shape_ && *shape_ != shape)
      throw Error("Remote", "one model's shape of samples, as it was asked for before", "another shape",
                  "make a Remote for each model");
    if (shape_) return;
    if (local_) pipeline_ = Pipeline{local_->name(), "this machine", identify(*local_, shape)};
    shape_ = shape;
    owner_.take();
    for (const auto& worker : workers_) worker->thread = std::thread([this, one = worker.get()] { run(*one); });
  }

  /// Samples of a part: two parts of a batch for each thread of all workers, of 1 MiB at most.
  std::size_t part_of(std::size_t count) const {
    if (options_.chunk != 0) return (std::min)(options_.chunk, most_part());
    std::size_t threads = 0;
    for (const auto& worker : workers_) threads += worker->is_up ? worker->opened.threads : 0;
    constexpr std::size_t most = std::size_t{1} << 20;
    const std::size_t fair = count / (std::max<std::size_t>(threads, 1) * 2),
                      fits = most / std::max<std::size_t>(shape_->bytes(), 1);
    return std::clamp<std::size_t>((std::min)(fair, fits), 1, most_part());
  }
  /// What every worker has memory for: it keeps half of it for one request at most.
  std::size_t most_part() const {
    std::uint64_t memory = (std::numeric_limits<std::uint64_t>::max)();
    for (const auto& worker : workers_)
      if (worker->is_up) memory = (std::min)(memory, worker->opened.memory);
    return std::clamp<std::size_t>(static_cast<std::size_t>(memory / 4) / (shape_->bytes() + 64), 1, most_keys);
  }

  /// Computes a part of the job here, if no worker is connected or none sends samples; false if there is no such part.
  bool compute_part(std::unique_lock<std::mutex>& lock, Reading& job) {
    const auto found = std::find_if(parts_.begin(), parts_.end(), [&](const Part& part) {
      return part.job == &job && (up_ == 0 || is_barren_ || has_failed_everywhere(part));
    });
    if (found == parts_.end()) return false;
    const Part part = std::move(*found);
    parts_.erase(found);
    lock.unlock();
    try {
      local_->read(part.keys(), shape_->sample_shape(), part.input().data(), part.target().data());
    } catch (...) {
      lock.lock();
      job.error = std::current_exception();
      return true;
    }
    lock.lock();
    job.left -= part.count;
    return true;
  }
  bool has_failed_everywhere(const Part& part) const {
    return !part.failed.empty() && std::all_of(workers_.begin(), workers_.end(), [&](const auto& worker) {
      return !worker->is_up || part.has_failed_at(worker.get());
    });
  }
  void expect_owner() const {
    owner_.expect("Remote", "to be read by the process that connected it",
                  "make the Remote where it is read; a search (tune) needs local data");
  }
  std::string words_of_workers() const {
    std::string text;
    for (const auto& worker : workers_) text += (text.empty() ? "" : "; ") + worker->words();
    return text;
  }
  /// Hangs up on all workers, none of which has sent a sample in time: they give back what they were asked for.
  void cut_all() {
    for (const auto& worker : workers_) {
      if (!worker->is_up) continue;
      worker->is_cut = true;
      if (worker->blame.empty()) worker->blame = "no answer within " + words(options_.patience);
      worker->line.cut();
    }
  }

  // ---- the thread of a worker ----

  void run(Worker& worker) {
    constexpr std::chrono::milliseconds shortest{50}, longest{5000};
    std::chrono::milliseconds pause = shortest;
    for (std::uint64_t before = 0;; before = worker.samples) {
      std::vector<Flight> flights;
      try {
        connect(worker);
        serve(worker, flights);
        return;  // stopped
      } catch (const Failure& failure) {
        lose(worker, failure.what(), failure.refusal(worker.line.address()), flights);
      } catch (const std::exception& other) { lose(worker, other.what(), nullptr, flights); }
      std::unique_lock lock(mutex_);
      if (worker.samples != before) pause = shortest;  // it was of use
      todo_.wait_for(lock, pause, [this] { return stop_; });
      if (stop_) return;
      pause = (std::min)(2 * pause, longest);
    }
  }
  void connect(Worker& worker) {
    worker.line.call(secret_, options_.deadline);
    const Pipeline found = worker.line.open(*shape_, types_, options_.deadline);
    const std::lock_guard lock(mutex_);
    if (pipeline_ && (found.name != pipeline_->name || found.opened.size != pipeline_->opened.size ||
                      found.opened.print != pipeline_->opened.print))
      throw Failure("it serves " + words_of_pipeline(found.name, found.opened) + ", and " + pipeline_->from +
                        " serves " + words_of_pipeline(pipeline_->name, pipeline_->opened),
                    "workers of one pipeline", "start all with the same program and files, or give both one .name");
    if (!pipeline_) pipeline_ = found;
    worker.opened = found.opened;
    worker.was_called = worker.is_up = true;
    worker.refusal = nullptr;
    ++up_;
    if (is_settled_ && !worker.reason.empty()) say(worker, "is back");
    settle_failures();
    changed_.notify_all();
  }
  /// Parts in flight, which have no answer, return to the queue.
  void lose(Worker& worker, const std::string& reason, const std::exception_ptr& refusal,
            std::vector<Flight>& flights) {
    worker.line.hang_up();
    const std::lock_guard lock(mutex_);
    worker.was_called = true;
    if (!worker.is_cut) worker.blame = reason;
    worker.reason = worker.blame;
    worker.refusal = refusal;
    for (Flight& flight : flights) {
      if (!worker.is_cut && ++flight.part.losses == Part::most_losses)
        flight.part.give_up("a worker that survives them",
                            std::to_string(Part::most_losses) + " connections that ended while they were asked for (" +
                                words_of_workers() + ")",
                            "see what the workers report; does one of these samples end the program?");
      give_back(std::move(flight.part));
    }
    worker.is_cut = false;
    if (worker.is_up) {
      worker.is_up = false;
      --up_;
      if (!stop_) say(worker, "is lost (" + worker.reason + ")");
    }
    settle_failures();
    changed_.notify_all();
    todo_.notify_all();
  }
  void say(const Worker& worker, const std::string& what) const {
    if (!options_.says) return;
    regimen::detail::say("regimen: the data worker at " + worker.line.address() + " " +
                         regimen::detail::printable(what) + "; " + std::to_string(up_) + " of " +
                         std::to_string(workers_.size()) + " are connected\n");
  }
  /// Parts at which every connected worker's source has failed: nobody is left to ask.
  void settle_failures() {
    std::erase_if(parts_, [&](const Part& part) {
      const bool is_hopeless = up_ > 0 && !local_ && has_failed_everywhere(part);
      if (is_hopeless) part.give_up("a pipeline that computes them", part.failure);
      return is_hopeless;
    });
  }

  /// Guarded.
  void give_back(Part part) {
    --part.job->held;
    if (!part.job->error) parts_.push_front(std::move(part));
  }

  /// Asks and reads answers, until stopped; throws Failure.
  void serve(Worker& worker, std::vector<Flight>& flights) {
    const std::size_t depth =
        options_.depth != 0 ? options_.depth : std::clamp<std::size_t>(worker.opened.threads + 2, 2, 256);
    std::uint32_t number = 0;
    for (;;) {
      std::size_t old = flights.size();
      {
        std::unique_lock lock(mutex_);
        const auto next = [&] {
          return std::find_if(parts_.begin(), parts_.end(), [&](const Part& p) { return !p.has_failed_at(&worker); });
        };
        if (flights.empty())
          todo_.wait_for(lock, std::chrono::seconds(1), [&] { return stop_ || next() != parts_.end(); });
        if (stop_) return;
        for (auto part = next(); part != parts_.end() && flights.size() < depth; part = next()) {
          ++part->job->held;
          flights.push_back({++number, std::move(*part)});
          parts_.erase(part);
        }
      }
      for (; old < flights.size(); ++old)
        worker.line.ask(flights[old].number, flights[old].part.keys(), options_.deadline);
      if (flights.empty()) worker.line.expect_open();
      else answer(worker, flights);
    }
  }
  void answer(Worker& worker, std::vector<Flight>& flights) {
    const Frame frame = worker.line.next(options_.deadline);
    const auto flight =
        std::find_if(flights.begin(), flights.end(), [&](const Flight& one) { return one.number == frame.number; });
    if (flight == flights.end()) throw Failure("an answer to nothing that was asked");
    if (frame.kind == Kind::Samples) {
      worker.line.read(frame, flight->part.input(), flight->part.target(), options_.deadline);
      const std::lock_guard lock(mutex_);
      const Part part = std::move(flight->part);
      flights.erase(flight);
      part.job->left -= part.count;
      --part.job->held;
      worker.samples += part.count;
      worker.blame.clear();
      heard_ = Clock::now();
      is_barren_ = false;
    } else {
      const std::string text = worker.line.words_of(frame, Kind::Failed, options_.deadline);
      const std::lock_guard lock(mutex_);
      Part part = std::move(flight->part);
      flights.erase(flight);
      part.failed.push_back(&worker);
      part.failure = worker.line.address() + ": " + text;
      give_back(std::move(part));
      settle_failures();
      todo_.notify_all();
    }
    changed_.notify_all();
  }

  const RemoteOptions options_;
  const std::string types_;
  const std::unique_ptr<const Samples> local_;
  const std::string secret_;
  std::vector<std::unique_ptr<Worker>> workers_;
  Owner owner_;

  std::mutex mutex_;
  std::condition_variable todo_, changed_;  // for the threads of workers; for those who read
  // Guarded.
  std::optional<Extents> shape_;  // does not change after the threads have begun
  std::optional<Pipeline> pipeline_;
  std::deque<Part> parts_;
  std::size_t up_ = 0, readers_ = 0;
  Clock::time_point heard_{};  // when the last sample came, or somebody began to wait
  bool is_barren_ = false;     // no worker has sent a sample in time: what is needed is computed here until one does
  bool is_settled_ = false, stop_ = false;
};

}  // namespace regimen::data::service
// SPDX-License-Identifier: Apache-2.0
