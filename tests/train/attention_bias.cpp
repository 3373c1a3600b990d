// Scores to which distances add: gradients are those of calculus, bits the same however they are computed, a table of
// several layers is one, and a text read position by position is what a whole window makes of it.
#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/trainers/gradient_check.hpp>
#include <regimen/trainers/inference.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"
#include "support/on_two.hpp"
#include "support/trained.hpp"

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

using namespace regimen;

namespace {

constexpr std::size_t window = 40, words = 7;

/// A T5 whose blocks have one table, and behind it attention that falls with the distance, within a window.
struct OneTable;
using Relative = SelfAttention<Heads<2>, RelativeBias<4, 9, OneTable>, Causal, WithoutScale, WithoutBias, KeyHeads<1>>;
using Falling = SelfAttention<Heads<3>, SlidingWindow<7>, Alibi, Causal, HeadWidth<4>, Dropout<Ratio<1, 8>>>;
using Block = Sequential<Residual<RmsNorm, Relative>, Residual<RmsNorm, Linear<12, NoBias>, Relu, Linear<8, NoBias>>>;
struct Reader final : Model<Input<Tokens<window>>, Embedding<Vocabulary<words>, 8>, Repeat<2, Block>,
                            Residual<LayerNorm, Falling>, Residual<LayerNorm, Relative>, LayerNorm, Linear<words>> {};

std::vector<double> numbers(auto& trainer) {
  static const Fake fake({.samples = 24, .classes = words, .seed = 4});
  return support::trained(trainer, fake, 4);
}
template <class... Policies>
std::vector<double> trained() {
  Trainer<Reader, Batch<4>, Policies...> trainer;
  return numbers(trainer);
}
template <class... Policies>
std::vector<double> on_two() {
  return support::on_two<Trainer<Reader, Batch<2>, Communicator<Threads>, Policies...>>(
      [](auto& trainer) { return numbers(trainer); });
}
template <class Layer, class... Policies>
double worst() {
  return gradient_check_layer<Layer, Shape<5, 6>, Policies...>().worst;
}

}  // namespace

TEST_CASE("attention with a bias of distances has the gradients of its function") {
  CHECK(worst<SelfAttention<Heads<3>, Alibi>>() < 1e-8);
  CHECK(worst<SelfAttention<Heads<2>, Alibi, Causal, SlidingWindow<3>, KeyHeads<1>, Dropout<Ratio<1, 4>>>>() < 1e-8);
  CHECK(
      worst<SelfAttention<Heads<2>, RelativeBias<6, 4>, QueryKeyNorm<Epsilon<Ratio<1, 10>>>, Dropout<Ratio<1, 4>>>>() <
      1e-8);
  CHECK(worst<SelfAttention<Heads<2>, RelativeBias<4, 3>, WithoutScale, Causal>, Accumulate<2>>() < 1e-8);
}
TEST_CASE("a table of several layers has the gradients of calculus, and is one") {
  CHECK(gradient_check<Reader, Batch<2>, Precision<fp64>>({12, 1e-4, 1}).worst < 1e-7);
  Trainer<Reader, Batch<4>> trainer;
  std::vector<std::string> tables;
  for (const auto& parameter : trainer.parameters())
    if (parameter.name.ends_with(".table")) tables.push_back(parameter.name);
  CHECK(tables == std::vector<std::string>{"1.0.0.1.attend.0.table"});
}
TEST_CASE("the bits and the planned memory are the same when it is computed again, and however weights are cut") {
  const std::vector<double> plain = trained();
  CHECK(trained<Checkpoint<Every<1>>>() == plain);
  CHECK(trained<Checkpoint<Selective<RmsNorm, LayerNorm>>>() == plain);
  const std::vector<double> two = on_two();
  CHECK(on_two<Shard<ZeRO2>>() == two);
  CHECK(on_two<Shard<ZeRO3>, Checkpoint<Every<2>>>() == two);
}
/// Both ways add the same terms in other orders, as in tests/train/decoding.cpp.
TEST_CASE("with biases, a text read position by position is what a whole window makes of it") {
  Inference<Reader, Batch<2>, Precision<fp64>> model;
  std::uint64_t index = 0;
  for (const HeldParameter& parameter : model.parameters())
    for (double& value : parameter.values<double>()) value = (double(Philox::mix(7, index++) % 63) - 31) / 64;
  model.parameters_changed();
  model.poison_dead_memory();
  std::vector<std::int32_t> text(window);
  for (std::size_t i = 0; i < window; ++i) text[i] = static_cast<std::int32_t>(Philox::mix(3, i) % words);
  const std::vector<double> whole = model.predict(text);
  double size = 1;
  for (const double logit : whole) size = std::max(size, std::fabs(logit));
  for (const std::size_t beginning : {1u, 2u, 17u})
    for (std::size_t t = beginning - 1; t < window; ++t) {
      const auto logits = t + 1 == beginning ? model.start(std::span(text).first(beginning)) : model.next(text[t]);
      for (std::size_t i = 0; i < words; ++i)
        CHECK(std::fabs(logits[i] - whole[t * words + i]) <= 0x1p16 * 0x1p-53 * size);
    }
  CHECK(model.used().peak == model.plan().peak);
}
