// Deep models without Repeat: their plans are constants below the default limits of g++ and clang. (nvcc stops at
// 200 levels of templates, takes minutes for so many layers, and 13.0 loses the packs below: nothing is asked of it
// here.)
#include <regimen/comm/threads.hpp>
#include <regimen/layer/activation.hpp>
#include <regimen/layer/cast.hpp>
#include <regimen/layer/dropout.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/programs/recipe.hpp>
#include <regimen/rule/compose.hpp>

#include <utility>

using namespace regimen;

namespace {

#ifndef __CUDACC__
template <class>
struct written_out;
template <std::size_t... I>
struct written_out<std::index_sequence<I...>> {
  template <std::size_t>
  using Block = Sequential<Residual<LayerNorm, SelfAttention<Heads<4>, Causal>>,
                           Residual<LayerNorm, Linear<64>, Gelu, Linear<16>>>;
  struct Gpt
      : Model<Input<Tokens<8>>, Embedding<Vocabulary<32>, 16>, PositionEmbedding, Block<I>..., LayerNorm, Linear<32>> {
  };
  template <std::size_t>
  using Pair = Sequential<Linear<8>, Relu>;
  struct Mlp : Model<Input<Vector<8>>, Pair<I>..., Linear<4>> {};
  template <std::size_t>
  using Norm = LayerNorm;
  struct Norms : Model<Input<Vector<8>>, Norm<I>..., Linear<4>> {};
  template <std::size_t>
  using Drop = Dropout<Ratio<1, 8>>;
  struct Drops : Model<Input<Vector<8>>, Linear<8>, Drop<I>..., Linear<4>> {
  };  // each output lives where the next layer's does
};
template <std::size_t count>
using Many = written_out<std::make_index_sequence<count>>;

template <class Network, class... Policies>
constexpr bool plans = programs::Recipe<Network, ConfigurationOf<Policies...>>::plan.peak > 0;

static_assert(plans<Many<4>::Gpt>);
#ifdef __clang__
static_assert(plans<Many<125>::Gpt>);  // 254 children
static_assert(plans<Many<127>::Mlp>);
static_assert(plans<Many<250>::Drops>);
#else  // g++'s time grows with the square of the children: minutes for 254
static_assert(plans<Many<50>::Gpt>);
static_assert(plans<Many<64>::Mlp>);
static_assert(plans<Many<125>::Drops>);
#endif
static_assert(plans<Many<30>::Gpt, Accumulate<4>, Precision<bf16, fp32>>);
static_assert(plans<Many<30>::Gpt, Batch<Largest>, Target<targets::h200>>);
static_assert(plans<Many<30>::Gpt, Shard<ZeRO3>, World<8>, Communicator<Threads>>);
#endif

}  // namespace

int main() {}
// SPDX-License-Identifier: Apache-2.0
