// A plan is the same number in every compiler: peaks of a GPT of 1.5 billion parameters, in bytes.
#include <regimen/layer/activation.hpp>
#include <regimen/layer/dropout.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/programs/recipe.hpp>
#include <regimen/rule/compose.hpp>

namespace regimen {
namespace {

template <std::size_t Depth>
struct Gpt final
    : Model<Input<Tokens<1024>>, Embedding<Vocabulary<50257>, 1600>, PositionEmbedding,
            Repeat<Depth, Sequential<Residual<LayerNorm, SelfAttention<Heads<25>, Causal>, Dropout<Ratio<1, 10>>>,
                                     Residual<LayerNorm, Linear<6400>, Gelu, Linear<1600>, Dropout<Ratio<1, 10>>>>>,
            LayerNorm, TiedLinear<Embedding<Vocabulary<50257>, 1600>>> {};

template <std::size_t Depth, class... Policies>
using Plan = programs::Recipe<Gpt<Depth>, ConfigurationOf<Policies...>>;
template <std::size_t Depth, class... Policies>
inline constexpr std::size_t peak = Plan<Depth, Policies...>::peak(8);

constexpr bool adds_up(const MemoryPlan& plan) {
  std::size_t sum = 0;
  for (std::size_t bytes : plan.kinds) sum += bytes;
  return sum == plan.peak && plan.peak_of_live <= plan.peak;
}

using Mixed = Precision<bf16, fp32>;
using Selected = Checkpoint<Selective<LayerNorm, Gelu>>;
using Large = Plan<48, Checkpoint<Every<1>>, Mixed, Batch<Largest>, Target<targets::a100_80g>>;

#ifndef REGIMEN_EXPECT
#define REGIMEN_EXPECT(...) static_assert(__VA_ARGS__)
#endif
REGIMEN_EXPECT(peak<48> == 67'076'271'360);
REGIMEN_EXPECT(peak<48, Checkpoint<Every<1>>> == 29'242'600'704);
REGIMEN_EXPECT(peak<48, Checkpoint<Every<2>>, Mixed> == 30'391'749'376);
REGIMEN_EXPECT(peak<48, Checkpoint<Every<7>>> == 31'382'973'696);
REGIMEN_EXPECT(peak<48, Selected> == 51'976'776'960);
REGIMEN_EXPECT(peak<1000, Checkpoint<Every<3>>, Mixed> == 565'292'684'032);
REGIMEN_EXPECT(Large::batch == 149);
REGIMEN_EXPECT(adds_up(Large::plan));

}  // namespace
}  // namespace regimen
