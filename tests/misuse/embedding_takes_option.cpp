// An option of another layer.
// expect: Embedding<Vocabulary<N>, Channels, \.\.\.> takes PaddedWith<token>, once; write no other option
// names: regimen::Causal
#include <regimen/regimen.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Words = Embedding<Vocabulary<16>, 8, PaddedWith<15>>;
#else
using Words = Embedding<Vocabulary<16>, 8, Causal>;
#endif
struct Net : Model<Input<Tokens<8>>, Words, TiedLinear<Words>> {};

int main() { Trainer<Net, Batch<4>> trainer; }
