// Layers with options: every spelling of one meaning is one type, and no other meaning is; policies so find a layer however
// it is written.
#include <regimen/models/layers_of.hpp>
#include <regimen/models/resnet.hpp>
#include <regimen/regimen.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

using namespace regimen;

namespace {

template <class First, class... Others>
inline constexpr bool one = (std::is_same_v<First, Others> && ...);
template <class... Layers>
inline constexpr bool differ = boost::mp11::mp_is_set<boost::mp11::mp_list<Layers...>>::value;

// ---- convolutions: the number's type, a window's form, the order, and what is so without being said

static_assert(
    one<Conv2d<64, 7, Stride<2>, Padding<3>>, Conv2d<64, std::size_t{7}, Padding<3>, Stride<2>>,
        Conv2d<64, KernelSize<7>, Stride<2>, Padding<3>, Dilation<1>>,
        Conv2d<64, KernelSize<7, 7>, Groups<1>, Padding<3>, Stride<2>>,
        Conv2d<64, short{7}, Padding<3>, Dilation<1>, Stride<2>>, in_order::Conv2d<64, 7, Stride<2>, Padding<3>>>);
static_assert(one<Conv2d<8, 3>, Conv2d<8, 3u, Stride<1>>, Conv2d<8, 3, Padding<0>>, in_order::Conv2d<8, 3>>);
static_assert(one<Conv2d<8, KernelSize<3, 5>, NoBias, Groups<2>, Dilation<2>, Padding<1>, Stride<3>>,
                  in_order::Conv2d<8, KernelSize<3, 5>, Stride<3>, Padding<1>, Dilation<2>, Groups<2>, NoBias>>);
static_assert(differ<Conv2d<8, 3>, Conv2d<8, 5>, Conv2d<9, 3>, Conv2d<8, 3, NoBias>, Conv2d<8, 3, Padding<1>>,
                     Conv2d<8, 3, Stride<2>>, Conv2d<8, 3, Dilation<2>>, Conv2d<8, 3, Groups<2>>,
                     Conv2d<8, KernelSize<3, 5>>, Conv2d<8, KernelSize<5, 3>>, Conv2d<8, 3, Stride<2>, Padding<2>>,
                     Conv1d<8, 3>, Conv3d<8, 3>, ConvTranspose2d<8, 3>>);
static_assert(one<Conv1d<8, 3, NoBias, CausalPadding, Dilation<2>>,
                  Conv1d<8, std::uint8_t{3}, Dilation<2>, NoBias, CausalPadding, Stride<1>>,
                  in_order::Conv1d<8, 3, CausalPadding, Dilation<2>, NoBias>>);
static_assert(one<Conv1d<8, 3>, Conv1d<8, 3, Padding<0>>> &&
              differ<Conv1d<8, 3>, Conv1d<8, 3, CausalPadding>, Conv1d<8, 3, Padding<1>>>);
static_assert(one<Conv3d<8, 3, Padding<1>>, Conv3d<8, KernelSize<3, 3, 3>, Groups<1>, Padding<1>>,
                  Conv3d<8, 3ul, Padding<1>>, in_order::Conv3d<8, 3, Padding<1>>> &&
              differ<Conv3d<8, 3>, Conv3d<8, KernelSize<1, 3, 3>>, Conv3d<8, KernelSize<3, 3, 1>>>);
static_assert(one<ConvTranspose2d<8, 3, Stride<2>, Padding<1>, OutputPadding<1>>,
                  ConvTranspose2d<8, KernelSize<3>, OutputPadding<1>, Dilation<1>, Padding<1>, Stride<2>>> &&
              one<ConvTranspose2d<8, 2>, ConvTranspose2d<8, 2, OutputPadding<0>>> &&
              differ<ConvTranspose2d<8, 2, Stride<2>>, ConvTranspose2d<8, 2, Stride<2>, OutputPadding<1>>>);
// What its rule refuses stays as it is, for the error.
static_assert(std::is_same_v<Conv2d<8, 3, 2>, in_order::Conv2d<8, 3, 2>> &&
              std::is_same_v<Conv2d<8, 3, Stride<2>, Stride<1>>, in_order::Conv2d<8, 3, Stride<2>, Stride<1>>>);

// ---- pools: with options windows, which leave out what does not fit; without, squares, which must fit

static_assert(one<MaxPool<3, Stride<2>, Padding<1>>, MaxPool<3, Padding<1>, Stride<2>>,
                  in_order::MaxPool<3, Stride<2>, Padding<1>>> &&
              one<MaxPool<3, Padding<1>>, MaxPool<3, Padding<1>, Stride<3>>> &&
              one<MaxPool<3, Padding<0>>, MaxPool<3, Stride<3>>> &&
              differ<MaxPool<3>, MaxPool<3, Stride<3>>, MaxPool<3, Stride<2>>, MaxPool<3, Padding<1>>, AveragePool<3>>);
static_assert(one<AveragePool<3, Stride<2>, Padding<1>>, AveragePool<3, Padding<1>, Stride<2>>> &&
              one<AveragePool<2>, in_order::AveragePool<2>>);

// ---- attention

struct Length : NamedLength<6> {};
struct Encoded : NamedValue<Shape<6, 8>> {};
static_assert(one<SelfAttention<Heads<4>, Causal, Dropout<Ratio<1, 4>>, KeyHeads<2>, SlidingWindow<3>>,
                  SelfAttention<Heads<4>, SlidingWindow<3>, KeyHeads<2>, Dropout<Ratio<2, 8>>, Causal>,
                  in_order::SelfAttention<Heads<4>, KeyHeads<2>, Causal, SlidingWindow<3>, Dropout<Ratio<1, 4>>>>);
static_assert(
    one<SelfAttention<Heads<4>>, SelfAttention<Heads<4>, KeyHeads<4>>, SelfAttention<Heads<4>, Dropout<Ratio<0>>>> &&
    one<SelfAttention<Heads<4>, WithoutBias, QueryKeyNorm<>>,
        SelfAttention<Heads<4>, QueryKeyNorm<Epsilon<Ratio<1, 1'000'000>>>, WithoutBias>> &&
    one<SelfAttention<Heads<2>, Within<Length>, Alibi, WithoutScale, HeadWidth<6>>,
        SelfAttention<Heads<2>, HeadWidth<6>, WithoutScale, Alibi, Within<Length>>> &&
    one<SelfAttention<Heads<2>, Rotary<>, Causal>, SelfAttention<Heads<2>, Causal, Rotary<Ratio<10'000>, Unscaled>>>);
static_assert(
    differ<SelfAttention<Heads<4>>, SelfAttention<Heads<2>>, SelfAttention<Heads<4>, Causal>,
           SelfAttention<Heads<4>, KeyHeads<2>>, SelfAttention<Heads<4>, WithoutBias>,
           SelfAttention<Heads<4>, WithoutProjectionBias>, SelfAttention<Heads<4>, Alibi>,
           SelfAttention<Heads<4>, RelativeBias<4, 3>>, SelfAttention<Heads<4>, Dropout<Ratio<1, 4>>>,
           SelfAttention<Heads<4>, Causal, SlidingWindow<3>>, SelfAttention<Heads<4>, Causal, SlidingWindow<4>>>);
static_assert(one<CrossAttention<Encoded, Heads<2>, WithoutBias, KeyHeads<1>, Dropout<Ratio<1, 4>>>,
                  CrossAttention<Encoded, Heads<2>, Dropout<Ratio<1, 4>>, WithoutBias, KeyHeads<1>>> &&
              one<CrossAttention<Encoded, Heads<2>, KeyHeads<2>>, CrossAttention<Encoded, Heads<2>>>);

// ---- norms

static_assert(one<BatchNorm<Momentum<Ratio<1, 4>>, PerMicroBatch, Epsilon<Ratio<1, 1000>>>,
                  BatchNorm<Epsilon<Ratio<1, 1000>>, Momentum<Ratio<2, 8>>, PerMicroBatch>,
                  in_order::BatchNorm<Epsilon<Ratio<1, 1000>>, Momentum<Ratio<1, 4>>, PerMicroBatch>> &&
              one<BatchNorm<>, BatchNorm<Epsilon<Ratio<1, 100'000>>>,
                  BatchNorm<Momentum<Ratio<1, 10>>, Epsilon<Ratio<1, 100'000>>>> &&
              one<BatchNorm<AfterBias, OverRanks, PerMicroBatch>, BatchNorm<PerMicroBatch, OverRanks, AfterBias>> &&
              differ<BatchNorm<>, BatchNorm<PerMicroBatch>, BatchNorm<OverRanks>, BatchNorm<AfterBias>,
                     BatchNorm<Momentum<Ratio<1, 5>>>>);
static_assert(
    one<GroupNorm<4>, GroupNorm<4, Epsilon<Ratio<1, 100'000>>>, GroupNorm<4, Epsilon<Ratio<10, 1'000'000>>>> &&
    differ<GroupNorm<4>, GroupNorm<2>, GroupNorm<4, Epsilon<Ratio<1, 1000>>>>);
static_assert(one<LayerNorm, LayerNormWith<Epsilon<Ratio<1, 100'000>>>> &&
              one<RmsNorm, RmsNormWith<Epsilon<Ratio<2, 200'000>>>> &&
              one<LayerNormWith<Epsilon<Ratio<1, 1000>>>, LayerNormWith<Epsilon<Ratio<4, 4000>>>> &&
              differ<LayerNorm, RmsNorm, LayerNormWith<Epsilon<Ratio<1, 1000>>>, RmsNormWith<Epsilon<Ratio<1, 1000>>>>);

// ---- fractions: Ratio itself is in lowest terms, so whatever takes one is one type

static_assert(one<Ratio<1, 4>, Ratio<2, 8>, Ratio<-1, -4>, in_order::Ratio<1, 4>> && one<Ratio<3>, Ratio<6, 2>> &&
              one<Ratio<0>, Ratio<0, 7>, Ratio<0, -7>, in_order::Ratio<0, 1>> && one<Ratio<-1, 4>, Ratio<2, -8>> &&
              differ<Ratio<1, 4>, Ratio<-1, 4>, Ratio<4, 1>, Ratio<1, 2>, Ratio<0>>);
// Without a denominator, or where its sign cannot be turned, it stays as it is written.
inline constexpr auto least = std::numeric_limits<std::intmax_t>::min();
static_assert(one<Ratio<2, 0>, in_order::Ratio<2, 0>> && one<Ratio<0, 0>, in_order::Ratio<0, 0>> &&
              one<Ratio<least, -2>, in_order::Ratio<least, -2>> && one<Ratio<2, least>, in_order::Ratio<2, least>>);
static_assert(
    one<Dropout<Ratio<2, 8>>, Dropout<Ratio<1, 4>>, Dropout<in_order::Ratio<1, 4>>> &&
    one<DropPath<Ratio<2, 8>>, DropPath<Ratio<1, 4>>> && one<LayerScale<Ratio<10, 1'000'000>>, LayerScale<>> &&
    one<SelfAttention<Heads<2>, Rotary<Ratio<20'000, 2>>>, SelfAttention<Heads<2>, Rotary<>>> &&
    one<SelfAttention<Heads<2>, Rotary<Ratio<10'000>, Llama3Scaling<Ratio<16, 2>, Ratio<3, 3>, Ratio<4>, 8192>>>,
        SelfAttention<Heads<2>, Rotary<Ratio<10'000>, Llama3Scaling<>>>> &&
    one<SelfAttention<Heads<2>, QueryKeyNorm<Epsilon<Ratio<10, 10'000'000>>>>,
        SelfAttention<Heads<2>, QueryKeyNorm<>>>);
static_assert(one<Clip<Norm<Ratio<4, 8>>>, Clip<Norm<Ratio<1, 2>>>> && one<Huber<Ratio<2, 2>>, Huber<>> &&
              one<NtXent<Ratio<2, 4>>, NtXent<>> &&
              one<SmoothedCrossEntropy<Ratio<2, 20>>, SmoothedCrossEntropy<Ratio<1, 10>>> &&
              one<Weighted<CrossEntropy, Ratio<2, 4>>, Weighted<CrossEntropy, Ratio<1, 2>>> &&
              one<Averaged<AdamW, Ratio<1998, 2000>>, Averaged<AdamW>> &&
              one<Unaligned<Ratio<5, 100>>, Unaligned<Ratio<1, 20>>>);

// An option twice stays, for the error, also where one of the two says nothing.
static_assert(std::is_same_v<BatchNorm<Momentum<Ratio<1, 10>>, Momentum<Ratio<1, 4>>>,
                             in_order::BatchNorm<Momentum<Ratio<1, 10>>, Momentum<Ratio<1, 4>>>> &&
              std::is_same_v<SelfAttention<Heads<2>, Dropout<Ratio<0>>, Dropout<Ratio<1, 4>>>,
                             in_order::SelfAttention<Heads<2>, Dropout<Ratio<0>>, Dropout<Ratio<1, 4>>>>);

// ---- with one option, which has one form

static_assert(differ<Linear<8>, Linear<8, NoBias>, Lstm<8>, Lstm<8, NoBias>, Gru<8>, Gru<8, NoBias>, Upsample<2>,
                     Upsample<2, Bilinear>, Downsample<2>, Downsample<2, Bilinear>, Embedding<Vocabulary<8>, 8>,
                     Embedding<Vocabulary<9>, 8>>);
static_assert(one<Linear<8>, Linear<std::size_t{8}>> && one<Lstm<8, NoBias>, Lstm<8u, NoBias>> &&
              one<Upsample<2>, Upsample<std::uint8_t{2}>> &&
              one<Embedding<Vocabulary<8>, 4>, Embedding<Vocabulary<8ul>, 4ul>> &&
              one<Embedding<Vocabulary<8>, 4, PaddedWith<3>>, Embedding<Vocabulary<8u>, 4, PaddedWith<3ul>>,
                  Embedding<Vocabulary<8>, 4, PaddedWith<std::int8_t{3}>>> &&
              differ<Embedding<Vocabulary<8>, 4>, Embedding<Vocabulary<8>, 4, PaddedWith<0>>,
                     Embedding<Vocabulary<8>, 4, PaddedWith<3>>>);

}  // namespace

TEST_CASE("a layer is frozen in whatever spelling, and so is its place in a ready network") {
  struct Net final : Model<Input<Image<8, 8, 3>>, Conv2d<4, 3, Padding<1>, NoBias>, BatchNorm<>, Relu,
                           GlobalAveragePool, Linear<3>> {};
  using Train = Trainer<Net, Batch<4>, Freeze<Conv2d<4, std::size_t{3}, NoBias, Stride<1>, Padding<1>>>>;
  Train trainer;
  std::vector<float> x(4 * Train::input_size);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(i % 13) / 6;
  const auto before = trainer.parameters()[0].values;
  const std::vector<float> kept(before.begin(), before.end());
  trainer.step(x, std::vector<std::int32_t>{0, 1, 2, 0});
  CHECK(std::equal(kept.begin(), kept.end(), trainer.parameters()[0].values.begin()));
  struct Dropped final : Model<Input<Vector<4>>, Linear<4>, LayerScale<Ratio<3, 4>>, Dropout<Ratio<2, 8>>, Linear<3>> {
  };
  static_assert(Composable<Dropped, Freeze<LayerScale<Ratio<6, 8>>>, Checkpoint<Selective<Dropout<Ratio<1, 4>>>>>);
  static_assert(Composable<Model<Input<Image<64, 64, 3>>, EncoderOf<ResNet18<Image<64, 64, 3>, 3>>, Linear<3>>,
                           Freeze<Conv2d<64, 7, Stride<2>, Padding<3>, NoBias>, BatchNorm<>>>);
}
// SPDX-License-Identifier: Apache-2.0
