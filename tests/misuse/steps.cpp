// Steps: batch, accumulation, launches, and checks of what is computed.
#include "support/model_recipe.hpp"

#include <regimen/layer/batch_norm.hpp>
#include <regimen/rule/steps.hpp>

using namespace regimen;

// ---- accumulate_at_least_one ----------------------------------------------------------------------------------------
// A step without micro-batches.
// expect: Accumulate<N> needs N >= 1; write Accumulate<1>, or leave it out
// names: regimen::Accumulate<0>
namespace accumulate_at_least_one {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Accumulate<4>>;
#else
using Train = Trainer<Net, Accumulate<0>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace accumulate_at_least_one

// ---- batch_at_least_one ---------------------------------------------------------------------------------------------
// A batch without samples.
// expect: Batch<N> needs N >= 1; write Batch<32>, or Batch<Largest> with a Target
// names: regimen::Batch<0>
namespace batch_at_least_one {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Batch<32>>;
#else
using Train = Trainer<Net, Batch<0>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace batch_at_least_one

// ---- global_batch_divides -------------------------------------------------------------------------------------------
// Fifty samples for four ranks.
// expect: GlobalBatch<N> is cut into World<R> times Accumulate<K> equal parts; name the World, and an N that these divide
// names: regimen::GlobalBatch<50>
namespace global_batch_divides {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, GlobalBatch<48>, World<4>, Communicator<Threads>>;
#else
using Train = Trainer<Net, GlobalBatch<50>, World<4>, Communicator<Threads>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace global_batch_divides

// ---- coupled_samples_stay_together ----------------------------------------------------------------------------------
// A loss that compares the samples of a batch, and a batch in four pieces.
// expect: this couples the samples of a batch, and Accumulate, SimulateWorld or ranks cut it; use Batch<N> alone
// names: Contrast
// names: regimen::Accumulate<4>
namespace coupled_samples_stay_together {
struct Contrast {
  using option_of = axis::loss;
  static constexpr bool couples_samples = true;
  template <class Output>
  using Labels = Value<std::int32_t, Shape<1>>;
  template <class Output>
  static constexpr std::size_t rows = 1;
  template <bool gradient, class Output>
  static constexpr void run(auto&, std::size_t, std::size_t, View<Scalars>, double) {}
};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Loss<Contrast>, Batch<32>>;
#else
using Train = Trainer<Net, Loss<Contrast>, Batch<8>, Accumulate<4>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace coupled_samples_stay_together

// ---- coupled_samples_stay_together_layer ----------------------------------------------------------------------------
// A layer that normalises over the samples of a batch, and a batch that ranks share.
// expect: this couples the samples of a batch, and Accumulate, SimulateWorld or ranks cut it; use Batch<N> alone
// names: OverBatch
// names: regimen::Communicator<regimen::Threads>
namespace coupled_samples_stay_together_layer {
struct OverBatch {
  static constexpr const char* name = "over_batch";
  static constexpr bool couples_samples = true;
  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using Output = X;
    static constexpr void forward(auto&, const auto&) {}
    static constexpr void backward(auto&, const auto&) {}
  };
};
struct Mlp : Model<Input<Vector<8>>, Linear<8>, OverBatch, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Mlp>;
#else
using Train = Trainer<Mlp, Communicator<Threads>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace coupled_samples_stay_together_layer

// ---- pieces_of_a_batch_are_meant ------------------------------------------------------------------------------------
// BatchNorm of a batch that two ranks share.
// expect: BatchNorm is of a batch that is cut; among ranks write BatchNorm<OverRanks>, else BatchNorm<PerMicroBatch>
// names: regimen::in_order::BatchNorm<>
// names: regimen::Communicator<regimen::Threads>
namespace pieces_of_a_batch_are_meant {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, BatchNorm<OverRanks>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, BatchNorm<>, Linear<4>> {};
#endif

using Train = Trainer<Small, Communicator<Threads>>;

bool program() { return sizeof(Train) == 0; }
}  // namespace pieces_of_a_batch_are_meant

// ---- pieces_of_a_batch_are_meant_accumulate -------------------------------------------------------------------------
// BatchNorm over ranks, of a batch that Accumulate cuts.
// expect: BatchNorm is of a batch that is cut; among ranks write BatchNorm<OverRanks>, else BatchNorm<PerMicroBatch>
// names: regimen::in_order::BatchNorm<regimen::OverRanks>
// names: regimen::Accumulate<2>
namespace pieces_of_a_batch_are_meant_accumulate {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, BatchNorm<PerMicroBatch>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, BatchNorm<OverRanks>, Linear<4>> {};
#endif

using Train = Trainer<Small, Accumulate<2>>;

bool program() { return sizeof(Train) == 0; }
}  // namespace pieces_of_a_batch_are_meant_accumulate

// ---- clip_above_zero ------------------------------------------------------------------------------------------------
// A bound of zero: every gradient would vanish.
// expect: Clip<Norm<Ratio<\.\.\.>>> needs a bound above zero; write Clip<Norm<Ratio<1>>>
// names: regimen::Clip<regimen::Norm<regimen::in_order::Ratio<0
namespace clip_above_zero {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Clip<Norm<Ratio<1>>>>;
#else
using Train = Trainer<Net, Clip<Norm<Ratio<0>>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace clip_above_zero

// ---- steps_at_least_one ---------------------------------------------------------------------------------------------
// A launch of no steps.
// expect: Steps<K> needs K >= 1; write Steps<1>, or leave it out
// names: regimen::Steps<0
namespace steps_at_least_one {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Steps<4>>;
#else
using Train = Trainer<Net, Steps<0>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace steps_at_least_one

// ---- anomaly_ends_a_launch ------------------------------------------------------------------------------------------
// A check that ends the run at a step, with several steps in a launch.
// expect: Debug<Anomaly> stops at the step that finds one; it needs Steps<1>
// names: regimen::Steps<8
namespace anomaly_ends_a_launch {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Debug<Anomaly>>;
#else
using Train = Trainer<Net, Debug<Anomaly>, Steps<8>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace anomaly_ends_a_launch

// ---- debug_none_stands_alone ----------------------------------------------------------------------------------------
// Debug with None and a check.
// expect: Debug<\.\.\.> takes None or checks, not both; take None out
// names: regimen::Debug<regimen::None,regimen::Anomaly>
namespace debug_none_stands_alone {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Debug<Anomaly>>;
#else
using Train = Trainer<Net, Debug<None, Anomaly>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace debug_none_stands_alone

// ---- synchronous_needs_queue ----------------------------------------------------------------------------------------
// Waiting for each operation, on a device that always does.
// expect: this Device<\.\.\.> ends every operation before the next; leave Debug<Synchronous> out
// names: regimen::Synchronous
namespace synchronous_needs_queue {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Debug<Anomaly>>;
#else
using Train = Trainer<Net, Debug<Anomaly, Synchronous>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace synchronous_needs_queue

// ---- measured_run_has_no_debug --------------------------------------------------------------------------------------
// A benchmark of a Trainer that checks every activation.
// expect: Debug<\.\.\.> slows the run that this program measures; take it out
// names: regimen::Anomaly
namespace measured_run_has_no_debug {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Batch<8>>;
#else
using Train = Trainer<Net, Batch<8>, Debug<Anomaly>>;
#endif

// What a program that reports times asks of its recipe.
static_assert(sizeof(rule::measured_run_has_no_debug<Train::Configuration::debug>::must_hold));

bool program() { return sizeof(Train) == 0; }
}  // namespace measured_run_has_no_debug
// SPDX-License-Identifier: Apache-2.0
