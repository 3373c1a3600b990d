// The fraction of another library.
// expect: this fraction is no regimen::Ratio; write Ratio<1, 10> for a tenth
// names: std::ratio<1, 10>
#include "../support/model_recipe.hpp"

#include <ratio>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Mlp : Model<Input<Vector<8>>, Linear<16>, Dropout<Ratio<1, 10>>, Linear<4>> {};
#else
struct Mlp : Model<Input<Vector<8>>, Linear<16>, Dropout<std::ratio<1, 10>>, Linear<4>> {};
#endif

using Train = Trainer<Mlp>;

int main() { return sizeof(Train) == 0; }
