// A layer that does not declare whether it couples samples.
// expect: a layer says whether it couples the samples of a batch; add static constexpr bool couples_samples
// names: Scale
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Scale {
  static constexpr const char* name = "scale";
  static constexpr bool couples_samples = false;
  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using Output = X;
    static constexpr void forward(auto&, const auto&) {}
    static constexpr void backward(auto&, const auto&) {}
  };
};
#else
struct Scale {
  static constexpr const char* name = "scale";
  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using Output = X;
    static constexpr void forward(auto&, const auto&) {}
    static constexpr void backward(auto&, const auto&) {}
  };
};
#endif

struct Mlp : Model<Input<Vector<8>>, Linear<8>, Scale, Linear<4>> {};
using Train = Trainer<Mlp>;

int main() { return sizeof(Train) == 0; }
