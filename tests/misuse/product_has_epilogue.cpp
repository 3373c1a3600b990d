// A choice about the epilogues of products, on a device whose products have none.
// expect: products of this Device have no epilogues; take Epilogue<\.\.\.> out, or write Fusion<\.\.\.>
// names: regimen::Epilogue<regimen::Separate>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Fusion<Unfused>>;
#else
using Train = Trainer<Net, Epilogue<Separate>>;
#endif

int main() { return sizeof(Train) == 0; }
