// What is written out, grouped or typed as the model's last child.
#include <regimen/comm/threads.hpp>
#include <regimen/layer/join.hpp>

#include "walk/last_child.hpp"

using namespace regimen;
using namespace regimen::test;

namespace {

using Table = Embedding<Vocabulary<7>, 8>;
using Block = Sequential<Residual<LayerNorm, SelfAttention<Heads<2>, Causal, Dropout<Ratio<1, 8>>>>,
                         Residual<LayerNorm, Linear<12>, Gelu, Linear<8>>>;
template <class Layer>
struct any_layer : std::true_type {};

}  // namespace

TEST_CASE("transformer blocks come last") {
  holds_as_last<Model<Input<Tokens<5>>, Table, Repeat<3, Block>>, Checkpoint<Every<2>>>("every 2");
  holds_as_last<Model<Input<Tokens<5>>, Table, Block, Block>, Accumulate<2>>("written out");
}
TEST_CASE("layers in a type of their own come last") {
  holds_as_last<Model<Input<Tokens<5>>, Table, As<fp64, Residual<LayerNorm, Linear<8>>>>>("As");
}
TEST_CASE("a join comes last, and a branch is computed again") {
  using In = Input<Vector<8>>;
  holds_as_last<Model<In, Linear<8>, Fork<Concat, LayerNorm, Checkpointed<Relu>>>>("Checkpointed", 1e-5, 1e-6);
  holds_as_last<Model<In, Linear<8>, Fork<Concat, Checkpointed<Relu, Linear<8>, Relu>, LayerNorm>>>("in the first",
                                                                                                    1e-5, 1e-6);
  holds_as_last<Model<In, Linear<8>, Fork<Multiply, Linear<8>, Checkpointed<Linear<8>, Relu>>>>("product", 1e-5, 1e-6);
  holds_as_last<Model<In, Linear<8>, Fork<Concat, Identity, Checkpointed<Linear<8>, Relu>>>>("beside x", 1e-5, 1e-6);
  holds_as_last<Model<In, Linear<8>, Fork<Concat, LayerNorm, Repeat<3, Residual<Linear<8>, Relu>>>>,
                Checkpoint<Every<2>>>("every 2", 1e-5, 1e-6);
}
TEST_CASE("one unit of all children") {
  using Grouped = Shard<ZeRO3, WrapIf<any_layer>>;
  holds_as_last<Model<Input<Tokens<5>>, Table, Residual<LayerNorm, Linear<8>>>, Communicator<Threads>, Grouped>(
      "grouped");
  holds_as_last<Model<Input<Tokens<5>>, Table, LayerNorm, Linear<8>, Relu>, Communicator<Threads>, Grouped>("grouped",
                                                                                                            1e-5, 1e-6);
}
