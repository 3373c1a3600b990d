// A network in the shape of Llama, written from layers: its gradients, and the same bits in the planned memory, whatever
// is computed again and wherever its parts lie.
#include <regimen/comm/launch.hpp>
#include <regimen/regimen.hpp>
#include <regimen/train/gradient_check.hpp>

#include "support/catch.hpp"
#include "support/weights.hpp"

#include <initializer_list>
#include <vector>

using namespace regimen;

namespace {

using Attend = SelfAttention<Heads<4>, KeyHeads<2>, Causal, WithoutBias, Rotary<Ratio<500'000>, Llama3Scaling<>>>;
using Gate = Fork<Multiply, Sequential<Linear<20, NoBias>, Silu>, Linear<20, NoBias>>;
using Block = Sequential<Residual<RmsNorm, Attend>, Residual<RmsNorm, Gate, Linear<16, NoBias>>>;
struct Llama final
    : Model<Input<Tokens<6>>, Embedding<Vocabulary<11>, 16>, Repeat<2, Block>, RmsNorm, Linear<11, NoBias>> {};

const Fake& data() {
  static const Fake fake({.samples = 24, .classes = 11, .seed = 4});
  return fake;
}
std::vector<double> numbers(auto& trainer) {
  trainer.poison_dead_memory();
  const double loss = trainer.fit(data(), {.steps = 6, .progress = false}).loss;
  CHECK(trainer.used().peak == trainer.planned().peak);
  std::vector<double> all = support::weights_of<double>(trainer);
  all.push_back(loss);
  return all;
}
template <class... Policies>
std::vector<double> trained() {
  Trainer<Llama, Batch<4>, Policies...> trainer;
  return numbers(trainer);
}
template <class... Policies>
std::vector<double> on_two() {
  std::vector<double> found;
  launch(2, [&](comm::Threads& ranks) {
    Trainer<Llama, Batch<2>, Communicator<Threads>, Policies...> trainer(ranks);
    const auto own = numbers(trainer);
    if (ranks.rank() == 0) found = own;
  });
  return found;
}

}  // namespace

TEST_CASE("a network in the shape of Llama has the gradients of calculus") {
  CHECK(gradient_check<Llama, Batch<2>, Precision<fp64>>().worst < 1e-6);
}
TEST_CASE("a network in the shape of Llama trains to the same bits in the planned memory") {
  const std::vector<double> plain = trained<>();
  CHECK(trained<Checkpoint<Every<1>>>() == plain);
  CHECK(trained<Checkpoint<Selective<Silu, RmsNorm>>>() == plain);
  CHECK(on_two<Shard<ZeRO3>>() == on_two<>());
}
TEST_CASE("its parameters are those of Llama: no bias, and as many keys as key heads") {
  Trainer<Llama, Batch<4>> trainer;
  std::vector<std::size_t> sizes;
  for (const auto& parameter : trainer.parameters()) sizes.push_back(parameter.values.size());
  std::vector<std::size_t> expected{11 * 16};
  for (int block = 0; block < 2; ++block)
    for (const std::size_t size :
         std::initializer_list<std::size_t>{16, (16 + 2 * 8) * 16, 16 * 16, 16, 20 * 16, 20 * 16, 16 * 20})
      expected.push_back(size);
  expected.push_back(16);
  expected.push_back(11 * 16);
  CHECK(sizes == expected);
}
// SPDX-License-Identifier: Apache-2.0
