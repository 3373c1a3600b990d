// On a device the rows of a model's output begin at multiples of 16 bytes, whatever the vocabulary; what lies between
// them reaches no result.
#include "support/rounding.hpp"
#include "train/deferred.hpp"

#include <regimen/engine/emulated/device.hpp>
#include <regimen/loss/mean_squared_error.hpp>
#include <regimen/loss/soft_cross_entropy.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/trainers/inference.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

using namespace regimen;
using namespace regimen::test;
using support::as_far_as;
using support::distance;
using support::of_order;
namespace mp = boost::mp11;

namespace {

/// The emulated device, but for its rows, which are dense.
struct Dense final {
  using option_of = axis::device;
};

}  // namespace

template <>
struct regimen::engines::Of<Dense> {
  template <class Choices>
  struct with {
    using type = cuda::Engine<emulated::Runtime, Choices>;
    struct Traits : type::Traits {
      static constexpr std::size_t row_alignment = 1;
    };
  };
  using type = with<DefaultChoices>::type;
  using Traits = with<DefaultChoices>::Traits;
};

namespace {

/// 53 words, and 257: rows of 212 and 1028 bytes in fp32. With a bias, and tied to the embedding.
struct BiasedGpt final : Model<Input<Tokens<4>>, Embedding<Vocabulary<53>, 8>,
                               Repeat<2, Sequential<Residual<LayerNorm, SelfAttention<Heads<2>, Causal>>,
                                                    Residual<LayerNorm, Linear<16>, GeluTanh, Linear<8>>>>,
                               LayerNorm, Linear<53>> {};
using ManyWords = Embedding<Vocabulary<257>, 8>;
struct TiedGpt final
    : Model<Input<Tokens<3>>, ManyWords, PositionEmbedding, Repeat<2, Residual<LayerNorm, Linear<24>, Silu, Linear<8>>>,
            LayerNorm, TiedLinear<ManyWords>> {};
/// The last product multiplies by the derivative of the activation before it.
struct Classes final : Model<Input<Vector<8>>, Linear<16>, GeluTanh, Linear<5>> {};

/// The gradient of a bias sums what is rounded to 16 bits in padded rows, and what is not in dense ones.
struct WithoutLastBias final : Model<Input<Vector<8>>, Linear<16>, GeluTanh, Linear<5, NoBias>> {};

using Smooth = Loss<SmoothedCrossEntropy<Ratio<1, 10>>>;

/// The same products, in the same order of sums, which does not depend on where rows begin. Softmax adds a row from its
/// first multiple of 16 bytes on, so rows that begin elsewhere are added in another order: in fp64 that is all that
/// differs, and in other formats rows are no farther from fp64 than the CPU engine's, as support/rounding.hpp says. The
/// plan counts what lies between rows; with rows of that length nothing is unaligned.
///   Format, Form   policies that fp64 lacks, and that the CPU engine lacks
template <class Network, class Format, class Form, class... Policies>
struct Pads;
template <class Network, class... Format, class... Form, class... Policies>
struct Pads<Network, mp::mp_list<Format...>, mp::mp_list<Form...>, Policies...> {
  using Exact = Trainer<Network, Batch<4>, Policies..., Precision<fp64>>;
  using Here = Trainer<Network, Batch<4>, Policies..., Format...>;
  using Padded = Trainer<Network, Batch<4>, Policies..., Format..., Form..., Device<Emulated>>;
  using Packed = Trainer<Network, Batch<4>, Policies..., Format..., Form..., Device<Dense>>;

  /// fewer   bytes that are moved of each logit's gradient, which in padded rows has the 16 bits of the products' factors:
  ///         the loss writes it, two products and a bias read it
  static void check(std::size_t words, std::size_t rows, const char* what, std::size_t fewer = 0) {
    INFO(what);
    const std::size_t filled = (words + 3) / 4 * 4 - words;
    CHECK(Padded::plan().padding == 4 * rows * filled * 4);
    CHECK(Packed::plan().padding == 0);
    CHECK(Padded::plan().unaligned_share() == 0);
    CHECK(Packed::plan().unaligned_share() > 0);
    CHECK(Padded::plan().operations() == Packed::plan().operations());
    CHECK(Packed::plan().bytes_moved() - Padded::plan().bytes_moved() == double(4 * rows * words * fewer));
    const DeferredOutcome exact = trained_as_planned<Exact>(), here = trained_as_planned<Here>(),
                          padded = trained_as_planned<Padded>(), packed = trained_as_planned<Packed>();
    CHECK(distance(exact.weights, padded.weights) < as_far_as(distance(exact.weights, here.weights)));
    CHECK(distance(exact.weights, packed.weights) < as_far_as(distance(exact.weights, here.weights)));
    if (exact.numbers[3] != here.numbers[3]) return;  // the loss is scaled
    CHECK(distance(exact.numbers, padded.numbers) < as_far_as(distance(exact.numbers, here.numbers)));
    CHECK(distance(exact.numbers, packed.numbers) < as_far_as(distance(exact.numbers, here.numbers)));
  }
};
template <class Network, class... Policies>
void pads_in_fp64(const char* what) {
  INFO(what);
  const DeferredOutcome padded = trained_as_planned<Trainer<Network, Batch<4>, Policies..., Device<Emulated>>>(),
                        packed = trained_as_planned<Trainer<Network, Batch<4>, Policies..., Device<Dense>>>();
  CHECK(distance(padded.numbers, packed.numbers) < of_order);
  CHECK(distance(padded.weights, packed.weights) < of_order);
}

/// Without softmax's order of sums: one step of a single row that begins at 16 bytes in both, so all is in one order.
template <class Network, class... Policies>
void has_the_bits_of_one_dense_row(const char* what) {
  INFO(what);
  const auto one_row = [&]<class Where>(std::type_identity<Where>) {
    Trainer<Network, Batch<1>, Policies..., Device<Where>> trainer;
    trainer.poison_dead_memory();
    trainer.fit(fake_data(), {.steps = 5, .progress = false});
    return support::weights_of<double>(trainer);
  };
  CHECK(one_row(std::type_identity<Emulated>{}) == one_row(std::type_identity<Dense>{}));
}

}  // namespace

TEST_CASE("a model with rows of odd length trains in padded rows what it trains in dense ones") {
  using In16 = mp::mp_list<Precision<bf16, fp32>>;
  using Scaled = mp::mp_list<Precision<fp16, fp32>, LossScale<Static<64>>>;
  using None = mp::mp_list<>;
  Pads<BiasedGpt, None, None, Accumulate<2>, Checkpoint<Every<1>>, Clip<Norm<Ratio<1>>>>::check(53, 4, "a bias, fp32");
  Pads<BiasedGpt, In16, mp::mp_list<Epilogue<Separate>>>::check(53, 4, "a bias, bf16", 4 * 2);
  Pads<TiedGpt, mp::mp_list<Precision<tf32>>, None, Smooth, Steps<3>>::check(257, 3, "a tied table, tf32");
  Pads<TiedGpt, Scaled, None>::check(257, 3, "a tied table, fp16", 3 * 2);
  Pads<Classes, None, None, Optimizer<Sgd>, Freeze<Linear<16>>>::check(5, 1, "5 classes");
}

TEST_CASE("in fp64 padded rows and dense ones differ by the order of sums") {
  pads_in_fp64<BiasedGpt, Precision<fp64>, Accumulate<2>>("53 words and a bias");
  pads_in_fp64<TiedGpt, Precision<fp64>, Smooth>("257 words of a tied table");
}

TEST_CASE("where softmax has one order, padded rows train the bits of dense ones") {
  has_the_bits_of_one_dense_row<Classes>("5 classes");
  has_the_bits_of_one_dense_row<WithoutLastBias, Precision<bf16, fp32>, Epilogue<Separate>>("in bf16");
  has_the_bits_of_one_dense_row<Classes, Debug<Anomaly>, Smooth>("which are looked at");
}

TEST_CASE("debugging leaves the bits, and finds a NaN in a padded row, but none between rows") {
  using Plain = Trainer<BiasedGpt, Batch<4>, Device<Emulated>>;
  using Checked = Trainer<BiasedGpt, Batch<4>, Device<Emulated>, Debug<Anomaly>>;
  CHECK(trained_as_planned<Checked>() == trained_as_planned<Plain>());
  CHECK(Checked::plan().padding == Plain::plan().padding);
  Checked trainer;
  for (const auto& parameter : trainer.parameters())
    if (parameter.name == "3.bias") parameter.values[52] = std::numeric_limits<float>::quiet_NaN();
  trainer.parameters_changed();
  const std::string error = ::test::error_of([&] { trainer.fit(fake_data(), {.steps = 3, .progress = false}); });
  INFO(error);
  CHECK(::test::says(error, "output of layer 3 (linear)"));
}

TEST_CASE("what a model predicts has no gaps, in a Trainer and in an Inference, and is decoded from the right row") {
  const ::test::Directory folder;
  Trainer<BiasedGpt, Batch<4>, Device<Emulated>> there;
  there.fit(fake_data(), {.steps = 3, .progress = false});
  there.save(folder / "state");
  Trainer<BiasedGpt, Batch<4>> here;
  here.load(folder / "state");
  std::vector<std::int32_t> text(5 * 4);  // a batch, and a sample more
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<std::int32_t>(i * 7 % 53);
  const auto numbers = [](const auto& from) { return std::vector<double>(from.begin(), from.end()); };
  const auto expected = numbers(here.predict(text)), found = numbers(there.predict(text));
  REQUIRE(found.size() == 5 * 4 * 53);
  CHECK(distance(expected, found) < 0x1p-16);  // logits of order 1, by sums of at most 16 terms in a few layers
  Inference<BiasedGpt, Batch<2>, Device<Emulated>> model(folder / "state");
  CHECK(decltype(model)::plan().padding == 2 * 4 * 3 * 4);
  CHECK(numbers(model.predict(text)) == found);
  // After the first token, after the next; and a whole window at once, whose last token is not its last row.
  const auto row = [&](std::size_t i) {
    return std::vector<double>(expected.begin() + static_cast<std::ptrdiff_t>(i * 53),
                               expected.begin() + static_cast<std::ptrdiff_t>((i + 1) * 53));
  };
  CHECK(distance(numbers(model.start(std::vector<std::int32_t>{text[0]})), row(0)) < 0x1p-16);
  CHECK(distance(numbers(model.next(text[1])), row(1)) < 0x1p-16);
  CHECK(distance(numbers(model.start(std::vector<std::int32_t>(text.begin(), text.begin() + 3))), row(2)) < 0x1p-16);
}

TEST_CASE("rows stay dense for a loss that does not know of padding, and on the CPU") {
  CHECK(Trainer<Classes, Batch<4>, Device<Emulated>, Loss<MeanSquaredError>>::plan().padding == 0);
  CHECK(Trainer<Classes, Batch<4>, Device<Emulated>, Loss<SoftCrossEntropy>>::plan().padding == 4 * 3 * 4);
  CHECK(Trainer<Classes, Batch<4>>::plan().padding == 0);
  CHECK(Trainer<Model<Input<Vector<8>>, Linear<5>, Tanh>, Batch<4>, Device<Emulated>>::plan().padding == 0);
  CHECK(Trainer<Model<Input<Vector<8>>, Linear<8>>, Batch<4>, Device<Emulated>>::plan().padding == 0);
}

TEST_CASE("ranks on devices train the same bits in padded rows under every sharding") {
  const auto on_ranks = [&]<class... Policies>(mp::mp_list<Policies...>) {
    std::vector<double> found;
    launch(2, [&](comm::Threads& communicator) {
      Trainer<TiedGpt, Batch<2>, Communicator<Threads>, Device<Emulated>, Accumulate<2, ReduceEach>, Policies...>
          trainer(communicator);
      trainer.poison_dead_memory();
      trainer.fit(fake_data(), {.steps = 4, .progress = false});
      const std::vector<double> own = support::weights_of<double>(trainer);
      if (communicator.rank() == 0) found = own;
    });
    return found;
  };
  const std::vector<double> expected = on_ranks(mp::mp_list<>{});
  CHECK(on_ranks(mp::mp_list<Shard<ZeRO3>>{}) == expected);
  CHECK(on_ranks(mp::mp_list<Shard<ZeRO2>, Debug<Anomaly>>{}) == expected);
}

TEST_CASE("a loop by hand trains what fit does") {
  using Train = Trainer<BiasedGpt, Batch<4>, Device<Emulated>>;
  const auto batch = [](std::size_t step) {
    std::vector<std::int32_t> tokens(16), targets(16);
    for (std::size_t i = 0; i < 16; ++i) {
      tokens[i] = static_cast<std::int32_t>((step * 5 + i * 7) % 53);
      targets[i] = i % 5 == 3 ? ignore_index : static_cast<std::int32_t>((step + i * 11) % 53);
    }
    return std::pair{tokens, targets};
  };
  const auto by_hand = [&]<class Where>(std::type_identity<Where>) {
    Trainer<BiasedGpt, Batch<4>, Device<Where>, Precision<fp64>> trainer;
    trainer.poison_dead_memory();
    std::vector<double> numbers;
    for (std::size_t step = 0; step < 3; ++step) {
      const auto [tokens, targets] = batch(step);
      const auto loss = trainer.forward(tokens, targets);
      numbers.push_back(trainer.apply(trainer.backward(loss)).gradient_norm);
    }
    for (const double weight : support::weights_of<double>(trainer)) numbers.push_back(weight);
    return numbers;
  };
  CHECK(distance(by_hand(std::type_identity<Emulated>{}), by_hand(std::type_identity<Cpu>{})) < of_order);
  static_assert(Train::plan().padding > 0);
}
// SPDX-License-Identifier: Apache-2.0
