// A predicate that is true of no layer: the whole model would be one unit.
// expect: WrapIf<P> is true of no layer with weights; P<Layer> is asked of the model's children, and of Repeat<N, B> with B
// names: is_block
#include "../support/model_recipe.hpp"

#include <type_traits>

using namespace regimen;

using Block = Residual<LayerNorm, Linear<8>>;
struct Deep : Model<Input<Vector<8>>, Linear<8>, Repeat<4, Block>, Linear<4>> {};

#ifndef REGIMEN_MISUSE
template <class Layer>
struct is_block : std::is_same<Layer, Block> {};
#else
template <class Layer>
struct is_block : std::is_same<Layer, Repeat<4, Block>> {};
#endif

using Train = Trainer<Deep, Communicator<Threads>, Shard<ZeRO3, WrapIf<is_block>>>;

int main() { return sizeof(Train) == 0; }
