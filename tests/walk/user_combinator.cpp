// A combinator of a program's own, y = A(x) + B(x): one specialisation of children says what it is made of, one walker
// how it is
// walked. It trains in every position, under every Checkpoint.
#include "support/catch.hpp"

#include <regimen/engine/cpu/device.hpp>
#include <regimen/layer/children.hpp>
#include <regimen/trainers/gradient_check.hpp>
#include <regimen/trainers/trainer.hpp>

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

template <class A, class B>
struct Sum final {
  static constexpr const char* name = "sum";
};

template <class A, class B>
struct regimen::children<Sum<A, B>> : regimen::Branches<A, B> {
  template <class... Others>
  using with = Sum<Others...>;
};

/// Two combinators that nothing can walk: one without a walker, one whose walker only goes forward.
template <class A>
struct Unwalked final {
  static constexpr const char* name = "unwalked";
};
template <class A>
struct Forward final {
  static constexpr const char* name = "forward";
};
template <class A>
struct regimen::children<Unwalked<A>> : regimen::Branches<A> {
  template <class... Others>
  using with = Unwalked<Others...>;
};
template <class A>
struct regimen::children<Forward<A>> : regimen::Branches<A> {
  template <class... Others>
  using with = Forward<Others...>;
};

namespace regimen::walk {

template <class A, class X, class Context, bool flows>
struct Node<Forward<A>, X, Context, flows> {
  using Of = Inner<X, Context, flows, A>;
  using Output = typename Of::Output;
  static constexpr ParameterLayout layout = Of::layout;
  static constexpr bool active = Of::active, reads_input = Of::reads_input, reads_output = Of::reads_output,
                        recomputes_output = false, reads_weights = Of::reads_weights, keeps_d_y = Of::keeps_d_y;
  static constexpr std::size_t footprint(const auto& walk, Place place) { return Of::footprint(walk, place); }
  static constexpr bool is_idle(Place place) { return Of::is_idle(place); }
  static constexpr std::size_t forward(auto& walk, Tensor x, WeightPlaces w, LayerPath path, Way way) {
    return Of::forward(walk, x, w, path, way);
  }
};
template <class A, class B, class X, class Context, bool flows>
struct Node<Sum<A, B>, X, Context, flows> {
  using Left = Inner<X, Context, flows, A>;
  using Right = Inner<X, Context, flows, B>;
  using Output = typename Right::Output;
  static_assert(std::is_same_v<typename Left::Output, Output> && !Left::reads_output && !Right::reads_output);
  static constexpr ParameterLayout layout = [] {
    ParameterLayout sum = Left::layout;
    sum.append(Right::layout);
    return sum;
  }();
  static constexpr TensorPlace second{
      .values = ParameterLayout::align(Left::layout.value_bytes, Right::layout.value_alignment),
      .master = Left::layout.count,
      .gradient = Left::layout.trained,
      .buffer = Left::layout.buffer_bytes};
  static constexpr bool active = Left::active || Right::active, reads_input = Left::reads_input || Right::reads_input,
                        reads_output = false, recomputes_output = false,
                        reads_weights = Left::reads_weights || Right::reads_weights, keeps_d_y = true;

  static constexpr Place left_place(Place place) { return place == Place::nowhere ? Place::nowhere : Place::transient; }
  static constexpr std::size_t footprint(const auto& walk, Place place) {
    return Left::footprint(walk, left_place(place)) + Right::footprint(walk, place);
  }
  static constexpr bool is_idle(Place place) { return Left::is_idle(left_place(place)) && Right::is_idle(place); }
  static constexpr WeightPlaces of_right(WeightPlaces w) {
    return {w.values == absent ? absent : w.values + second.values,
            w.gradients + second.gradient * sizeof(typename Context::Roles::reduce), w.add, w.buffers + second.buffer};
  }

  static constexpr std::size_t forward(auto& walk, Tensor x, WeightPlaces w, LayerPath path, Way way) {
    const std::size_t a =
        Left::forward(walk, Tensor{x.offset, false}, w, path.child(0, "left"), {way.mode, left_place(way.place)});
    const std::size_t y = Right::forward(walk, Tensor{x.offset, false}, of_right(w), path.child(1, "right"), way);
    if (way.place != Place::nowhere) {
      walk.run(op::Add<typename Output::Element>{{a}, {y}, walk.batch * Output::size});
      walk.arena.give(a);
    }
    if (x.owned) walk.arena.give(x.offset);
    return y;
  }
  static constexpr void retire_output(auto& walk, Place place) { Right::retire_output(walk, place); }
  static constexpr std::size_t backward(auto& walk, Tensor d_y, std::size_t x, std::size_t floor, WeightPlaces w,
                                        LayerPath path, Place place) {
    const std::size_t middle = floor + Left::footprint(walk, left_place(place));
    const std::size_t b =
        Right::backward(walk, Tensor{d_y.offset, false}, x, middle, of_right(w), path.child(1, "right"), place);
    const std::size_t a =
        Left::backward(walk, Tensor{d_y.offset, false}, x, floor, w, path.child(0, "left"), left_place(place));
    if (d_y.owned) walk.arena.give(d_y.offset);
    if constexpr (flows) {
      walk.run(op::Add<typename X::Element>{{b}, {a}, walk.batch * X::size});
      walk.arena.give(b);
    }
    return a;
  }

  static constexpr void place_tensors(TensorPlace*& out, TensorPlace at) {
    Left::place_tensors(out, at);
    Right::place_tensors(out, {.values = at.values + second.values,
                               .master = at.master + second.master,
                               .gradient = at.gradient + second.gradient});
  }
  static void name_tensors(const std::string& prefix, bool ends_branch, auto& visit) {
    Left::name_tensors(prefix + "left.", ends_branch, visit);
    Right::name_tensors(prefix + "right.", ends_branch, visit);
  }
};

}  // namespace regimen::walk

using namespace regimen;

namespace {

using Down = Sum<Sequential<Linear<24>, Gelu, Linear<8>>, Linear<8>>;
struct Net : Model<Input<Vector<32>>, Linear<16>,
                   Repeat<2, Sum<Sequential<LayerNorm, Linear<16>, Gelu>, Dropout<Ratio<1, 10>>>>, Down, LayerNorm,
                   Linear<4>> {};
struct One;  // set of weights, in both children
struct Odd : Model<Input<Vector<32>>, Down, Residual<Sum<Shared<One, Linear<8>>, Shared<One, Linear<8>>>>, Linear<4>> {
};

static_assert(Composable<Net, Batch<4>>);
static_assert(!Composable<Model<Input<Vector<32>>, Sum<Linear<4>, int>>>);       // what is no layer is found in it
static_assert(!Composable<Model<Input<Tokens<8>>, Sum<Linear<4>, Linear<4>>>>);  // and what does not fit its input
static_assert(!Composable<Model<Input<Vector<32>>, Unwalked<Linear<4>>>>);
static_assert(!Composable<Model<Input<Vector<32>>, Residual<Forward<Linear<32>>>, Linear<4>>>);
static_assert(!Composable<Net, Checkpoint<Every<9>>> &&
              Composable<Net, Checkpoint<Every<2>>>);  // as deep as the Repeat that stands beside it
static_assert(Composable<Net, Freeze<LayerNorm>> && !Composable<Net, Freeze<Linear<5>>> &&
              !Composable<Net, Freeze<Down>>);

template <class... Policies>
double trained() {
  using Train = Trainer<Net, Batch<4>, Policies...>;
  Train trainer;
  trainer.poison_dead_memory();
  std::vector<float> x(4 * 32 * Train::micro_batches);
  std::vector<std::int32_t> y(4 * Train::micro_batches);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(i % 7) - 3;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = int(i % 4);
  double loss = 0;
  for (int step = 0; step < 20; ++step) loss = trainer.step(x, y).loss;
  CHECK(Train::plan().peak == trainer.used().peak);
  return loss;
}

}  // namespace

TEST_CASE("a combinator of a program's own has the gradients of calculus") {
  CHECK(gradient_check_layer<Sequential<Down, Flatten>, Shape<3, 16>>().worst < 1e-6);
  CHECK(gradient_check_layer<Sequential<Sum<LayerNorm, Sum<Shared<One, Linear<16>>,
                                                           Sequential<Shared<One, Linear<16>>, Silu, Linear<16>>>>,
                                        Flatten>,
                             Shape<3, 16>>()
            .worst < 1e-6);
}

TEST_CASE(
    "it trains with the same bits whatever is computed again, and under every policy that asks what a model is made of") {
  const double loss = trained<>();
  CHECK(loss < 1.0);
  CHECK(trained<Checkpoint<Every<1>>>() == loss);
  CHECK(trained<Checkpoint<Selective<LayerNorm>>>() == loss);
  CHECK(trained<Accumulate<2>, Freeze<LayerNorm>>() < 2.0);
}

/// All layers that can be recomputed stand in combinators of the program's own.
struct Inside : Model<Input<Vector<32>>, Sum<Sequential<LayerNorm, Linear<64>, Gelu, Linear<16>>, Linear<16>>,
                      Repeat<4, Sum<Sequential<LayerNorm, Linear<32>, Gelu, Linear<16>>, Sequential<Gelu, Linear<16>>>>,
                      Linear<4>> {};
template <class Network, class... Policies>
constexpr std::size_t peak = Trainer<Network, Batch<4>, Policies...>::plan().peak;
template <class Network, std::size_t bytes>
using Budgeted = Trainer<Network, Batch<4>, Checkpoint<Budget<bytes>>>;

TEST_CASE("Budget finds what to recompute inside of it") {
  constexpr std::size_t all = peak<Inside>, one_by_one = peak<Inside, Checkpoint<Every<1>>>,
                        activations = peak<Inside, Checkpoint<Selective<Gelu>>>;
  static_assert(one_by_one < all && activations < all);
  static_assert(std::is_same_v<typename Budgeted<Inside, all>::Schedule, Checkpoint<None>>);
  static_assert(peak<Inside, Checkpoint<Budget<one_by_one>>> <= one_by_one);
  static_assert(peak<Inside, Checkpoint<Budget<activations>>> <= activations);
  static_assert(peak<Inside, Checkpoint<Budget<all - 1>>> < all);
  CHECK(trained<Checkpoint<Budget<peak<Net, Checkpoint<Every<1>>>>>>() == trained<>());
}

TEST_CASE("its parameters have its names") {
  Trainer<Odd, Batch<4>> trainer;
  std::vector<std::string> names;
  for (const auto& parameter : trainer.parameters()) names.push_back(parameter.name);
  CHECK(names.front() == "0.left.0.0.weight");
  CHECK(names.size() == 10);
  CHECK(names.back() == "1.0.left.0.0.bias");
}
