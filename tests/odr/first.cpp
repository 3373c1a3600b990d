// The first of two translation units that include every header; that they link is the test.
#include <everything.hpp>

int second();
int main() { return second(); }
