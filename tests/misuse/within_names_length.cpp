// Attention within a length whose name is one of values.
// expect: Within and KeepLength name a length; write struct Name : NamedLength<\.\.\.> {}
// names: Length
#include <regimen/regimen.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Length : NamedLength<8> {};
#else
struct Length : NamedValue<Shape<1>> {};
#endif
struct Net : Model<Input<Tokens<8>>, KeepLength<Length, PaddedWith<0>>, Embedding<Vocabulary<16>, 8>,
                   SelfAttention<Heads<2>, Within<Length>>, Linear<16>> {};

int main() { Trainer<Net, Batch<4>> trainer; }
