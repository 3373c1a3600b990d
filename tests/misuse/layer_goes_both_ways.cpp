// A layer without backward.
// expect: a layer's Bound<X, Roles> has Output, forward\(engine, call\) and backward\(engine, call\); give it all three
// names: Square
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Square {
  static constexpr const char* name = "square";
  static constexpr bool couples_samples = false;
  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using Output = X;
    static constexpr void forward(auto&, const auto&) {}
    static constexpr void backward(auto&, const auto&) {}
  };
};
#else
struct Square {
  static constexpr const char* name = "square";
  static constexpr bool couples_samples = false;
  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using Output = X;
    static constexpr void forward(auto&, const auto&) {}
  };
};
#endif

struct Mlp : Model<Input<Vector<8>>, Linear<8>, Square, Linear<4>> {};
using Train = Trainer<Mlp>;

int main() { return sizeof(Train) == 0; }
