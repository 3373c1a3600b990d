// A cache of values that own memory and do not say how much.
// expect: cache\(\) states its bytes; give the value bytes\(\) const, the memory that it owns
// names: Picture
#include <regimen/data/cache.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Picture {
  std::vector<unsigned char> pixels;
  int label = 0;
  std::size_t bytes() const { return pixels.capacity(); }
};
#else
struct Picture {
  std::vector<unsigned char> pixels;
  int label = 0;
};
#endif
struct Pictures {
  std::size_t size() const { return 100; }
  Picture at(const data::Key&) const { return {std::vector<unsigned char>(27), 3}; }
  std::string name() const { return "pictures"; }
};

int main() {
  auto kept = Pictures{} | data::cache();
  return kept.at({}).label == 3 ? 0 : 1;
}
