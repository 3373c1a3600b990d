// U-Nets: the counts of the usual form, and the gradients and bits of small ones.
#include <regimen/models/unet.hpp>
#include <regimen/regimen.hpp>
#include <regimen/trainers/gradient_check.hpp>

#include "support/catch.hpp"
#include "support/on_two.hpp"
#include "support/trained.hpp"

#include <vector>

using namespace regimen;

namespace {

struct Usual final : UNetModel<Image<64, 96, 3>, 2> {};
struct Between final : UNetModel<Image<64, 64, 3>, 1, 64, 4, unet::Interpolated> {};
template <class Norm>
struct Small final : UNetModel<Image<4, 8, 2>, 3, 2, 2, unet::Transposed, Norm> {};
using Whole = Small<BatchNorm<>>;
using Pieces = Small<BatchNorm<PerMicroBatch>>;
struct SmallBetween final : UNetModel<Image<8, 4, 1>, 3, 2, 2, unet::Interpolated> {};

template <class Network>
using Bound = typename programs::InferenceRecipe<Network, ConfigurationOf<Batch<1>>>::Bound;
template <class Network>
constexpr bool counted = Bound<Network>::layout.weights() == Network::parameter_count;
static_assert(counted<Usual> && counted<Between> && counted<Whole> && counted<SmallBetween>);
template <class Network>
constexpr bool is_named =
    names::detail::compare(Network::pytorch_unet_names.entries, names::detail::TensorsOf<Bound<Network>>::list)
        .misfit == names::Misfit::none;
static_assert(is_named<Usual> && is_named<Between>);

const Fake& fake_data() {
  static const Fake fake({.samples = 24, .classes = 3, .seed = 4});
  return fake;
}
std::vector<double> numbers(auto& trainer) { return support::trained(trainer, fake_data(), 4); }
template <class... Policies>
std::vector<double> trained() {
  Trainer<Whole, Batch<4>, Policies...> trainer;
  return numbers(trainer);
}
template <class... Policies>
std::vector<double> on_two() {
  return support::on_two<Trainer<Pieces, Batch<3>, Communicator<Threads>, Policies...>>(
      [](auto& trainer) { return numbers(trainer); });
}

}  // namespace

TEST_CASE("a U-Net has the gradients of calculus") {
  // Steps so small that none crosses a kink of Relu or MaxPool; rounding grows as 1/h.
  CHECK(gradient_check<Whole, Batch<3>, Precision<fp64>>({6, 1e-5, 1}).worst < 1e-6);
  CHECK(gradient_check<SmallBetween, Batch<3>, Precision<fp64>>({6, 1e-5, 1}).worst < 1e-6);
}
TEST_CASE("a U-Net has the same bits in the planned memory") {
  const std::vector<double> plain = trained<>();
  CHECK(trained<Checkpoint<Selective<BatchNorm<>, Relu, MaxPool<2>>>>() == plain);
  CHECK(on_two<Shard<ZeRO3>>() == on_two<>());
}
