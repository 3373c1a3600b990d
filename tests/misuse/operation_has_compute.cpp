// An operation without its form for the CPU: compute(), beside it in its namespace, declared before the first Trainer.
// expect: an operation of this has no compute\(operation, cpu::Memory\) for the CPU; write it in the operation's namespace
// names: own::Doubled
#include "../support/model_recipe.hpp"

#include <regimen/engine/cpu/engine.hpp>

using namespace regimen;

namespace own {
struct Twice final {  // y = 2 x
  static constexpr const char* name = "twice";
  View<float> x, y;
  std::size_t count = 0;
  constexpr Cost cost() const { return {double(count), 8.0 * double(count), 1}; }
};
#ifndef REGIMEN_MISUSE
inline void compute(const Twice& o, const cpu::Memory& at) {
  for (std::size_t i = 0; i < o.count; ++i) at(o.y)[i] = 2 * at(o.x)[i];
}
#else
// no compute(const Twice&, const cpu::Memory&)
#endif
struct Doubled final {
  static constexpr const char* name = "doubled";
  static constexpr bool couples_samples = false;
  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using Output = X;
    static constexpr void forward(auto& engine, const auto& call) {
      engine.run(Twice{{call.x}, {call.y}, engine.batch * X::size});
    }
    static constexpr void backward(auto& engine, const auto& call) {
      if (call.wants_d_x()) engine.run(Twice{{call.d_y}, {call.d_x}, engine.batch * X::size});
    }
  };
};
}  // namespace own

struct Doubling : Model<Input<Vector<8>>, Repeat<2, Residual<own::Doubled>>, Linear<4>> {};
using Train = Trainer<Doubling>;

int main() { return sizeof(Train) == 0; }
