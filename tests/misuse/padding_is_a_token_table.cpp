// A table that is padded with a token that it does not have.
// expect: PaddedWith<\.\.\.> names no token of the vocabulary; write the one that fills shorter texts
// names: PaddedWith<16>
#include <regimen/regimen.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Words = Embedding<Vocabulary<16>, 8, PaddedWith<15>>;
#else
using Words = Embedding<Vocabulary<16>, 8, PaddedWith<16>>;
#endif
struct Net : Model<Input<Tokens<8>>, Words, TiedLinear<Words>> {};

int main() { Trainer<Net, Batch<4>> trainer; }
