// A layer in place of the attention.
// expect: the attention of a LlamaModel is a SelfAttention<\.\.\.>; write SelfAttention<Heads<N>, Causal, \.\.\.>
// names: Linear<48>
#include <regimen/models/llama.hpp>
#include <regimen/regimen.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Net : LlamaModel<64, 16, 48, 96, 2, SelfAttention<Heads<4>, Causal, Rotary<>, WithoutBias>> {};
#else
struct Net : LlamaModel<64, 16, 48, 96, 2, Linear<48>> {};
#endif
static_assert(Net::parameter_count > 0);
static_assert(Trainer<Net, Batch<4>>::plan().parameters > 0);
