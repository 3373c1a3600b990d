// tests/random/run.hpp — the program that tests/random.sh compiles: so many seeds from one on, or one with less in it.
//
//   REGIMEN_RANDOM_FROM, REGIMEN_RANDOM_COUNT   which seeds
//   REGIMEN_RANDOM_WITHOUT                      ids that are taken away: 0x12, 0x200010
//   REGIMEN_RANDOM_CHECK                        which check: check_seed, check_emulated
//   says      for each seed "seed N holds", or what is wrong; with the argument "ids" what can be taken away
//   ends with 0: all hold, 1: some do not, 3: what is left does not compose
#include "random/seed.hpp"

#include <utility>

#ifndef REGIMEN_RANDOM_WITHOUT
#define REGIMEN_RANDOM_WITHOUT
#endif
#ifndef REGIMEN_RANDOM_CHECK
#define REGIMEN_RANDOM_CHECK check_seed
#endif

namespace regimen::random {

template <std::uint64_t Seed, Id... Without>
int report() {
  if constexpr (!Program<Seed, Without...>::composes) return 3;
  else {
    const std::string wrong = REGIMEN_RANDOM_CHECK<Seed, Without...>();
    if (wrong.empty()) std::printf("seed %llu holds\n", static_cast<unsigned long long>(Seed));
    else std::printf("%s", wrong.c_str());
    std::fflush(stdout);
    return wrong.empty() ? 0 : 1;
  }
}

/// What stands on its own, large things first: layers, what is around them, policies, moves to the neighbour, extents.
template <std::uint64_t Seed, Id... Without>
void say_ids() {
  mp::mp_for_each<typename Program<Seed, Without...>::Drawn::ids>(
      [](auto id) { std::printf("%#llx\n", static_cast<unsigned long long>(id())); });
  for (std::size_t move = 0; move < 3; ++move)
    std::printf("%#llx\n", static_cast<unsigned long long>(of_neighbour + move));
  for (std::size_t axis = 0; axis <= mp::mp_size<OtherAxes>::value; ++axis)
    std::printf("%#llx\n", static_cast<unsigned long long>(of_policy + 16 * axis));
}

}  // namespace regimen::random

int main(int argc, char**) {
  constexpr std::uint64_t from = REGIMEN_RANDOM_FROM;
  if (argc > 1) {
    regimen::random::say_ids<from REGIMEN_RANDOM_WITHOUT>();
    return 0;
  }
  return []<std::size_t... i>(std::index_sequence<i...>) {
    int worst = 0;
    ((worst = (std::max)(worst, regimen::random::report<from + i REGIMEN_RANDOM_WITHOUT>())), ...);
    return worst;
  }(std::make_index_sequence<REGIMEN_RANDOM_COUNT>{});
}
// SPDX-License-Identifier: Apache-2.0
