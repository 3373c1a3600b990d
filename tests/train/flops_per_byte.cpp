// Layers are computed again by their floating-point operations for each byte of output: the layers that Selective would
// name, so with the same bits and plans, in every format and under every other choice.
#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/layer/activation.hpp>
#include <regimen/layer/dropout.hpp>
#include <regimen/layer/embedding.hpp>
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
#include <vector>

using namespace regimen;

namespace {

using Block = Sequential<Residual<LayerNorm, SelfAttention<Heads<2>, Causal>>,
                         Residual<LayerNorm, Linear<48>, Gelu, Dropout<Ratio<1, 8>>, Linear<12>>>;
struct Net final
    : Model<Input<Tokens<6>>, Embedding<Vocabulary<9>, 12>, LayerNorm, Repeat<5, Block>, LayerNorm, Linear<9>> {};

template <std::size_t number>
using Cheap = If<FlopsPerByteBelow<number>::template of>;
template <class Network, class... Policies>
using Chosen = typename Trainer<Network, Policies...>::Recipe::Schedule;
template <class... Layers>
using Selected = Checkpoint<Selective<Layers...>>;
template <class Network, class... Policies>
constexpr const MemoryPlan& plan = Trainer<Network, Batch<4>, Policies...>::plan();

// In fp32 a norm takes 2 operations a byte, a GELU 2.5, a product behind 12 channels 6; in bf16 twice as many.
static_assert(std::is_same_v<Chosen<Net, Checkpoint<If<FlopsPerByteBelow<4>::of>>>,
                             Selected<Embedding<Vocabulary<9>, 12>, LayerNorm, Gelu, Dropout<Ratio<1, 8>>>>);
static_assert(std::is_same_v<Chosen<Net, Checkpoint<Cheap<2>>>,  // below, not at
                             Selected<Embedding<Vocabulary<9>, 12>, Dropout<Ratio<1, 8>>>>);
static_assert(std::is_same_v<Chosen<Net, Checkpoint<Cheap<5>>, Precision<bf16, fp32>>,
                             Selected<Embedding<Vocabulary<9>, 12>, LayerNorm, Dropout<Ratio<1, 8>>>>);
static_assert(
    std::is_same_v<Chosen<Net, Checkpoint<Cheap<6>>, Precision<bf16, fp32>>, Chosen<Net, Checkpoint<Cheap<4>>>>);
static_assert(std::is_same_v<Chosen<Net, Checkpoint<Cheap<4>>, Batch<Largest>, Target<targets::host<8_GiB>>>,
                             Chosen<Net, Checkpoint<Cheap<4>>, Batch<1>>>);

// Less is saved, and the plan says what is computed again: less than one product behind the widest layer.
static_assert(plan<Net, Checkpoint<Cheap<4>>>.bytes(MemoryKind::saved) < plan<Net>.bytes(MemoryKind::saved));
static_assert(plan<Net, Checkpoint<Cheap<4>>>.backward.flops > plan<Net>.backward.flops);
static_assert(plan<Net, Checkpoint<Cheap<4>>>.backward.flops - plan<Net>.backward.flops <
              5 * 2.0 * (4 * 6) * 48 * 12);  // blocks, multiply and add, rows, from 48 to 12 channels

// A layer is chosen if it is cheap at each of its places.
struct Twice final : Model<Input<Vector<2>>, Linear<64>, Relu, Linear<8>, Gelu, Linear<64>, Linear<3>> {};
static_assert(std::is_same_v<Chosen<Twice, Checkpoint<Cheap<4>>>, Selected<Relu, Gelu>>);  // 64 from 2, and from 8
static_assert(std::is_same_v<Chosen<Twice, Checkpoint<Cheap<5>>>, Selected<Linear<64>, Relu, Gelu>>);
struct Back final : Model<Input<Vector<8>>, Linear<64>, Relu, Linear<2>, Gelu, Linear<64>, Linear<3>> {};
static_assert(std::is_same_v<Chosen<Back, Checkpoint<Cheap<4>>>, Selected<Relu, Gelu>>);  // 64 from 8, and from 2

/// A layer whose output would not be the same again.
struct Once final {
  static constexpr const char* name = "once";
  static constexpr bool replayable = false, couples_samples = false;
  template <class X, class Roles>
  using Bound = Relu::Bound<X, Roles>;
};
// What cannot be recomputed is left out, and what is frozen before all that trains is not saved anyway.
struct Some final : Model<Input<Vector<4>>, Linear<8>, Softmax, Once, LayerNorm, Tanh, Linear<4>> {};
static_assert(std::is_same_v<Chosen<Some, Checkpoint<Cheap<1000>>>, Selected<Linear<8>, LayerNorm, Linear<4>>>);
static_assert(!Composable<Some, Checkpoint<Selective<Softmax>>> && !Composable<Some, Checkpoint<Selective<Once>>>);
static_assert(std::is_same_v<Chosen<Some, Checkpoint<Cheap<1000>>, Freeze<Linear<8>>>, Selected<LayerNorm, Linear<4>>>);
struct Products final : Model<Input<Vector<64>>, Linear<8>, Linear<9>, Linear<4>> {};
static_assert(!Composable<Products, Checkpoint<Cheap<4>>> && Composable<Products, Checkpoint<Cheap<5>>>);

/// By type, and of others by cost.
template <class Layer>
struct is_norm_or_free {
  static constexpr bool holds(double flops, double) { return flops == 0; }
};
template <>
struct is_norm_or_free<LayerNorm> : std::true_type {};
static_assert(
    std::is_same_v<Chosen<Net, Checkpoint<If<is_norm_or_free>>>, Selected<Embedding<Vocabulary<9>, 12>, LayerNorm>>);

const Fake& fake_data() {
  static const Fake fake({.samples = 24, .classes = 9, .seed = 4});
  return fake;
}
std::vector<double> numbers(auto& trainer) { return support::trained(trainer, fake_data(), 5); }
template <class... Policies>
std::vector<double> trained() {
  Trainer<Net, Batch<4>, Policies...> trainer;
  return numbers(trainer);
}
template <class... Policies>
std::vector<double> on_two() {
  return support::on_two<Trainer<Net, Batch<2>, Communicator<Threads>, Shard<ZeRO3>, Policies...>>(
      [](auto& trainer) { return numbers(trainer); });
}

}  // namespace

TEST_CASE("what is cheap for its bytes is computed again, with the same bits") {
  CHECK(trained<Checkpoint<If<FlopsPerByteBelow<4>::of>>>() == trained<>());
  CHECK(trained<Checkpoint<Cheap<1000>>>() == trained<>());  // products, too
}
TEST_CASE("in 16 bits, and without fusion") {
  CHECK(trained<Checkpoint<Cheap<6>>, Precision<bf16, fp32>>() == trained<Precision<bf16, fp32>>());
  CHECK(trained<Checkpoint<Cheap<4>>, Fusion<Unfused>>() == trained<Fusion<Unfused>>());
}
TEST_CASE("in segments, and in the last blocks alone") {
  const std::vector<double> plain = trained<>();
  CHECK(trained<Checkpoint<Every<2>, Cheap<4>>>() == plain);
  CHECK(trained<Checkpoint<Every<1>, KeepLast<2, Cheap<3>>>>() == plain);
}
TEST_CASE("on ranks that gather their weights") {
  CHECK(on_two<Checkpoint<Cheap<4>, KeepLast<2, Every<1>>>>() == on_two<>());
}
