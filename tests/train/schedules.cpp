// What is computed again: layers that a predicate chooses, and outputs of layers inside of segments. The bits stay, the
// plan holds, and what is saved is no more than under either schedule.
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
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"
#include "support/on_two.hpp"
#include "support/trained.hpp"

#include <type_traits>
#include <vector>

using namespace regimen;

namespace {

template <class Layer>
struct is_cheap : std::bool_constant<std::is_same_v<Layer, Gelu> || std::is_same_v<Layer, LayerNorm>> {};

using Block = Sequential<Residual<LayerNorm, SelfAttention<Heads<2>, Causal>>,
                         Residual<LayerNorm, Linear<48>, Gelu, Dropout<Ratio<1, 8>>, Linear<12>>>;
/// A layer whose output is computed again lies before the Repeat, behind it, and in it.
struct Net final
    : Model<Input<Tokens<6>>, Embedding<Vocabulary<9>, 12>, LayerNorm, Repeat<5, Block>, LayerNorm, Linear<9>> {};
struct Mixed final : Model<Input<Tokens<6>>, Embedding<Vocabulary<9>, 12>, LayerNorm,
                           Repeat<4, Fork<Multiply, Sequential<Linear<12>, Gelu>, LayerNorm>>, Gelu, Linear<9>> {};

const Fake& fake_data() {
  static const Fake fake({.samples = 24, .classes = 9, .seed = 4});
  return fake;
}
std::vector<double> numbers(auto& trainer) { return support::trained(trainer, fake_data(), 5); }
template <class Network, class... Policies>
std::vector<double> trained() {
  Trainer<Network, Batch<4>, Policies...> trainer;
  return numbers(trainer);
}
template <class... Policies>
std::vector<double> on_two() {
  return support::on_two<Trainer<Net, Batch<2>, Communicator<Threads>, Shard<ZeRO3>, Policies...>>(
      [](auto& trainer) { return numbers(trainer); });
}
template <class Network, class... Policies>
constexpr std::size_t saved_by = Trainer<Network, Batch<4>, Policies...>::plan().bytes(MemoryKind::saved);

}  // namespace

TEMPLATE_TEST_CASE("a predicate chooses what Selective names", "", Net, Mixed) {
  static_assert(std::is_same_v<typename Trainer<TestType, Checkpoint<If<is_cheap>>>::Recipe::Facts,
                               typename Trainer<TestType, Checkpoint<Selective<LayerNorm, Gelu>>>::Recipe::Facts>);
  CHECK(trained<TestType, Checkpoint<If<is_cheap>>>() == trained<TestType>());
}
TEMPLATE_TEST_CASE("segments save no outputs of layers that are computed again", "", Net, Mixed) {
  const std::vector<double> plain = trained<TestType>();
  CHECK(trained<TestType, Checkpoint<Every<2>, Selective<Gelu, LayerNorm>>>() == plain);
  CHECK(trained<TestType, Checkpoint<If<is_cheap>, Every<1>>>() == plain);
  CHECK(trained<TestType, Checkpoint<Every<3>, Selective<LayerNorm>>, Fusion<Unfused>>() ==
        trained<TestType, Fusion<Unfused>>());
  static_assert(saved_by<TestType, Checkpoint<Every<2>, Selective<Gelu, LayerNorm>>> <=
                saved_by<TestType, Checkpoint<Every<2>>>);
}
TEMPLATE_TEST_CASE("the last blocks are not recomputed", "", Net, Mixed) {
  const std::vector<double> plain = trained<TestType>();
  CHECK(trained<TestType, Checkpoint<Every<1>, KeepLast<2>>>() == plain);
  CHECK(trained<TestType, Checkpoint<Every<2>, KeepLast<1>, Selective<LayerNorm>>>() == plain);
  CHECK(trained<TestType, Checkpoint<Selective<LayerNorm, Gelu>, KeepLast<2>>>() == plain);
  static_assert(saved_by<TestType, Checkpoint<Every<1>>> < saved_by<TestType, Checkpoint<Every<1>, KeepLast<3>>>);
  static_assert(saved_by<TestType, Checkpoint<Every<1>, KeepLast<3>>> < saved_by<TestType>);
}
TEMPLATE_TEST_CASE("the last blocks follow schedules of their own", "", Net, Mixed) {
  const std::vector<double> plain = trained<TestType>();
  CHECK(trained<TestType, Checkpoint<Every<2>, KeepLast<2, Every<1>>>>() == plain);
  CHECK(trained<TestType, Checkpoint<If<is_cheap>, KeepLast<1, Every<1>, Selective<LayerNorm>>>>() == plain);
  CHECK(trained<TestType, Checkpoint<Every<1>, KeepLast<3, Selective<Gelu>, KeepLast<1, If<is_cheap>>>>>() == plain);
}
TEST_CASE("the same on ranks that gather their weights") {
  CHECK(on_two<Checkpoint<Every<2>, If<is_cheap>>>() == on_two<>());
  CHECK(on_two<Checkpoint<If<is_cheap>>>() == on_two<>());
  CHECK(on_two<Checkpoint<Every<1>, KeepLast<2>>>() == on_two<>());
  CHECK(on_two<Checkpoint<If<is_cheap>, KeepLast<3, Every<2>, KeepLast<1>>>>() == on_two<>());
}
