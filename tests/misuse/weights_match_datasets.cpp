// A mixture with one weight for two datasets.
// expect: mixture takes one weight for each dataset; write mixture\({3, 1}, a, b\)
// names: Numbers
#include <regimen/data/join.hpp>

using namespace regimen;

struct Numbers {
  std::size_t size() const { return 100; }
  int at(const data::Key& key) const { return int(key.index); }
  std::string name() const { return "numbers"; }
};

int main() {
#ifndef REGIMEN_MISUSE
  const auto both = data::mixture({3, 1}, Numbers{}, Numbers{});
  return both.size() != 0 ? 0 : 1;
#else
  data::mixture({3}, Numbers{}, Numbers{});
#endif
}
// SPDX-License-Identifier: Apache-2.0
