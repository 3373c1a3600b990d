// A combinator that says what it is made of, and not how it is walked. tests/walk/user_combinator.cpp is a whole one;
// a Fork with a join of your own needs no walker.
// expect: a combinator has no walker, or a part of one; specialise walk::Node with all that walk/node.hpp lists
// names: Sum<
#include "../support/model_recipe.hpp"

#include <regimen/layer/children.hpp>

using namespace regimen;

template <class A, class B>
struct Sum final {  // y = A(x) + B(x)
  static constexpr const char* name = "sum";
};
template <class A, class B>
struct regimen::children<Sum<A, B>> : regimen::Branches<A, B> {
  template <class... Others>
  using with = Sum<Others...>;
};

#ifndef REGIMEN_MISUSE
struct Wide : Model<Input<Vector<8>>, Fork<Add, Linear<8>, Sequential<Linear<16>, Gelu, Linear<8>>>, Linear<4>> {};
#else
struct Wide : Model<Input<Vector<8>>, Sum<Linear<8>, Sequential<Linear<16>, Gelu, Linear<8>>>, Linear<4>> {};
#endif
using Train = Trainer<Wide, Batch<4>>;

int main() { return sizeof(Train) == 0; }
