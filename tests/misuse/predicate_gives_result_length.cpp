// A length in words.
// expect: filter wants a bool of f, by_length a number, split\(by\) a string or an integer; return that
// names: string
#include <regimen/data/choose.hpp>

using namespace regimen;

struct Numbers {
  std::size_t size() const { return 100; }
  int at(const data::Key& key) const { return int(key.index); }
  std::string name() const { return "numbers"; }
};

int main() {
#ifndef REGIMEN_MISUSE
  auto sorted = Numbers{} | data::by_length([](int number) { return number; });
#else
  auto sorted = Numbers{} | data::by_length([](int number) { return std::to_string(number); });
#endif
  return sorted.size() == 100 ? 0 : 1;
}
// SPDX-License-Identifier: Apache-2.0
