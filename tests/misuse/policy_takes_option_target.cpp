// A target of one's own that forgets its memory.
// expect: Target<T> reads name, memory, bandwidth, tile, supports and flops of T; give T all of them
// names: Board
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Board final {
  static constexpr const char* name = "board";
  static constexpr std::size_t memory = 512_MiB;
  static constexpr double bandwidth = 1e10;
  static constexpr Tile tile{1, 1};
  template <class T>
  static constexpr bool supports = true;
  template <class T>
  static constexpr double flops = 1e10;
};
using Train = Trainer<Net, Target<Board>>;
#else
struct Board final {
  static constexpr const char* name = "board";
  static constexpr double bandwidth = 1e10;
  static constexpr Tile tile{1, 1};
  template <class T>
  static constexpr bool supports = true;
  template <class T>
  static constexpr double flops = 1e10;
};
using Train = Trainer<Net, Target<Board>>;
#endif

int main() { return sizeof(Train) == 0; }
