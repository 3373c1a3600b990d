// bench/gpu/ranks.cpp — steps of ranks, Replicated and ZeRO3, with collectives that run beside the computation and without:
// a GPU for each rank, connected by NCCL, on machines with several; and ranks that share one GPU.
#include "timing.hpp"

#include "../delayed.hpp"

#include <regimen/comm/launch.hpp>
#include <regimen/comm/launch_processes.hpp>
#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/models/gpt2.hpp>
#include <regimen/trainers/trainer.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <type_traits>

#include <sys/wait.h>
#include <unistd.h>

namespace bench {
namespace {

#if defined(__CUDACC__)
using Network = Gpt2Small;
#else
struct Network : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, Linear<16>> {};
#endif

template <class Who, class Stage>
using Train =
    Trainer<Network, Batch<8>, Optimizer<AdamW>, Precision<bf16, fp32>, Communicator<Who>, Shard<Stage>, Device<Where>>;

/// GPUs of this machine, asked of a child: a process that has used CUDA cannot be forked.
std::size_t gpus() {
#if defined(__CUDACC__)
  const ::pid_t child = ::fork();
  if (child == 0) {
    int devices = 0;
    ::_exit(cudaGetDeviceCount(&devices) == cudaSuccess ? devices : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? static_cast<std::size_t>(WEXITSTATUS(status)) : 0;
#else
  return 2;
#endif
}

/// f(communicator) on ranks with a GPU each, which are processes, or with one GPU for all, which are threads. Emulated
/// GPUs have threads, too.
template <class Who>
void on_ranks(std::size_t ranks, const auto& f) {
#if defined(__CUDACC__)
  if constexpr (std::is_same_v<Who, Nccl>) launch_processes(ranks, f);
  else launch(ranks, f);
#else
  launch(ranks, f);
#endif
}

/// Milliseconds of a step, as rank 0 sees them; it writes them to a file, as it may be a process.
template <class Train>
void measure(auto& ranks, std::uint64_t steps, const std::string& file) {
  Train trainer(ranks);
  constexpr std::uint64_t warmup = 5;
  const Fake data({.samples = 8 * Train::batch * ranks.size(), .classes = Train::output_size / Train::input_size});
  trainer.fit(data, {.steps = warmup, .progress = false});
  const double began = now();
  trainer.fit(data, {.steps = warmup + steps, .progress = false});
  const double spent = (now() - began) / double(steps) * 1e3;
  if (ranks.rank() == 0) std::ofstream(file) << spent;
}

/// What rows of one kind share.   gpus: 0, a GPU for each rank; else so many for all
struct Kind {
  const char* by;
  std::size_t gpus;
  std::uint64_t steps;
  double alone = 0;  // milliseconds of one rank
};

/// Efficiency: tokens per second of a GPU, over those of a GPU with one rank.
template <class Who, class Stage>
void row(Kind& kind, const char* shard, std::size_t ranks, bool overlaps) {
  const std::string file = std::filesystem::temp_directory_path() / ("regimen_ranks_" + std::to_string(::getpid()));
  on_ranks<Who>(ranks, [&](auto& communicator) {
    WaitedFor waited_for(communicator);
    if (overlaps) measure<Train<Who, Stage>>(communicator, kind.steps, file);
    else measure<Train<Who, Stage>>(waited_for, kind.steps, file);
  });
  double milliseconds = 0;
  std::ifstream(file) >> milliseconds;
  std::filesystem::remove(file);
  if (ranks == 1) kind.alone = milliseconds;
  using Shown = Train<Who, Stage>;
  const double tokens = double(ranks * Shown::batch * Shown::input_size);
  const std::size_t gpus = kind.gpus == 0 ? ranks : kind.gpus;
  std::printf(
      "{\"ranks\":%zu,\"gpus\":%zu,\"by\":\"%s\",\"shard\":\"%s\",\"overlaps\":%s,\"milliseconds\":%.3f,"
      "\"tokens_per_second\":%.0f,\"efficiency\":%.3f,\"planned_bytes\":%zu,\"planned_wire\":%zu}\n",
      ranks, gpus, kind.by, shard, overlaps ? "true" : "false", milliseconds, tokens / milliseconds * 1e3,
      double(ranks) / double(gpus) * kind.alone / milliseconds, Shown::plan(Shown::batch, ranks).peak,
      Shown::plan(Shown::batch, ranks).wire());
  std::fflush(stdout);
}

template <class Who>
void rows(Kind kind, std::size_t most) {
  const auto attempt_row = [&]<class Stage>(Stage, const char* shard, std::size_t ranks, bool overlaps) {
    attempt(std::to_string(ranks) + " ranks by " + kind.by + ", " + shard,
            [&] { row<Who, Stage>(kind, shard, ranks, overlaps); });
  };
  attempt_row(Replicated{}, "Replicated", 1, true);
  for (std::size_t ranks = 2; ranks <= most; ranks *= 2)
    for (const bool overlaps : {true, false}) {
      attempt_row(Replicated{}, "Replicated", ranks, overlaps);
      attempt_row(ZeRO3{}, "ZeRO3", ranks, overlaps);
    }
}

void all(bool small) {
  const std::size_t found = gpus();
  if (found == 0) throw Error("Device<Cuda>", "a GPU for ranks", "none");
  const std::uint64_t steps = small ? 1 : 20;
  if constexpr (cuda::has_nccl)
    if (found > 1) rows<Nccl>({.by = "nccl", .gpus = 0, .steps = steps}, found);
  rows<Threads>({.by = "threads", .gpus = 1, .steps = steps}, 2);  // last: it uses CUDA in this process
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) { return bench::run(argc, argv, bench::all); }
// SPDX-License-Identifier: Apache-2.0
