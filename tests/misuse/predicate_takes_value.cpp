// A filter that draws: it would be asked once for all epochs.
// expect: filter, by_length and split\(by\) call f\(value\), const, once; let f take no key, and not draw
// names: Numbers
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
  auto half = Numbers{} | data::filter([](int, const data::Key& key) { return key.bits(0) % 2 == 0; });
#endif
  return half.size() == 50 ? 0 : 1;
}
