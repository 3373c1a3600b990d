// A layer that normalises over the samples of a batch, and a batch that ranks share.
// expect: this couples the samples of a batch, and Accumulate, SimulateWorld or ranks cut it; use Batch<N> alone
// names: OverBatch
// names: regimen::Communicator<regimen::Threads>
#include "../support/model_recipe.hpp"

using namespace regimen;

struct OverBatch {
  static constexpr const char* name = "over_batch";
  static constexpr bool couples_samples = true;
  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using Output = X;
    static constexpr void forward(auto&, const auto&) {}
    static constexpr void backward(auto&, const auto&) {}
  };
};
struct Mlp : Model<Input<Vector<8>>, Linear<8>, OverBatch, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Mlp>;
#else
using Train = Trainer<Mlp, Communicator<Threads>>;
#endif

int main() { return sizeof(Train) == 0; }
