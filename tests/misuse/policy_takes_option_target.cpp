// A user's target without memory.
// expect: Target<T> reads name, memory and supports of T; give T all of them
// names: Board
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Board final {
  static constexpr const char* name = "board";
  static constexpr std::size_t memory = 512_MiB;
  template <class T>
  static constexpr bool supports = true;
};
using Train = Trainer<Net, Target<Board>>;
#else
struct Board final {
  static constexpr const char* name = "board";
  template <class T>
  static constexpr bool supports = true;
};
using Train = Trainer<Net, Target<Board>>;
#endif

int main() { return sizeof(Train) == 0; }
