// Two lengths of one text, each with another padding: a shorter source has one token behind its end.
// expect: PaddedWith<\.\.\.> differs between two KeepLength of one text; write the same token in both
// names: PaddedWith<1>
#include <regimen/regimen.hpp>

using namespace regimen;

struct Length : NamedLength<8> {};
struct Again : NamedLength<8> {};
#ifndef REGIMEN_MISUSE
using Ends = Sequential<KeepLength<Length, PaddedWith<0>>, KeepLength<Again, PaddedWith<0>>>;
#else
using Ends = Sequential<KeepLength<Length, PaddedWith<0>>, KeepLength<Again, PaddedWith<1>>>;
#endif
struct Net : Model<Input<Tokens<8>>, Ends, Embedding<Vocabulary<16>, 8>, SelfAttention<Heads<2>, Within<Length>>,
                   SelfAttention<Heads<2>, Within<Again>>, Linear<16>> {};

int main() { Trainer<Net, Batch<4>> trainer; }
