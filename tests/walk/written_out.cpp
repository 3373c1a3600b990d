// Blocks that are written out compute what a Repeat of them does.
#include "walk/last_child.hpp"

using namespace regimen;
using namespace regimen::test;

namespace {

using Block =
    Sequential<Residual<LayerNorm, SelfAttention<Heads<2>, Causal>>, Residual<LayerNorm, Linear<12>, Gelu, Linear<8>>>;
template <class>
struct written_out;
template <std::size_t... I>
struct written_out<std::index_sequence<I...>> {
  template <std::size_t>
  using Same = Block;
  struct Gpt
      : Model<Input<Tokens<5>>, Embedding<Vocabulary<7>, 8>, PositionEmbedding, Same<I>..., LayerNorm, Linear<7>> {};
};
struct Looped
    : Model<Input<Tokens<5>>, Embedding<Vocabulary<7>, 8>, PositionEmbedding, Repeat<20, Block>, LayerNorm, Linear<7>> {
};
template <class Network>
using RecipeOf =
    programs::Recipe<Network, ConfigurationOf<Loss<MeanSquaredError>, Optimizer<Sgd>, Precision<fp64>, Batch<3>>>;

}  // namespace

TEST_CASE("20 blocks written out have the gradients of 20 repeated") {
  CHECK(gradients_of<RecipeOf<written_out<std::make_index_sequence<20>>::Gpt>>(true) ==
        gradients_of<RecipeOf<Looped>>(true));
}
