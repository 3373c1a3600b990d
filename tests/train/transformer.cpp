// The encoder–decoder Transformer in the form of Marian: its gradients are those of calculus, its bits the same whatever
// is computed again or cut, in the memory that is planned.
#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/models/transformer.hpp>
#include <regimen/trainers/generate.hpp>
#include <regimen/trainers/gradient_check.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"
#include "support/on_two.hpp"
#include "support/trained.hpp"
#include "train/other_names.hpp"

#include <cstddef>
#include <vector>

using namespace regimen;

namespace {

constexpr std::size_t source = 7, target = 5;
struct Sizes : OpusMt {
  static constexpr std::size_t words = 11, width = 8, heads = 2, inner = 12, encoder_depth = 1, decoder_depth = 2;
  static constexpr std::int32_t padding = -1;
};
struct Dropping final : Sizes {
  using Rate = Ratio<1, 10>;
};
struct Small final : TransformerModel<Sizes, source, target> {};
struct Dropped final : TransformerModel<Dropping, source, target> {};

static_assert(Trainer<Small, Batch<4>>::plan().parameters == Small::parameter_count);
static_assert(programs::InferenceRecipe<OpusMtEnDe, ConfigurationOf<Precision<bf16>, Batch<1>>>::plan.parameters ==
              OpusMtEnDe::parameter_count);

std::vector<double> numbers(auto& trainer) {
  return support::trained(trainer, Fake({.samples = 22, .classes = 11}), 4);
}
template <class Network, class... Policies>
std::vector<double> trained() {
  Trainer<Network, Batch<4>, Policies...> trainer;
  return numbers(trainer);
}
template <class... Policies>
std::vector<double> on_two() {
  return support::on_two<Trainer<Dropped, Batch<2>, Communicator<Threads>, Policies...>>(
      [](auto& trainer) { return numbers(trainer); });
}

template <class T>
void is_that_of_transformers() {
  regimen::test::reads_what_was_written<hugging_face::marian_names<Small>, Small, T>("marian", "logits", "logits",
                                                                                     regimen::test::two_texts);
}

}  // namespace

TEST_CASE("a translator that transformers saved gives the same logits here, and is saved as it was") {
  is_that_of_transformers<fp32>();
  is_that_of_transformers<fp64>();
  regimen::test::writes_what_was_read<hugging_face::marian_names<Small>, Trainer<Small, Batch<2>>>("marian");
}
TEST_CASE("a Transformer has the gradients of calculus") {
  CHECK(gradient_check<Small, Batch<2>, Precision<fp64>>({12, 1e-4, 1}).worst < 1e-7);
}
TEST_CASE("a Transformer has the same bits whatever is computed again") {
  const std::vector<double> plain = trained<Dropped>();
  CHECK(trained<Dropped, Checkpoint<Every<1>>>() == plain);
  CHECK(trained<Dropped, Checkpoint<Selective<LayerNorm, Silu, AddBias>>>() == plain);
  CHECK(trained<Small>() != plain);
}
TEST_CASE("a Transformer has the same bits under every Shard") {
  const std::vector<double> whole = on_two<>();
  CHECK(on_two<Shard<ZeRO1>>() == whole);
  CHECK(on_two<Shard<ZeRO3>, Checkpoint<Every<1>>>() == whole);
}
// SPDX-License-Identifier: Apache-2.0
