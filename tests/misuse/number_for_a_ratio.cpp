// A number where a type stands. A template of C++20 takes types or values in one place, not both, so no header can answer with a sentence: the
// compiler says that a type is expected. Fractions are types, Ratio<1, 10>, as clang 14 takes no floating template argument.
// compiler: (template argument for template type parameter must be a type|type/value mismatch at argument 1|expected a type specifier)
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Mlp : Model<Input<Vector<8>>, Linear<16>, Dropout<Ratio<1, 10>>, Linear<4>> {};
#else
struct Mlp : Model<Input<Vector<8>>, Linear<16>, Dropout<0.1>, Linear<4>> {};
#endif

using Train = Trainer<Mlp>;

int main() { return sizeof(Train) == 0; }
