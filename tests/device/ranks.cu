// tests/device/ranks.cu — ranks train on one GPU what ranks train on the CPU: threads that share it, and processes that
// NCCL connects.
//
// NCCL refuses two ranks on one GPU of one host. Under an NCCL_HOSTID of its own each rank is a host, and NCCL sends
// through sockets of the loopback interface: right, and slow.
//
// Most of it is host code, and bench/compile/registers.cu compiles the kernels for all GPUs; so it is
// compiled for 90a-real
//
// nvcc compiles it wherever there is one; where there is a device, it runs, without processes if there is no NCCL.
// Exit code 77: there is no device.
#include <regimen/comm/launch.hpp>
#include <regimen/comm/launch_processes.hpp>
#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/engine/cuda/device.hpp>
#include <regimen/trainers/trainer.hpp>

#include "../support/rounding.hpp"
#include "../support/small_gpt.hpp"
#include "attempt.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

using namespace regimen;
using support::SmallGpt;

namespace {

constexpr std::size_t steps = 9;  // two epochs, each of which ends with a short batch
const std::string folder = std::filesystem::temp_directory_path() / ("regimen_nccl_" + std::to_string(::getpid()));

const Fake& fake_data() {
  static const Fake fake({.samples = 15, .classes = 7, .seed = 2});
  return fake;
}

/// Losses and norms of this rank, which are those of all ranks.
template <class Train, class Ranks>
std::vector<double> losses(Ranks& ranks) {
  Train trainer(ranks);
  std::vector<double> all;
  trainer.fit(fake_data(), {.steps = steps, .progress = false}, [&](Train&, const StepResult& result) {
    all.push_back(result.loss);
    all.push_back(result.gradient_norm);
  });
  if (trainer.used().peak != trainer.planned().peak) throw Error("ranks", "the memory that was planned", "another");
  return all;
}

template <class... Policies>
std::vector<double> on_the_cpu(std::size_t ranks) {
  std::vector<double> found;
  launch(ranks, [&](comm::Threads& threads) {
    const auto own = losses<Trainer<SmallGpt, Batch<2>, Communicator<Threads>, Policies...>>(threads);
    if (threads.rank() == 0) found = own;
  });
  return found;
}

/// Losses in fp64, and how far those of a sum in another order may be from them: as far as those in fp32 are.
struct Exact {
  std::vector<double> losses;
  double may = 0;
};
Exact exact_losses(std::size_t ranks) {
  Exact exact{.losses = on_the_cpu<Precision<fp64>, Shard<ZeRO3>>(ranks)};
  exact.may = support::as_far_as(support::distance(exact.losses, on_the_cpu<Precision<fp32>, Shard<ZeRO3>>(ranks)));
  return exact;
}

/// A JSON object.
void print(std::size_t ranks, const char* what, double distance, double may, bool repeats) {
  std::printf("{\"trains\":\"%zu ranks, %s\",\"distance\":%.3g,\"may\":%.3g,\"repeats\":%s}\n", ranks, what,
              (std::min)(distance, 1e300), may, repeats ? "true" : "false");
  std::fflush(stdout);
}

/// Ranks that are threads: the same bits under ZeRO3 as Replicated, by one graph of all and by calls.
template <class... Policies>
std::vector<double> by_threads(std::size_t ranks) {
  std::vector<double> found;
  launch(ranks, [&](comm::Threads& threads) {
    const auto own = losses<Trainer<SmallGpt, Batch<2>, Communicator<Threads>, Device<Cuda>, Policies...>>(threads);
    if (threads.rank() == 0) found = own;
  });
  return found;
}
bool threads_agree(std::size_t ranks) {
  const Exact exact = exact_losses(ranks);
  const std::vector<double> replicated = by_threads<Precision<fp32>>(ranks);
  const double found = support::distance(exact.losses, replicated);
  const bool same = by_threads<Precision<fp32>, Shard<ZeRO3>>(ranks) == replicated &&
                    by_threads<Precision<fp32>, Shard<ZeRO3>, Graph<Off>>(ranks) == replicated;
  print(ranks, "threads; ZeRO3, by graphs and by calls, repeats Replicated", found, exact.may, same);
  return found < exact.may && same;
}

#if defined(REGIMEN_HAS_NCCL)
/// This process is a rank, and a host of its own.
void be_a_host(std::size_t rank) {
  ::setenv("NCCL_HOSTID", ("rank" + std::to_string(rank)).c_str(), 1);
  ::setenv("NCCL_SOCKET_IFNAME", "lo", 0);
  ::setenv("NCCL_NET", "Socket", 0);
  ::setenv("NCCL_MNNVL_ENABLE", "0", 0);
  ::setenv("NCCL_MAX_CTAS", "2", 0);
  ::setenv("NCCL_ALGO", "Ring", 0);
  ::setenv("NCCL_PROTO", "Simple", 0);
}
template <class... Policies>
using OnGpus = Trainer<SmallGpt, Batch<2>, Communicator<Nccl>, Device<Cuda>, Policies...>;

template <class... Policies>
std::vector<double> on_the_gpu(std::size_t ranks) {
  const std::string file = folder + "/losses";
  launch_processes(
      ranks,
      [&](comm::Tcp& tcp) {
        be_a_host(tcp.rank());
        const std::vector<double> own = losses<OnGpus<Policies...>>(tcp);
        if (tcp.rank() > 0) return;
        std::ofstream(file).write(reinterpret_cast<const char*>(own.data()),
                                  static_cast<std::streamsize>(own.size() * sizeof(double)));
      },
      std::chrono::seconds(60));
  std::vector<double> found(2 * steps);
  std::ifstream(file).read(reinterpret_cast<char*>(found.data()),
                           static_cast<std::streamsize>(found.size() * sizeof(double)));
  return found;
}

template <class... Policies>
bool processes_agree(std::size_t ranks, const char* what) {
  const Exact exact = exact_losses(ranks);
  const double found = support::distance(exact.losses, on_the_gpu<Precision<fp32>, Policies...>(ranks));
  print(ranks, what, found, exact.may, true);
  return found < exact.may;
}

template <class... Policies>
bool agree(std::size_t ranks, const char* what) {
  return test::attempt(what, [&] { return processes_agree<Policies...>(ranks, what); });
}

/// One of four ranks is killed while all replay their graphs: each of the others names it, soon, and two go on from
/// what was saved.
bool a_killed_rank_is_named() {
  using Train = OnGpus<Shard<ZeRO3>>;
  const std::string state = folder + "/state";
  std::string said;
  const auto start = std::chrono::steady_clock::now();
  try {
    launch_processes(
        4,
        [&](comm::Tcp& tcp) {
          be_a_host(tcp.rank());
          Train trainer(tcp);
          trainer.fit(fake_data(), {.steps = 3, .progress = false});
          trainer.save(state);
          std::thread timer;
          if (tcp.rank() == 2)
            timer = std::thread([] {
              std::this_thread::sleep_for(std::chrono::seconds(3));
              ::raise(SIGKILL);
            });
          const auto from = std::chrono::steady_clock::now();
          try {
            trainer.fit(fake_data(), {.steps = 1'000'000, .progress = false});
          } catch (const std::exception& error) {
            const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
            std::ofstream(folder + "/survivor" + std::to_string(tcp.rank())) << took << ' ' << error.what();
            throw;
          }
        },
        std::chrono::seconds(30));
  } catch (const std::exception& error) { said = error.what(); }
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("rank 2 of 4 was killed; after %.1f s: %s\n", took, said.c_str());
  bool holds = said.find("did not end") == std::string::npos;
  for (const std::size_t rank : {0u, 1u, 3u}) {
    std::ifstream file(folder + "/survivor" + std::to_string(rank));
    double after = 1e9;
    std::string words;
    file >> after;
    std::getline(file, words);
    holds = holds && after < 25 && words.find("2") != std::string::npos &&
            (words.find("ended") != std::string::npos || words.find("killed") != std::string::npos);
    std::printf("  rank %zu, %.1f s after it began:%s\n", rank, after, words.c_str());
  }
  launch_processes(2, [&](comm::Tcp& tcp) {
    be_a_host(tcp.rank());
    Train trainer(tcp);
    trainer.load(state);
    if (trainer.steps_done() != 3) throw Error("ranks", "a state of 3 steps", std::to_string(trainer.steps_done()));
    trainer.fit(fake_data(), {.steps = 5, .progress = false});
  });
  return holds;
}

bool processes_agree() {
  std::filesystem::create_directories(folder);
  bool holds = agree<Shard<Replicated>>(2, "processes, Replicated");
  holds = agree<Shard<ZeRO1>>(2, "processes, ZeRO1") && holds;
  holds = agree<Shard<ZeRO2>>(2, "processes, ZeRO2") && holds;
  holds = agree<Shard<ZeRO3>>(2, "processes, ZeRO3") && holds;
  holds = agree<Shard<ZeRO3>, Graph<Off>>(2, "processes, ZeRO3 by calls") && holds;
  holds = agree<Shard<ZeRO3>>(4, "processes, ZeRO3") && holds;
  holds = agree<Shard<Hybrid<2>>>(4, "processes, Hybrid<2>") && holds;
  holds = test::attempt("a killed rank", a_killed_rank_is_named) && holds;
  std::filesystem::remove_all(folder);
  return holds;
}
#else
bool processes_agree() {
  std::printf("compiled without NCCL: no processes\n");
  return true;
}
#endif

/// Asked of a child: a process that has used CUDA cannot be forked.
bool has_device() {
  const ::pid_t child = ::fork();
  if (child == 0) {
    int devices = 0;
    ::_exit(cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0 ? 0 : 1);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  return status == 0;
}

}  // namespace

int main() try {
  if (!has_device()) {
    std::printf("no CUDA device: ranks on GPUs were compiled, and did not run\n");
    return 77;
  }
  bool holds = processes_agree();  // first: a process that has used CUDA cannot be forked
  for (const std::size_t ranks : {1u, 2u, 3u, 4u})
    holds = test::attempt("threads", [&] { return threads_agree(ranks); }) && holds;
  return holds ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
// SPDX-License-Identifier: Apache-2.0
