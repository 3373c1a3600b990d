// A vision transformer, written from layers: its gradients, and the same bits in the planned memory, whatever is
// computed again and wherever its parts lie.
#include <regimen/regimen.hpp>
#include <regimen/trainers/gradient_check.hpp>

#include "support/catch.hpp"
#include "support/on_two.hpp"
#include "support/trained.hpp"

#include <vector>

using namespace regimen;

namespace {

using Block = Sequential<Residual<LayerNormWith<Epsilon<Ratio<1, 1'000'000>>>, SelfAttention<Heads<2>>>,
                         Residual<LayerNormWith<Epsilon<Ratio<1, 1'000'000>>>, Linear<24>, Gelu, Linear<12>>>;
struct WithToken final : Model<Input<Image<6, 4, 3>>, Patches<2>, Linear<12>, ClassToken, PositionEmbedding,
                               Repeat<2, Block>, LayerNorm, TakeFirst, Linear<5>> {
  using Recomputed = Selective<Gelu, Linear<24>, ClassToken>;
};
/// A gated network behind each attention, and the mean of all positions.
using Gate = Fork<Multiply, Sequential<Linear<16, NoBias>, Silu>, Linear<16, NoBias>>;
struct WithMean final
    : Model<Input<Image<6, 4, 3>>, Patches<2>, Linear<12>, PositionEmbedding,
            Repeat<2,
                   Sequential<Residual<RmsNorm, SelfAttention<Heads<3>>>, Residual<RmsNorm, Gate, Linear<12, NoBias>>>>,
            RmsNorm, MeanPool, Linear<5, NoBias>> {
  using Recomputed = Selective<Silu, RmsNorm, Patches<2>>;
};

/// The shape of a U-Net, with maps of single pixels in place of convolutions: skips around two levels of pooling.
using Bottom =
    Sequential<AveragePool<3, Stride<2>, Padding<1>>, Linear<4>, Gelu, Upsample<4, Bilinear>, Downsample<2, Bilinear>>;
using Middle = Sequential<MaxPool<3, Stride<2>, Padding<1>>, Linear<8>, Gelu, Fork<Concat, Identity, Bottom>, Linear<6>,
                          Upsample<2>>;
struct OfSkips final : Model<Input<Image<4, 8, 3>>, Linear<6>, HardSwish, Fork<Concat, Identity, Middle>, Linear<8>,
                             Repeat<2, Residual<LayerNorm, Linear<8>, Gelu>>, Linear<5>> {
  using Recomputed = Selective<Gelu, Upsample<4, Bilinear>, Downsample<2, Bilinear>, MaxPool<3, Stride<2>, Padding<1>>>;
};

/// Convolutions with a stride, by channel, by pixel, and with a window that is no square.
struct OfConvolutions final
    : Model<Input<Image<6, 7, 3>>, Conv2d<8, 3, Stride<2>, Padding<1>>, LayerNorm, Gelu,
            Repeat<2, Residual<Conv2d<8, 3, Groups<8>, Padding<1>>, Conv2d<12, 1>, Gelu, Conv2d<8, 1, NoBias>>>,
            ConvTranspose2d<6, 3, Stride<2>, Padding<2>>, Gelu,
            Conv2d<6, KernelSize<2, 3>, Dilation<1>, Groups<2>, NoBias>, Silu, MeanPool, Linear<5>> {
  using Recomputed = Selective<Gelu, Conv2d<12, 1>, Conv2d<8, 3, Groups<8>, Padding<1>>>;
};

/// Text by causal convolutions, by channel and by position.
struct OfPositions final
    : Model<Input<Tokens<9>>, Embedding<Vocabulary<7>, 6>,
            Repeat<2, Residual<LayerNorm, Conv1d<6, 3, CausalPadding, Dilation<2>, Groups<6>>, Conv1d<9, 1>, Gelu,
                               Conv1d<6, 1, NoBias>>>,
            Conv1d<8, 3, Stride<2>, Padding<1>, Groups<2>>, Gelu, Conv1d<4, 2>, MeanPool, Linear<5>> {
  using Recomputed = Selective<Gelu, LayerNorm, Conv1d<9, 1>>;
};
/// Frames, and then the lines of each place over time.
struct OfVolumes final
    : Model<Input<Volume<4, 5, 4, 3>>, Conv3d<4, KernelSize<1, 3, 3>>, Gelu, Conv3d<6, KernelSize<3, 1, 1>>, Gelu,
            Repeat<2, Residual<Conv3d<6, 3, Padding<1>, Groups<2>>, Gelu>>, Conv3d<4, 2, Stride<2>, Padding<1>, NoBias>,
            Silu, MeanPool, Linear<5>> {
  using Recomputed = Selective<Gelu, Conv3d<6, 3, Padding<1>, Groups<2>>>;
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

TEMPLATE_TEST_CASE("a vision transformer has the gradients of calculus, and the same bits in the planned memory", "",
                   WithToken, WithMean, OfSkips, OfConvolutions, OfPositions, OfVolumes) {
  // Steps so small that none crosses a kink of MaxPool or HardSwish; rounding grows as 1/h.
  CHECK(gradient_check<TestType, Batch<2>, Precision<fp64>>({12, 1e-5, 1}).worst < 1e-6);
  const std::vector<double> plain = trained<TestType>();
  CHECK(trained<TestType, Checkpoint<Every<1>>>() == plain);
  CHECK(trained<TestType, Checkpoint<typename TestType::Recomputed>>() == plain);
  CHECK(on_two<TestType, Shard<ZeRO3>>() == on_two<TestType>());
}
