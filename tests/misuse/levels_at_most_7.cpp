// Seven nested Residuals.
// expect: Residuals, Forks and Repeats stand in each other more than 6 deep; write the inner ones side by side
// names: Deep
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Deep : Model<Input<Vector<8>>, Residual<Residual<Residual<Residual<Residual<Residual<Linear<8>>>>>>>> {};
#else
struct Deep : Model<Input<Vector<8>>, Residual<Residual<Residual<Residual<Residual<Residual<Residual<Linear<8>>>>>>>>> {};
#endif

using Train = Trainer<Deep>;

int main() { return sizeof(Train) == 0; }
