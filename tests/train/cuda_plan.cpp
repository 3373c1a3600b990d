// A plan for Device<Cuda> is a constant in any compiler: its workspace and scratch included, without a header of
// CUDA's.
#include <regimen/engine/cpu/device.hpp>
#include <regimen/engine/cuda/plan.hpp>
#include <regimen/layer/activation.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/loss/mean_squared_error.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"

#include <string>

using namespace regimen;

namespace {

/// A GPU whose products take no workspace, and one of before sm_80.
struct Bare final {
  using option_of = axis::device;
};
struct Turing final {
  using option_of = axis::device;
};

using GpuBlock = Sequential<Residual<LayerNorm, SelfAttention<Heads<2>, Causal>>,
                            Residual<LayerNorm, Linear<64>, GeluTanh, Linear<16>>>;
struct GpuGpt final
    : Model<Input<Tokens<8>>, Embedding<Vocabulary<32>, 16>, Repeat<3, GpuBlock>, LayerNorm, Linear<32>> {};
struct GpuMlp final : Model<Input<Vector<8>>, Linear<4>> {};
/// Rows of 5 numbers inside; at the end, where they are filled up; a repeated block whose rows are 12 bytes.
struct OddMlp final : Model<Input<Vector<8>>, Linear<5>, Linear<16>> {};
struct OddEnd final : Model<Input<Vector<8>>, Linear<16>, Linear<5>> {};
struct OddBlocks final : Model<Input<Vector<3>>, Repeat<6, Residual<Linear<3>>>, Linear<4>> {};

}  // namespace

template <>
struct regimen::engines::Of<Bare> {
  using Traits = cuda::Traits<0>;
  using type = PlanOnly<Traits>;
};
template <>
struct regimen::engines::Of<Turing> {
  using Traits = cuda::Traits<0, 750>;
  using type = PlanOnly<Traits>;
};

namespace {

template <class... Policies>
using OnGpu = Trainer<GpuGpt, Device<Cuda>, Batch<4>, Policies...>;
template <class... Policies>
using OnBare = Trainer<GpuGpt, Device<Bare>, Batch<4>, Policies...>;

// The network is small: what a product works in decides the peak.
static_assert(OnGpu<>::plan().bytes(MemoryKind::scratch) >= 32 << 20);
static_assert(OnGpu<>::plan().peak >= (32 << 20) + OnGpu<>::plan().kept &&
              OnGpu<>::plan().peak <= (32 << 20) + OnBare<>::plan().peak);
static_assert(OnGpu<>::plan().operations() == OnBare<>::plan().operations() &&
              OnGpu<>::plan().kept == OnBare<>::plan().kept);
static_assert(OnGpu<Target<targets::h100>>::plan().fits(targets::h100{}));

static_assert(Composable<GpuMlp, Device<Turing>, Precision<fp16, fp32>, LossScale<Dynamic>>);
static_assert(Composable<GpuMlp, Device<Turing>> && Composable<GpuMlp, Device<Turing>, Precision<fp64>>);
static_assert(!Composable<GpuMlp, Device<Turing>, Precision<bf16, fp32>> &&
              !Composable<GpuMlp, Device<Turing>, Precision<tf32>>);
static_assert(!Composable<Model<Input<Vector<8>>, As<bf16, Linear<8>>, Linear<4>>, Device<Turing>> &&
              !Composable<Model<Input<Vector<8>>, As<tf32, Linear<8>>, Linear<4>>, Device<Turing>>);
static_assert(Composable<GpuMlp, Device<Cuda>, Precision<bf16, fp32>>);

// All products have rows of 5 numbers of 4 bytes: the output of the first layer, its gradient, the second's weights.
using Odd = Trainer<OddMlp, Device<Cuda>, Batch<4>>;
static_assert(Odd::plan().unaligned_share() == 1 && Odd::plan().padding == 0);
static_assert(Odd::plan().unaligned[0].columns == 5 && Odd::plan().unaligned[0].element == 4 &&
              Odd::plan().unaligned[0].enough() == 8 && Odd::plan().unaligned[0].bytes == 4 * 3 * 4 &&
              Odd::plan().unaligned[0].path.digits == 1 && Odd::plan().unaligned[1].columns == 5 &&
              Odd::plan().unaligned[1].path.digits == 2 && Odd::plan().unaligned[2].columns == 0);
static_assert(OnGpu<>::plan().unaligned_share() == 0 && OnGpu<>::plan().unaligned[0].columns == 0);
static_assert(Trainer<OddMlp, Device<Cpu>, Batch<4>>::plan().unaligned_share() == 0);
// Rows of the output are filled up: those of 5 numbers of 4 bytes, for a loss that knows of it.
template <class... Policies>
using OddOutput = Trainer<OddEnd, Device<Cuda>, Batch<4>, Policies...>;
static_assert(OddOutput<>::plan().unaligned_share() == 0 && OddOutput<>::plan().padding == 4 * 3 * 4);
static_assert(OddOutput<Precision<bf16, fp32>>::plan().unaligned_share() == 0 &&
              OddOutput<Precision<bf16, fp32>>::plan().padding == 4 * 3 * 4);
static_assert(OddOutput<Precision<fp64>>::plan().padding == 4 * 1 * 8);
static_assert(Trainer<OddEnd, Device<Cpu>, Batch<4>>::plan().padding == 0 && OnGpu<>::plan().padding == 0);
// Not for another: all three products of the last layer have rows of 5 numbers, those of the first have not. The batch is
// in all. In bf16 the two products of backward read a copy of the output's gradient, in rows of 8 numbers of 2 bytes.
using Squares = OddOutput<Loss<MeanSquaredError>>;
static_assert(Squares::plan().padding == 0 &&
              Squares::plan().unaligned_share() == 3.0 * 5 * 16 / (2 * 8 * 16 + 3 * 5 * 16));
using SquaresBf16 = OddOutput<Loss<MeanSquaredError>, Precision<bf16, fp32>>;
static_assert(SquaresBf16::plan().unaligned_share() == 1.0 * 5 * 16 / (2 * 8 * 16 + 3 * 5 * 16) &&
              SquaresBf16::plan().unaligned[0].element == 4 && SquaresBf16::plan().unaligned[1].columns == 0);
template <class Share>
constexpr bool odd_fits =
    Composable<OddEnd, Device<Cuda>, Batch<4>, Loss<MeanSquaredError>, Target<targets::h100, Unaligned<Share>>>;
static_assert(odd_fits<Ratio<1, 2>> && !odd_fits<Ratio<12, 25>> && !odd_fits<Ratio<0>>);
static_assert(Composable<OddEnd, Device<Cuda>, Batch<4>, Target<targets::h100, Unaligned<Ratio<0>>>>);
static_assert(Composable<GpuGpt, Device<Cuda>, Target<targets::h100, Unaligned<Ratio<0>>>>);
// No multiple of 16 bytes: two of the last layer's products, and all of the blocks'.
static_assert(Trainer<OddBlocks, Device<Cuda>, Batch<4>>::plan().unaligned_share() == 1);

}  // namespace

TEST_CASE("what a plan says of rows is the same where it skips iterations of a block, and is in its table") {
  using Recipe = programs::Recipe<OddBlocks, ConfigurationOf<Device<Cuda>, Batch<4>>>;
  const auto skipping = Recipe::walk_step(4), whole = Recipe::walk_step(4, true);
  for (std::size_t phase = 0; phase < 3; ++phase) {
    CHECK(skipping.engine.cost[phase].products == whole.engine.cost[phase].products);
    CHECK(skipping.engine.cost[phase].unaligned == whole.engine.cost[phase].unaligned);
  }
  CHECK(skipping.engine.cost[0].unaligned == 2.0 * 4 * 3 * (6 * 3 + 4));
  const std::string table = Squares::plan().table();
  INFO(table);
  CHECK(
      table.find("48.4 % of the products' flops:\n  1 linear: 5 columns of 4 bytes; 8 would do, for 48 more bytes\n") !=
      std::string::npos);
  const std::string filled = OddOutput<>::plan().table();
  INFO(filled);
  CHECK(filled.find("  48 bytes lie between rows of the output, which begin at multiples of 16 bytes\n") !=
        std::string::npos);
  CHECK(filled.find("rows of products") == std::string::npos);
  CHECK(OddOutput<>::plan(8).padding == 8 * 3 * 4);
  CHECK(OnGpu<>::plan().table().find("16 bytes") == std::string::npos);
}

TEST_CASE("a plan for a GPU is the same at run time, and for other batches") {
  CHECK(OnGpu<>::plan(4).peak == OnGpu<>::plan().peak);
  CHECK(OnGpu<Precision<bf16, fp32>>::plan(4).peak == OnGpu<Precision<bf16, fp32>>::plan().peak);
  CHECK(OnGpu<>::plan(4096).peak > OnGpu<>::plan().peak);
  CHECK(OnGpu<>::plan(4096).peak - OnBare<>::plan(4096).peak <= 32 << 20);
}
// SPDX-License-Identifier: Apache-2.0
