// A loss that compares the samples of a batch, and a batch in four pieces.
// expect: this couples the samples of a batch, and Accumulate, SimulateWorld or ranks cut it; use Batch<N> alone
// names: Contrast
// names: regimen::Accumulate<4>
#include "../support/model_recipe.hpp"

using namespace regimen;

struct Contrast {
  using option_of = axis::loss;
  static constexpr bool couples_samples = true;
  template <class Output>
  using Labels = Value<std::int32_t, Shape<1>>;
  template <class Output>
  static constexpr std::size_t rows = 1;
  template <bool gradient, class Output>
  static constexpr void run(auto&, std::size_t, std::size_t, View<Scalars>, double) {}
};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Loss<Contrast>, Batch<32>>;
#else
using Train = Trainer<Net, Loss<Contrast>, Batch<8>, Accumulate<4>>;
#endif

int main() { return sizeof(Train) == 0; }
