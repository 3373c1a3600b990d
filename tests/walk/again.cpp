// Checkpointed: layers that backward computes again, with the names and the bits of the same layers in a Sequential, in
// every position and under every Checkpoint; the plan is what a run takes.
#include <regimen/comm/launch.hpp>
#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/layer/activation.hpp>
#include <regimen/layer/dropout.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/join.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/layer/softmax.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"
#include "support/trained.hpp"

using namespace regimen;

namespace {

using Drop = Dropout<Ratio<1, 4>>;
/// In a Residual in a Repeat, behind another branch of a Fork, in itself, and first and last of the model. What one layer
/// is fused with stands beside it.
template <template <class...> class Around>
struct Net final
    : Model<Input<Tokens<6>>, Around<Embedding<Vocabulary<9>, 12>, Drop>,
            Repeat<3, Sequential<Residual<Around<LayerNorm, SelfAttention<Heads<2>, Causal, Drop>>, Drop>,
                                 Residual<LayerNorm, Around<Linear<48>, Gelu, Around<Drop, Linear<12>>, Drop>>>>,
            Fork<Add, Sequential<Linear<12>, Drop>, Sequential<LayerNorm, Around<Drop, Linear<12>>>>,
            Around<Repeat<2, Residual<Linear<12>, Drop, Softmax>>>, LayerNorm, Around<Drop, Linear<9>>> {};

using Result = support::NamedResult;
Result numbers(auto& trainer) {
  return support::trained_with_names(trainer, Fake({.samples = 16, .classes = 9, .seed = 4}), 4);
}
template <template <class...> class Around, class... Policies>
Result trained() {
  Trainer<Net<Around>, Batch<4>, Policies...> trainer;
  return numbers(trainer);
}
template <template <class...> class Around>
Result on_two() {
  Result found;
  launch(2, [&](comm::Threads& ranks) {
    Trainer<Net<Around>, Batch<2>, Communicator<Threads>, Shard<ZeRO3>> trainer(ranks);
    const Result own = numbers(trainer);
    if (ranks.rank() == 0) found = own;
  });
  return found;
}
template <template <class...> class Around>
constexpr std::size_t saved = Trainer<Net<Around>, Batch<4>>::plan().bytes(MemoryKind::saved);

}  // namespace

TEST_CASE("names, random numbers and bits are those of a Sequential") {
  const Result plain = trained<Sequential>();
  CHECK(trained<Checkpointed>() == plain);
  CHECK(trained<Checkpointed, Checkpoint<Every<2>, Selective<LayerNorm, Drop>>>() == plain);
  static_assert(saved<Checkpointed> < saved<Sequential>);
}
TEST_CASE("on ranks that gather its weights") { CHECK(on_two<Checkpointed>() == on_two<Sequential>()); }
