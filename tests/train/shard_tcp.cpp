// Ranks that are processes, connected by TCP, train the bits that threads train.
#include <regimen/comm/launch_processes.hpp>

#include "temporary.hpp"
#include "train/shard.hpp"

#include <fstream>

using namespace regimen;
using namespace regimen::test;

namespace {

template <class Ranks, class Stage>
using Sharded = Trainer<Tied<3>, Batch<2>, Communicator<Ranks>, Shard<Stage>, Clip<Norm<Ratio<1, 4>>>>;

void write(const std::string& path, const Outcome& outcome) {
  std::ofstream file(path, std::ios::binary);
  for (const auto* numbers : {&outcome.losses, &outcome.norms, &outcome.evaluations})
    file.write(reinterpret_cast<const char*>(numbers->data()), static_cast<std::streamsize>(numbers->size() * sizeof(double)));
  file.write(reinterpret_cast<const char*>(outcome.weights.data()), static_cast<std::streamsize>(outcome.weights.size() * sizeof(float)));
  file.put(outcome.as_planned ? '1' : '0');
}
std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <class Stage>
void agrees(const char* what) {
  for (const std::size_t ranks : {2u, 4u}) {
    INFO(what << ", " << ranks << " ranks");
    const ::test::Directory folder;
    launch_processes(ranks, [&](comm::Tcp& communicator) {
      // The ranks of threads have their share of the cores; so have these.
      cpu::set_threads(std::max(1, cpu::threads() / static_cast<int>(ranks)));
      write(folder / std::to_string(communicator.rank()), train_as_rank<Sharded<Tcp, Stage>>(false, 20, communicator));
    });
    write(folder / "threads", train_on<Sharded<Threads, Replicated>>(ranks));
    const std::string expected = read(folder / "threads");
    CHECK(expected.size() > 1000);
    CHECK(expected.back() == '1');
    for (std::size_t rank = 0; rank < ranks; ++rank) CHECK(read(folder / std::to_string(rank)) == expected);
  }
}
}  // namespace

TEST_CASE("processes and threads train the same bits") {
  agrees<ZeRO3>("ZeRO-3");
  agrees<Hybrid<2>>("groups of two");
}
// SPDX-License-Identifier: Apache-2.0
