// What a rank keeps and sends, as constants: the formulas and the example of the ZeRO paper, and what recomputation
// adds.
#include "../support/model_recipe.hpp"
#include "../support/whole_tensor_rules.hpp"

#include <regimen/loss/mean_squared_error.hpp>

using namespace regimen;

namespace {

template <class Network, class Stage, class World, class... Policies>
inline constexpr const MemoryPlan& plan =
    programs::Recipe<Network, ConfigurationOf<Batch<1>, Communicator<Threads>, Shard<Stage>, World, Policies...>>::plan;

// Rajbhandari, Rasley, Ruwase, He 2020, figure 1: 7.5 billion parameters on 64 ranks, 2-byte gradients, 12 bytes of
// optimizer state: 120 -> 31.4 -> 16.6 -> 1.9 GB.
struct Large : Model<Input<Vector<10000>>, Repeat<75, Residual<Linear<10000>>>> {};
using Paper = Precision<bf16, fp32, bf16>;
constexpr int tenths_of_gb(std::size_t bytes) { return static_cast<int>((bytes + 50'000'000) / 100'000'000); }
static_assert(tenths_of_gb(plan<Large, Replicated, World<64>, Paper, Loss<MeanSquaredError>>.kept) == 1200);
static_assert(tenths_of_gb(plan<Large, ZeRO1, World<64>, Paper, Loss<MeanSquaredError>>.kept) == 314);
static_assert(tenths_of_gb(plan<Large, ZeRO2, World<64>, Paper, Loss<MeanSquaredError>>.kept) == 166);
static_assert(tenths_of_gb(plan<Large, ZeRO3, World<64>, Paper, Loss<MeanSquaredError>>.kept) == 19);
// Reduced in fp32: 18 bytes a parameter.
static_assert(tenths_of_gb(plan<Large, Replicated, World<64>, Precision<bf16, fp32>, Loss<MeanSquaredError>>.kept) ==
              1350);

// A backward that computes its blocks again one by one gathers nothing more; one that does so two by two does.
using Block = Sequential<Residual<LayerNorm, SelfAttention<Heads<2>, Causal>>,
                         Residual<LayerNorm, Linear<64>, GeluTanh, Linear<16>>>;
struct Gpt : Model<Input<Tokens<8>>, Embedding<Vocabulary<32>, 16>, PositionEmbedding, Repeat<6, Block>, LayerNorm,
                   Linear<32>> {};
static_assert(plan<Gpt, ZeRO3, World<4>, Checkpoint<Every<1>>>.wire() == plan<Gpt, ZeRO3, World<4>>.wire());
static_assert(plan<Gpt, ZeRO3, World<4>, Checkpoint<Every<2>>>.wire() > plan<Gpt, ZeRO3, World<4>>.wire());
static_assert(plan<Gpt, ZeRO2, World<4>, Checkpoint<Every<2>>>.wire() == plan<Gpt, ZeRO2, World<4>>.wire());
static_assert(plan<Gpt, Replicated, World<1>>.wire() == 0);
// Reduced each time, two micro-batches send twice the gradients; reduced once, they send no more than one.
static_assert(plan<Gpt, ZeRO1, World<4>, Accumulate<2>>.wire() == plan<Gpt, ZeRO1, World<4>>.wire());
static_assert(plan<Gpt, ZeRO1, World<4>, Accumulate<2, ReduceEach>>.wire() > plan<Gpt, ZeRO1, World<4>>.wire());
static_assert(plan<Gpt, ZeRO2, World<4>, Accumulate<2, ReduceOnce>>.wire() == plan<Gpt, ZeRO1, World<4>>.wire());

// One rank keeps what a program without ranks keeps.
static_assert(plan<Gpt, ZeRO3, World<1>>.peak == programs::Recipe<Gpt, ConfigurationOf<Batch<1>>>::plan.peak);

// A global batch, cut.
static_assert(
    programs::Recipe<Gpt, ConfigurationOf<GlobalBatch<48>, World<4>, Accumulate<3>, Communicator<Threads>>>::batch ==
    4);

// What does not compose.
template <class Rule, class... Policies>
inline constexpr bool breaks = std::is_same_v<detail::broken_rules<Gpt, Policies...>, boost::mp11::mp_list<Rule>>;
static_assert(breaks<rule::shard_needs_communicator<Shard<ZeRO2>, Communicator<Solo>>, Shard<ZeRO2>>);
static_assert(breaks<rule::world_needs_communicator<World<2>, Communicator<Solo>>, World<2>>);
static_assert(Composable<Gpt, World<1>> && Composable<Gpt, Shard<ZeRO2>, Communicator<Tcp>>);
static_assert(breaks<rule::scaled_gradients_reduce_in_fp32<Precision<fp16, fp32, fp16>, LossScale<Dynamic>,
                                                           Communicator<Threads>>,
                     Precision<fp16, fp32, fp16>, LossScale<Dynamic>, Communicator<Threads>>);
static_assert(breaks<rule::global_batch_divides<GlobalBatch<48>, World<>, Accumulate<1>>, GlobalBatch<48>>);
static_assert(breaks<rule::global_batch_divides<GlobalBatch<48>, World<5>, Accumulate<1>>, GlobalBatch<48>, World<5>,
                     Communicator<Threads>>);
static_assert(
    breaks<rule::groups_divide_world<Shard<Hybrid<4>>, World<6>>, Shard<Hybrid<4>>, World<6>, Communicator<Tcp>>);
static_assert(breaks<rule::groups_divide_world<Shard<Hybrid<1>>, World<>>, Shard<Hybrid<1>>, Communicator<Threads>>);
static_assert(breaks<rule::groups_divide_world<Shard<Hybrid<0>>, World<>>, Shard<Hybrid<0>>, Communicator<Threads>>);
static_assert(Composable<Gpt, Shard<Hybrid<4>>, Communicator<Threads>> &&
              Composable<Gpt, Shard<Hybrid<2>>, World<6>, Communicator<Mpi>>);
static_assert(breaks<rule::shard_needs_communicator<Shard<Hybrid<2>>, Communicator<Solo>>, Shard<Hybrid<2>>>);
static_assert(Composable<Gpt, Optimizer<rules::Lamb>, Shard<ZeRO1>, Communicator<Tcp>> &&
              Composable<Gpt, Optimizer<rules::Orthogonal>, Shard<Hybrid<2>>, Communicator<Mpi>>);
static_assert(
    breaks<rule::shard_options_fit<Shard<ZeRO2, Prefetch<0>>>, Shard<ZeRO2, Prefetch<0>>, Communicator<Threads>>);
static_assert(
    breaks<rule::shard_options_fit<Shard<ZeRO3, Prefetch<2>>>, Shard<ZeRO3, Prefetch<2>>, Communicator<Threads>>);
static_assert(breaks<rule::shard_options_fit<Shard<Prefetch<0>>>, Shard<Prefetch<0>>, Communicator<Threads>>);
static_assert(Composable<Gpt, Shard<Hybrid<2>, Prefetch<1>>, Communicator<Threads>>);

static_assert(breaks<rule::shard_options_fit<Shard<Replicated, KeepSegments>>, Shard<Replicated, KeepSegments>,
                     Communicator<Threads>>);
static_assert(breaks<rule::shard_options_fit<Shard<ZeRO3, Prefetch<0>, Prefetch<0>>>,
                     Shard<ZeRO3, Prefetch<0>, Prefetch<0>>, Communicator<Threads>>);
static_assert(breaks<rule::kept_segments_exist<Shard<ZeRO3, KeepSegments>, Checkpoint<None>>,
                     Shard<ZeRO3, KeepSegments>, Communicator<Threads>>);
static_assert(
    Composable<Gpt, Shard<Hybrid<2>, KeepSegments, Prefetch<0>>, Checkpoint<Every<2>>, Communicator<Threads>>);

// Segments of the last blocks, too.
static_assert(
    Composable<Gpt, Shard<ZeRO3, KeepSegments>, Checkpoint<Every<1>, KeepLast<2, Every<2>>>, Communicator<Threads>> &&
    Composable<Gpt, Shard<ZeRO3, KeepSegments>, Checkpoint<KeepLast<4, Every<1>, KeepLast<2, Every<2>>>>,
               Communicator<Threads>>);
static_assert(breaks<rule::kept_segments_exist<Shard<ZeRO3, KeepSegments>, Checkpoint<Every<1>, KeepLast<2, Every<1>>>>,
                     Shard<ZeRO3, KeepSegments>, Checkpoint<Every<1>, KeepLast<2, Every<1>>>, Communicator<Threads>>);

// Units by a predicate, and buckets of units.
template <class Layer>
struct is_block : std::is_same<Layer, Block> {};
template <class Layer>
struct is_norm : std::is_same<Layer, LayerNorm> {};
template <class Layer>
struct is_gelu : std::is_same<Layer, GeluTanh> {};  // stands in the block alone
static_assert(Composable<Gpt, Shard<ZeRO3, WrapIf<is_block>>, Communicator<Threads>> &&
              Composable<Gpt, Shard<Replicated, WrapIf<is_norm>>, Communicator<Tcp>>);
static_assert(Composable<Gpt, Shard<ZeRO3, KeepSegments, WrapIf<is_block>, Prefetch<0>>, Checkpoint<Every<2>>,
                         Communicator<Threads>>);
static_assert(
    breaks<rule::wrap_matches_a_layer<WrapIf<is_gelu>, false>, Shard<ZeRO3, WrapIf<is_gelu>>, Communicator<Threads>>);
static_assert(breaks<rule::shard_needs_communicator<Shard<Replicated, WrapIf<is_block>>, Communicator<Solo>>,
                     Shard<Replicated, WrapIf<is_block>>>);
static_assert(breaks<rule::shard_options_fit<Shard<ZeRO3, WrapIf<is_block>, WrapIf<is_norm>>>,
                     Shard<ZeRO3, WrapIf<is_block>, WrapIf<is_norm>>, Communicator<Threads>>);
static_assert(
    breaks<rule::kept_segments_exist<Shard<ZeRO3, KeepSegments, WrapIf<is_norm>>, Checkpoint<Every<2>>, false>,
           Shard<ZeRO3, KeepSegments, WrapIf<is_norm>>, Checkpoint<Every<2>>, Communicator<Threads>>);
static_assert(Composable<Gpt, Shard<Replicated, Bucket<25_MiB>, WrapIf<is_block>>, Communicator<Threads>> &&
              Composable<Gpt, Shard<NoShard, Bucket<1>>, Communicator<Mpi>, Accumulate<4>>);
static_assert(
    breaks<rule::shard_options_fit<Shard<Replicated, Bucket<0>>>, Shard<Replicated, Bucket<0>>, Communicator<Threads>>);
static_assert(
    breaks<rule::shard_options_fit<Shard<ZeRO1, Bucket<25_MiB>>>, Shard<ZeRO1, Bucket<25_MiB>>, Communicator<Threads>>);
static_assert(breaks<rule::shard_options_fit<Shard<Replicated, Bucket<1>, Bucket<2>>>,
                     Shard<Replicated, Bucket<1>, Bucket<2>>, Communicator<Threads>>);
static_assert(breaks<rule::bucket_reduces_once<Shard<Replicated, Bucket<1>>, Accumulate<2, ReduceEach>>,
                     Shard<Replicated, Bucket<1>>, Accumulate<2, ReduceEach>, Communicator<Threads>>);
static_assert(breaks<rule::shard_needs_communicator<Shard<Replicated, Bucket<1>>, Communicator<Solo>>,
                     Shard<Replicated, Bucket<1>>>);
// A bucket changes nothing on the wire but the number of messages, and costs memory where a transport needs room beside
// it.
template <class Ranks, class... Options>
inline constexpr const MemoryPlan& bucketed =
    programs::Recipe<Gpt,
                     ConfigurationOf<Batch<1>, Communicator<Ranks>, World<4>, Shard<Replicated, Options...>>>::plan;
static_assert(bucketed<Threads, Bucket<25_MiB>>.wire() == bucketed<Threads>.wire() &&
              bucketed<Threads, Bucket<25_MiB>>.peak == bucketed<Threads>.peak);
static_assert(bucketed<Tcp, Bucket<25_MiB>>.wire() == bucketed<Tcp>.wire() &&
              bucketed<Tcp, Bucket<25_MiB>>.peak > bucketed<Tcp>.peak);
// Two units joined send what both do, less at most one line of padding in each slice: two joins here, three slices,
// reduced and gathered.
constexpr std::size_t sent_by_units = plan<Gpt, Replicated, World<4>>.wire(),
                      sent_by_joined = bucketed<Threads, WrapIf<is_block>>.wire();
static_assert(sent_by_joined <= sent_by_units && sent_by_units - sent_by_joined <= 2 * TensorArena::alignment * 3 * 2);

// A segment that is kept takes more memory, and sends what Every<1> sends; gathered again it sends more.
template <class Schedule, class... Options>
inline constexpr const MemoryPlan& segments =
    programs::Recipe<Gpt, ConfigurationOf<Batch<1>, Communicator<Threads>, World<4>, Shard<ZeRO3, Options...>,
                                          Checkpoint<Schedule>>>::plan;
static_assert(segments<Every<3>, KeepSegments>.peak > segments<Every<3>>.peak);
static_assert(segments<Every<3>, KeepSegments>.wire() < segments<Every<3>>.wire());
static_assert(segments<Every<3>, KeepSegments>.wire() == segments<Every<1>>.wire());

// Gathering ahead costs one gathered unit, and nothing on the wire.
template <class... Options>
inline constexpr const MemoryPlan& ahead =
    programs::Recipe<Gpt, ConfigurationOf<Batch<1>, Communicator<Threads>, World<4>, Shard<ZeRO3, Options...>>>::plan;
static_assert(ahead<Prefetch<0>>.peak < ahead<Prefetch<1>>.peak && ahead<Prefetch<1>>.peak == ahead<>.peak);
static_assert(ahead<Prefetch<0>>.wire() == ahead<>.wire());
using Norms = Sequential<Residual<As<fp32, LayerNorm>, Linear<16>>>;
struct Uneven : Model<Input<Tokens<8>>, Embedding<Vocabulary<32>, 16>, Repeat<6, Norms>, Linear<32>> {};
static_assert(Composable<Uneven, Precision<bf16, fp32>, Communicator<Threads>>);
static_assert(std::is_same_v<detail::broken_rules<Uneven, Precision<bf16, fp32>, Communicator<Threads>, Shard<ZeRO1>>,
                             boost::mp11::mp_list<rule::shard_cuts_even_units<Shard<ZeRO1>, Repeat<6, Norms>>>>);
// Also before the search of a budget, whose plans cut units.
static_assert(std::is_same_v<detail::broken_rules<Uneven, Precision<bf16, fp32>, Communicator<Threads>, Shard<ZeRO1>,
                                                  Batch<1>, Checkpoint<Budget<1 << 20>>>,
                             boost::mp11::mp_list<rule::shard_cuts_even_units<Shard<ZeRO1>, Repeat<6, Norms>>>>);
// An error finds its owner at a Repeat, and in a branch of its block, moved to the host or not.
template <std::uint64_t digits, class... Policies>
using owner_in_uneven =
    typename decltype(rule::owner_at<typename programs::Recipe<Uneven, ConfigurationOf<Policies...>>::Bound,
                                     digits>())::type;
constexpr std::uint64_t in_branch = (2 * 256 + 1) * 256;  // the second child, the block's first, and one of its branch
static_assert(std::is_same_v<owner_in_uneven<2>, Repeat<6, Norms>> &&
              std::is_same_v<owner_in_uneven<in_branch + 2>, Linear<16>> &&
              std::is_same_v<owner_in_uneven<in_branch + 2, Checkpoint<Offload>>, Linear<16>>);
// So it does in the branches of a Fork, the activation of a gate left out, and in a Fork inside of one.
struct Forks : Model<Input<Tokens<8>>, Embedding<Vocabulary<32>, 16>,
                     Repeat<3, Fork<Add, Identity, Linear<16>,
                                    Sequential<Linear<16, NoBias>, Fork<Multiply, Sequential<Tanh, Silu>,
                                                                        Sequential<Gelu, LayerNorm, Linear<16>>>>>>,
                     Linear<32>> {};
template <std::uint64_t digits>
using owner_in_forks =
    typename decltype(rule::owner_at<programs::Recipe<Forks, ConfigurationOf<>>::Bound, digits>())::type;
static_assert(std::is_same_v<owner_in_forks<in_branch + 1>, Linear<16>> &&
              std::is_same_v<owner_in_forks<in_branch + 2>, Linear<16, NoBias>> &&
              std::is_same_v<owner_in_forks<(in_branch + 3) * 256 + 1>, Tanh> &&
              std::is_same_v<owner_in_forks<(in_branch + 3) * 256 + 4>, LayerNorm>);
// And inside Checkpointed, whose layers have places of the list around them.
struct Again : Model<Input<Vector<8>>, Linear<16>, Checkpointed<Tanh, Residual<LayerNorm, Linear<16>>>, Linear<4>> {};
template <std::uint64_t digits>
using owner_in_again =
    typename decltype(rule::owner_at<programs::Recipe<Again, ConfigurationOf<>>::Bound, digits>())::type;
static_assert(std::is_same_v<owner_in_again<2>, Tanh> && std::is_same_v<owner_in_again<3 * 256 + 2>, Linear<16>> &&
              std::is_same_v<owner_in_again<4>, Linear<4>>);

}  // namespace
// SPDX-License-Identifier: Apache-2.0
