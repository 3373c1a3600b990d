// A filter that says it in words.
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
  auto half = Numbers{} | data::filter([](int number) { return number % 2 == 0; });
#else
  auto half = Numbers{} | data::filter([](int number) { return std::string(number % 2 == 0 ? "yes" : "no"); });
#endif
  return half.size() != 0 ? 0 : 1;
}
// SPDX-License-Identifier: Apache-2.0
