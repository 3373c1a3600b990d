// Values with names: what nested Forks compute, written flat, has the same bits and gradients; under every way to
// compute again, to cut weights, and to change types; read in a Repeat, from a branch, more than once.
#include <regimen/regimen.hpp>
#include <regimen/trainers/gradient_check.hpp>

#include "support/catch.hpp"
#include "support/on_two.hpp"
#include "support/trained.hpp"

#include <vector>

using namespace regimen;

namespace {

struct Outer : NamedValue<Shape<4, 8, 6>> {};
struct Inner : NamedValue<Shape<2, 4, 8>> {};
struct Early : NamedValue<Shape<12>> {};

/// A U-Net whose skips are branches, and the same whose skips are names.
using Bottom = Sequential<AveragePool<2>, Linear<4>, Gelu, Upsample<2>>;
struct Nested final
    : Model<Input<Image<4, 8, 3>>, Linear<6>, HardSwish,
            Fork<Concat, Identity,
                 Sequential<AveragePool<2>, Linear<8>, Gelu, Fork<Concat, Identity, Bottom>, Linear<6>, Upsample<2>>>,
            Linear<8>, Linear<5>> {};
struct Flat final
    : Model<Input<Image<4, 8, 3>>, Linear<6>, HardSwish, Keep<Outer>, AveragePool<2>, Linear<8>, Gelu, Keep<Inner>,
            AveragePool<2>, Linear<4>, Gelu, Upsample<2>, Fork<Concat, Read<Inner>, Identity>, Linear<6>, Upsample<2>,
            Fork<Concat, Read<Outer>, Identity>, Linear<8>, Linear<5>> {
  using Recomputed = Selective<Keep<Inner>, Read<Outer>, Gelu>;
};
/// Kept in a branch, read in each block of a Repeat, in a branch of the same Fork, in another type, and as the whole input.
template <class T>
struct Everywhere final
    : Model<Input<Vector<12>>,
            Fork<Add, Sequential<Linear<12>, Keep<Early>, Gelu>, Sequential<Read<Early>, Linear<12>>>,
            Repeat<3, Sequential<Residual<LayerNorm, Linear<12>>, Fork<Multiply, Linear<12>, Read<Early>>>>,
            As<T, Linear<12>, Residual<Read<Early>>>, Fork<Add, Read<Early>, Identity>, Linear<5>> {
  using Recomputed = Selective<Keep<Early>, Read<Early>, LayerNorm>;
};

/// Nothing trains before the Fork, but for what is kept in it: whoever reads that has a gradient to add all the same.
struct AtTheStart final
    : Model<Input<Vector<12>>, LayerNorm,
            Fork<Add, Sequential<Linear<12>, Keep<Early>>, Read<Early>, Sequential<Read<Early>, Linear<12>>,
                 Repeat<2, Sequential<Read<Early>, Gelu>>, Sequential<Silu, Residual<Read<Early>>>>,
            Linear<5>> {
  using Recomputed = Selective<Keep<Early>, Read<Early>, Silu>;
};

const Fake& fake_data() {
  static const Fake fake({.samples = 24, .classes = 5, .seed = 4});
  return fake;
}
std::vector<double> numbers(auto& trainer) { return support::trained(trainer, fake_data(), 6); }
template <class Network, class... Policies>
std::vector<double> trained() {
  Trainer<Network, Batch<4>, Policies...> trainer;
  return numbers(trainer);
}
template <class Network, class... Policies>
std::vector<double> on_two() {
  return support::on_two<Trainer<Network, Batch<2>, Communicator<Threads>, Policies...>>(
      [](auto& trainer) { return numbers(trainer); });
}

}  // namespace

TEMPLATE_TEST_CASE("values with names have the gradients of calculus", "", Flat, Everywhere<fp64>) {
  CHECK(gradient_check<TestType, Batch<2>, Precision<fp64>>({12, 1e-4, 1}).worst < 1e-7);
  CHECK(gradient_check<TestType, Batch<2>, Accumulate<2>, Precision<fp64>>({12, 1e-4, 1}).worst < 1e-7);
}
TEST_CASE("a value is read where nothing else trains") {
  CHECK(gradient_check<AtTheStart, Batch<3>, Freeze<LayerNorm>, Precision<fp64>>({12, 1e-4, 1}).worst < 1e-7);
  CHECK(gradient_check<AtTheStart, Batch<3>, Precision<fp64>>({12, 1e-4, 1}).worst < 1e-7);
  CHECK(trained<AtTheStart, Checkpoint<Every<1>>, Freeze<LayerNorm>>() == trained<AtTheStart, Freeze<LayerNorm>>());
}
TEMPLATE_TEST_CASE("values with names have the same bits in the planned memory", "", Flat, Everywhere<bf16>,
                   AtTheStart) {
  const std::vector<double> plain = trained<TestType>();
  CHECK(trained<TestType, Checkpoint<typename TestType::Recomputed>>() == plain);
  CHECK(on_two<TestType, Shard<ZeRO3>>() == on_two<TestType>());
}
TEST_CASE("blocks that are computed again read the value again") {
  CHECK(trained<Everywhere<fp32>, Checkpoint<Every<1>>>() == trained<Everywhere<fp32>>());
  CHECK(trained<Everywhere<fp32>, Precision<bf16, fp32>, Checkpoint<Every<2>>>() ==
        trained<Everywhere<fp32>, Precision<bf16, fp32>>());
}
TEST_CASE("skips by name are the skips of branches") {
  // A skip's gradient is added to zero, then to the other one: a sum of the same two numbers.
  CHECK(trained<Flat>() == trained<Nested>());
  CHECK(trained<Flat, Precision<fp64>>() == trained<Nested, Precision<fp64>>());
  Trainer<Flat, Batch<4>> flat;
  Trainer<Nested, Batch<4>> nested;
  const std::vector<float> x(4 * 96, 0.25f);
  CHECK(flat.predict(x) == nested.predict(x));
}
