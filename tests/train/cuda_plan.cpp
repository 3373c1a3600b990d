// A plan for Device<Cuda> is a constant in any compiler: its workspace and scratch included, without a header of CUDA's.
#include <regimen/engine/cuda/plan.hpp>
#include <regimen/layer/activation.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/train/trainer.hpp>

#include "support/catch.hpp"

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

}  // namespace

template <>
struct regimen::engine::Of<Bare> {
  using Traits = cuda::Traits<0>;
  using type = PlanOnly<Traits>;
  using profiled = type;
};
template <>
struct regimen::engine::Of<Turing> {
  using Traits = cuda::Traits<0, 750>;
  using type = PlanOnly<Traits>;
  using profiled = type;
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

}  // namespace

TEST_CASE("a plan for a GPU is the same at run time, and for other batches") {
  CHECK(OnGpu<>::plan(4).peak == OnGpu<>::plan().peak);
  CHECK(OnGpu<Precision<bf16, fp32>>::plan(4).peak == OnGpu<Precision<bf16, fp32>>::plan().peak);
  CHECK(OnGpu<>::plan(4096).peak > OnGpu<>::plan().peak);
  CHECK(OnGpu<>::plan(4096).peak - OnBare<>::plan(4096).peak <= 32 << 20);
}
// SPDX-License-Identifier: Apache-2.0
