// A layer of a program's own, with an operation of its own that the library has never seen: it is planned, computed,
// checked and trained, on the CPU by compute(), on a GPU by a Kernel.
#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/engine/emulated/device.hpp>
#include <regimen/trainers/gradient_check.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <cstddef>
#include <type_traits>
#include <vector>

using namespace regimen;

namespace own {

/// y = silu(left half of x) · right half
template <class T>
struct Gate final {
  static constexpr const char* name = "gate";
  View<T> x, y;
  std::size_t rows = 0, columns = 0;  // of y
  constexpr Cost cost() const { return {6.0 * double(rows * columns), 3.0 * double(rows * columns) * sizeof(T), 1}; }
};
template <class T>
struct GateBackward final {
  static constexpr const char* name = "gate_backward";
  View<T> x, d_y, d_x;
  std::size_t rows = 0, columns = 0;
  constexpr Cost cost() const { return {12.0 * double(rows * columns), 5.0 * double(rows * columns) * sizeof(T), 1}; }
};

template <class T>
void compute(const Gate<T>& o, const cpu::Memory& at) {
  using S = statistic_t<T>;
  for (std::size_t row = 0; row < o.rows; ++row) {
    const T *const left = at(o.x) + 2 * row * o.columns, *const right = left + o.columns;
    for (std::size_t i = 0; i < o.columns; ++i)
      at(o.y)[row * o.columns + i] = static_cast<T>(activation::Silu::value(S(left[i])) * S(right[i]));
  }
}
template <class T>
void compute(const GateBackward<T>& o, const cpu::Memory& at) {
  using S = statistic_t<T>;
  for (std::size_t row = 0; row < o.rows; ++row) {
    const std::size_t begin = 2 * row * o.columns;
    const T *const left = at(o.x) + begin, *const right = left + o.columns, *const d_y = at(o.d_y) + row * o.columns;
    for (std::size_t i = 0; i < o.columns; ++i) {
      at(o.d_x)[begin + i] = static_cast<T>(S(d_y[i]) * S(right[i]) * activation::Silu::derivative(S(left[i])));
      at(o.d_x)[begin + o.columns + i] = static_cast<T>(S(d_y[i]) * activation::Silu::value(S(left[i])));
    }
  }
}

}  // namespace own

/// The same for blocks of threads: each thread takes some of the elements. Device<Cuda> and Device<Emulated> find it.
template <class T>
struct regimen::kernel::Kernel<own::Gate<T>> final {
  static constexpr unsigned threads = 256;
  own::Gate<T> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.rows * o.columns, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    using S = statistic_t<T>;
    const T* const x = at(o.x);
    T* const y = at(o.y);
    for_pieces(block, o.rows * o.columns, [&](std::size_t i) {
      const T* const left = x + 2 * (i / o.columns) * o.columns + i % o.columns;
      y[i] = static_cast<T>(activation::Silu::value(S(left[0])) * S(left[o.columns]));
    });
  }
};
template <class T>
struct regimen::kernel::Kernel<own::GateBackward<T>> final {
  static constexpr unsigned threads = 256;
  own::GateBackward<T> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.rows * o.columns, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    using S = statistic_t<T>;
    const T *const x = at(o.x), *const d_y = at(o.d_y);
    T* const d_x = at(o.d_x);
    for_pieces(block, o.rows * o.columns, [&](std::size_t i) {
      const std::size_t place = 2 * (i / o.columns) * o.columns + i % o.columns;
      const S left = S(x[place]), right = S(x[place + o.columns]);
      d_x[place] = static_cast<T>(S(d_y[i]) * right * activation::Silu::derivative(left));
      d_x[place + o.columns] = static_cast<T>(S(d_y[i]) * activation::Silu::value(left));
    });
  }
};

namespace own {

struct SwiGlu final {
  static constexpr const char* name = "swiglu";
  static constexpr bool couples_samples = false, couples_positions = false;
  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using T = typename X::Element;
    static constexpr std::size_t half = X::columns / 2;
    using Output = Value<T, Shape<X::rows, half>>;
    static constexpr Reads backward_reads(bool) { return Reads::input; }
    static constexpr bool always_writes_d_x = true;
    static constexpr void forward(auto& walk, const auto& call) {
      walk.run(Gate<T>{{call.x}, {call.y}, walk.batch * X::rows, half});
    }
    static constexpr void backward(auto& walk, const auto& call) {
      walk.run(GateBackward<T>{{call.x}, {call.d_y}, {call.d_x}, walk.batch * X::rows, half});
    }
  };
};

}  // namespace own

namespace {
using Block = Sequential<Residual<RmsNorm, SelfAttention<Heads<2>, Causal>>,
                         Residual<RmsNorm, Linear<64>, own::SwiGlu, Linear<16>>>;
struct Llama final : Model<Input<Tokens<8>>, Embedding<Vocabulary<32>, 16>, Repeat<3, Block>, RmsNorm, Linear<32>> {};
}  // namespace

TEST_CASE("a layer and an operation of a program's own have the gradient of their function") {
  const GradientCheck found = gradient_check_layer<own::SwiGlu, Shape<3, 8>>();
  CHECK(found.checked > 0);
  CHECK(found.worst < 1e-8);
}

TEST_CASE("a network of them trains as it is planned, and computed again it is the same to the bit") {
  const auto train = []<class Train>(Train) {
    typename Train::type trainer;
    trainer.poison_dead_memory();
    const Fitted fitted = trainer.fit(Fake({.samples = 64, .classes = 7, .seed = 2}), {.steps = 30, .progress = false});
    CHECK(trainer.used().peak == Train::type::plan().peak);
    CHECK(trainer.used().operations >= 30 * Train::type::plan().operations());
    return fitted.loss;
  };
  const double loss = train(std::type_identity<Trainer<Llama, Batch<4>, Accumulate<2>>>{});
  CHECK(loss < 2.5);  // ln 32 is 3.47
  CHECK(train(std::type_identity<Trainer<Llama, Batch<4>, Accumulate<2>, Checkpoint<Every<2>>>>{}) == loss);
}

// Sums in other orders: 30 steps of sums of at most 64 terms, 2^-53 each, in a network whose steps enlarge a difference
// by less than two: 2^30 * 64 * 2^-53 < 1e-5.
TEST_CASE("its kernels train on a GPU what its functions train on the CPU") {
  const auto losses = []<class Train>(std::type_identity<Train>) {
    Train trainer;
    trainer.poison_dead_memory();
    std::vector<double> all;
    trainer.fit(Fake({.samples = 64, .classes = 7, .seed = 2}), {.steps = 30, .progress = false},
                [&](Train&, const StepResult& result) { all.push_back(result.loss); });
    return all;
  };
  const std::vector<double> here = losses(std::type_identity<Trainer<Llama, Batch<4>, Precision<fp64>>>{}),
                            there = losses(
                                std::type_identity<Trainer<Llama, Batch<4>, Precision<fp64>, Device<Emulated>>>{});
  REQUIRE(here.size() == there.size());
  for (std::size_t i = 0; i < here.size(); ++i) CHECK(std::fabs(here[i] - there[i]) < 1e-5);
}
