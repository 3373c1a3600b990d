// Calculus: whole networks, under every way of keeping and recomputing.
#include <regimen/engine/cpu/device.hpp>
#include <regimen/layer/activation.hpp>
#include <regimen/layer/cast.hpp>
#include <regimen/layer/dropout.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/trainers/gradient_check.hpp>

#include "support/catch.hpp"

using namespace regimen;

namespace {

constexpr double tolerance = 1e-8;

using Drop = Dropout<Ratio<1, 8>>;
using Block = Sequential<Residual<LayerNorm, SelfAttention<Heads<2>, Causal, Drop>, Drop>,
                         Residual<LayerNorm, Linear<16>, Gelu, Linear<8>, Drop>>;
using Table = Embedding<Vocabulary<7>, 8>;
struct Gpt final : Model<Input<Tokens<5>>, Table, PositionEmbedding, Drop, Repeat<3, Block>, LayerNorm, Linear<7>> {};
struct Tied final : Model<Input<Tokens<5>>, Table, PositionEmbedding, Repeat<3, Block>, LayerNorm, TiedLinear<Table>> {
};

// Norms behind the sums, a Repeat in a Repeat, a Residual around a Repeat, layers of another type.
using PostNorm =
    Sequential<Residual<SelfAttention<Heads<2>>, Drop>, LayerNorm, Residual<Linear<12>, Silu, Linear<8>>, RmsNorm>;
struct Odd final : Model<Input<Tokens<5>>, Table, PositionEmbedding, Repeat<2, Repeat<2, PostNorm>>,
                         Residual<Repeat<3, Sequential<Linear<8>, GeluTanh>>, Linear<8>>, As<fp64, LayerNorm, Gelu>,
                         LayerNorm, TiedLinear<Table>> {};

template <class Network, class... Policies>
void holds(const char* what) {
  const GradientCheck found = gradient_check<Network, Batch<2>, Policies...>({6});
  INFO(what << ": " << found.tensor << "[" << found.element << "], " << found.checked << " checked, worst "
            << found.worst);
  CHECK(found.checked > 50);
  CHECK(found.worst < tolerance);
}

}  // namespace

TEST_CASE("a GPT has the gradients of its loss") { holds<Gpt>("none"); }
TEST_CASE("also in segments, where the last is shorter") { holds<Gpt, Checkpoint<Every<2>>>("every 2"); }
TEST_CASE("also without fused forms, with outputs recomputed and smoothed targets") {
  holds<Gpt, Checkpoint<Selective<LayerNorm, Gelu, Drop>>, Fusion<Unfused>, Loss<SmoothedCrossEntropy<Ratio<1, 10>>>>(
      "selective, not fused");
}
TEST_CASE("a tied table has the gradients of both uses, over several micro-batches") {
  holds<Tied, Checkpoint<Every<1>>, Accumulate<2>>("tied");
}
TEST_CASE("odd trees have the gradients of their loss") {
  holds<Odd>("odd");
  holds<Odd, Checkpoint<Selective<LayerNorm, RmsNorm, Silu, Linear<8>>>>("odd, selective");
}
TEST_CASE("what is not frozen has the gradients of the loss") {
  holds<Gpt, Freeze<Table, PositionEmbedding, Linear<16>, LayerNorm>>("frozen");
}
TEST_CASE("a head wider than the tiles of the kernels has the gradients of its loss") {
  struct Wide : Model<Input<Tokens<5>>, Embedding<Vocabulary<7>, 272>,
                      Residual<LayerNorm, SelfAttention<Heads<1>, Causal, Drop>>, Linear<7>> {};
  holds<Wide>("wide");
}
