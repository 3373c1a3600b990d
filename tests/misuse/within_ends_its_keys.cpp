// Attention among the positions of the target, within the length of the source.
// expect: Within<Name> ends keys of other positions than Name's; name the length of their text
// names: Within<SourceLength>
#include <regimen/regimen.hpp>

using namespace regimen;

struct SourceLength : NamedLength<12> {};
struct TargetLength : NamedLength<8> {};
struct Encoded : NamedValue<Shape<12, 8>> {};
using Words = Embedding<Vocabulary<16>, 8>;
#ifndef REGIMEN_MISUSE
using Among = SelfAttention<Heads<2>, Within<TargetLength>>;
#else
using Among = SelfAttention<Heads<2>, Within<SourceLength>>;
#endif
using Encoder = Sequential<Part<0>, KeepLength<SourceLength, PaddedWith<0>>, Words, Keep<Encoded>>;
using Decoder = Sequential<Part<1>, KeepLength<TargetLength, PaddedWith<0>>, Words, Among,
                           CrossAttention<Encoded, Heads<2>, Within<SourceLength>>>;
struct Net : Model<Input<Bundle<Tokens<12>, Tokens<8>>>, Fork<Last, Encoder, Decoder>, Linear<16>> {};

int main() { Trainer<Net, Batch<4>> trainer; }
