// A stage on a file of text, which gives windows of tokens, not values.
// expect: a stage stands on a dataset; give it size\(\) const, at\(data::Key\) const and name\(\) const
// names: Text
#include <regimen/data/stage.hpp>
#include <regimen/data/text.hpp>

using namespace regimen;

struct Numbers {
  std::size_t size() const { return 100; }
  int at(const data::Key& key) const { return int(key.index); }
  std::string name() const { return "numbers"; }
};

int main() {
  const auto square = data::map([](int number) { return number * number; });
#ifndef REGIMEN_MISUSE
  auto squares = Numbers{} | square;
#else
  auto squares = Text("input.txt") | square;
#endif
  return squares.name().empty() ? 1 : 0;
}
