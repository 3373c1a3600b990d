// Ranks: communicators, the world, sharding.
#include "support/model_recipe.hpp"

#include "support/gpu_recipe.hpp"

#include <regimen/comm/tcp.hpp>
#include <regimen/engine/cuda/plan.hpp>

#include <type_traits>

using namespace regimen;

// ---- world_is_a_number ----------------------------------------------------------------------------------------------
// Two numbers of ranks.
// expect: World<N> takes one number, and N >= 1; write World<4>, or leave it out
// names: regimen::World<2, 3>
namespace world_is_a_number {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Communicator<Threads>, World<2>>;
#else
using Train = Trainer<Net, Communicator<Threads>, World<2, 3>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace world_is_a_number

// ---- world_needs_communicator ---------------------------------------------------------------------------------------
// Four ranks without a Communicator.
// expect: World<N> has several ranks, and there is no Communicator; write Communicator<Threads>, <Tcp> or <Mpi>
// names: regimen::World<4>
namespace world_needs_communicator {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, World<4>, Communicator<Tcp>>;
#else
using Train = Trainer<Net, World<4>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace world_needs_communicator

// ---- communicator_is_built ------------------------------------------------------------------------------------------
// A communicator that is not built yet.
// expect: this communicator is not built; write Communicator<Threads>, <Tcp>, <Mpi> or <Nccl>, or leave it out
// names: regimen::Communicator<regimen::Gloo>
namespace communicator_is_built {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Communicator<Threads>>;
#else
using Train = Trainer<Net, Communicator<Gloo>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace communicator_is_built

// ---- shard_cuts_even_units ------------------------------------------------------------------------------------------
// A sharded block with weights of two element types.
// expect: Shard<\.\.\.> cuts units whose weights are of one element type, and all trained or all frozen; make this layer a unit \(a child of the model, WrapIf\), or keep it Replicated
// names: regimen::Shard<regimen::ZeRO1>
// names: regimen::Repeat<2,
namespace shard_cuts_even_units {
struct Uneven : Model<Input<Vector<8>>, Repeat<2, Residual<As<fp32, LayerNorm>, Linear<8>>>, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Uneven, Precision<bf16, fp32>, Communicator<Threads>>;
#else
using Train = Trainer<Uneven, Precision<bf16, fp32>, Communicator<Threads>, Shard<ZeRO1>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace shard_cuts_even_units

// ---- shard_needs_communicator ---------------------------------------------------------------------------------------
// Sharding without a communicator.
// expect: Shard<\.\.\.> says what is exchanged among ranks, and there is no Communicator; write Communicator<Threads>, <Tcp> or <Mpi>
// names: regimen::Shard<regimen::ZeRO3>
namespace shard_needs_communicator {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Shard<ZeRO3>, Communicator<Threads>>;
#else
using Train = Trainer<Net, Shard<ZeRO3>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace shard_needs_communicator

// ---- shard_needs_ranks ----------------------------------------------------------------------------------------------
// Sharding over a single rank.
// expect: Shard<\.\.\.> says what is exchanged among ranks, and World<1> is one; write more, or leave World out
// names: regimen::Shard<regimen::ZeRO3>
// names: regimen::World<1>
namespace shard_needs_ranks {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Communicator<Threads>, Shard<ZeRO3>, World<2>>;
#else
using Train = Trainer<Net, Communicator<Threads>, Shard<ZeRO3>, World<1>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace shard_needs_ranks

// ---- shard_options_fit ----------------------------------------------------------------------------------------------
// Prefetching of weights that every rank keeps whole.
// expect: this Shard<\.\.\.> would ignore an option; Prefetch<0\|1> and KeepSegments are for ZeRO3 and Hybrid, Bucket<1 or more> for Replicated
// names: regimen::Shard<regimen::ZeRO2, regimen::Prefetch<0>
namespace shard_options_fit {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Communicator<Threads>, Shard<ZeRO3, Prefetch<0>>>;
#else
using Train = Trainer<Net, Communicator<Threads>, Shard<ZeRO2, Prefetch<0>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace shard_options_fit

// ---- bucket_reduces_once --------------------------------------------------------------------------------------------
// A bucket for gradients that are reduced after every micro-batch, unit by unit.
// expect: Bucket<Bytes> joins gradients that every rank keeps whole until the last micro-batch; write ReduceOnce, or no Bucket
// names: regimen::Bucket<26214400
// names: regimen::Accumulate<4, regimen::ReduceEach>
namespace bucket_reduces_once {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Communicator<Threads>, Shard<Replicated, Bucket<25_MiB>>, Accumulate<4, ReduceOnce>>;
#else
using Train = Trainer<Net, Communicator<Threads>, Shard<Replicated, Bucket<25_MiB>>, Accumulate<4, ReduceEach>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace bucket_reduces_once

// ---- groups_divide_world --------------------------------------------------------------------------------------------
// Six ranks in groups of four.
// expect: Hybrid<N> makes groups of N ranks; write an N of at least 2 that divides the World
// names: regimen::Shard<regimen::Hybrid<4>
// names: regimen::World<6>
namespace groups_divide_world {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Communicator<Threads>, World<6>, Shard<Hybrid<3>>>;
#else
using Train = Trainer<Net, Communicator<Threads>, World<6>, Shard<Hybrid<4>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace groups_divide_world

// ---- kept_segments_exist --------------------------------------------------------------------------------------------
// Every block is a segment of its own, so there are no segments to keep gathered.
// expect: KeepSegments keeps the units of a segment that is computed again; write Every<N>, N >= 2, and let the block of a Repeat be a unit
// names: regimen::KeepSegments
// names: regimen::Checkpoint<regimen::Every<1>
namespace kept_segments_exist {
struct Deep : Model<Input<Vector<8>>, Repeat<4, Linear<8>>, Linear<4>> {};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Deep, Communicator<Threads>, Shard<ZeRO3, KeepSegments>, Checkpoint<Every<2>>>;
#else
using Train = Trainer<Deep, Communicator<Threads>, Shard<ZeRO3, KeepSegments>, Checkpoint<Every<1>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace kept_segments_exist

// ---- wrap_matches_a_layer -------------------------------------------------------------------------------------------
// A predicate that is true of no layer: the whole model would be one unit.
// expect: WrapIf<P> is true of no layer with weights; P<Layer> is asked of the model's children, and of Repeat<N, B> with B
// names: is_block
namespace wrap_matches_a_layer {
using Block = Residual<LayerNorm, Linear<8>>;
struct Deep : Model<Input<Vector<8>>, Linear<8>, Repeat<4, Block>, Linear<4>> {};

#ifndef REGIMEN_MISUSE
template <class Layer>
struct is_block : std::is_same<Layer, Block> {};
#else
template <class Layer>
struct is_block : std::is_same<Layer, Repeat<4, Block>> {};
#endif

using Train = Trainer<Deep, Communicator<Threads>, Shard<ZeRO3, WrapIf<is_block>>>;

bool program() { return sizeof(Train) == 0; }
}  // namespace wrap_matches_a_layer

// ---- reduces_in_one_way ---------------------------------------------------------------------------------------------
// ReduceOnce and ReduceEach together.
// expect: Accumulate<N, \.\.\.> takes ReduceOnce or ReduceEach; keep one of them
// names: regimen::Accumulate<2, regimen::ReduceOnce, regimen::ReduceEach>
namespace reduces_in_one_way {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Communicator<Threads>, Accumulate<2, ReduceOnce>>;
#else
using Train = Trainer<Net, Communicator<Threads>, Accumulate<2, ReduceOnce, ReduceEach>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace reduces_in_one_way

// ---- reduction_needs_communicator -----------------------------------------------------------------------------------
// A single rank with ReduceEach.
// expect: ReduceOnce and ReduceEach say when ranks sum gradients; write Communicator<\.\.\.>, or Accumulate<N> alone
// names: regimen::Accumulate<2, regimen::ReduceEach>
namespace reduction_needs_communicator {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Accumulate<2>>;
#else
using Train = Trainer<Net, Accumulate<2, ReduceEach>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace reduction_needs_communicator

// ---- nccl_connects_gpus ---------------------------------------------------------------------------------------------
// Ranks that are connected by NCCL, and compute on a CPU.
// expect: Communicator<Nccl> connects GPUs; write Device<Cuda>, or Communicator<Threads>, <Tcp> or <Mpi>
// names: regimen::Device<regimen::Cpu>
namespace nccl_connects_gpus {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Communicator<Tcp>>;
#else
using Train = Trainer<Net, Communicator<Nccl>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace nccl_connects_gpus

// ---- nccl_is_found --------------------------------------------------------------------------------------------------
// Ranks with a GPU each, in a program that is compiled without NCCL.
// expect: this program has no NCCL; link regimen::nccl and regimen::cuda, not cuda_compiled, or leave Communicator out
// names: regimen::Communicator<regimen::Nccl>
namespace nccl_is_found {
struct Words : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 16>, Linear<16>> {};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Words, Communicator<Nccl>, Shard<ZeRO3>, Device<Gpu<true>>>;
#else
using Train = Trainer<Words, Communicator<Nccl>, Shard<ZeRO3>, Device<Gpu<true, false>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace nccl_is_found

// ---- device_takes_ranks ---------------------------------------------------------------------------------------------
// A GPU for each rank, connected by the hosts.
// expect: this communicator does not reach the memory of this device; write Communicator<Nccl>
// names: regimen::Communicator<regimen::Tcp>
namespace device_takes_ranks {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Communicator<Tcp>, Device<Cpu>>;
#else
using Train = Trainer<Net, Communicator<Tcp>, Device<Cuda>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace device_takes_ranks
// SPDX-License-Identifier: Apache-2.0
