// What an operation of a program's own says and has: without it a model does not compose, whoever runs the operation.
#include <regimen/engine/cpu/device.hpp>
#include <regimen/engine/emulated/device.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/trainers/inference.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>

using namespace regimen;

namespace own {

enum class Part { none, name, cost, compute };

/// What an operation has, less the part that is left out.
template <Part without>
struct Named {
  static constexpr const char* name = "touch";
};
template <>
struct Named<Part::name> {};
template <Part without, class Operation>
struct Costs {
  constexpr Cost cost() const { return {1, 8, 1}; }
};
template <class Operation>
struct Costs<Part::cost, Operation> {};

template <Part without>
struct Touch final : Named<without>, Costs<without, Touch<without>> {
  View<float> x{};
  constexpr explicit Touch(std::size_t at) : x{at} {}
};
template <Part without>
  requires(without != Part::compute)
void compute(const Touch<without>&, const cpu::Memory&) {}

template <Part without>
struct Layer final {
  static constexpr const char* name = "layer";
  static constexpr bool couples_samples = false;
  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using Output = X;
    static constexpr bool in_place = true;
    static constexpr void forward(auto& walk, const auto& call) {
      walk.run(op::Copy<float>{{call.x}, {call.y}, walk.batch * X::size});
      walk.run(Touch<without>{call.y});
    }
    static constexpr void backward(auto& walk, const auto& call) {
      if (call.wants_d_x()) walk.run(op::Copy<float>{{call.d_y}, {call.d_x}, walk.batch * X::size});
    }
  };
};

/// A loss with such an operation in training, or in an evaluation alone.
template <Part without, bool evaluates>
struct Sums final {
  using option_of = axis::loss;
  static constexpr bool couples_samples = false;
  template <class Output>
  using Labels = Value<std::int32_t, Shape<1>>;
  template <class Output>
  static constexpr std::size_t rows = 1;
  template <bool gradient, class Output>
  static constexpr void run(auto& walk, std::size_t output, std::size_t, View<Scalars>, double) {
    if constexpr (gradient != evaluates) walk.run(Touch<without>{output});
  }
};

}  // namespace own

namespace {

template <own::Part without>
using Net = Model<Input<Vector<8>>, Residual<own::Layer<without>>, Linear<4>>;
using Plain = Model<Input<Vector<8>>, Linear<4>>;
template <class Network, class... Policies>
using Broken = detail::broken_rules<Network, Policies...>;
template <class... Each>
using Told = boost::mp11::mp_list<Each...>;

using own::Part;
template <class Owner>
using SaysCost = Told<rule::operation_says_cost<Owner>>;
template <class Owner>
using HasCompute = Told<rule::operation_has_compute<Owner, Device<Cpu>>>;

static_assert(Composable<Net<Part::none>> && Inferable<Net<Part::none>>);
static_assert(std::is_same_v<Broken<Net<Part::name>>, SaysCost<own::Layer<Part::name>>>);
static_assert(std::is_same_v<Broken<Net<Part::cost>>, SaysCost<own::Layer<Part::cost>>>);
static_assert(std::is_same_v<Broken<Net<Part::compute>>, HasCompute<own::Layer<Part::compute>>>);
static_assert(!Inferable<Net<Part::cost>> && !Inferable<Net<Part::compute>>);

// On a device that has kernels, what an operation says is asked before what the device has.
static_assert(std::is_same_v<Broken<Net<Part::cost>, Device<Emulated>>, SaysCost<own::Layer<Part::cost>>>);
static_assert(std::is_same_v<Broken<Net<Part::compute>, Device<Emulated>>,
                             Told<rule::operation_has_kernel<own::Layer<Part::compute>, Device<Emulated>>>>);

// A loss is named itself, also where it runs the operation in an evaluation alone.
template <Part without, bool evaluates>
using OfLoss = Broken<Plain, Loss<own::Sums<without, evaluates>>>;
static_assert(std::is_same_v<OfLoss<Part::none, false>, Told<>>);
static_assert(std::is_same_v<OfLoss<Part::cost, false>, SaysCost<own::Sums<Part::cost, false>>>);
static_assert(std::is_same_v<OfLoss<Part::compute, true>, HasCompute<own::Sums<Part::compute, true>>>);

}  // namespace

TEST_CASE("what an operation of a program's own leaves out is found before it runs") { SUCCEED(); }
