// A mode of another library.
// expect: Upsample<N> and Downsample<N> take pixels, with Bilinear behind N they interpolate; write one of them
// names: Bicubic
#include "../support/model_recipe.hpp"

#include <regimen/layer/pool.hpp>

using namespace regimen;

struct Bicubic {};

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<6, 7, 3>>, Upsample<2, Bilinear>, MeanPool, Linear<4>> {};
#else
struct Small : Model<Input<Image<6, 7, 3>>, Upsample<2, Bicubic>, MeanPool, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
