// A split by fractions, of which two are hardly ever the same.
// expect: filter wants a bool of f, by_length a number, split\(by\) a string or an integer; return that
// names: double
#include <regimen/data/choose.hpp>

using namespace regimen;

struct Numbers {
  std::size_t size() const { return 100; }
  int at(const data::Key& key) const { return int(key.index); }
  std::string name() const { return "numbers"; }
};

int main() {
#ifndef REGIMEN_MISUSE
  auto parts = Numbers{} | data::split(0.5, [](int number) { return number / 10; });
#else
  auto parts = Numbers{} | data::split(0.5, [](int number) { return 0.1 * number; });
#endif
  return sizeof parts != 0 ? 0 : 1;
}
// SPDX-License-Identifier: Apache-2.0
