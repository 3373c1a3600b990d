// regimen/engine/emulated/schedule.hpp — queued work, done late and in any order that its dependencies allow.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace regimen::emulated {

using TaskId = std::uint64_t;  // 0: none

/// A piece of work. In a recorded graph the ids are indices.
struct Task {
  std::function<void()> work{};  // empty: order alone
  std::vector<TaskId> after{};
  std::size_t queue = 0;
};

/// When a device works. One that is always late hides what an early one shows, and the reverse.
///   eager    at once
///   lazy     when the host waits, and then only what it waits for
///   mixed    a random part at random moments
///   unfair   as mixed, but one queue is preferred for a while      Burckhardt et al. 2010
enum class Temper : unsigned { eager, lazy, mixed, unfair };

class Schedule final {
 public:
  explicit Schedule(std::uint64_t seed)
      : random_(static_cast<std::mt19937::result_type>(seed)), temper_(static_cast<Temper>(seed % 4)) {}

  TaskId add(Task task) {
    const TaskId id = ++last_;
    std::size_t blockers = 0;
    for (const TaskId before : task.after) {
      if (is_done(before)) continue;
      pending_.at(before).followers.push_back(id);
      ++blockers;
    }
    pending_[id] = {std::move(task), blockers};
    if (blockers == 0) ready_.push_back(id);
    return id;
  }

  bool is_done(TaskId id) const { return !pending_.contains(id); }
  /// Whether the device works now, between two calls of the host.
  bool wants_to_run() {
    if (ready_.empty() || temper_ == Temper::lazy) return false;
    return temper_ == Temper::eager || random_() % 4 == 0;
  }
  void run_some() {
    std::size_t most = temper_ == Temper::eager ? pending_.size() : random_() % 8;
    for (; most > 0 && !ready_.empty(); --most) run_one(nullptr);
  }
  void run_until(TaskId id) {
    std::set<TaskId> needed;
    if (temper_ == Temper::lazy) collect(id, needed);
    while (!is_done(id)) run_one(temper_ == Temper::lazy ? &needed : nullptr);
  }
  void run_all() {
    while (!ready_.empty()) run_one(nullptr);
  }
  /// After an error: nothing that waits will run.
  void drop_all() {
    pending_.clear();
    ready_.clear();
  }

 private:
  /// Work that has not run: how many pieces it still waits for, and which wait for it.
  struct PendingTask {
    Task task{};
    std::size_t blockers = 0;
    std::vector<TaskId> followers{};
  };

  /// All work that has to run before `id` is done, itself among it.
  void collect(TaskId id, std::set<TaskId>& needed) const {
    if (is_done(id) || !needed.insert(id).second) return;
    for (const TaskId before : pending_.at(id).task.after) collect(before, needed);
  }
  /// The place in ready_ of the work that runs next, of `among` alone unless it is null: any, as the seed says. Unfair:
  /// the queue that comes first in an order of queues, which changes one time in 32; so one may run far ahead of the
  /// others.
  std::size_t choose(const std::set<TaskId>* among) {
    std::vector<std::size_t> may;
    for (std::size_t i = 0; i < ready_.size(); ++i)
      if (among == nullptr || among->contains(ready_[i])) may.push_back(i);
    if (temper_ != Temper::unfair) return may[random_() % may.size()];
    if (random_() % 32 == 0) preferred_ = random_();
    const auto rank = [&](std::size_t i) {
      return (pending_.at(ready_[i]).task.queue + 1) * (preferred_ | 1u) * 2654435761u;
    };
    return *std::max_element(may.begin(), may.end(), [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  }
  /// Runs one piece of work, and makes ready those that waited for it alone.
  void run_one(const std::set<TaskId>* among) {
    const std::size_t at = choose(among);
    const TaskId id = ready_[at];
    ready_[at] = ready_.back();
    ready_.pop_back();
    const PendingTask done = std::move(pending_.at(id));
    if (done.task.work) done.task.work();
    pending_.erase(id);
    for (const TaskId follower : done.followers)
      if (--pending_.at(follower).blockers == 0) ready_.push_back(follower);
  }

  std::mt19937 random_;
  Temper temper_;
  std::unordered_map<TaskId, PendingTask> pending_;
  std::vector<TaskId> ready_;
  TaskId last_ = 0;
  std::size_t preferred_ = 1;
};

namespace detail {

inline constexpr std::size_t no_graph = ~std::size_t{0};

/// A stream.
struct Queue {
  TaskId last = 0;
  std::size_t graph = no_graph;    // no_graph: not captured
  std::vector<TaskId> recorded{};  // what the next captured work comes after
  std::vector<TaskId> waits{};     // what the next work comes after, besides `last`
};

/// An event.
struct EventRecord {
  std::size_t graph = no_graph;
  TaskId task = 0;
  bool was_recorded = false, is_destroyed = false;
};

/// A graph.
struct Recording {
  std::vector<Task> tasks{};
  std::size_t origin = 0;
  TaskId last = 0;
  bool is_finished = false, is_invalid = false, is_destroyed = false;

  /// The number of tasks that `ends` are or wait for.
  std::size_t tasks_until(std::vector<TaskId> ends) const {
    std::vector<bool> is_counted(tasks.size());
    std::size_t counted = 0;
    while (!ends.empty()) {
      const TaskId task = ends.back();
      ends.pop_back();
      if (is_counted[task]) continue;
      is_counted[task] = true;
      ++counted;
      ends.insert(ends.end(), tasks[task].after.begin(), tasks[task].after.end());
    }
    return counted;
  }
};

}  // namespace detail

}  // namespace regimen::emulated
// SPDX-License-Identifier: Apache-2.0
