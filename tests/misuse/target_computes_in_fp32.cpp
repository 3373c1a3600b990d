// bf16 on a target that computes in fp32 alone: it is no cure of itself.
// expect: this target does not compute in this element type; write Precision<fp32>, or another Target
// names: regimen::Target<Board>
#include "../support/recipe.hpp"

using namespace regimen;

struct Board {
  static constexpr const char* name = "a board";
  static constexpr std::size_t memory = 1_GiB;
  template <class T>
  static constexpr bool supports = std::is_same_v<T, fp32>;
};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Target<Board>, Precision<fp32>>;
#else
using Train = Trainer<Net, Target<Board>, Precision<bf16, fp32>>;
#endif

int main() { return sizeof(Train) == 0; }
