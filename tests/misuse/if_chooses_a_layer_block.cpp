// A predicate of a recomputation that is true of a block, and of no layer: If is asked about single layers, as WrapIf is about
// the blocks of a Repeat.
// expect: Checkpoint<If<P>>: P is asked of single layers, not of blocks; write Every<1>, or Checkpointed<\.\.\.>
// names: regimen::If<is_block>
#include "../support/model_recipe.hpp"

using namespace regimen;

using Block = Residual<LayerNorm, Linear<16>, Gelu, Linear<8>>;
struct Deep : Model<Input<Vector<8>>, Repeat<4, Block>, Linear<4>> {};
template <class Layer>
struct is_block : std::is_same<Layer, Block> {};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Deep, Checkpoint<Every<1>>>;
#else
using Train = Trainer<Deep, Checkpoint<If<is_block>>>;
#endif

int main() { return sizeof(Train) == 0; }
