// A switch of Fusion, for Epilogue.
// expect: Epilogue<\.\.\.> takes a switch; name Fused or Separate
// names: regimen::Unfused
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Fusion<Unfused>>;
#else
using Train = Trainer<Net, Epilogue<Unfused>>;
#endif

int main() { return sizeof(Train) == 0; }
