// A cache behind a stage that draws: every epoch would have the numbers of the first.
// expect: cache\(\) would freeze what changes with the epoch; put it before the random stage
// names: Numbers
#include <regimen/data/cache.hpp>

using namespace regimen;

struct Numbers {
  std::size_t size() const { return 100; }
  int at(const data::Key& key) const { return int(key.index); }
  std::string name() const { return "numbers"; }
};

int main() {
  const auto noise = data::map([](int number, const data::Key& key) { return number + int(key.bits(0) % 5); });
#ifndef REGIMEN_MISUSE
  auto numbers = Numbers{} | data::cache() | noise;
#else
  auto numbers = Numbers{} | noise | data::cache();
#endif
  return numbers.size() == 100 ? 0 : 1;
}
