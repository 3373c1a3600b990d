// tests/train/processes.hpp — ranks that are processes have what ranks that are threads have.
#pragma once

#include <regimen/comm/launch_processes.hpp>

#include "temporary.hpp"
#include "train/shard.hpp"

#include <fstream>
#include <iterator>
#include <string>

namespace regimen::test {

inline void write_outcome(const std::string& path, const Outcome& outcome) {
  std::ofstream file(path, std::ios::binary);
  for (const auto* numbers : {&outcome.losses, &outcome.norms, &outcome.evaluations})
    file.write(reinterpret_cast<const char*>(numbers->data()),
               static_cast<std::streamsize>(numbers->size() * sizeof(double)));
  file.write(reinterpret_cast<const char*>(outcome.weights.data()),
             static_cast<std::streamsize>(outcome.weights.size() * sizeof(float)));
  file.put(outcome.as_planned ? '1' : '0');
}
inline std::string read_outcome(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Processes is trained by processes, Threads by threads: twenty steps, the same bits, the planned memory.
template <class Processes, class Threads>
void processes_agree(std::size_t ranks, bool poison = false) {
  INFO(ranks << " ranks");
  const ::test::Directory folder;
  launch_processes(ranks, [&](comm::Tcp& communicator) {
    write_outcome(folder / std::to_string(communicator.rank()), train_as_rank<Processes>(poison, 20, communicator));
  });
  write_outcome(folder / "threads", train_on<Threads>(ranks));
  const std::string expected = read_outcome(folder / "threads");
  CHECK(expected.size() > 1000);
  CHECK(expected.back() == '1');
  for (std::size_t rank = 0; rank < ranks; ++rank) CHECK(read_outcome(folder / std::to_string(rank)) == expected);
}

}  // namespace regimen::test
// SPDX-License-Identifier: Apache-2.0
