// Models of two towers: of two kinds, and of one set of weights; what they are made of, and the bits and the memory.
#include <regimen/models/two_towers.hpp>
#include <regimen/regimen.hpp>
#include <regimen/trainers/gradient_check.hpp>

#include "support/catch.hpp"
#include "support/on_two.hpp"
#include "support/trained.hpp"
#include "train/other_names.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace regimen;

namespace {

using Pictures = Tower<Image<4, 5, 2>, Conv2d<6, 3, Padding<1>>, Gelu, GlobalMaxPool>;
using Words = Tower<Tokens<5>, Embedding<Vocabulary<9>, 8>, PositionEmbedding,
                    Residual<LayerNorm, SelfAttention<Heads<2>>>, LayerNorm, MeanPool>;
struct Pairs final : TwoTowers<Pictures, Words, 4> {};
struct Views final : TwinTowers<Pictures, Linear<7>, Relu, Linear<4>> {};
using Contrast = Loss<NtXent<Ratio<1, 5>>>;

// Weights and biases of the towers, projections without biases; of twins once.
static_assert(Trainer<Pairs, Contrast, Batch<4>>::plan().parameters ==
              (6 * 2 * 9 + 6 + 4 * 6) + (9 * 8 + 5 * 8 + 2 * 8 + 4 * 9 * 8 + 2 * 8 + 4 * 8));
static_assert(Trainer<Views, Contrast, Batch<4>>::plan().parameters == (6 * 2 * 9 + 6) + 7 * 7 + 4 * 8);

std::vector<double> numbers(auto& trainer) { return support::trained(trainer, Fake({.samples = 24, .classes = 1}), 4); }
template <class Network, class... Policies>
std::vector<double> trained() {
  Trainer<Network, Contrast, Batch<4>, Policies...> trainer;
  return numbers(trainer);
}
template <class... Policies>
std::vector<double> on_two() {
  return support::on_two<Trainer<Pairs, Contrast, Batch<2>, Communicator<Threads>, Policies...>>(
      [](auto& trainer) { return numbers(trainer); });
}

/// The towers of tests/recorded/make.py.
struct Recordings final : TwoTowers<Tower<Image<4, 5, 2>, Conv2d<6, 3, Padding<1>>, Gelu, GlobalMaxPool>,
                                    Tower<Tokens<5>, Embedding<Vocabulary<9>, 8>, MeanPool>, 4> {};
constexpr auto their_names = names::list(names::conv2d("picture"), names::layer("picture_projection"),
                                         names::layer("words"), names::layer("text_projection"));
constexpr auto recorded_pairs = [](const regimen::test::Recorded& recorded, auto sample) {
  const auto pictures = recorded.values<float>("pictures");
  const auto tokens = recorded.values<std::int32_t>("tokens");
  std::vector<decltype(sample)> samples(3);
  for (std::size_t s = 0; s < 3; ++s) {
    std::copy_n(pictures.begin() + std::ptrdiff_t(s * 40), 40, samples[s].template get<0>().begin());
    std::copy_n(tokens.begin() + std::ptrdiff_t(s * 5), 5, samples[s].template get<1>().begin());
  }
  return samples;
};
template <class T>
void is_that_of_pytorch() {
  regimen::test::reads_what_was_written<their_names, Recordings, T>("two_towers", "output", "output", recorded_pairs);
}

}  // namespace

TEST_CASE("two towers that PyTorch has embed the same here, and are saved as they were") {
  is_that_of_pytorch<fp32>();
  is_that_of_pytorch<fp64>();
  regimen::test::writes_what_was_read<their_names, Trainer<Recordings, Contrast, Batch<2>>>("two_towers");
}
TEST_CASE("and have the gradients that PyTorch gives them") {
  using Train = Trainer<Recordings, Contrast, Batch<3>, Precision<fp64>, Optimizer<Sgd>>;
  const auto samples = recorded_pairs(regimen::test::Recorded("two_towers/gradients"), Train::Input{});
  regimen::test::has_their_gradients<their_names, Train>("two_towers", samples, std::vector<std::int32_t>(3));
}
TEST_CASE("two towers have the gradients of calculus") {
  CHECK(gradient_check<Pairs, Contrast, Batch<3>, Precision<fp64>>({12, 1e-4, 1}).worst < 1e-6);
}
TEST_CASE("twins embed one view as the other") {
  Trainer<Views, Contrast, Batch<2>> trainer;
  std::vector<Trainer<Views, Contrast, Batch<2>>::Input> samples(2);
  for (std::size_t i = 0; i < 40; ++i) {
    samples[0].get<0>()[i] = samples[1].get<1>()[i] = std::sin(static_cast<float>(i));
    samples[0].get<1>()[i] = samples[1].get<0>()[i] = std::cos(static_cast<float>(i * i));
  }
  const std::vector<float> y = trainer.predict(samples);
  REQUIRE(y.size() == 2 * 2 * 4);
  CHECK(std::equal(y.begin(), y.begin() + 4, y.begin() + 12));
  CHECK(std::equal(y.begin() + 4, y.begin() + 8, y.begin() + 8));
  CHECK(!std::equal(y.begin(), y.begin() + 4, y.begin() + 4));
}
TEMPLATE_TEST_CASE("towers have the same bits whatever is computed again", "", Pairs, Views) {
  CHECK(trained<TestType, Checkpoint<Selective<Gelu, Conv2d<6, 3, Padding<1>>>>>() == trained<TestType>());
}
TEST_CASE("towers have the same bits under every Shard") {
  const std::vector<double> whole = on_two<>();
  CHECK(on_two<Shard<ZeRO1>>() == whole);
  CHECK(on_two<Shard<ZeRO3>, Checkpoint<Selective<Gelu>>>() == whole);
}
// SPDX-License-Identifier: Apache-2.0
