// Parts of a value: put together again they are the whole, with its bits; two texts of one input, and a picture beside
// numbers.
#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/trainers/gradient_check.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"
#include "support/weights.hpp"

#include <type_traits>
#include <vector>

using namespace regimen;

namespace {

struct Whole final : Model<Input<Image<4, 6, 5>>, Linear<7>, Gelu, Linear<5>> {};
/// The same: parts of each axis, concatenated.
struct Parts final : Model<Input<Image<4, 6, 5>>, Linear<7>, Fork<Concat, Slice<0, 3>, Slice<3, 1>, Slice<4, 3>>,
                           Fork<ConcatAlong<0>, SliceAlong<0, 0, 1>, SliceAlong<0, 1, 3>>,
                           Fork<ConcatAlong<1>, SliceAlong<1, 0, 4>, SliceAlong<1, 4, 2>>, Gelu, Linear<5>> {};
/// An encoder of the first six tokens, whose mean each of the last four reads.
struct Question : NamedValue<Shape<8>> {};
using Reader = Sequential<Slice<0, 6>, Embedding<Vocabulary<9>, 8>, Residual<LayerNorm, SelfAttention<Heads<2>>>,
                          MeanPool, Keep<Question>>;
using Answer = Sequential<Slice<6, 4>, Embedding<Vocabulary<9>, 8>,
                          Residual<LayerNorm, SelfAttention<Heads<2>, Causal>>, MeanPool>;
struct TwoTexts final : Model<Input<Tokens<10>>, Fork<Add, Reader, Answer>,
                              Residual<Linear<8>, Gelu, Fork<Add, Identity, Read<Question>>>, Linear<9>> {};
/// A picture of 4 x 4 pixels and three numbers.
struct PictureAndNumbers final
    : Model<Input<Vector<19>>, Fork<Concat, Sequential<Slice<0, 16>, Linear<6>, Gelu>, Slice<16, 3>>, Linear<12>, Silu,
            Linear<4>> {};

template <class Layer>
struct is_slice : std::false_type {};
template <std::size_t Begin, std::size_t Count>
struct is_slice<Slice<Begin, Count>> : std::true_type {};

template <class Network, class... Policies>
std::vector<double> trained() {
  static const Fake fake({.samples = 24, .classes = 4, .seed = 4});
  Trainer<Network, Batch<4>, Policies...> trainer;
  trainer.poison_dead_memory();
  const double loss = trainer.fit(fake, {.steps = 5, .progress = false}).loss;
  CHECK(trainer.used().peak == trainer.planned().peak);
  std::vector<double> all = support::weights_of<double>(trainer);
  all.push_back(loss);
  return all;
}

}  // namespace

TEST_CASE("parts that are put together again are the whole") {
  CHECK(trained<Parts>() == trained<Whole>());
  // Unfused: elsewhere the sum of a product and its bias goes to an activation unrounded, where the two are neighbours.
  CHECK(trained<Parts, Precision<bf16, fp32>, Fusion<Unfused>,
                Checkpoint<Selective<Slice<3, 1>, SliceAlong<1, 0, 4>>>>() ==
        trained<Whole, Precision<bf16, fp32>, Fusion<Unfused>>());
}
TEMPLATE_TEST_CASE("parts have the gradients of calculus, and the same bits when they are computed again", "", TwoTexts,
                   PictureAndNumbers) {
  CHECK(gradient_check<TestType, Batch<3>, Precision<fp64>>({12, 1e-4, 1}).worst < 1e-7);
  CHECK(trained<TestType, Checkpoint<If<is_slice>>>() == trained<TestType>());
}
