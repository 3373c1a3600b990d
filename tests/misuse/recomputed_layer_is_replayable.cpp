// Recomputes a layer that gives another result the second time.
// expect: Checkpoint<\.\.\.> computes this layer twice, with two results; make it replayable, or keep its output
// names: Noise
#include "../support/model_recipe.hpp"

using namespace regimen;

/// Adds noise from a generator of its own, which gives other numbers the second time.
struct Noise {
  static constexpr const char* name = "noise";
  static constexpr bool couples_samples = false;
  static constexpr bool replayable = false;
  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using Output = X;
    static constexpr void forward(auto&, const auto&) {}
    static constexpr void backward(auto&, const auto&) {}
  };
};
struct Noisy : Model<Input<Vector<8>>, Repeat<2, Sequential<Residual<Linear<8>>, Noise>>, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Noisy, Checkpoint<Selective<Linear<8>>>>;
#else
using Train = Trainer<Noisy, Checkpoint<Every<1>>>;
#endif

int main() { return sizeof(Train) == 0; }
