// A join of a program's own that does not say whether its backward reads the values.
// expect: a join's of<Outputs...>, of this many, has Output, reads_values, forward and backward; give all
// names: own::Sum
#include "../support/model_recipe.hpp"

using namespace regimen;

namespace own {
struct Sum final {
  static constexpr const char* name = "sum";
  template <class A, class B>
  struct of {
    using Output = A;
    using T = typename A::Element;
#ifndef REGIMEN_MISUSE
    static constexpr bool reads_values = false;
#else
    // forward and backward alone
#endif
    static constexpr void forward(auto& engine, const auto& values, std::size_t y) {
      engine.run(op::Cast<T, T>{{values[0]}, {y}, engine.batch * A::size});
      engine.run(op::Add<T>{{values[1]}, {y}, engine.batch * A::size});
    }
    static constexpr void backward(auto& engine, std::size_t d_y, const auto&, const auto& d_values) {
      for (const std::size_t d_value : d_values)
        if (d_value != View<T>::absent) engine.run(op::Cast<T, T>{{d_y}, {d_value}, engine.batch * A::size});
    }
  };
};
}  // namespace own

struct Small : Model<Input<Vector<8>>, Fork<own::Sum, Linear<16>, Linear<16>>, Linear<4>> {};

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
