// A loss without run.
// expect: a loss has rows<Output> and run<gradient, Output>\(engine, output, target, scalars, scale\); give it both
// names: Distance
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Distance {
  using option_of = axis::loss;
  static constexpr bool couples_samples = false;
  template <class Output>
  using Labels = Value<typename Output::Element, typename Output::Shape>;
  template <class Output>
  static constexpr std::size_t rows = Output::rows;
  template <bool gradient, class Output>
  static constexpr void run(auto&, std::size_t, std::size_t, View<Scalars>, double) {}
};
#else
struct Distance {
  using option_of = axis::loss;
  static constexpr bool couples_samples = false;
  template <class Output>
  using Labels = Value<typename Output::Element, typename Output::Shape>;
  template <class Output>
  static constexpr std::size_t rows = Output::rows;
};
#endif

using Train = Trainer<Net, Loss<Distance>>;

int main() { return sizeof(Train) == 0; }
