// A stage whose function takes another type than the stage before it gives.
// expect: map\(f\) calls f\(value\) or f\(value, key\), const; let f take what the stage before it gives
// names: Numbers
#include <regimen/data/stage.hpp>

using namespace regimen;

struct Numbers {
  std::size_t size() const { return 100; }
  int at(const data::Key& key) const { return int(key.index); }
  std::string name() const { return "numbers"; }
};

int main() {
#ifndef REGIMEN_MISUSE
  auto lengths = Numbers{} | data::map([](int number) { return number % 7; });
#else
  auto lengths = Numbers{} | data::map([](const std::string& text) { return int(text.size()); });
#endif
  return lengths.at({}) == 0 ? 0 : 1;
}
