// A Repeat whose count stands behind its block.
// compiler: (type/value mismatch at argument 1|template argument for non-type template parameter must be an expression|type name is not allowed)
#include <regimen/regimen.hpp>

using namespace regimen;

using Block = Residual<LayerNorm, Linear<8>>;

#ifndef REGIMEN_MISUSE
struct Net : Model<Input<Vector<8>>, Repeat<4, Block>, Linear<4>> {};
#else
struct Net : Model<Input<Vector<8>>, Repeat<Block, 4>, Linear<4>> {};
#endif

int main() {
  Trainer<Net, Batch<8>> trainer{{.seed = 3}};
  trainer.fit(Fake(), {.steps = 3});
}
