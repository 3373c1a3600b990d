// bench/threads.cpp — an Inference of 24-256-256-6 in threads: what refusing a second thread costs a call of one sample, and
// what two threads with shared weights serve. Ratios of one run; medians.
#include "threads.hpp"

#include <cstddef>
#include <cstdio>
#include <vector>

int main() {
  const bench::Check check(51);
  std::printf("a call %.2f us, the check for a second thread %.1f ns: %.2f %% of it\n", 1e6 * bench::median(check.call),
              1e9 * bench::median(check.check), 100 * check.share());
  const bench::Pair pair(51);
  std::vector<double> of_the_machine;
  for (std::size_t round = 0; round < pair.calls.size(); ++round)
    of_the_machine.push_back(pair.calls[round] / pair.apart_calls[round]);
  std::printf(
      "two threads serve %.2f times what one does, where two processes do %.2f times as much: %.2f of it\n",
      bench::median(pair.calls), bench::median(pair.apart_calls), bench::median(of_the_machine));
  std::printf(
      "for the same processor time each of two serves %.2f of what one alone does, and waits in %zu of %zu calls\n",
      bench::median(pair.by_processor), pair.waits, pair.served);
}
// SPDX-License-Identifier: Apache-2.0
