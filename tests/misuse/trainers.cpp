// Trainers: objects, and steps written by hand.
#include <regimen/regimen.hpp>

#include <regimen/comm/launch.hpp>
#include <regimen/engine/cuda/plan.hpp>
#include <regimen/service/serve.hpp>

#include <memory>
#include <vector>

using namespace regimen;

// ---- trainer_is_not_copied ------------------------------------------------------------------------------------------
// A copy of a Trainer.
// expect: a Trainer is neither copied nor moved; pass it by reference, or keep it in a std::unique_ptr
// names: regimen::Trainer<Mlp>
namespace trainer_is_not_copied {
struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};
using Train = Trainer<Mlp>;

#ifndef REGIMEN_MISUSE
void use(Train&) {}
void program() {
  Train trainer;
  use(trainer);
}
#else
void use(Train) {}
void program() {
  Train trainer;
  use(trainer);
}
#endif
}  // namespace trainer_is_not_copied

// ---- trainer_is_not_copied_const ------------------------------------------------------------------------------------
// A copy of a Trainer that is const. A copy constructor that C++20 knows as deleted, so that std::is_copy_constructible is false, has no words of
// its own: the compiler says that it is deleted. (A Trainer that is not const gets the sentence of trainer_is_not_copied.)
// compiler: deleted (function|constructor)
namespace trainer_is_not_copied_const {
struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};
using Train = Trainer<Mlp>;

#ifndef REGIMEN_MISUSE
void use(const Train&) {}
void program() {
  const Train trainer;
  use(trainer);
}
#else
void use(Train) {}
void program() {
  const Train trainer;
  use(trainer);
}
#endif
}  // namespace trainer_is_not_copied_const

// ---- trainer_is_not_copied_vector -----------------------------------------------------------------------------------
// A std::vector of Trainers, which would move them.
// expect: a Trainer is neither copied nor moved; pass it by reference, or keep it in a std::unique_ptr
// names: regimen::Trainer<Mlp>
namespace trainer_is_not_copied_vector {
struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};
using Train = Trainer<Mlp>;

#ifndef REGIMEN_MISUSE
void program() {
  std::vector<std::unique_ptr<Train>> trainers;
  trainers.push_back(std::make_unique<Train>());
}
#else
void program() {
  std::vector<Train> trainers;
  trainers.emplace_back();
}
#endif
}  // namespace trainer_is_not_copied_vector

// ---- step_takes_targets ---------------------------------------------------------------------------------------------
// A step from inputs alone.
// expect: a step takes inputs and targets; write step\(inputs, targets\), or predict\(inputs\) for outputs
namespace step_takes_targets {
struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};
using Train = Trainer<Mlp>;

#ifndef REGIMEN_MISUSE
void program() {
  Train trainer;
  const std::vector<float> inputs{1, 2, 3, 4};
  const std::vector<std::int32_t> targets{1};
  trainer.step(inputs, targets);
}
#else
void program() {
  Train trainer;
  const std::vector<float> inputs{1, 2, 3, 4};
  trainer.step(inputs);
}
#endif
}  // namespace step_takes_targets

// ---- data_lies_somewhere --------------------------------------------------------------------------------------------
// Numbers in braces, where a step reads data in place.
// expect: a step reads data where they lie; put the numbers into a std::vector of Train::Input or Train::Label first
namespace data_lies_somewhere {
struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};
using Train = Trainer<Mlp>;

#ifndef REGIMEN_MISUSE
void program() {
  Train trainer;
  const std::vector<float> inputs{1, 2, 3, 4};
  const std::vector<std::int32_t> targets{1};
  trainer.step(inputs, targets);
}
#else
void program() {
  Train trainer;
  trainer.step({1, 2, 3, 4}, {1});
}
#endif
}  // namespace data_lies_somewhere

// ---- apply_needs_backward -------------------------------------------------------------------------------------------
// A hand-written loop without backward.
// expect: this loss has no gradients yet; call backward between forward and apply
// names: regimen::UnscaledLoss
namespace apply_needs_backward {
struct Net : Model<Input<Vector<8>>, Linear<4>> {};

void step(Trainer<Net>& trainer, std::span<const float> inputs, std::span<const std::int32_t> labels) {
#ifndef REGIMEN_MISUSE
  trainer.apply(trainer.backward(trainer.forward(inputs, labels)));
#else
  trainer.apply(trainer.forward(inputs, labels));
#endif
}
}  // namespace apply_needs_backward

// ---- apply_needs_backward_scaled ------------------------------------------------------------------------------------
// A hand-written loop with a loss scale, without backward.
// expect: this loss has no gradients yet; call backward between forward and apply
// names: regimen::ScaledLoss
namespace apply_needs_backward_scaled {
struct Net : Model<Input<Vector<8>>, Linear<4>> {};
using Train = Trainer<Net, Precision<fp16, fp32>, LossScale<Dynamic>>;

void step(Train& trainer, std::span<const float> inputs, std::span<const std::int32_t> labels) {
  const auto loss = trainer.forward(inputs, labels);
#ifndef REGIMEN_MISUSE
  trainer.apply(trainer.unscale(trainer.backward(trainer.scale(loss))));
#else
  trainer.apply(trainer.unscale(trainer.scale(loss)));
#endif
}
}  // namespace apply_needs_backward_scaled

// ---- backward_needs_scaled_loss -------------------------------------------------------------------------------------
// A hand-written loop that does not scale the loss.
// expect: backward takes a scaled loss under LossScale<\.\.\.>; call scale before backward
// names: regimen::LossScale<regimen::Dynamic>
namespace backward_needs_scaled_loss {
struct Net : Model<Input<Vector<8>>, Linear<4>> {};
using Train = Trainer<Net, Precision<fp16, fp32>, LossScale<Dynamic>>;

void step(Train& trainer, std::span<const float> inputs, std::span<const std::int32_t> labels) {
  const auto loss = trainer.forward(inputs, labels);
#ifndef REGIMEN_MISUSE
  trainer.apply(trainer.unscale(trainer.backward(trainer.scale(loss))));
#else
  trainer.apply(trainer.backward(loss));
#endif
}
}  // namespace backward_needs_scaled_loss

// ---- scaled_gradients_need_unscale ----------------------------------------------------------------------------------
// A hand-written loop that gives scaled gradients to apply.
// expect: these gradients still carry the loss scale; call unscale before apply
// names: regimen::ScaledGradients
namespace scaled_gradients_need_unscale {
struct Net : Model<Input<Vector<8>>, Linear<4>> {};
using Train = Trainer<Net, Precision<fp16, fp32>, LossScale<Dynamic>>;

void step(Train& trainer, std::span<const float> inputs, std::span<const std::int32_t> labels) {
  const auto loss = trainer.forward(inputs, labels);
#ifndef REGIMEN_MISUSE
  trainer.apply(trainer.unscale(trainer.backward(trainer.scale(loss))));
#else
  trainer.apply(trainer.backward(trainer.scale(loss)));
#endif
}
}  // namespace scaled_gradients_need_unscale

// ---- averages_are_kept ----------------------------------------------------------------------------------------------
// The averages of a Trainer that keeps none.
// expect: this Trainer keeps no averages of weights; write Optimizer<Averaged<AdamW>>
// names: regimen::AdamW
namespace averages_are_kept {
struct Net : Model<Input<Vector<8>>, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Optimizer<Averaged<AdamW>>>;
#else
using Train = Trainer<Net>;
#endif

void write(Train& trainer) { trainer.save_average("average"); }
}  // namespace averages_are_kept

// ---- profile_needs_debug --------------------------------------------------------------------------------------------
// The profile of a Trainer that measures nothing.
// expect: profile\(\) reads what Debug<Profile> measures; add Debug<Profile> to the policies
// names: regimen::Debug<regimen::None>
namespace profile_needs_debug {
struct Net : Model<Input<Vector<8>>, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Debug<Profile>>;
#else
using Train = Trainer<Net>;
#endif

std::size_t operations(Train& trainer) { return trainer.profile().operations(); }
}  // namespace profile_needs_debug

// ---- communicator_is_given ------------------------------------------------------------------------------------------
// Several ranks without a communicator object.
// expect: a recipe with Communicator<\.\.\.> needs a communicator object; write Train trainer\(communicator\)
// names: regimen::Communicator<regimen::Threads>
namespace communicator_is_given {
struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};
using Train = Trainer<Mlp, Communicator<Threads>>;

#ifndef REGIMEN_MISUSE
void program() {
  launch(2, [](comm::Threads& communicator) { Train trainer(communicator); });
}
#else
void program() {
  launch(2, [](comm::Threads&) { Train trainer; });
}
#endif
}  // namespace communicator_is_given

// ---- communicator_matches -------------------------------------------------------------------------------------------
// Ranks that are threads, in a recipe for processes.
// expect: this communicator is not the one that the recipe names; write its Communicator<\.\.\.>, or hand over another
// names: regimen::comm::Threads
// names: regimen::Communicator<regimen::Tcp>
namespace communicator_matches {
struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Mlp, Communicator<Threads>>;
#else
using Train = Trainer<Mlp, Communicator<Tcp>>;
#endif

void program() {
  launch(2, [](comm::Threads& communicator) { Train trainer(communicator); });
}
}  // namespace communicator_matches

// ---- device_runs_here -----------------------------------------------------------------------------------------------
// A Trainer on a GPU, in a program that has only what plans for one need.
// expect: this program only plans for this Device; include regimen/engine/cuda/device\.hpp, and compile with nvcc or link regimen::cuda_compiled
// names: Planned
namespace device_runs_here {
struct Planned {  // what Device<Cuda> is where nvcc does not compile
  using option_of = axis::device;
};
}  // namespace device_runs_here

template <>
struct regimen::engines::Of<device_runs_here::Planned> {
  using Traits = cuda::Traits<cuda::library_workspace>;
  using type = PlanOnly<Traits>;
};

namespace device_runs_here {
struct Net : Model<Input<Vector<8>>, Linear<4>> {};
using Train = Trainer<Net, Device<Planned>>;

#ifndef REGIMEN_MISUSE
static_assert(Train::plan().peak > 32 << 20);
#else
Train* trainer = new Train{};
#endif

void program() {}
}  // namespace device_runs_here

// ---- worker_is_told_shape -------------------------------------------------------------------------------------------
// A worker of the data service that takes the shape of its samples from whoever calls.
// expect: a worker is told the shape of its samples; give it Trainer::sample_shape\(\) after the source
// names: Sums
namespace worker_is_told_shape {
struct Sums {
  std::size_t size(const SampleShape&) const { return 100; }
  void read(std::size_t index, Sample<float, float> sample) const {
    sample.input[0] = 1, sample.input[1] = float(index);
    sample.target[0] = 1 + float(index);
  }
};

void program() {
#ifndef REGIMEN_MISUSE
  constexpr SampleShape shape{.input = 2, .target = 1};   // Trainer::sample_shape()
  data::serve<float, float>(Sums{}, shape, {.port = 7000});
#else
  data::serve<float, float>(Sums{}, {.port = 7000});
#endif
}
}  // namespace worker_is_told_shape
// SPDX-License-Identifier: Apache-2.0
