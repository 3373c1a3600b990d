// T5 and T5 1.1: logits and names are those of transformers, gradients those of calculus, and bits the same whatever is
// computed again or cut, in the memory that is planned.
#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/models/t5.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/trainers/generate.hpp>
#include <regimen/trainers/gradient_check.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"
#include "support/on_two.hpp"
#include "support/trained.hpp"
#include "train/other_names.hpp"

#include <cstddef>
#include <string>
#include <vector>

using namespace regimen;

namespace {

struct Sizes : T5Sizes {
  static constexpr std::size_t words = 11, width = 8, heads = 2, head_width = 3, inner = 10, encoder_depth = 2,
                               decoder_depth = 2, buckets = 8, most_distance = 7;
  static constexpr std::int32_t padding = -1;  // tests/train/padding.cpp has some
};
struct GatedSizes final : Sizes {
  static constexpr std::size_t encoder_depth = 1, decoder_depth = 1;
  static constexpr bool is_v1_1 = true;
};
struct DroppingSizes final : Sizes {
  using Rate = Ratio<1, 10>;
};
struct Plain final : T5Model<Sizes, 7, 5> {};
struct Gated final : T5Model<GatedSizes, 7, 5> {};
struct Dropping final : T5Model<DroppingSizes, 7, 5> {};

// The formula of the counts is the model's own list.
template <class Network>
inline constexpr bool is_counted =
    programs::InferenceRecipe<Network, ConfigurationOf<Precision<bf16>, Batch<1>>>::Bound::layout.count ==
    Network::parameter_count;
static_assert(is_counted<T5Base<>> && is_counted<T5SmallV1_1<>>);

std::vector<double> numbers(auto& trainer) {
  return support::trained(trainer, Fake({.samples = 22, .classes = 11}), 4);
}
template <class Network, class... Policies>
std::vector<double> trained() {
  Trainer<Network, Batch<2>, Policies...> trainer;
  return numbers(trainer);
}
template <class... Policies>
std::vector<double> on_two() {
  return support::on_two<Trainer<Dropping, Batch<2>, Communicator<Threads>, Policies...>>(
      [](auto& trainer) { return numbers(trainer); });
}

template <class Network, class T>
void is_that_of_transformers(const char* folder) {
  regimen::test::reads_what_was_written<hugging_face::t5_names<Network>, Network, T>(folder, "logits", "logits",
                                                                                     regimen::test::two_texts);
}
template <class Network>
void is_saved_as_it_was(const char* folder) {
  regimen::test::writes_what_was_read<hugging_face::t5_names<Network>, Trainer<Network, Batch<2>>>(folder);
}

}  // namespace

TEST_CASE("a T5 that transformers saved gives the same logits here, and is saved as it was") {
  is_that_of_transformers<Plain, fp32>("t5");
  is_that_of_transformers<Plain, fp64>("t5");
  is_saved_as_it_was<Plain>("t5");
}
TEST_CASE("a T5 1.1 that transformers saved gives the same logits here, and is saved as it was") {
  is_that_of_transformers<Gated, fp64>("t5_v1_1");
  is_saved_as_it_was<Gated>("t5_v1_1");
  const regimen::test::Recorded recorded("t5_v1_1/gradients");
  using Train = Trainer<Gated, Batch<4>, Precision<fp64>, Optimizer<Sgd>>;
  regimen::test::has_their_gradients<hugging_face::t5_names<Gated>, Train>(
      "t5_v1_1", regimen::test::two_texts(recorded, Train::Input{}), recorded.values<std::int32_t>("targets"));
}
TEST_CASE("a T5 has the gradients of calculus") {
  CHECK(gradient_check<Plain, Batch<2>, Precision<fp64>>({12, 1e-4, 1}).worst < 1e-7);
}
TEST_CASE("a T5 has the same bits whatever is computed again") {
  const std::vector<double> plain = trained<Dropping>();
  CHECK(trained<Dropping, Checkpoint<Every<1>>>() == plain);
  CHECK(trained<Plain>() != plain);
}
TEST_CASE("a T5 has the same bits in slices on two ranks") { CHECK(on_two<Shard<ZeRO3>>() == on_two<>()); }
// SPDX-License-Identifier: Apache-2.0
