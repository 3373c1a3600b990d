// Checkpoint<If<P>> asks about blocks, too: these are computed again from their inputs, with the bits and the names of the
// same model without, and the plan of one that is written with Checkpointed<...>; it is what a run takes.
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
#include "support/on_two.hpp"
#include "support/trained.hpp"

#include <type_traits>

using namespace regimen;

namespace {

template <class Layer>
struct is_residual : std::false_type {};
template <class... Layers>
struct is_residual<Residual<Layers...>> : std::true_type {};
template <class Layer>
struct is_fork : std::false_type {};
template <class Join, class... Branches>
struct is_fork<Fork<Join, Branches...>> : std::true_type {};
template <class Layer>
struct is_shared : std::false_type {};
template <class Name, class... Layers>
struct is_shared<Shared<Name, Layers...>> : std::true_type {};
/// True of everything: of a layer alone only where its output can be computed again.
template <class Layer>
struct is_any : std::bool_constant<!std::is_same_v<Layer, Softmax> && !std::is_same_v<Layer, Tanh>> {};

using Drop = Dropout<Ratio<1, 4>>;
struct Twice;
template <template <class...> class Around>
using BlockOf = Around<Residual<LayerNorm, SelfAttention<Heads<2>, Causal, Drop>>,
                       Residual<LayerNorm, Linear<48>, Gelu, Drop, Linear<12>>>;
using Block = BlockOf<Sequential>;
template <class Layer>
struct is_block : std::is_same<Layer, Block> {};
template <class Layer>
struct is_block_or_gelu : std::bool_constant<std::is_same_v<Layer, Block> || std::is_same_v<Layer, Gelu>> {};

/// Blocks in every position: what a Repeat repeats, in such a one, in itself, behind another branch, at the end of a Residual,
/// first and last.
template <template <class...> class Around = Sequential>
struct Net final
    : Model<Input<Tokens<6>>, Fork<Add, Embedding<Vocabulary<9>, 12>, Embedding<Vocabulary<9>, 12, PaddedWith<0>>>,
            LayerNorm, Repeat<4, BlockOf<Around>>, Shared<Twice, Residual<Linear<12>, Gelu, Drop>>,
            Fork<Multiply, Sequential<Linear<12>, Silu>, Sequential<Drop, Residual<Linear<12>, Softmax>>>,
            Residual<LayerNorm, Shared<Twice, Residual<Linear<12>, Gelu, Drop>>>, As<tf32, Residual<Linear<12>, Tanh>>,
            Residual<Drop, Repeat<3, Residual<Linear<12>>>>, Linear<9>> {};

using Result = support::NamedResult;
Result numbers(auto& trainer) {
  return support::trained_with_names(trainer, Fake({.samples = 16, .classes = 9, .seed = 4}), 4);
}
template <class... Policies>
Result trained() {
  Trainer<Net<>, Batch<4>, Policies...> trainer;
  return numbers(trainer);
}
template <class... Policies>
Result on_two() {
  return support::on_two<Trainer<Net<>, Batch<2>, Communicator<Threads>, Policies...>>(
      [](auto& trainer) { return numbers(trainer); });
}
template <class Network, class... Policies>
constexpr std::size_t saved = Trainer<Network, Batch<4>, Policies...>::plan().bytes(MemoryKind::saved);
template <class... Policies>
constexpr double operations = Trainer<Net<>, Batch<4>, Policies...>::plan().backward.flops;

}  // namespace

TEMPLATE_TEST_CASE("bits and names are those without", "", Checkpoint<If<is_any>>,
                   (Checkpoint<If<is_block_or_gelu>, KeepLast<1>>), (Checkpoint<Every<2>, If<is_residual>>),
                   (Checkpoint<Every<1>, KeepLast<2, If<is_block>>>)) {
  static const Result plain = trained<>();
  CHECK(trained<TestType>() == plain);
}
TEST_CASE("in 16 bits") {
  CHECK(trained<Checkpoint<If<is_any>>, Precision<bf16, fp32>>() == trained<Precision<bf16, fp32>>());
}
TEST_CASE("on ranks that gather its weights, in units of the user's choice") {
  CHECK(on_two<Shard<ZeRO3, WrapIf<is_block>>, Checkpoint<If<is_any>>>() == on_two<Shard<ZeRO3, WrapIf<is_block>>>());
}

TEST_CASE("a chosen block saves what a Checkpointed one does") {
  using Chosen = Trainer<Net<>, Batch<4>, Checkpoint<If<is_block>>>;
  using Written = Trainer<Net<Checkpointed>, Batch<4>>;
  static_assert(Chosen::plan().peak == Written::plan().peak &&
                saved<Net<>, Checkpoint<If<is_block>>> == saved<Net<Checkpointed>> &&
                Chosen::plan().backward.flops == Written::plan().backward.flops);
  static_assert(saved<Net<>, Checkpoint<If<is_block>>> < saved<Net<>>);
  SUCCEED();
}
TEST_CASE("each choice saves less, and computes what it says") {
  static_assert(saved<Net<>, Checkpoint<If<is_residual>>> < saved<Net<>> &&
                saved<Net<>, Checkpoint<If<is_fork>>> < saved<Net<>> &&
                saved<Net<>, Checkpoint<If<is_shared>>> < saved<Net<>>);
  static_assert(saved<Net<>, Checkpoint<If<is_block>>> < saved<Net<>, Checkpoint<If<is_block>, KeepLast<1>>> &&
                saved<Net<>, Checkpoint<If<is_block>, KeepLast<1>>> <
                    saved<Net<>, Checkpoint<If<is_block>, KeepLast<3>>> &&
                saved<Net<>, Checkpoint<If<is_block>, KeepLast<3>>> < saved<Net<>>);
  // Of four blocks one, three and four are computed again.
  constexpr double of_block = (operations<Checkpoint<If<is_block>>> - operations<>) / 4;
  static_assert(of_block > 0);
  static_assert(operations<Checkpoint<If<is_block>, KeepLast<1>>> - operations<> == 3 * of_block);
  static_assert(operations<Checkpoint<If<is_block>, KeepLast<3>>> - operations<> == of_block);
  SUCCEED();
}
