// A pipeline that repeats its data: fit does that, in another order each epoch.
// expect: a dataset has an end, and fit repeats it; leave repeat out, or write {\.epochs = N}
#include <regimen/data/stage.hpp>

using namespace regimen;

struct Numbers {
  std::size_t size() const { return 100; }
  int at(const data::Key& key) const { return int(key.index); }
  std::string name() const { return "numbers"; }
};

int main() {
#ifndef REGIMEN_MISUSE
  auto numbers = Numbers{};
  return numbers.size() == 100 ? 0 : 1;
#else
  data::repeat(Numbers{}, 3);
#endif
}
