// Padding hidden from causal attention, which comes before it.
// expect: Causal hides all that comes later, padding too; leave out Within<\.\.\.>
// names: Within<
#include <regimen/regimen.hpp>

using namespace regimen;

struct Length : NamedLength<8> {};
#ifndef REGIMEN_MISUSE
using Attend = SelfAttention<Heads<2>, Causal>;
#else
using Attend = SelfAttention<Heads<2>, Causal, Within<Length>>;
#endif
struct Net : Model<Input<Tokens<8>>, KeepLength<Length, PaddedWith<0>>, Embedding<Vocabulary<16>, 8>, Attend,
                   Linear<16>> {};

int main() { Trainer<Net, Batch<4>> trainer; }
