// A loss that does not declare whether it couples samples.
// expect: a loss says whether it couples the samples of a batch; add static constexpr bool couples_samples
// names: Contrast
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
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
#else
struct Contrast {
  using option_of = axis::loss;
  template <class Output>
  using Labels = Value<std::int32_t, Shape<1>>;
  template <class Output>
  static constexpr std::size_t rows = 1;
  template <bool gradient, class Output>
  static constexpr void run(auto&, std::size_t, std::size_t, View<Scalars>, double) {}
};
#endif

using Train = Trainer<Net, Loss<Contrast>>;

int main() { return sizeof(Train) == 0; }
