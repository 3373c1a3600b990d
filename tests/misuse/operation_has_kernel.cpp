// An operation of a program's own that has its form for the CPU, and none for a GPU. Specialise kernel::Kernel for it
// (the interface is in kernel/block.hpp), beside compute() in your header; without one the program runs on Device<Cpu>.
// expect: an operation of this has no Kernel for a GPU; specialise regimen::kernel::Kernel, or write Device<Cpu>
// names: own::Doubled
#include "../support/model_recipe.hpp"

#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cuda/traits.hpp>

using namespace regimen;

namespace own {
struct Twice final {  // x = 2 x
  static constexpr const char* name = "twice";
  View<float> x;
  std::size_t count = 0;
  constexpr Cost cost() const { return {double(count), 8.0 * double(count), 1}; }
};
inline void compute(const Twice& o, const cpu::Memory& at) {
  for (std::size_t i = 0; i < o.count; ++i) at(o.x)[i] *= 2;
}
struct Doubled final {
  static constexpr const char* name = "doubled";
  static constexpr bool couples_samples = false;
  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using Output = X;
    static constexpr bool in_place = true;
    static constexpr void forward(auto& engine, const auto& call) {
      engine.run(op::Cast<float, float>{{call.x}, {call.y}, engine.batch * X::size});
      engine.run(Twice{{call.y}, engine.batch * X::size});
    }
    static constexpr void backward(auto& engine, const auto& call) {
      if (call.wants_d_x()) engine.run(op::Cast<float, float>{{call.d_y}, {call.d_x}, engine.batch * X::size});
    }
  };
};
}  // namespace own

template <>
struct regimen::engine::Of<Emulated> {
  using Traits = cuda::Traits<1024>;
};

struct Doubling : Model<Input<Vector<8>>, Repeat<2, Residual<own::Doubled>>, Linear<4>> {};

#ifndef REGIMEN_MISUSE
/// x = 2 x by blocks of threads, each of which takes some of the elements.
template <>
struct regimen::kernel::Kernel<own::Twice> final {
  static constexpr unsigned threads = 256;
  own::Twice o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.count, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    float* const x = at(o.x);
    for_pieces(block, o.count, [&](std::size_t i) { x[i] *= 2; });
  }
};
using Train = Trainer<Doubling, Device<Emulated>>;
#else
using Train = Trainer<Doubling, Device<Emulated>>;
#endif

int main() { return sizeof(Train) == 0; }
