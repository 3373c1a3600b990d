// Extensions: layers, joins, losses, operations and update rules of a program's own.
#include "support/model_recipe.hpp"

#include <regimen/engine/cpu/device.hpp>
#include <regimen/engine/cpu/engine.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cuda/traits.hpp>
#include <regimen/layer/children.hpp>
#include <regimen/trainers/gradient_check.hpp>

#include <cstdio>

using namespace regimen;

// ---- layer_goes_both_ways -------------------------------------------------------------------------------------------
// A layer without backward.
// expect: a layer's Bound<X, Roles> has Output, forward\(engine, call\) and backward\(engine, call\); give it all three
// names: Square
namespace layer_goes_both_ways {
#ifndef REGIMEN_MISUSE
struct Square {
  static constexpr const char* name = "square";
  static constexpr bool couples_samples = false;
  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using Output = X;
    static constexpr void forward(auto&, const auto&) {}
    static constexpr void backward(auto&, const auto&) {}
  };
};
#else
struct Square {
  static constexpr const char* name = "square";
  static constexpr bool couples_samples = false;
  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using Output = X;
    static constexpr void forward(auto&, const auto&) {}
  };
};
#endif

struct Mlp : Model<Input<Vector<8>>, Linear<8>, Square, Linear<4>> {};
using Train = Trainer<Mlp>;

bool program() { return sizeof(Train) == 0; }
}  // namespace layer_goes_both_ways

// ---- coupling_is_declared -------------------------------------------------------------------------------------------
// A layer that does not declare whether it couples samples.
// expect: a layer says whether it couples the samples of a batch; add static constexpr bool couples_samples
// names: Scale
namespace coupling_is_declared {
#ifndef REGIMEN_MISUSE
struct Scale {
  static constexpr const char* name = "scale";
  static constexpr bool couples_samples = false;
  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using Output = X;
    static constexpr void forward(auto&, const auto&) {}
    static constexpr void backward(auto&, const auto&) {}
  };
};
#else
struct Scale {
  static constexpr const char* name = "scale";
  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using Output = X;
    static constexpr void forward(auto&, const auto&) {}
    static constexpr void backward(auto&, const auto&) {}
  };
};
#endif

struct Mlp : Model<Input<Vector<8>>, Linear<8>, Scale, Linear<4>> {};
using Train = Trainer<Mlp>;

bool program() { return sizeof(Train) == 0; }
}  // namespace coupling_is_declared

// ---- coupling_is_declared_loss --------------------------------------------------------------------------------------
// A loss that does not declare whether it couples samples.
// expect: a loss says whether it couples the samples of a batch; add static constexpr bool couples_samples
// names: Contrast
namespace coupling_is_declared_loss {
#ifndef REGIMEN_MISUSE
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
#else
struct Contrast {
  using option_of = axis::loss;
  template <class Output>
  using Labels = Value<std::int32_t, Shape<1>>;
  template <class Output>
  static constexpr std::size_t rows = 1;
  template <bool gradient, class Output>
  static constexpr void run(auto&, std::size_t, std::size_t, View<Scalars>, double) {}
};
#endif

using Train = Trainer<Net, Loss<Contrast>>;

bool program() { return sizeof(Train) == 0; }
}  // namespace coupling_is_declared_loss

// ---- join_goes_both_ways --------------------------------------------------------------------------------------------
// A join of a program's own without its backward.
// expect: a join's of<Outputs...>, of this many, has Output, reads_values, forward and backward; give all
// names: own::Sum
namespace join_goes_both_ways {
namespace own {
struct Sum final {
  static constexpr const char* name = "sum";
  template <class A, class B>
  struct of {
    using Output = A;
    using T = typename A::Element;
    static constexpr bool reads_values = false;
    static constexpr void forward(auto& walk, const auto& values, std::size_t y) {
      walk.run(op::Copy<T>{{values[0]}, {y}, walk.batch * A::size});
      walk.run(op::Add<T>{{values[1]}, {y}, walk.batch * A::size});
    }
#ifndef REGIMEN_MISUSE
    static constexpr void backward(auto& walk, std::size_t d_y, const auto&, const auto& d_values) {
      for (const std::size_t d_value : d_values)
        if (d_value != View<T>::absent) walk.run(op::Copy<T>{{d_y}, {d_value}, walk.batch * A::size});
    }
#else
    // forward alone
#endif
  };
};
}  // namespace own

struct Small : Model<Input<Vector<8>>, Fork<own::Sum, Linear<16>, Linear<16>>, Linear<4>> {};

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace join_goes_both_ways

// ---- join_goes_both_ways_count --------------------------------------------------------------------------------------
// Three branches, and a join of a program's own that is of two.
// expect: a join's of<Outputs...>, of this many, has Output, reads_values, forward and backward; give all
// names: own::Sum
namespace join_goes_both_ways_count {
namespace own {
struct Sum final {
  static constexpr const char* name = "sum";
  template <class A, class B>
  struct of {
    using Output = A;
    using T = typename A::Element;
    static constexpr bool reads_values = false;
    static constexpr void forward(auto& walk, const auto& values, std::size_t y) {
      walk.run(op::Copy<T>{{values[0]}, {y}, walk.batch * A::size});
      walk.run(op::Add<T>{{values[1]}, {y}, walk.batch * A::size});
    }
    static constexpr void backward(auto& walk, std::size_t d_y, const auto&, const auto& d_values) {
      for (const std::size_t d_value : d_values)
        if (d_value != View<T>::absent) walk.run(op::Copy<T>{{d_y}, {d_value}, walk.batch * A::size});
    }
  };
};
}  // namespace own

#ifndef REGIMEN_MISUSE
using Joined = Fork<own::Sum, Linear<16>, Linear<16>>;
#else
using Joined = Fork<own::Sum, Linear<16>, Linear<16>, Linear<16>>;
#endif
struct Small : Model<Input<Vector<8>>, Joined, Linear<4>> {};

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace join_goes_both_ways_count

// ---- join_goes_both_ways_values -------------------------------------------------------------------------------------
// A join of a program's own that does not say whether its backward reads the values.
// expect: a join's of<Outputs...>, of this many, has Output, reads_values, forward and backward; give all
// names: own::Sum
namespace join_goes_both_ways_values {
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
    static constexpr void forward(auto& walk, const auto& values, std::size_t y) {
      walk.run(op::Copy<T>{{values[0]}, {y}, walk.batch * A::size});
      walk.run(op::Add<T>{{values[1]}, {y}, walk.batch * A::size});
    }
    static constexpr void backward(auto& walk, std::size_t d_y, const auto&, const auto& d_values) {
      for (const std::size_t d_value : d_values)
        if (d_value != View<T>::absent) walk.run(op::Copy<T>{{d_y}, {d_value}, walk.batch * A::size});
    }
  };
};
}  // namespace own

struct Small : Model<Input<Vector<8>>, Fork<own::Sum, Linear<16>, Linear<16>>, Linear<4>> {};

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace join_goes_both_ways_values

// ---- combinator_has_walker ------------------------------------------------------------------------------------------
// A combinator that says what it is made of, and not how it is walked. tests/walk/user_combinator.cpp is a whole one;
// a Fork with a join of your own needs no walker.
// expect: a combinator has no walker, or a part of one; specialise walk::Node with all that walk/node.hpp lists
// names: Sum<
namespace combinator_has_walker {
template <class A, class B>
struct Sum final {  // y = A(x) + B(x)
  static constexpr const char* name = "sum";
};
}  // namespace combinator_has_walker

template <class A, class B>
struct regimen::children<combinator_has_walker::Sum<A, B>> : regimen::Branches<A, B> {
  template <class... Others>
  using with = combinator_has_walker::Sum<Others...>;
};

namespace combinator_has_walker {
#ifndef REGIMEN_MISUSE
struct Wide : Model<Input<Vector<8>>, Fork<Add, Linear<8>, Sequential<Linear<16>, Gelu, Linear<8>>>, Linear<4>> {};
#else
struct Wide : Model<Input<Vector<8>>, Sum<Linear<8>, Sequential<Linear<16>, Gelu, Linear<8>>>, Linear<4>> {};
#endif
using Train = Trainer<Wide, Batch<4>>;

bool program() { return sizeof(Train) == 0; }
}  // namespace combinator_has_walker

// ---- loss_is_whole --------------------------------------------------------------------------------------------------
// A loss without run.
// expect: a loss has rows<Output> and run<gradient, Output>\(engine, output, target, scalars, scale\); give it both
// names: Distance
namespace loss_is_whole {
#ifndef REGIMEN_MISUSE
struct Distance {
  using option_of = axis::loss;
  static constexpr bool couples_samples = false;
  template <class Output>
  using Labels = Value<typename Output::Element, typename Output::Shape>;
  template <class Output>
  static constexpr std::size_t rows = Output::rows;
  template <bool gradient, class Output>
  static constexpr void run(auto&, std::size_t, std::size_t, View<Scalars>, double) {}
};
#else
struct Distance {
  using option_of = axis::loss;
  static constexpr bool couples_samples = false;
  template <class Output>
  using Labels = Value<typename Output::Element, typename Output::Shape>;
  template <class Output>
  static constexpr std::size_t rows = Output::rows;
};
#endif

using Train = Trainer<Net, Loss<Distance>>;

bool program() { return sizeof(Train) == 0; }
}  // namespace loss_is_whole

// ---- operation_says_cost --------------------------------------------------------------------------------------------
// An operation that does not say what it costs. A plan adds up the costs of all operations, a profile shows their names.
// expect: an operation of this has no name, or no constexpr Cost cost\(\) const; give it both
// names: own::Doubled
namespace operation_says_cost {
namespace own {
struct Twice final {  // y = 2 x
  static constexpr const char* name = "twice";
  View<float> x, y;
  std::size_t count = 0;
#ifndef REGIMEN_MISUSE
  constexpr Cost cost() const { return {double(count), 8.0 * double(count), 1}; }  // flops, bytes, operations
#else
  // a name alone
#endif
};
inline void compute(const Twice& o, const cpu::Memory& at) {
  for (std::size_t i = 0; i < o.count; ++i) at(o.y)[i] = 2 * at(o.x)[i];
}
struct Doubled final {
  static constexpr const char* name = "doubled";
  static constexpr bool couples_samples = false;
  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using Output = X;
    static constexpr void forward(auto& walk, const auto& call) {
      walk.run(Twice{{call.x}, {call.y}, walk.batch * X::size});
    }
    static constexpr void backward(auto& walk, const auto& call) {
      if (call.wants_d_x()) walk.run(Twice{{call.d_y}, {call.d_x}, walk.batch * X::size});
    }
  };
};
}  // namespace own

struct Doubling : Model<Input<Vector<8>>, Repeat<2, Residual<own::Doubled>>, Linear<4>> {};
using Train = Trainer<Doubling>;

bool program() { return sizeof(Train) == 0; }
}  // namespace operation_says_cost

// ---- operation_has_compute ------------------------------------------------------------------------------------------
// An operation without its form for the CPU: compute(), beside it in its namespace, declared before the first Trainer.
// expect: an operation of this has no compute\(operation, cpu::Memory\) for the CPU; write it in the operation's namespace
// names: own::Doubled
namespace operation_has_compute {
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
    static constexpr void forward(auto& walk, const auto& call) {
      walk.run(Twice{{call.x}, {call.y}, walk.batch * X::size});
    }
    static constexpr void backward(auto& walk, const auto& call) {
      if (call.wants_d_x()) walk.run(Twice{{call.d_y}, {call.d_x}, walk.batch * X::size});
    }
  };
};
}  // namespace own

struct Doubling : Model<Input<Vector<8>>, Repeat<2, Residual<own::Doubled>>, Linear<4>> {};
using Train = Trainer<Doubling>;

bool program() { return sizeof(Train) == 0; }
}  // namespace operation_has_compute

// ---- operation_has_kernel -------------------------------------------------------------------------------------------
// An operation of a program's own that has its form for the CPU, and none for a GPU. Specialise kernel::Kernel for it
// (the interface is in kernel/block.hpp), beside compute() in your header; without one the program runs on Device<Cpu>.
// expect: an operation of this has no Kernel for a GPU; specialise regimen::kernel::Kernel, or write Device<Cpu>
// names: own::Doubled
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
    static constexpr void forward(auto& walk, const auto& call) {
      walk.run(op::Copy<float>{{call.x}, {call.y}, walk.batch * X::size});
      walk.run(Twice{{call.y}, walk.batch * X::size});
    }
    static constexpr void backward(auto& walk, const auto& call) {
      if (call.wants_d_x()) walk.run(op::Copy<float>{{call.d_y}, {call.d_x}, walk.batch * X::size});
    }
  };
};
}  // namespace own

template <>
struct regimen::engines::Of<Emulated> {
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

bool program() { return sizeof(Train) == 0; }

// ---- update_rule_is_whole -------------------------------------------------------------------------------------------
// An update rule without update.
// expect: an update rule has Options::learning_rate, Coefficients<S>, both corrections, and update; give it all
// names: Descent
namespace update_rule_is_whole {
#ifndef REGIMEN_MISUSE
struct Descent {
  struct Options {
    double learning_rate = 1e-2;
  };
  static constexpr std::size_t states = 1;
  static constexpr std::array<const char*, 1> state_names{"gradient"};
  static double correction_first(const Options&, std::uint64_t) { return 1; }
  static double correction_second(const Options&, std::uint64_t) { return 1; }
  template <class S>
  struct Coefficients {
    S rate;
    Coefficients(const Options&, const Scalars& s) : rate(S(s.learning_rate)) {}
  };
  template <class V, class S>
  static void update(V& weight, V gradient, V (&state)[1], const Coefficients<S>& c, bool) {
    state[0] = gradient;
    weight = weight - state[0] * c.rate;
  }
};
#else
struct Descent {
  struct Options {
    double learning_rate = 1e-2;
  };
  static constexpr std::size_t states = 1;
  static constexpr std::array<const char*, 1> state_names{"gradient"};
  static double correction_first(const Options&, std::uint64_t) { return 1; }
  static double correction_second(const Options&, std::uint64_t) { return 1; }
  template <class S>
  struct Coefficients {
    S rate;
    Coefficients(const Options&, const Scalars& s) : rate(S(s.learning_rate)) {}
  };
};
#endif

using Train = Trainer<Net, Optimizer<Descent>>;

bool program() { return sizeof(Train) == 0; }
}  // namespace update_rule_is_whole

// ---- update_rule_states_agree ---------------------------------------------------------------------------------------
// An update rule with two states, whose update takes one.
// expect: an update rule counts its states differently; let states, state_names and the array of update agree
// names: Descent
namespace update_rule_states_agree {
#ifndef REGIMEN_MISUSE
struct Descent {
  struct Options {
    double learning_rate = 1e-2;
  };
  static constexpr std::size_t states = 1;
  static constexpr std::array<const char*, 1> state_names{"gradient"};
  static double correction_first(const Options&, std::uint64_t) { return 1; }
  static double correction_second(const Options&, std::uint64_t) { return 1; }
  template <class S>
  struct Coefficients {
    S rate;
    Coefficients(const Options&, const Scalars& s) : rate(S(s.learning_rate)) {}
  };
  template <class V, class S>
  static void update(V& weight, V gradient, V (&state)[1], const Coefficients<S>& c, bool) {
    state[0] = gradient;
    weight = weight - state[0] * c.rate;
  }
};
#else
struct Descent {
  struct Options {
    double learning_rate = 1e-2;
  };
  static constexpr std::size_t states = 2;
  static constexpr std::array<const char*, 1> state_names{"gradient"};
  static double correction_first(const Options&, std::uint64_t) { return 1; }
  static double correction_second(const Options&, std::uint64_t) { return 1; }
  template <class S>
  struct Coefficients {
    S rate;
    Coefficients(const Options&, const Scalars& s) : rate(S(s.learning_rate)) {}
  };
  template <class V, class S>
  static void update(V& weight, V gradient, V (&state)[1], const Coefficients<S>& c, bool) {
    state[0] = gradient;
    weight = weight - state[0] * c.rate;
  }
};
#endif

using Train = Trainer<Net, Optimizer<Descent>>;

bool program() { return sizeof(Train) == 0; }
}  // namespace update_rule_states_agree

// ---- rejected_gradient_check ----------------------------------------------------------------------------------------
// Policies that do not compose in a check of gradients: the rule's own sentence, as a Trainer gives it.
// expect: Every<N> counts the blocks of a Repeat, and this model has none; add a Repeat, or write Selective<\.\.\.>
// names: regimen::Checkpoint<regimen::Every<2>>
namespace rejected_gradient_check {
struct Net : Model<Input<Vector<8>>, Linear<16>, Relu, Linear<4>> {};

#ifndef REGIMEN_MISUSE
const GradientCheck found = gradient_check<Net, Loss<MeanSquaredError>, Checkpoint<Selective<Relu>>>();
const GradientCheck of_layer = gradient_check_layer<Gelu, Shape<8>>({.samples = 3});
#else
const GradientCheck found = gradient_check<Net, Loss<MeanSquaredError>, Checkpoint<Every<2>>>();
const GradientCheck of_layer = gradient_check_layer<Gelu, Shape<8>, Checkpoint<Every<2>>>({.samples = 3});
#endif

void program() { std::printf("%f %f %zu\n", found.worst, of_layer.worst, of_layer.checked); }
}  // namespace rejected_gradient_check
// SPDX-License-Identifier: Apache-2.0
