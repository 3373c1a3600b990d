// A sharded block with weights of two element types.
// expect: Shard<\.\.\.> cuts units whose weights are of one element type, and all trained or all frozen; make this layer a unit \(a child of the model, WrapIf\), or keep it Replicated
// names: regimen::Shard<regimen::ZeRO1>
// names: regimen::Repeat<2,
#include "../support/model_recipe.hpp"

using namespace regimen;

struct Uneven : Model<Input<Vector<8>>, Repeat<2, Residual<As<fp32, LayerNorm>, Linear<8>>>, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Uneven, Precision<bf16, fp32>, Communicator<Threads>>;
#else
using Train = Trainer<Uneven, Precision<bf16, fp32>, Communicator<Threads>, Shard<ZeRO1>>;
#endif

int main() { return sizeof(Train) == 0; }
