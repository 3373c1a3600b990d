// An image where frames of images belong.
// expect: this layer takes volumes \(depth, height, width, channels\); begin the model with Input<Volume<\.\.\.>>
// names: regimen::Shape<6, 6, 3>
#include "../support/model_recipe.hpp"

#include <regimen/layer/cast.hpp>
#include <regimen/layer/conv3d.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Volume<4, 6, 6, 3>>, Conv3d<8, 3>, Flatten, Linear<4>> {};
#else
struct Small : Model<Input<Image<6, 6, 3>>, Conv3d<8, 3>, Flatten, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
