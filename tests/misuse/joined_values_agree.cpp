// Two datasets of unlike values, one behind the other.
// expect: concatenate, interleave and mixture join values of one type; map them to one before
// names: int
#include <regimen/data/join.hpp>

using namespace regimen;

template <class T>
struct Numbers {
  std::size_t size() const { return 100; }
  T at(const data::Key& key) const { return T(key.index); }
  std::string name() const { return "numbers"; }
};

int main() {
#ifndef REGIMEN_MISUSE
  auto both = data::concatenate(Numbers<int>{}, Numbers<float>{} | data::map([](float x) { return int(x); }));
  return both.size() == 200 ? 0 : 1;
#else
  data::concatenate(Numbers<int>{}, Numbers<float>{});
#endif
}
