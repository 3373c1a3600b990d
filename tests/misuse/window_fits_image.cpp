// A window that spans nine pixels of six.
// expect: a window is larger than the padded input; make the window smaller, or add Padding<N>
// names: regimen::Shape<6, 6, 3>
#include "../support/model_recipe.hpp"

#include <regimen/layer/cast.hpp>
#include <regimen/layer/conv.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<6, 6, 3>>, Conv2d<8, 3, Dilation<4>, Padding<4>>, Flatten, Linear<4>> {};
#else
struct Small : Model<Input<Image<6, 6, 3>>, Conv2d<8, 3, Dilation<4>>, Flatten, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
