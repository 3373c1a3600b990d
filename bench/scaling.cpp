// bench/scaling.cpp — how training goes on with more ranks: measured among threads of this machine, predicted for GPUs.
//
// Each rank has its own batch, as large as that of one rank alone (weak scaling): speed-up is samples per second over
// those of one rank, efficiency its share of the ranks. Steps are timed by a Trainer that measures nothing; where the
// time goes is asked of another one.
#include "link_model.hpp"
#include "ranks.hpp"

#include <regimen/comm/counting.hpp>
#include <regimen/comm/tracing.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/models/gpt2.hpp>

#include <array>
#include <chrono>
#include <mutex>
#include <thread>

namespace {
using namespace bench;

struct Settings {
  std::uint64_t most = 4, threads = 1, steps = 20, warmup = 3, rounds = 3;
  double share = 0.4, inside = nvlink4.bandwidth * 1e-9, between = infiniband_ndr.bandwidth * 1e-9;  // GB/s

  /// Another rate than the stated one was measured.
  Links links() const {
    Links found;
    if (inside != nvlink4.bandwidth * 1e-9) found.inside = {"links measured at", inside * 1e9, nvlink4.hop};
    if (between != infiniband_ndr.bandwidth * 1e-9)
      found.between = {"a network measured at", between * 1e9, infiniband_ndr.hop};
    return found;
  }
};

template <class Stage, class... More>
using Train = Trainer<RanksGpt, Batch<8>, Communicator<Threads>, Shard<Stage>, More...>;

/// Can so many ranks be cut into the groups of a Hybrid? One rank is the same under every policy, and told of once.
template <class Stage>
constexpr bool takes(std::size_t ranks) {
  return ranks == 1 ? Stage::level == 0 : Stage::group == 0 || ranks % Stage::group == 0;
}

/// Where one rank's time goes, in milliseconds of a step. Forward, backward, update: its own operations. Gather,
/// reduce: collectives under way, beside them or not. Waiting: what it stood still for.
struct Phases {
  double forward = 0, backward = 0, update = 0, gather = 0, reduce = 0, waiting = 0;
  std::uint64_t bytes = 0;  // that it sent, but for a few scalars
  double computes() const { return forward + backward + update; }
};

template <class Stage>
double milliseconds(std::size_t ranks, const Settings& settings) {
  std::vector<double> times;
  launch(ranks, [&](comm::Threads& communicator) {
    Train<Stage> trainer(communicator, {.threads = static_cast<int>(settings.threads)});
    const auto own = milliseconds_of_steps(trainer, settings.warmup, settings.steps, [] {});
    if (trainer.rank() == 0) times = own;
  });
  return median(times);
}

template <class Stage>
std::vector<Phases> phases(std::size_t ranks, const Settings& settings) {
  std::vector<Phases> all(ranks);
  launch(ranks, [&](comm::Threads& communicator) {
    comm::Tracing traced(communicator);
    Train<Stage, Debug<Profile>> trainer(traced, {.threads = static_cast<int>(settings.threads)});
    comm::Span::Time from{};
    milliseconds_of_steps(trainer, settings.warmup, settings.steps, [&] {
      trainer.profile().clear();
      from = std::chrono::steady_clock::now();
    });
    const OperationTimes& times = trainer.profile();
    Phases& own = all[trainer.rank()];
    const double each = 1e3 / double(settings.steps);
    for (const OperationTime& row : times.rows())
      (row.phase == op::Phase::forward    ? own.forward
       : row.phase == op::Phase::backward ? own.backward
                                          : own.update) += row.seconds * each;
    for (const op::Phase phase : {op::Phase::forward, op::Phase::backward, op::Phase::update})
      own.waiting += times.waited(phase) * each;
    for (const comm::Span& span : traced.spans()) {
      if (span.begin < from ||
          (span.kind != comm::CollectiveKind::AllGather && span.kind != comm::CollectiveKind::ReduceScatter))
        continue;
      (span.kind == comm::CollectiveKind::AllGather ? own.gather : own.reduce) +=
          std::chrono::duration<double>(span.end - span.begin).count() * each;
      own.bytes += span.bytes;
    }
    own.bytes /= settings.steps;
  });
  return all;
}

/// What every event of a policy begins with.
template <class Stage>
program::Event event_of(const char* what, std::size_t ranks) {
  program::Event event(what);
  event.add("zero", std::uint64_t{Stage::level})
      .add("group", std::uint64_t{Stage::group})
      .add("ranks", std::uint64_t{ranks});
  return event;
}

template <class Stage>
void measured(const char* name, const Settings& settings, program::Log& log, std::FILE* out) {
  std::vector<std::size_t> counts;
  for (std::size_t ranks = 1; ranks <= settings.most; ranks *= 2)
    if (ranks == 1 || takes<Stage>(ranks)) counts.push_back(ranks);
  std::vector<std::vector<double>> times(counts.size());
  for (std::uint64_t round = 0; round < settings.rounds; ++round)  // in turns: what else the machine does meets all
    for (std::size_t i = 0; i < counts.size(); ++i)
      times[i].push_back(i == 0 ? milliseconds<Replicated>(1, settings) : milliseconds<Stage>(counts[i], settings));
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::size_t ranks = counts[i];
    if (!takes<Stage>(ranks)) continue;
    const double took = median(times[i]), speed_up = double(ranks) * median(times[0]) / took;
    const std::vector<Phases> each = phases<Stage>(ranks, settings);
    double mean = 0, most = 0;
    for (const Phases& one : each) {
      mean += one.computes() / double(ranks);
      most = std::max(most, one.computes());
    }
    const std::size_t planned = Train<Stage>::plan(Train<Stage>::batch, ranks).wire();
    std::fprintf(
        out, "%-10s %5zu %9.1f %9.2f %9.1f%% %9.2f%s\n", name, ranks, took, speed_up, 100 * speed_up / double(ranks),
        most / mean,
        ranks * settings.threads > std::thread::hardware_concurrency() ? "   more threads than processors" : "");
    log.write(event_of<Stage>("scaling", ranks)
                  .add("threads", settings.threads)
                  .add("milliseconds", took)
                  .add("speed_up", speed_up)
                  .add("efficiency", speed_up / double(ranks))
                  .add("imbalance", most / mean)
                  .add("planned_bytes", std::uint64_t{planned}));
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const Phases& one = each[rank];
      std::fprintf(
          out,
          "    rank %zu   forward %.1f  backward %.1f  update %.1f  waiting %.1f | gather %.1f  reduce %.1f  sent %llu bytes%s\n",
          rank, one.forward, one.backward, one.update, one.waiting, one.gather, one.reduce,
          static_cast<unsigned long long>(one.bytes), one.bytes == planned ? ", as planned" : ", NOT as planned");
      log.write(event_of<Stage>("phases", ranks)
                    .add("rank", std::uint64_t{rank})
                    .add("forward", one.forward)
                    .add("backward", one.backward)
                    .add("update", one.update)
                    .add("waiting", one.waiting)
                    .add("gather", one.gather)
                    .add("reduce", one.reduce)
                    .add("bytes", one.bytes));
    }
    std::fflush(out);
  }
}

/// Of GPT-2 XL, each GPU with a batch of 8.
template <class Stage>
void predicted(const char* name, const Settings& settings, program::Log& log, std::FILE* out) {
  using Machine = targets::h100;
  using Large =
      Trainer<Gpt2Xl, Batch<8>, Precision<bf16, fp32>, Checkpoint<Every<1>>, Communicator<Threads>, Shard<Stage>>;
  using Alone = Trainer<Gpt2Xl, Batch<8>, Precision<bf16, fp32>, Checkpoint<Every<1>>>;
  const double alone = predict<Alone, Machine>(1, settings.share, Way::ring, settings.links()).at_worst;
  for (const std::size_t ranks : {1u, 2u, 4u, 8u, 64u, 1024u})
    for (const Way way : {Way::ring, Way::tree}) {
      if (!takes<Stage>(ranks) || (ranks <= gpus_of_machine && way == Way::tree))
        continue;  // within a machine there are few hops either way
      const Predicted found = predict<Large, Machine>(ranks, settings.share, way, settings.links());
      const MemoryPlan plan = Large::plan(Large::batch, ranks);
      const char* const by = way == Way::ring ? "ring" : "tree";
      std::fprintf(out, "%-10s %5zu %5s %8.1f %9.2f %9.1f %9.1f %9.1f %8.1f%% %8.1f%%\n", name, ranks, by,
                   double(plan.peak) / double(1_GiB), found.bytes * 1e-9, 1e3 * found.compute, 1e3 * found.sends,
                   1e3 * found.at_best, 100 * alone / found.at_best, 100 * alone / found.at_worst);
      log.write(event_of<Stage>("predicted", ranks)
                    .add("tree", way == Way::tree)
                    .add("peak", std::uint64_t{plan.peak})
                    .add("collectives", std::uint64_t{found.collectives})
                    .add("bytes", found.bytes)
                    .add("compute", found.compute)
                    .add("sends", found.sends)
                    .add("seconds_at_best", found.at_best)
                    .add("seconds_at_worst", found.at_worst));
    }
  std::fflush(out);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  std::string log_name, what = "all";
  program::CommandLine line(
      "Speed-up, efficiency, bytes and time of ranks that are threads; and what stated link speeds predict for GPUs.");
  line.add("--ranks", settings.most, "Measure 1, 2, 4, ... up to so many", 1)
      .add("--threads", settings.threads, "Of each rank", 1)
      .add("--steps", settings.steps, "Timed steps of one run", 1)
      .add("--warmup", settings.warmup, "Steps before those")
      .add("--rounds", settings.rounds, "Runs of each number of ranks, in turns", 1)
      .add("--share-of-peak", settings.share, "Of a GPU's stated peak that its arithmetic is assumed to reach", 0.01, 1)
      .add("--inside", settings.inside,
           "GB/s that a GPU sends to others of its machine: the stated rate, or a measured one", 1e-3)
      .add("--between", settings.between, "GB/s that a GPU sends to other machines: the stated rate, or a measured one",
           1e-3)
      .add("--only", what, "What to do", {"all", "measured", "predicted"})
      .add("--log", log_name,
           "Write one JSON object per line: to a file, or '-', standard output, and nothing else there");
  if (const auto code = line.parse(argc, argv)) return *code;
  return program::run([&] {
    program::Log log(log_name, false);
    std::FILE* const out = log_name == "-" ? stderr : stdout;
    if (what != "predicted") {
      std::fprintf(
          out, "measured: a GPT of %zu parameters, a batch of %zu for each rank, %llu thread(s) each, %u processors; ",
          Train<Replicated>::plan().parameters, Train<Replicated>::batch,
          static_cast<unsigned long long>(settings.threads), std::thread::hardware_concurrency());
      std::fprintf(
          out,
          "milliseconds a step\nimbalance: the most that a rank computes over the mean; gather and reduce run beside the rest\n");
      std::fprintf(out, "%-10s %5s %9s %9s %10s %9s\n", "policy", "ranks", "step", "speed-up", "efficiency",
                   "imbalance");
      measured<Replicated>("Replicated", settings, log, out);
      measured<ZeRO1>("ZeRO-1", settings, log, out);
      measured<ZeRO2>("ZeRO-2", settings, log, out);
      measured<ZeRO3>("ZeRO-3", settings, log, out);
      measured<Hybrid<2>>("Hybrid<2>", settings, log, out);
    }
    if (what != "measured") {
      std::fprintf(
          out,
          "%spredicted, not measured: GPT-2 XL, a batch of 8 for each %s, bf16, Checkpoint<Every<1>>; %g of the stated peak; %s %g GB/s in "
          "a machine of %zu, %s %g GB/s\n",
          what == "all" ? "\n" : "", targets::h100::name, settings.share, settings.links().inside.name, settings.inside,
          gpus_of_machine, settings.links().between.name, settings.between);
      std::fprintf(
          out,
          "between machines, and hops as bench/link_model.hpp states. Efficiency: with all of a phase's collectives beside its work, and "
          "with none\n");
      std::fprintf(out, "%-10s %5s %5s %8s %9s %9s %9s %9s %9s %9s\n", "policy", "GPUs", "way", "GiB", "GB sent",
                   "compute", "sending", "step, ms", "at best", "at worst");
      predicted<Replicated>("Replicated", settings, log, out);
      predicted<ZeRO1>("ZeRO-1", settings, log, out);
      predicted<ZeRO2>("ZeRO-2", settings, log, out);
      predicted<ZeRO3>("ZeRO-3", settings, log, out);
      predicted<Hybrid<8>>("Hybrid<8>", settings, log, out);
    }
    return program::ok;
  });
}
// SPDX-License-Identifier: Apache-2.0
