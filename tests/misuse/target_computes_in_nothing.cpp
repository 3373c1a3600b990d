// A target that computes in none of the library's types.
// expect: this target computes in none of our element types; write another Target
// names: regimen::Target<Board>
#include "../support/recipe.hpp"

using namespace regimen;

struct Board {
  static constexpr const char* name = "a board";
  static constexpr std::size_t memory = 1_GiB;
  template <class T>
  static constexpr bool supports = !std::is_same_v<T, T>;
};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Target<targets::host<1_GiB>>, Precision<fp32>>;
#else
using Train = Trainer<Net, Target<Board>, Precision<fp32>>;
#endif

int main() { return sizeof(Train) == 0; }
