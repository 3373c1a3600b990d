// bench/overlap.cpp — what it is worth that collectives run while a rank computes: step times with and without, behind
// slower links.
//
// Ranks are threads, behind links that are pretended: a collective sleeps as long as the link would take, which takes
// no processor. What the transport itself takes does: on a machine with no processor to spare for it, it does not run
// beside the computation but instead of it.
#include "delayed.hpp"
#include "ranks.hpp"

#include <regimen/comm/counting.hpp>
#include <regimen/engine/rank_trace.hpp>

#include <thread>

namespace {
using namespace bench;

struct Settings {
  std::uint64_t ranks = 2, steps = 15, warmup = 3, rounds = 3;
  double latency = 100;  // microseconds
};

template <class Stage, class... More>
using Train = Trainer<RanksGpt, Batch<4>, Communicator<Threads>, Shard<Stage>, More...>;

struct Measured {
  std::vector<double> milliseconds;
  double link = 0;  // milliseconds of a step in which the link is busy
};

/// One round of a rank 0.
template <class Train>
void measure(const Settings& settings, const bench::Link& link, bool overlaps, Measured& result) {
  launch(settings.ranks, [&](comm::Threads& threads) {
    bench::Delayed slow(threads, link);
    comm::Counting counted(slow);
    bench::WaitedFor waited_for(counted);
    const auto run = [&](auto& communicator) {
      Train trainer(communicator, {.threads = 1});
      const auto times = milliseconds_of_steps(trainer, settings.warmup, settings.steps, [&] { counted.reset(); });
      if (trainer.rank() != 0) return;
      const comm::Count total = counted.total();
      result.milliseconds.insert(result.milliseconds.end(), times.begin(), times.end());
      result.link =
          1e3 * (double(total.calls) * link.latency + (link.bandwidth > 0 ? double(total.bytes) / link.bandwidth : 0)) /
          double(settings.steps);
    };
    if (overlaps) run(counted);
    else run(waited_for);
  });
}

template <class Stage>
void rows(const char* name, const Settings& settings, program::Log& log, std::FILE* out) {
  double alone = 0;  // without a link: what is computed, and the transport itself
  for (const double megabytes : {0.0, 1600.0, 400.0, 200.0, 100.0, 50.0}) {
    const bench::Link link{megabytes > 0 ? settings.latency * 1e-6 : 0, megabytes * 1e6};
    Measured with, without;
    for (std::uint64_t round = 0; round < settings.rounds;
         ++round) {  // alternately: what else the machine does meets both
      measure<Train<Stage>>(settings, link, true, with);
      measure<Train<Stage>>(settings, link, false, without);
    }
    const double fast = median(with.milliseconds), slow = median(without.milliseconds);
    if (megabytes == 0) alone = slow;
    const double best = std::max(alone, with.link) / (alone + with.link);
    std::fprintf(out, "%-10s %9s %9.1f %9.1f %9.1f %9.2f %9.2f\n", name,
                 megabytes > 0 ? std::to_string(static_cast<int>(megabytes)).c_str() : "none", with.link, slow, fast,
                 fast / slow, best);
    log.write(program::Event("overlap")
                  .add("zero", std::uint64_t{Stage::level})
                  .add("ranks", settings.ranks)
                  .add("megabytes_per_second", megabytes)
                  .add("latency_microseconds", link.latency * 1e6)
                  .add("link_milliseconds", with.link)
                  .add("without_milliseconds", slow)
                  .add("with_milliseconds", fast)
                  .add("ratio", fast / slow)
                  .add("best_ratio", best));
    std::fflush(out);
  }
}

/// Three steps behind the link of 100 MB/s, all ranks in one file.
void write_trace(const Settings& settings, const std::string& path) {
  using Traced = Train<ZeRO3, Debug<Profile>>;
  std::vector<OperationTimes> times(settings.ranks);
  std::vector<std::vector<comm::Span>> spans(settings.ranks);
  launch(settings.ranks, [&](comm::Threads& threads) {
    bench::Delayed slow(threads, {settings.latency * 1e-6, 100e6});
    comm::Tracing traced(slow);
    Traced trainer(traced, {.threads = 1});
    milliseconds_of_steps(trainer, settings.warmup, 3, [&] { trainer.profile().clear(); });
    times[trainer.rank()] = trainer.profile();
    spans[trainer.rank()] = traced.spans();
  });
  RankTrace trace;
  for (std::size_t rank = 0; rank < settings.ranks; ++rank) trace.add(rank, times[rank], spans[rank]);
  trace.write(path);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  std::string log_name, trace;
  program::CommandLine line(
      "Step times of ranks that are threads, with collectives that run while they compute and without, behind slower links.");
  line.add("--ranks", settings.ranks, "Threads, each a rank that computes on one", 2)
      .add("--steps", settings.steps, "Timed steps of one run", 1)
      .add("--warmup", settings.warmup, "Steps before those")
      .add("--rounds", settings.rounds, "Runs with and without, in turns", 1)
      .add("--latency", settings.latency, "Microseconds that each collective takes besides its bytes", 0)
      .add("--log", log_name,
           "Write one JSON object per line: to a file, or '-', standard output, and nothing else there")
      .add("--trace", trace, "Write a Chrome trace of three steps of ZeRO-3 behind 100 MB/s, and measure nothing");
  if (const auto code = line.parse(argc, argv)) return *code;
  return program::run([&] {
    if (!trace.empty()) {
      write_trace(settings, trace);
      return program::ok;
    }
    program::Log log(log_name, false);
    std::FILE* const out = log_name == "-" ? stderr : stdout;
    std::fprintf(out, "%llu ranks of one thread each, %u processors; milliseconds, medians of %llu steps\n",
                 static_cast<unsigned long long>(settings.ranks), std::thread::hardware_concurrency(),
                 static_cast<unsigned long long>(settings.steps * settings.rounds));
    std::fprintf(
        out,
        "link: a step's collectives on it; ratio: with / without; best: max(step without a link, link) / their sum\n");
    std::fprintf(out, "%-10s %9s %9s %9s %9s %9s %9s\n", "policy", "MB/s", "link", "without", "with", "ratio", "best");
    rows<Replicated>("Replicated", settings, log, out);
    rows<ZeRO2>("ZeRO-2", settings, log, out);
    rows<ZeRO3>("ZeRO-3", settings, log, out);
    return program::ok;
  });
}
// SPDX-License-Identifier: Apache-2.0
