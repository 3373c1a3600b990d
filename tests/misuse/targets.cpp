// Targets: memory, element types and speed of what a recipe is for.
#include <regimen/programs/plan.hpp>

#include "support/model_recipe.hpp"

#include <regimen/engine/cuda/traits.hpp>
#include <regimen/layer/conv1d.hpp>
#include <regimen/layer/pool.hpp>

using namespace regimen;

// ---- fits_target ----------------------------------------------------------------------------------------------------
// A batch that is too large for the target. The error shows the bytes needed, the bytes available and their difference, then the
// largest batch that fits, and the largest owners. Recomputing the blocks would do, too.
// expect: the plan needs more bytes than its Target has; lower the batch, or add Checkpoint<Every<1>>
// names: 6291456
// names: regimen::rule::Exceeds<
// names: regimen::rule::Either<regimen::Batch<103>
// names: regimen::rule::Owner<regimen::Linear<256>
namespace fits_target {
using Block = Residual<Linear<256>, Gelu, Linear<64>>;
struct Deep : Model<Input<Vector<8>>, Linear<64>, Repeat<8, Block>, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Deep, Target<targets::host<6_MiB>>, Batch<103>>;
static_assert(!Composable<Deep, Target<targets::host<6_MiB>>, Batch<104>>);
static_assert(Composable<Deep, Target<targets::host<6_MiB>>, Batch<256>, Checkpoint<Every<1>>>);
#else
using Train = Trainer<Deep, Target<targets::host<6_MiB>>, Batch<256>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace fits_target

// ---- fits_target_batch ----------------------------------------------------------------------------------------------
// A batch that is too large for the target, of a model without blocks to recompute: only a smaller one helps. The error names the
// largest that fits.
// expect: the plan needs more bytes than its Target has; lower the batch, or name a larger Target
// names: 20971520
// names: regimen::rule::Exceeds<
// names: regimen::Batch<334>
// names: regimen::rule::Owner<
namespace fits_target_batch {
struct Wide : Model<Input<Vector<1024>>, Linear<1024>, Relu, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Wide, Target<targets::host<20_MiB>>, Batch<334>>;
static_assert(!Composable<Wide, Target<targets::host<20_MiB>>, Batch<335>>);
#else
using Train = Trainer<Wide, Target<targets::host<20_MiB>>, Batch<10000>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace fits_target_batch

// ---- fits_target_both -----------------------------------------------------------------------------------------------
// A batch that is too large even where blocks are recomputed, and without recomputation too large at one sample.
// expect: the plan needs more bytes than its Target has; add Checkpoint<Every<1>>, and lower the batch
// names: regimen::Batch<1>
// names: regimen::Checkpoint<regimen::Every<1>>
namespace fits_target_both {
using Block = Residual<Linear<256>, Gelu, Linear<64>>;
struct Deep : Model<Input<Vector<8>>, Linear<64>, Repeat<8, Block>, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Deep, Target<targets::host<4_MiB + 65'000>>, Batch<1>, Checkpoint<Every<1>>>;
#else
using Train = Trainer<Deep, Target<targets::host<4_MiB + 65'000>>, Batch<256>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace fits_target_both

// ---- fits_target_global ---------------------------------------------------------------------------------------------
// The same with a batch that is given for all ranks.
// expect: the plan needs more bytes than its Target has; lower the batch, or name a larger Target
// names: 20971520
// names: regimen::rule::Exceeds<
// names: regimen::GlobalBatch<334>
namespace fits_target_global {
struct Wide : Model<Input<Vector<1024>>, Linear<1024>, Relu, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Wide, Target<targets::host<20_MiB>>, GlobalBatch<334>, World<1>>;
static_assert(Composable<Wide, Target<targets::host<20_MiB>>, GlobalBatch<10000>, World<1>, Accumulate<100>>);
#else
using Train = Trainer<Wide, Target<targets::host<20_MiB>>, GlobalBatch<10000>, World<1>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace fits_target_global

// ---- fits_target_largest --------------------------------------------------------------------------------------------
// Not even one sample fits, though the weights do, and there are no blocks to recompute.
// expect: one sample alone needs more bytes than the Target has; name a larger Target, or a smaller model
// names: 262144
// names: regimen::rule::Exceeds<
// names: regimen::rule::SampleAlone
namespace fits_target_largest {
struct Long : Model<Input<Series<1000, 8>>, Conv1d<64, 3>, Relu, MeanPool, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Long, Target<targets::host<1_MiB>>, Batch<Largest>>;
#else
using Train = Trainer<Long, Target<targets::host<256_KiB>>, Batch<Largest>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace fits_target_largest

// ---- fits_target_recomputed -----------------------------------------------------------------------------------------
// A sample that does not fit, unless blocks are recomputed.
// expect: the plan needs more bytes than its Target has; add Checkpoint<Every<1>>, or name a larger Target
// names: regimen::Checkpoint<regimen::Every<1>>
namespace fits_target_recomputed {
using Block = Residual<Linear<256>, Gelu, Linear<64>>;
struct Deep : Model<Input<Vector<8>>, Linear<64>, Repeat<8, Block>, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Deep, Target<targets::host<4_MiB + 65'000>>, Batch<1>, Checkpoint<Every<1>>>;
#else
using Train = Trainer<Deep, Target<targets::host<4_MiB + 65'000>>, Batch<1>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace fits_target_recomputed

// ---- fits_target_state ----------------------------------------------------------------------------------------------
// Weights, gradients and optimizer state are larger than the target: no batch and no schedule help.
// expect: weights and optimizer state alone exceed the Target; name a larger one, or Shard<ZeRO3> over ranks
// names: 67108864
// names: regimen::rule::Exceeds<
// names: regimen::rule::StateAlone<
// names: regimen::rule::Owner<regimen::Linear<4096>
namespace fits_target_state {
struct Wide : Model<Input<Vector<8>>, Linear<4096>, Relu, Linear<4096>, Relu, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Wide, Target<targets::host<1_GiB>>, Batch<32>>;
#else
using Train = Trainer<Wide, Target<targets::host<64_MiB>>, Batch<32>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace fits_target_state

// ---- largest_batch_needs_target -------------------------------------------------------------------------------------
// The largest batch, without a limit of memory.
// expect: Batch<Largest> needs memory to fill; add Target<targets::h200> or your own, or write Batch<32>
// names: regimen::Target<regimen::targets::unlimited>
namespace largest_batch_needs_target {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Batch<Largest>, Target<targets::host<8_GiB>>>;
#else
using Train = Trainer<Net, Batch<Largest>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace largest_batch_needs_target

// ---- bytes_can_be_counted -------------------------------------------------------------------------------------------
// A layer wider than any memory.
// expect: this model and batch need more bytes than can be counted; write smaller extents, a smaller Repeat or Batch
// names: Wide
namespace bytes_can_be_counted {
#ifndef REGIMEN_MISUSE
struct Wide : Model<Input<Vector<4>>, Linear<(std::size_t{1} << 6)>, Linear<3>> {};
#else
struct Wide : Model<Input<Vector<4>>, Linear<(std::size_t{1} << 62)>, Linear<3>> {};
#endif

using Train = Trainer<Wide>;

bool program() { return sizeof(Train) == 0; }
}  // namespace bytes_can_be_counted

// ---- target_computes_in ---------------------------------------------------------------------------------------------
// fp16 on a target that does not support it.
// expect: this target does not compute in this element type; write Precision<bf16, fp32>, or another Target
// names: regimen::Target<regimen::targets::tpu_v3_core>
namespace target_computes_in {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Target<targets::tpu_v3_core>, Precision<bf16, fp32>>;
#else
using Train = Trainer<Net, Target<targets::tpu_v3_core>, Precision<fp16, fp32>, LossScale<Dynamic>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace target_computes_in

// ---- target_computes_in_fp32 ----------------------------------------------------------------------------------------
// bf16 on a target that computes in fp32 alone: it is no cure of itself.
// expect: this target does not compute in this element type; write Precision<fp32>, or another Target
// names: regimen::Target<Board>
namespace target_computes_in_fp32 {
struct Board {
  static constexpr const char* name = "a board";
  static constexpr std::size_t memory = 1_GiB;
  template <class T>
  static constexpr bool supports = std::is_same_v<T, fp32>;
};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Target<Board>, Precision<fp32>>;
#else
using Train = Trainer<Net, Target<Board>, Precision<bf16, fp32>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace target_computes_in_fp32

// ---- target_computes_in_nothing -------------------------------------------------------------------------------------
// A target that computes in none of the library's types.
// expect: this target computes in none of our element types; write another Target
// names: regimen::Target<Board>
namespace target_computes_in_nothing {
struct Board {
  static constexpr const char* name = "a board";
  static constexpr std::size_t memory = 1_GiB;
  template <class T>
  static constexpr bool supports = !std::is_same_v<T, T>;
};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Target<targets::host<1_GiB>>, Precision<fp32>>;
#else
using Train = Trainer<Net, Target<Board>, Precision<fp32>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace target_computes_in_nothing

// ---- target_has_rates -----------------------------------------------------------------------------------------------
// The time of a step on a target that states no speed.
// expect: this target states no bandwidth, or no peak in this element type; ask seconds of another
// names: regimen::targets::host<8589934592
namespace target_has_rates {
#ifndef REGIMEN_MISUSE
constexpr targets::h200 machine;
#else
constexpr targets::host<8_GiB> machine;
#endif

bool program() { return MemoryPlan{}.seconds<fp32>(machine) > 0; }
}  // namespace target_has_rates

// ---- target_takes_bound ---------------------------------------------------------------------------------------------
// A bound before the target.
// expect: Target<T, \.\.\.> takes the target first, then a bound; name Unaligned<Ratio<1, 100>>, or none
// names: regimen::Unaligned<regimen::in_order::Ratio<0
namespace target_takes_bound {
struct Gpu {
  using option_of = axis::device;
};
}  // namespace target_takes_bound

template <>
struct regimen::engines::Of<target_takes_bound::Gpu> {
  using Traits = cuda::Traits<0>;
};

namespace target_takes_bound {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Device<Gpu>, Target<targets::h100, Unaligned<Ratio<0>>>>;
#else
using Train = Trainer<Net, Device<Gpu>, Target<Unaligned<Ratio<0>>, targets::h100>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace target_takes_bound

// ---- rows_are_aligned -----------------------------------------------------------------------------------------------
// Hidden layers of 4,095 numbers, whose rows tensor cores would read by halves.
// expect: rows of this layer are no multiples of 16 bytes, in more products than Unaligned<\.\.\.> allows; widen it
// names: regimen::Linear<4095
namespace rows_are_aligned {
struct Gpu {
  using option_of = axis::device;
};
}  // namespace rows_are_aligned

template <>
struct regimen::engines::Of<rows_are_aligned::Gpu> {
  using Traits = cuda::Traits<0>;
};

namespace rows_are_aligned {
struct Wide : Model<Input<Vector<64>>, Linear<4096>, Linear<50257>> {};
struct Odd : Model<Input<Vector<64>>, Linear<4095>, Linear<50257>> {};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Wide, Device<Gpu>, Target<targets::h100, Unaligned<Ratio<1, 100>>>, Precision<bf16, fp32>>;
#else
using Train = Trainer<Odd, Device<Gpu>, Target<targets::h100, Unaligned<Ratio<1, 100>>>, Precision<bf16, fp32>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace rows_are_aligned

// ---- unaligned_is_counted -------------------------------------------------------------------------------------------
// A bound for tensor cores, on the CPU.
// expect: rows are counted in plans for a GPU alone; take Unaligned<\.\.\.> out, or write Device<Cuda>
// names: regimen::Device<regimen::Cpu>
namespace unaligned_is_counted {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Target<targets::h100>>;
#else
using Train = Trainer<Net, Target<targets::h100, Unaligned<Ratio<1, 10>>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace unaligned_is_counted
// SPDX-License-Identifier: Apache-2.0
