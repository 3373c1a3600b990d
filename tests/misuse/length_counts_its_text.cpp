// The length of a text whose name declares other positions.
// expect: KeepLength<Name, \.\.\.> counts a text of other positions than Name's; declare the text's
// names: KeepLength<Length
// names: 8
#include <regimen/regimen.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Length : NamedLength<8> {};
#else
struct Length : NamedLength<16> {};
#endif
struct Net : Model<Input<Tokens<8>>, KeepLength<Length, PaddedWith<0>>, Embedding<Vocabulary<16>, 8>,
                   SelfAttention<Heads<2>, Within<Length>>, Linear<16>> {};

int main() { Trainer<Net, Batch<4>> trainer; }
