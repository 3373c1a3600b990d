// Padding with a token that the Embedding does not have.
// expect: PaddedWith<\.\.\.> names no token of the vocabulary; write the one that fills shorter texts
// names: PaddedWith<16>
#include <regimen/regimen.hpp>

using namespace regimen;

struct Length : NamedLength<8> {};
#ifndef REGIMEN_MISUSE
using Ends = KeepLength<Length, PaddedWith<15>>;
#else
using Ends = KeepLength<Length, PaddedWith<16>>;
#endif
struct Net : Model<Input<Tokens<8>>, Ends, Embedding<Vocabulary<16>, 8>, SelfAttention<Heads<2>, Within<Length>>,
                   Linear<16>> {};

int main() { Trainer<Net, Batch<4>> trainer; }
