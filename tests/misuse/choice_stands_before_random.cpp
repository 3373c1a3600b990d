// A filter behind a stage that draws: what it chooses would hold for one epoch alone.
// expect: filter, by_length and split choose once; put them before a random stage, or before mixture
// names: Numbers
#include <regimen/data/choose.hpp>

using namespace regimen;

struct Numbers {
  std::size_t size() const { return 100; }
  int at(const data::Key& key) const { return int(key.index); }
  std::string name() const { return "numbers"; }
};

int main() {
  const auto noise = data::map([](int number, const data::Key& key) { return number + int(key.bits(0) % 5); });
  const auto small = data::filter([](int number) { return number < 50; });
#ifndef REGIMEN_MISUSE
  auto numbers = Numbers{} | small | noise;
#else
  auto numbers = Numbers{} | noise | small;
#endif
  return numbers.size() == 50 ? 0 : 1;
}
