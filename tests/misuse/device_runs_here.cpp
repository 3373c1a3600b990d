// A Trainer on a GPU, in a program that has only what plans for one need.
// expect: this program only plans for this Device; include regimen/engine/cuda/device\.cuh, compile with nvcc
// names: Planned
#include <regimen/engine/cuda/plan.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/train/trainer.hpp>

using namespace regimen;

struct Planned {  // what Device<Cuda> is where nvcc does not compile
  using option_of = axis::device;
};
template <>
struct regimen::engine::Of<Planned> {
  using Traits = cuda::Traits<cuda::library_workspace>;
  using type = PlanOnly<Traits>;
  using profiled = type;
};

struct Net : Model<Input<Vector<8>>, Linear<4>> {};
using Train = Trainer<Net, Device<Planned>>;

#ifndef REGIMEN_MISUSE
static_assert(Train::plan().peak > 32 << 20);
#else
Train* trainer = new Train{};
#endif

int main() {}
