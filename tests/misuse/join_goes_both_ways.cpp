// A join of a program's own without its backward.
// expect: a join's of<Outputs...>, of this many, has Output, reads_values, forward and backward; give all
// names: own::Mean
#include "../support/model_recipe.hpp"

using namespace regimen;

namespace own {
struct Mean final {
  static constexpr const char* name = "mean";
  template <class A, class B>
  struct of {
    using Output = A;
    using T = typename A::Element;
#ifndef REGIMEN_MISUSE
    static constexpr bool reads_values = false;
    static constexpr void forward(auto& engine, const auto& values, std::size_t y) {
      engine.run(op::Cast<T, T>{{values[0]}, {y}, engine.batch * A::size});
      add_half(engine, values[1], y, 0.5);
    }
    static constexpr void backward(auto& engine, std::size_t d_y, const auto&, const auto& d_values) {
      for (const std::size_t to : d_values)
        if (to != View<T>::absent) add_half(engine, d_y, to, 0);
    }
#else
    static constexpr bool reads_values = false;
    static constexpr void forward(auto& engine, const auto& values, std::size_t y) {
      engine.run(op::Cast<T, T>{{values[0]}, {y}, engine.batch * A::size});
      add_half(engine, values[1], y, 0.5);
    }
#endif

   private:
    static constexpr void add_half(auto& engine, std::size_t x, std::size_t y, double onto) {
      engine.run(op::ScaledSum<T, T>{.x = {x}, .y = {y}, .count = engine.batch * A::size, .a = {0.5}, .b = {onto}});
    }
  };
};
}  // namespace own

struct Small : Model<Input<Vector<8>>, Fork<own::Mean, Linear<16>, Linear<16>>, Linear<4>> {};

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
