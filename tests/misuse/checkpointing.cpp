// Checkpointing: which layers and blocks are computed twice, or moved.
#include "support/model_recipe.hpp"

#include <regimen/engine/cuda/plan.hpp>

using namespace regimen;

// ---- every_at_least_one ---------------------------------------------------------------------------------------------
// Segments without blocks.
// expect: Checkpoint<Every<N>> needs N >= 1; write Checkpoint<Every<1>>, or Checkpoint<None>
// names: regimen::Every<0>
namespace every_at_least_one {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Checkpoint<Every<1>>>;
#else
using Train = Trainer<Net, Checkpoint<Every<0>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace every_at_least_one

// ---- every_at_most_depth --------------------------------------------------------------------------------------------
// Segments of three blocks in a model of two.
// expect: Checkpoint<Every<N>> needs N <= the number of blocks, less the K of KeepLast<K>; write a smaller N
// names: regimen::Every<3>
namespace every_at_most_depth {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Checkpoint<Every<2>>>;
#else
using Train = Trainer<Net, Checkpoint<Every<3>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace every_at_most_depth

// ---- every_at_most_depth_none ---------------------------------------------------------------------------------------
// Segments of blocks in a model without a Repeat.
// expect: Every<N> counts the blocks of a Repeat, and this model has none; add a Repeat, or write Selective<\.\.\.>
// names: regimen::Every<1>
namespace every_at_most_depth_none {
struct Mlp : Model<Input<Vector<8>>, Linear<16>, Relu, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Mlp, Checkpoint<Selective<Relu>>>;
#else
using Train = Trainer<Mlp, Checkpoint<Every<1>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace every_at_most_depth_none

// ---- schedules_agree ------------------------------------------------------------------------------------------------
// Two schedules of blocks.
// expect: Checkpoint takes one of Every<N> and Offload, one of Selective<\.\.\.> and If<P>, then KeepLast<K>; keep these
// names: regimen::Checkpoint<regimen::Every<1>, regimen::Every<2>>
namespace schedules_agree {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Checkpoint<Every<2>>>;
#else
using Train = Trainer<Net, Checkpoint<Every<1>, Every<2>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace schedules_agree

// ---- schedules_agree_kept -------------------------------------------------------------------------------------------
// Blocks that are not recomputed, without any that are.
// expect: Checkpoint takes one of Every<N> and Offload, one of Selective<\.\.\.> and If<P>, then KeepLast<K>; keep these
// names: regimen::Checkpoint<regimen::KeepLast<1>
namespace schedules_agree_kept {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Checkpoint<Every<1>, KeepLast<1>>>;
#else
using Train = Trainer<Net, Checkpoint<KeepLast<1>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace schedules_agree_kept

// ---- selective_names_layers -----------------------------------------------------------------------------------------
// Selective without layers.
// expect: Checkpoint<Selective<\.\.\.>> needs at least one layer; name it, or write Checkpoint<None>
// names: regimen::Selective<>
namespace selective_names_layers {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Checkpoint<Selective<Linear<4>>>>;
#else
using Train = Trainer<Net, Checkpoint<Selective<>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace selective_names_layers

// ---- selective_names_a_layer ----------------------------------------------------------------------------------------
// Recomputes a layer that the model does not have.
// expect: Selective<\.\.\.> names a layer that this model lacks; name one that it has
// names: regimen::Gelu
namespace selective_names_a_layer {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Checkpoint<Selective<Linear<8>>>>;
#else
using Train = Trainer<Net, Checkpoint<Selective<Gelu>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace selective_names_a_layer

// ---- selective_names_a_layer_composite ------------------------------------------------------------------------------
// Recomputes a composite of several layers.
// expect: Selective<\.\.\.> recomputes single layers, such as LayerNorm or Gelu; name these, or write Every<N>
// names: regimen::in_order::SelfAttention<regimen::Heads<2>, regimen::Causal>
namespace selective_names_a_layer_composite {
struct Gpt : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, Repeat<2, Residual<LayerNorm, SelfAttention<Heads<2>, Causal>>>, LayerNorm, Linear<16>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Gpt, Checkpoint<Selective<LayerNorm>>>;
#else
using Train = Trainer<Gpt, Checkpoint<Selective<SelfAttention<Heads<2>, Causal>>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace selective_names_a_layer_composite

// ---- selected_output_is_not_read ------------------------------------------------------------------------------------
// The derivative of tanh follows from its output.
// expect: Selective<\.\.\.> names a layer whose backward reads its own output, which is kept; leave it out
// names: regimen::Tanh
namespace selected_output_is_not_read {
struct Mlp : Model<Input<Vector<8>>, Linear<16>, Tanh, Linear<8>, Gelu, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Mlp, Checkpoint<Selective<Gelu>>>;
#else
using Train = Trainer<Mlp, Checkpoint<Selective<Gelu, Tanh>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace selected_output_is_not_read

// ---- recomputed_layer_is_replayable ---------------------------------------------------------------------------------
// Recomputes a layer that gives another result the second time.
// expect: Checkpoint<\.\.\.> computes this layer twice, with two results; make it replayable, or keep its output
// names: Noise
namespace recomputed_layer_is_replayable {
/// Adds noise from a generator of its own, which gives other numbers the second time.
struct Noise {
  static constexpr const char* name = "noise";
  static constexpr bool couples_samples = false;
  static constexpr bool replayable = false;
  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using Output = X;
    static constexpr void forward(auto&, const auto&) {}
    static constexpr void backward(auto&, const auto&) {}
  };
};
struct Noisy : Model<Input<Vector<8>>, Repeat<2, Sequential<Residual<Linear<8>>, Noise>>, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Noisy, Checkpoint<Selective<Linear<8>>>>;
#else
using Train = Trainer<Noisy, Checkpoint<Every<1>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace recomputed_layer_is_replayable

// ---- if_chooses_a_layer ---------------------------------------------------------------------------------------------
// A predicate that is true of nothing that the model has.
// expect: Checkpoint<If<P>>: P<Layer>::value is true of no layer or block of this model; choose one
// names: is_norm
namespace if_chooses_a_layer {
template <class Layer>
struct is_norm : std::is_same<Layer, LayerNorm> {};
template <class Layer>
struct is_gelu : std::is_same<Layer, Gelu> {};
struct Small : Model<Input<Vector<8>>, Linear<8>, Gelu, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Small, Checkpoint<If<is_gelu>>>;
#else
using Train = Trainer<Small, Checkpoint<If<is_norm>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace if_chooses_a_layer

// ---- if_chooses_a_layer_block ---------------------------------------------------------------------------------------
// A predicate of a recomputation that is true of a Sequential among other layers, which is no block: its layers are written out
// there, and one may be computed as one with a neighbour. (Of a Residual, a Fork, and what a Repeat repeats If is asked.)
// expect: Checkpoint<If<P>>: P is true only of layers written out in a list; write Checkpointed<\.\.\.> there
// names: regimen::If<is_block>
namespace if_chooses_a_layer_block {
template <template <class...> class Around>
using Block = Around<Linear<16>, Gelu, Linear<8>>;
template <class Layer>
struct is_block : std::is_same<Layer, Block<Sequential>> {};

#ifndef REGIMEN_MISUSE
struct Deep : Model<Input<Vector<8>>, Block<Checkpointed>, Linear<4>> {};
using Train = Trainer<Deep>;
#else
struct Deep : Model<Input<Vector<8>>, Block<Sequential>, Linear<4>> {};
using Train = Trainer<Deep, Checkpoint<If<is_block>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace if_chooses_a_layer_block

// ---- if_chooses_a_layer_by_cost -------------------------------------------------------------------------------------
// A number of floating-point operations for each byte that every layer exceeds.
// expect: Checkpoint<If<P>>: P chooses no layer that can be recomputed; raise its number
// names: FlopsPerByteBelow
namespace if_chooses_a_layer_by_cost {
struct Small : Model<Input<Vector<8>>, Linear<8>, Gelu, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Small, Checkpoint<If<FlopsPerByteBelow<4>::of>>>;
#else
using Train = Trainer<Small, Checkpoint<If<FlopsPerByteBelow<1>::of>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace if_chooses_a_layer_by_cost

// ---- kept_blocks_below_depth ----------------------------------------------------------------------------------------
// The last two blocks of two are kept: nothing is left to recompute.
// expect: KeepLast<K> keeps the last K blocks of more, and this model has others; write 0 < K < their number
// names: regimen::KeepLast<2>
namespace kept_blocks_below_depth {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Checkpoint<Every<1>, KeepLast<1>>>;
#else
using Train = Trainer<Net, Checkpoint<Every<1>, KeepLast<2>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace kept_blocks_below_depth

// ---- budget_needs_batch ---------------------------------------------------------------------------------------------
// The largest batch, and what is recomputed for it, both to be chosen.
// expect: Budget<Bytes> chooses for a given batch; write Batch<N>, or Every<N> in place of Budget
// names: regimen::Budget<4294967296>
namespace budget_needs_batch {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Batch<64>, Checkpoint<Budget<4_GiB>>, Target<targets::host<8_GiB>>>;
#else
using Train = Trainer<Net, Batch<Largest>, Checkpoint<Budget<4_GiB>>, Target<targets::host<8_GiB>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace budget_needs_batch

// ---- budget_reaches_least -------------------------------------------------------------------------------------------
// A budget below the memory of the schedule that needs least. The error shows both numbers of bytes.
// expect: no recomputation fits into Budget<Bytes>; allow the second number of bytes that stands here
// names: 611584
namespace budget_reaches_least {
struct Deep : Model<Input<Vector<64>>, Repeat<8, Residual<Linear<64>, Relu>>, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Deep, Checkpoint<Budget<1_MiB>>, Batch<32>>;
#else
using Train = Trainer<Deep, Checkpoint<Budget<500'000>>, Batch<32>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace budget_reaches_least

// ---- offload_moves_blocks -------------------------------------------------------------------------------------------
// Blocks to move to the host's memory, in a model of two.
// expect: Checkpoint<Offload> moves the blocks of a Repeat of 3 or more; this model trains none; write Selective<\.\.\.>
// names: regimen::Checkpoint<regimen::Offload>
namespace offload_moves_blocks {
struct Deep : Model<Input<Vector<8>>, Repeat<3, Residual<Linear<8>>>, Linear<4>> {};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Deep, Checkpoint<Offload>, Batch<4>, Device<Cuda>>;
#else
using Train = Trainer<Net, Checkpoint<Offload>, Batch<4>, Device<Cuda>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace offload_moves_blocks

// ---- offload_needs_two_memories -------------------------------------------------------------------------------------
// Saved tensors are to be moved from the host's memory to the host's memory.
// expect: Checkpoint<Offload> moves tensors to the host, whose memory is this Device's; write Every<N>
// names: regimen::Offload
namespace offload_needs_two_memories {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Checkpoint<Every<1>>>;
#else
using Train = Trainer<Net, Checkpoint<Offload>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace offload_needs_two_memories
// SPDX-License-Identifier: Apache-2.0
