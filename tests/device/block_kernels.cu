// tests/device/block_kernels.cu — every block kernel compiles for a device; where there is one, it gives there what the
// block of one thread gives here. No kernel asks for its architecture, and bench/compile/registers.cu compiles those of
// a training step for each; so this is
// compiled for 90a-real
//
// nvcc compiles it wherever there is one; where there is a device, too, it runs. Exit code 77: there is none.
#include <regimen/core/activation.hpp>
#include <regimen/engine/cuda/library.cuh>
#include <regimen/kernel/attention.hpp>
#include <regimen/kernel/attention_backward.hpp>
#include <regimen/kernel/attention_bias.hpp>
#include <regimen/kernel/batch_norm.hpp>
#include <regimen/kernel/column_sum.hpp>
#include <regimen/kernel/composed_attention.hpp>
#include <regimen/kernel/convolution.hpp>
#include <regimen/kernel/cross_entropy.hpp>
#include <regimen/kernel/device.cuh>
#include <regimen/kernel/elementwise.hpp>
#include <regimen/kernel/embedding.hpp>
#include <regimen/kernel/group_norm.hpp>
#include <regimen/kernel/image.hpp>
#include <regimen/kernel/input.hpp>
#include <regimen/kernel/library.hpp>
#include <regimen/kernel/normalize.hpp>
#include <regimen/kernel/nt_xent.hpp>
#include <regimen/kernel/padding.hpp>
#include <regimen/kernel/positions.hpp>
#include <regimen/kernel/recurrent.hpp>
#include <regimen/kernel/sinusoids.hpp>
#include <regimen/kernel/softmax.hpp>
#include <regimen/kernel/step.hpp>
#include <regimen/kernel/update.hpp>
#include <regimen/optimizer/adamw.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <vector>

using namespace regimen;

static_assert(cuda::Runtime<cuda::Library>);

namespace {

// refuses: error: calling a __host__ function.*a_function_on_a_device_is_marked_REGIMEN_HD<.*::Halve> ::call.*an_update_rule_on_a_device_marks_its_functions_REGIMEN_HD<.*::Descent> ::correction_first.*::correction_second.*::coefficients<.*::update<.*rand.*5 errors detected
#ifdef REGIMEN_MISUSE
#define REGIMEN_MARK
#else
#define REGIMEN_MARK REGIMEN_HD
#endif
/// A rule of a program's own, without state.
struct Descent final {
  struct Options {
    double learning_rate = 1e-2;
  };
  static constexpr std::size_t states = 0;
  template <class S>
  struct Coefficients {
    S step;
    REGIMEN_MARK Coefficients(const Options&, const Scalars& s) : step(static_cast<S>(s.learning_rate)) {}
  };
  REGIMEN_MARK static double correction_first(const Options&, std::uint64_t) { return 1; }
  REGIMEN_MARK static double correction_second(const Options&, std::uint64_t) { return 1; }
  template <class V, class S>
  REGIMEN_MARK static void update(V& weight, V gradient, V*, const Coefficients<S>& c, bool) {
    weight = weight - gradient * c.step;
  }
};

/// What a rule of whole tensors calculates.
struct Halve final {
  REGIMEN_MARK void operator()(double* numbers, const Scalars& scalars) const {
    numbers[0] *= 0.5 * scalars.learning_rate;
  }
};

#ifdef REGIMEN_MISUSE
/// A kernel that no device can run: this file must not compile.
struct HostOnly final {
  static constexpr unsigned threads = 32;
  template <class Block>
  REGIMEN_HD void operator()(const Block&) const {
    static_cast<void>(std::rand());
  }
};
void start() { kernel::entry<HostOnly><<<1, 32>>>(HostOnly{}); }
#endif

constexpr std::size_t rows = 37, columns = 129, count = rows * columns, room = std::size_t{1} << 19;

/// One arena twice: here, for the block of one thread, and on the device.
struct Case {
  std::vector<std::byte> here = std::vector<std::byte>(room);
  std::size_t used = 0;

  template <class T>
  View<T> put(std::size_t elements, double size, std::uint64_t seed) {
    used = (used + 255) / 256 * 256;
    const View<T> view{used};
    used += elements * sizeof(T);
    T* const to = reinterpret_cast<T*>(here.data() + view.offset);
    for (std::size_t i = 0; i < elements; ++i) {
      const double unit = double(Philox::draw(seed, i, 0).word[0]) / 4294967296.0;
      if constexpr (std::is_integral_v<T> || std::is_same_v<T, std::byte>)
        to[i] = static_cast<T>(std::uint64_t(unit * size));
      else to[i] = T(static_cast<float>((2 * unit - 1) * size));
    }
    return view;
  }
  View<Scalars> scalars() {
    used = (used + 255) / 256 * 256;
    const View<Scalars> view{used};
    used += sizeof(Scalars);
    Scalars value;
    value.loss_scale = 2, value.apply = 1, value.factor = 0.5, value.learning_rate = 0.1, value.correction_first = 2,
    value.correction_second = 3;
    *reinterpret_cast<Scalars*>(here.data() + view.offset) = value;
    return view;
  }
};

template <unsigned pass, class Operation>
void run_here(const Operation& operation, const kernel::Memory& memory) {
  if constexpr (pass < kernel::passes<Operation>) {
    kernel::run_serial(kernel::Kernel<Operation, pass>{operation, memory});
    run_here<pass + 1>(operation, memory);
  }
}

int wrong = 0;
void check(cudaError_t error, const char* where) {
  if (error == cudaSuccess) return;
  std::printf("%s: %s\n", where, cudaGetErrorString(error));
  ++wrong;
}

/// Both, and the largest difference between them over `elements` of T at `result`, relative to the largest number
/// there; a JSON object.
template <class T, class Operation>
void agree(Case& both, const Operation& operation, View<T> result, std::size_t elements, double tolerance) {
  both.used = (both.used + 255) / 256 * 256;
  kernel::Memory memory{both.here.data(), both.used};
  if (both.used + kernel::scratch_of(operation) > room) {
    std::printf("%s: more memory than there is\n", Operation::name);
    ++wrong;
    return;
  }
  std::byte* device = nullptr;
  check(cudaMalloc(&device, room), "cudaMalloc");
  check(cudaMemcpy(device, both.here.data(), room, cudaMemcpyHostToDevice), "upload");
  run_here<0>(operation, memory);
  memory.base = device;
  check(kernel::launch(operation, memory, nullptr), Operation::name);
  std::vector<T> there(elements);
  check(cudaMemcpy(there.data(), device + result.offset, elements * sizeof(T), cudaMemcpyDeviceToHost), "download");
  check(cudaFree(device), "cudaFree");
  const T* const here = reinterpret_cast<const T*>(both.here.data() + result.offset);
  double worst = 0, largest = 0;
  const auto number = [](T value) {
    if constexpr (sizeof(T) == 2) return double(static_cast<float>(value));
    else return static_cast<double>(value);
  };
  for (std::size_t i = 0; i < elements; ++i) {
    const double a = number(here[i]), b = number(there[i]);
    worst = std::fmax(worst, std::isfinite(a - b) ? std::fabs(a - b) : 1e30);
    largest = std::fmax(largest, std::fabs(a));
  }
  const bool differs = worst > tolerance * largest;
  if (differs) ++wrong;
  constexpr const char* type = std::is_same_v<T, bf16>   ? "bf16"
                               : std::is_same_v<T, fp16> ? "fp16"
                               : std::is_integral_v<T>   ? "integers"
                               : sizeof(T) == 8          ? "fp64"
                                                         : "fp32";
  std::printf("{\"operation\":\"%s\",\"type\":\"%s\",\"difference\":%.3g,\"largest\":%.3g,\"may\":%.3g,\"wrong\":%d}\n",
              Operation::name, type, worst, largest, tolerance * largest, differs ? 1 : 0);
}

/// A sum of `terms` numbers in another order, each addition within u = 2⁻²⁴ of the largest partial sum.
constexpr double of_sums(std::size_t terms) { return double(terms) * 0x1p-24; }

/// Numbers that differ a little are rounded to T, perhaps to neighbours; of the larger.
template <class T>
inline constexpr double neighbour = std::is_same_v<T, bf16>   ? 0x1p-7
                                    : std::is_same_v<T, fp16> ? 0x1p-10
                                                              : 0;

template <class Activation, class T>
void activations(const Case& from, op::BiasActivation<Activation, T, T> forward, double rounding) {
  Case c = from;
  agree(c, forward, forward.y, count, rounding);
  op::BiasBackward<Activation, T, float> back{};
  back.x = forward.x, back.bias = forward.bias, back.d_y = forward.y, back.d_x = forward.y;
  back.d_bias = c.put<float>(columns, 1, 6), back.rows = rows, back.columns = columns;
  agree(c, back, back.d_x, count, rounding);
}

template <class T>
void elementwise() {
  // Some roundings of an argument in fp32, and one of the result.
  const double rounding = 16 * 0x1p-24 + neighbour<T>;
  Case c;
  const auto x = c.put<T>(count, 3, 1), y = c.put<T>(count, 2, 2), table = c.put<T>(columns, 1, 3);
  agree(c, op::Add<T>{x, y, count}, y, count, 0);
  agree(c, op::Multiply<T>{x, y, y, count}, y, count, 0);
  agree(c, op::Gate<activation::Silu, T>{x, y, y, count}, y, count, 6 * rounding);
  agree(c, op::GateBackward<activation::Silu, T>{.a = x, .b = y, .d_y = y, .d_a = {}, .d_b = y, .count = count}, y,
        count, 6 * rounding);
  agree(c, op::GateBackward<activation::Silu, T>{.a = x, .b = x, .d_y = y, .d_a = y, .d_b = {}, .count = count}, y,
        count, 6 * rounding);
  agree(c, op::Scale<T>{x, table, y, rows, columns}, y, count, 0);
  op::ScaleBackward<T, float> scale{};
  scale.x = x, scale.gain = table, scale.d_y = y, scale.d_x = y, scale.d_gain = c.put<float>(columns, 1, 6);
  scale.rows = rows, scale.columns = columns;
  agree(c, scale, y, count, 0);
  const op::Squares squares{.samples = 1, .height = rows / 2, .width = 1, .columns = columns / 2, .size = 2};
  agree(c, op::SumSquares<T>{x, y, squares, 0.25}, y, count / 4, rounding);
  agree(c, op::SpreadSquares<T>{x, y, squares, 0.25}, y, count, 0);
  agree(c, op::MaxSquares<T>{x, y, squares}, y, count / 4, 0);
  agree(c, op::MaxSquaresBackward<T>{x, x, y, squares}, y, count, 0);
  const std::size_t enlarged = squares.count() * squares.size * squares.size * squares.columns;
  agree(c, op::Interpolate<T>{x, y, squares}, y, enlarged, rounding);
  agree(c, op::InterpolateBackward<T>{x, y, squares}, y, count / 4, rounding);
  const op::Windows windows{
      .samples = 1, .height = rows, .width = 3, .columns = columns / 3, .size = 3, .stride = 2, .padding = 1};
  const std::size_t image = windows.pixels() * windows.columns, seen = windows.count() * windows.columns;
  agree(c, op::SumWindows<T>{x, y, windows, 0.25}, y, seen, rounding);
  agree(c, op::SpreadWindows<T>{x, y, windows, 0.25}, y, image, rounding);
  const op::Windows middles{
      .samples = 1, .height = 36, .width = 4, .columns = columns / 4, .size = 2, .stride = 4, .skip = 1};
  agree(c, op::SumWindows<T>{x, y, middles, 0.25}, y, middles.count() * middles.columns, rounding);
  agree(c, op::SpreadWindows<T>{x, y, middles, 0.25}, y, middles.pixels() * middles.columns, rounding);
  agree(c, op::MaxWindows<T>{x, y, windows}, y, seen, 0);
  agree(c, op::MaxWindowsBackward<T>{x, x, y, windows}, y, image, rounding);
  agree(c, op::MeanRows<T>{x, y, 1, rows, columns}, y, columns, rounding);
  agree(c, op::MaxRows<T>{x, y, 1, rows, columns}, y, columns, 0);
  agree(c, op::MaxRowsBackward<T>{x, table, y, 1, rows, columns}, y, count, 0);
  agree(c, op::MeanRowsBackward<T>{table, y, 1, rows, columns}, y, count, rounding);
  agree(
      c,
      op::CopyColumns<T>{.x = x, .y = y, .rows = rows, .columns = columns / 2, .from_row = columns, .to_row = columns},
      y, count, 0);
  agree(c, op::ScaledSum<T, T>{.x = x, .y = y, .count = count, .a = {0.5}, .b = {2, c.put<double>(1, 2, 5)}}, y, count,
        rounding);
  agree(c, op::AddTable<T>{.x = x, .table = table, .y = y, .samples = rows, .elements = columns}, y, count, 0);
  const auto activate = [&]<class Activation>(Activation) {
    activations(c,
                op::BiasActivation<Activation, T, T>{.x = x, .bias = table, .y = y, .rows = rows, .columns = columns},
                rounding);
  };
  activate(activation::Identity{});
  activate(activation::Relu{});
  activate(activation::GeluTanh{});
  activate(activation::GeluErf{});
  activate(activation::Silu{});
  activate(activation::Sigmoid{});
  activate(activation::Tanh{});
  activate(activation::HardSwish{});
  agree(c, op::Zero<T>{y, count}, y, count, 0);
  const auto wide = c.put<float>(count, 3, 6);
  agree(c, op::Cast<float, T>{wide, y, count}, y, count, 0);
  agree(c, op::Cast<T, float>{x, wide, count}, wide, count, 0);
  if constexpr (sizeof(T) == 2) agree(c, kernel::AddWider<T, float>{x, wide, count}, wide, count, 0);
  const auto random = c.put<std::uint64_t>(3, 1000, 4);
  for (const std::size_t elements : {columns, columns - 1})  // one by one, and by packs
    agree(
        c,
        op::Dropout<T>{
            .x = x, .y = y, .samples = rows, .elements = elements, .drop = {6554, 9, View<op::Random>{random.offset}}},
        y, count, 0);
  // A compiler may round the product and the sum once.
  for (const std::size_t elements : {columns, columns - 1})
    agree(c,
          op::DropoutSum<T>{.dropout = {.x = x,
                                        .y = y,
                                        .samples = rows,
                                        .elements = elements,
                                        .drop = {6554, 9, View<op::Random>{random.offset}}},
                            .onto = x},
          y, count, rounding);
}

/// Windows over an image of 37 x 3 pixels, with 43 channels.
template <class T>
void convolves(std::size_t stride, std::size_t dilation, std::size_t groups) {
  using G = statistic_t<T>;
  Case c;
  const op::Convolution o{.samples = 1,
                          .height = rows,
                          .width = 3,
                          .channels = 43,
                          .out_channels = groups > 1 ? 86u : 31u,
                          .window_height = 3,
                          .window_width = 2,
                          .stride = stride,
                          .padding = 2,
                          .dilation = dilation,
                          .groups = groups};
  const auto x = c.put<T>(o.pixels() * o.channels, 2, 1), weight = c.put<T>(o.weights(), 1, 2),
             bias = c.put<T>(o.out_channels, 1, 3), y = c.put<T>(o.positions() * o.out_channels, 1, 4);
  const auto d_weight = c.put<G>(o.weights(), 1, 5);
  // A compiler may round products and sums once.
  agree(c, op::Conv<T>{x, weight, y, o, bias}, y, o.positions() * o.out_channels, of_sums(o.depth()) + neighbour<T>);
  agree(c, op::ConvWeight<T, G>{x, y, d_weight, o, true}, d_weight, o.weights(), of_sums(o.positions()));
  agree(c, op::ConvInput<T>{y, weight, x, o}, x, o.pixels() * o.channels,
        of_sums(o.taps() * o.group_outputs()) + neighbour<T>);
  op::Unfold<T> beside{x, {}, o};
  beside.y = c.put<T>(beside.count(), 1, 6);
  agree(c, beside, beside.y, beside.count(), 0);
  agree(c, op::Fold<T>{beside.y, x, o}, x, o.pixels() * o.channels, of_sums(3) + neighbour<T>);
}

template <class T>
void rows_apart() {
  Case c;
  constexpr std::size_t leading = 136, from_leading = 132;
  const auto x = c.put<float>(rows * from_leading, 3, 1);
  const auto y = c.put<T>(rows * leading, 3, 2);
  agree(c, kernel::PadRows<float, T>{x, y, rows, columns, leading}, y, rows * leading, 0);
  agree(c, kernel::PadRows<float, T>{x, y, rows, columns, leading, from_leading}, y, rows * leading, 0);
}

template <bool Centered, class T>
void norms(std::size_t width) {
  using S = statistic_t<T>;
  Case c;
  const std::size_t all = rows * width;
  const double tolerance = 4 * of_sums(width) + neighbour<T>;
  op::Normalize<Centered, T> o{};
  o.x = c.put<T>(all, 3, 1), o.gain = c.put<T>(width, 2, 2), o.y = c.put<T>(all, 0, 3);
  if (Centered) o.bias = c.put<T>(width, 2, 4), o.mean = c.put<S>(rows, 0, 5);
  o.rstd = c.put<S>(rows, 0, 6), o.rows = rows, o.columns = width;
  agree(c, o, o.y, all, tolerance);
  agree(c, o, o.rstd, rows, 4 * of_sums(width));
  if (Centered) agree(c, o, o.mean, rows, 64 * of_sums(width));  // of numbers up to 3; the largest is above 3 / 64
  op::NormalizeBackward<Centered, T, float> b{};
  b.x = o.x, b.gain = o.gain, b.mean = o.mean, b.rstd = o.rstd, b.d_y = c.put<T>(all, 1, 7), b.d_x = b.d_y;
  b.d_gain = c.put<float>(width, 0, 8), b.rows = rows, b.columns = width;
  if (Centered) b.d_bias = c.put<float>(width, 0, 9);
  agree(c, b, b.d_gain, width, 4 * of_sums(width));
  if (Centered) agree(c, b, b.d_bias, width, 4 * of_sums(width));
  agree(c, b, b.d_x, all, tolerance);
  // d_y is what was d_x; a compiler may round the last product and the sum once.
  agree(c, op::NormalizeBackwardSum<Centered, T, float>{.backward = b, .onto = o.y}, b.d_x, all, tolerance);
  if constexpr (Centered) {  // the same rows as distributions
    agree(c, op::Softmax<T>{o.x, o.y, rows, width}, o.y, all, 64 * 0x1p-24 + 4 * of_sums(width) + neighbour<T>);
    agree(c, op::SoftmaxBackward<T>{o.y, o.x, o.x, rows, width}, o.x, all, 4 * of_sums(width) + neighbour<T>);
  }
}

template <class T>
void batch_norms(std::size_t width) {
  using S = statistic_t<T>;
  Case c;
  const std::size_t all = rows * width;
  const double tolerance = 4 * of_sums(rows) + neighbour<T>;
  op::BatchNorm<T, S> o{};
  o.x = c.put<T>(all, 3, 1), o.gain = c.put<T>(width, 2, 2), o.bias = c.put<T>(width, 2, 3), o.y = c.put<T>(all, 0, 4);
  o.mean = c.put<S>(width, 0, 5), o.rstd = c.put<S>(width, 0, 6);
  o.running_mean = c.put<S>(width, 1, 7), o.running_variance = c.put<S>(width, 0, 8);
  o.rows = rows, o.columns = width, o.moves = true;
  agree(c, o, o.y, all, tolerance);
  agree(c, o, o.running_variance, width, 4 * of_sums(rows));
  op::BatchNormBackward<T, float> b{};
  b.x = o.x, b.gain = o.gain, b.mean = o.mean, b.rstd = o.rstd, b.d_y = c.put<T>(all, 1, 9), b.d_x = b.d_y;
  b.d_gain = c.put<float>(width, 0, 10), b.d_bias = c.put<float>(width, 0, 11), b.rows = rows, b.columns = width;
  agree(c, b, b.d_gain, width, 4 * of_sums(rows));
  agree(c, b, b.d_bias, width, 4 * of_sums(rows));
  agree(c, b, b.d_x, all, tolerance);
  const std::size_t said = op::described_by(width);
  const auto of_ranks = c.put<S>(said, 1, 12);
  op::BatchMoments<T> m{.x = o.x, .y = of_ranks, .rows = rows, .columns = width};
  agree(c, m, m.y, said, 4 * of_sums(rows));
  op::BatchSums<T> s{
      .x = o.x, .d_y = b.d_y, .mean = o.mean, .rstd = o.rstd, .y = of_ranks, .rows = rows, .columns = width};
  agree(c, s, s.y, said, 4 * of_sums(rows));
  b.of_ranks = of_ranks, b.ranks = 1;
  agree(c, b, b.d_x, all, tolerance);
  agree(c, m, m.y, said, 4 * of_sums(rows));
  o.of_ranks = of_ranks, o.ranks = 1;
  agree(c, o, o.y, all, tolerance);
  o.uses_running = true;
  agree(c, o, o.y, all, tolerance);
  agree(c, op::MeanOfRanks<S>{o.running_mean, o.mean, 1, width}, o.mean, width, 0x1p-23);
}

/// Two samples of 129 channels, in groups of 43, of all, or of one.
template <class T>
void group_norms(std::size_t groups) {
  using S = statistic_t<T>;
  Case c;
  const op::ColumnGroups shape{.samples = 2, .rows = rows, .columns = columns, .groups = groups};
  const std::size_t all = shape.count();
  const double terms = of_sums(shape.members()), tolerance = 4 * terms + neighbour<T>;
  op::GroupNorm<T> o{};
  o.x = c.put<T>(all, 3, 1), o.gain = c.put<T>(columns, 2, 2), o.bias = c.put<T>(columns, 2, 3);
  o.y = c.put<T>(all, 0, 4), o.mean = c.put<S>(2 * groups, 0, 5), o.rstd = c.put<S>(2 * groups, 0, 6);
  o.shape = shape;
  agree(c, o, o.y, all, tolerance);
  agree(c, o, o.rstd, 2 * groups, 4 * terms);
  op::GroupNormBackward<T, float> b{};
  b.x = o.x, b.gain = o.gain, b.mean = o.mean, b.rstd = o.rstd, b.d_y = c.put<T>(all, 1, 7), b.d_x = b.d_y;
  b.d_gain = c.put<float>(columns, 0, 8), b.d_bias = c.put<float>(columns, 0, 9), b.shape = shape;
  agree(c, b, b.d_gain, columns, 4 * of_sums(2 * rows));
  agree(c, b, b.d_bias, columns, 4 * of_sums(2 * rows));
  agree(c, b, b.d_x, all, tolerance);
}

/// Cells inside of a text of four positions.
template <class T>
void recurrent_cells() {
  using S = statistic_t<T>;
  constexpr std::size_t samples = 5, length = 4, w = columns, all = samples * length * w;
  const double tolerance = 512 * 0x1p-24 + neighbour<T>;  // sums of numbers up to 12, functions of some ulp
  Case c;
  op::LstmCell<T> l{};
  l.gates = c.put<T>(4 * all, 3, 1), l.hidden = c.put<S>(samples * 4 * w, 3, 2), l.c_before = c.put<S>(all, 3, 3);
  l.bias_ih = c.put<T>(4 * w, 3, 4), l.bias_hh = c.put<T>(4 * w, 3, 5), l.c = l.c_before + w;
  l.y = c.put<T>(all, 0, 6), l.h = c.put<T>(samples * w, 0, 7), l.rows = samples, l.columns = w, l.length = length;
  const View<T> gates = l.gates;
  l.gates = gates + 4 * w;
  agree(c, l, gates, 4 * all, tolerance);
  agree(c, l, l.h, samples * w, tolerance);
  agree(c, l, l.c_before, all, tolerance);
  op::LstmCellBackward<T> lb{};
  lb.gates = l.gates, lb.c = l.c, lb.c_before = l.c_before, lb.d_y = c.put<T>(all, 2, 8);
  lb.d_hidden = c.put<S>(samples * w, 2, 9), lb.d_c = c.put<S>(samples * w, 2, 10),
  lb.d_gates = c.put<T>(samples * 4 * w, 0, 11);
  lb.rows = samples, lb.columns = w, lb.length = length;
  agree(c, lb, lb.d_gates, samples * 4 * w, tolerance);
  Case d;
  op::GruCell<T> g{};
  g.gates = d.put<T>(3 * all, 3, 1), g.hidden = d.put<S>(samples * 3 * w, 3, 2), g.inner = d.put<T>(all, 0, 3);
  g.bias_ih = d.put<T>(3 * w, 3, 4), g.bias_hh = d.put<T>(3 * w, 3, 5);
  g.state = g.state_before = d.put<S>(samples * w, 1, 6), g.y = d.put<T>(all, 0, 7), g.h = d.put<T>(samples * w, 0, 8);
  g.rows = samples, g.columns = w, g.length = length;
  agree(d, g, g.gates, 3 * all, tolerance);
  agree(d, g, g.state, samples * w, tolerance);
  op::GruCellBackward<T> gb{};
  gb.gates = g.gates + 3 * w, gb.inner = g.inner + w, gb.y_before = g.y, gb.d_y = d.put<T>(all, 2, 9);
  gb.d_state = d.put<S>(samples * w, 2, 10), gb.d_gates = d.put<T>(samples * 3 * w, 0, 11);
  gb.rows = samples, gb.columns = w, gb.length = length;
  agree(d, gb, gb.d_gates, samples * 3 * w, tolerance);
  agree(d, gb, gb.d_state, samples * w, tolerance);
}

/// Between the products of composed attention.
template <class T>
void softmax(std::size_t length, bool causal) {
  using S = statistic_t<T>;
  Case c;
  const std::size_t all = 3 * length * length;
  const double tolerance = 256 * 0x1p-24 + neighbour<T>;  // scores up to 12, exp of them, sums of some tens of terms
  kernel::AttentionWeights<T> o{};
  o.scores = c.put<S>(all, 12, 1), o.weights = c.put<T>(all, 0, 2);
  o.shape = {1, length, 3, 9, causal}, o.run = {0, 1, 3};
  o.drop = {6554, 9, View<op::Random>{c.put<std::uint64_t>(3, 1000, 4).offset}};
  agree(c, o, o.weights, all, tolerance);
  kernel::AttentionWeightsBackward<T> b{};
  b.scores = o.scores, b.d_weights = c.put<S>(all, 1, 5), b.weights = o.weights;
  b.d_scores = c.put<T>(all, 0, 6), b.shape = o.shape, b.run = o.run, b.drop = o.drop;
  agree(c, b, b.d_scores, all, tolerance);
  agree(c, b, b.weights, all, tolerance);
  // With a number for each distance.
  const std::size_t distances = o.shape.distances();
  kernel::AttentionWeights<T, true> more{o.scores, o.weights, o.shape, o.drop, o.run};
  more.bias = c.put<S>(3 * distances, 1, 7);
  agree(c, more, o.weights, all, tolerance);
  kernel::AttentionWeightsBackward<T, true> more_back{b.scores, b.d_weights, b.weights, b.d_scores,
                                                      b.shape,  b.drop,      b.run};
  more_back.bias = more.bias;
  agree(c, more_back, b.d_scores, all, tolerance);
  kernel::AttentionBiasBackward<T> of_bias{b.d_scores, c.put<S>(3 * distances, 0, 8), o.shape, o.run};
  agree(c, of_bias, of_bias.d_bias, 3 * distances, 3 * double(length) * 0x1p-24);
}

/// The members of Scalars from loss_sum on, up to the counters.
constexpr std::size_t sums = 10;
View<double> sums_of(View<Scalars> scalars) { return {scalars.offset + given_bytes}; }

/// Weights of rows, at least 0.
View<float> weights_in(Case& c, std::size_t elements) {
  const View<float> weights = c.put<float>(elements, 2, 7);
  float* const values = reinterpret_cast<float*>(c.here.data() + weights.offset);
  for (std::size_t i = 0; i < elements; ++i) values[i] = i == 3 ? 0 : std::fabs(values[i]);
  return weights;
}

/// gap   between two rows
template <class S>
void losses(std::size_t width, std::size_t gap) {
  Case c;
  const std::size_t leading = width + gap, all = rows * leading;
  op::CrossEntropy<true, S> o{};
  o.logits = c.put<S>(all, 4, 1), o.target = c.put<std::int32_t>(rows, double(width), 2), o.scalars = c.scalars(),
  o.rows = rows, o.columns = width;
  if (gap > 0) o.leading = leading;
  reinterpret_cast<std::int32_t*>(c.here.data() + o.target.offset)[5] = ignore_index;
  const double tolerance = 4 * of_sums(width);
  agree(c, op::CrossEntropy<false, S>{o.logits, o.target, o.scalars, rows, width, 1, 0, o.leading}, sums_of(o.scalars),
        sums, tolerance);
  agree(c, o, o.logits, all, tolerance);
  agree(c, o, sums_of(o.scalars), sums, tolerance);  // of the gradient, as logits
  o.smoothing = 0.1;
  agree(c, o, o.logits, all, tolerance);
  agree(c, op::CountCorrect<S>{o.logits, o.target, o.scalars, rows, width, o.leading}, sums_of(o.scalars), sums, 0);
  o.weight = weights_in(c, rows);
  agree(c, o, o.logits, all, 2 * tolerance);
  agree(c, o, sums_of(o.scalars), sums, 2 * tolerance);
  agree(c, op::CountCorrect<S>{o.logits, o.target, o.scalars, rows, width, o.leading, o.weight}, sums_of(o.scalars),
        sums, tolerance);
}

/// Of two ranks, of which this is the second one.
template <class S>
void contrastive_losses(std::size_t width) {
  Case c;
  constexpr std::size_t views = 36, samples = 16;
  op::Embeddings<S> z{{}, 2, 1, views, width, views * (width + 1) + 3, views + 1};
  const std::size_t all = 2 * z.slice, sums_of_rows = 2 * z.sum_slice;
  z.all = c.put<S>(all, 1 / std::sqrt(double(width)), 1);
  for (std::size_t k = 0; k < z.count(); ++k)
    reinterpret_cast<S*>(c.here.data() + z.all.offset)[z.length(k)] = S(k / 2 == 3 ? -1 : 1);
  const View<S> rows_of = c.put<S>(2 * sums_of_rows, 1, 2), x = c.put<S>(views * width, 3, 3);
  const View<std::int32_t> target = c.put<std::int32_t>(samples, 1, 4);
  reinterpret_cast<std::int32_t*>(c.here.data() + target.offset)[5] = ignore_index;
  const View<Scalars> scalars = c.scalars();
  const double tolerance = 16 * of_sums(width) + 4 * of_sums(2 * views);
  agree(c, op::NormalizeViews<S>{x, target, z, samples}, z.all, all, tolerance);
  const View<op::SoftmaxRow<S>> softmax{rows_of.offset};
  agree(c, op::NtXent<S>{z, softmax, scalars, 0.5}, rows_of, 2 * sums_of_rows, tolerance);
  agree(c, op::NtXent<S>{z, softmax, scalars, 0.5}, sums_of(scalars), 2, tolerance);
  agree(c, op::NtXentBackward<S>{z, softmax, x, scalars, samples, 0.5, 1}, x, views * width, 16 * tolerance);
}

/// gap   between two rows of logits; targets are dense
template <class S>
void soft_losses(std::size_t width, std::size_t gap) {
  Case c;
  const std::size_t leading = width + gap, all = rows * leading;
  op::SoftCrossEntropy<true, S> o{};
  o.logits = c.put<S>(all, 4, 1), o.target = c.put<S>(rows * width, 1, 2), o.scalars = c.scalars(), o.rows = rows,
  o.columns = width;
  if (gap > 0) o.leading = leading;
  S* const targets = reinterpret_cast<S*>(c.here.data() + o.target.offset);
  for (std::size_t i = 0; i < rows * width; ++i) targets[i] = std::fabs(targets[i]);  // so that no sum cancels
  const double tolerance = 4 * of_sums(width);
  agree(c, op::SoftCrossEntropy<false, S>{o.logits, o.target, o.scalars, rows, width, 1, o.leading}, sums_of(o.scalars),
        sums, tolerance);
  agree(c, o, o.logits, all, tolerance);
  o.weight = weights_in(c, rows);
  agree(c, o, o.logits, all, 2 * tolerance);
  agree(c, o, sums_of(o.scalars), sums, 2 * tolerance);
}

void squares() {
  Case c;
  const auto gradient = c.put<float>(count, 1, 3);
  const auto sum = c.put<double>(1, 0, 4);
  agree(c, op::SumOfSquares<float>{gradient, sum, count}, sum, 1, 0x1p-40);
}

template <class UpdateRule, class T>
void updates() {
  Case c;
  op::Update<UpdateRule, float, T, float> o{};
  o.master = c.put<float>(count, 1, 1), o.state = c.put<float>(UpdateRule::states * count, 0.1, 2),
  o.gradient = c.put<float>(count, 1, 3);
  const auto make_positive = [&] {  // one of the states has squares
    if constexpr (UpdateRule::states > 0) {
      float* const state = reinterpret_cast<float*>(c.here.data() + o.state.offset);
      for (std::size_t i = 0; i < UpdateRule::states * count; ++i) state[i] = std::fabs(state[i]);
    }
  };
  make_positive();
  o.copy = c.put<T>(count, 0, 4), o.scalars = c.scalars(), o.count = count, o.state_stride = count;
  o.segments.items[0] = {0, count, true}, o.segments.count = 1;
  agree(c, o, o.master, count, 16 * 0x1p-24);  // ten roundings of a step, and what a fused multiply-add leaves out
  agree(c, o, o.copy, count, 16 * 0x1p-24 + neighbour<T>);
  if constexpr (UpdateRule::states > 0) agree(c, o, o.state, UpdateRule::states * count, 16 * 0x1p-24);
  make_positive();                                                       // since other elements are squares now
  o.state_stride = o.count = o.segments.items[0].count = count / 8 * 8;  // states, too, begin at multiples of 16 bytes
  agree(c, o, o.master, count, 16 * 0x1p-24);
}

/// Lookups, and gradients of tables and biases.   G: gradients of parameters
template <class T, class G>
void tables() {
  constexpr double rounding = 64 * 0x1p-24;
  Case c;
  op::Embed<T> look{};
  look.token = c.put<std::int32_t>(count, columns, 1), look.table = c.put<T>(columns * 8, 1, 2),
  look.y = c.put<T>(count * 8, 0, 3);
  look.count = count, look.vocabulary = columns, look.columns = 8;
  agree(c, look, look.y, count * 8, 0);
  op::EmbedBackward<T, G> back{};
  back.token = look.token, back.d_y = look.y, back.d_table = c.put<G>(columns * 8, 1, 4), back.count = count,
  back.vocabulary = columns;
  back.columns = 8, back.add = true;
  agree(c, back, back.d_table, columns * 8, 0);
  Case d;
  op::AddTableBackward<T, G> add{};
  add.d_y = d.put<T>(count, 1, 1), add.d_table = d.put<G>(columns, 1, 2), add.samples = rows, add.elements = columns;
  agree(d, add, add.d_table, columns, 0);
  op::BiasBackward<activation::GeluTanh, T, G> bias{};
  bias.x = d.put<T>(count, 3, 3), bias.bias = d.put<T>(columns, 2, 4), bias.d_y = add.d_y, bias.d_x = add.d_y,
  bias.d_bias = add.d_table;
  bias.rows = rows, bias.columns = columns;
  agree(d, bias, bias.d_bias, columns, rounding);
  op::BiasBackward<activation::Identity, T, G> sum{};
  sum.d_y = add.d_y, sum.d_x = add.d_y, sum.d_bias = add.d_table, sum.rows = 9, sum.columns = count / 9;
  sum.d_bias = d.put<G>(sum.columns, 1, 5);
  agree(d, sum, sum.d_bias, sum.columns, 0);
}

template <class T>
void checks() {
  Case c;
  op::CheckFinite<T> finite{};
  finite.x = c.put<T>(count, 1, 1), finite.scalars = c.scalars(), finite.count = count;
  reinterpret_cast<T*>(c.here.data() + finite.x.offset)[count - 7] = T(NAN);
  const std::size_t element = offsetof(Scalars, anomaly) + offsetof(op::Anomaly, element);
  agree(c, finite, View<std::uint64_t>{finite.scalars.offset + element}, 1, 0);
}

void steps() {
  Case c;
  const auto scalars = c.scalars();
  const auto logits = c.put<float>(count, 4, 1), target = c.put<float>(count, 4, 2);
  agree(c, op::Begin{scalars}, sums_of(scalars), sums, 0);
  agree(c, op::CountCorrect<float>{logits, c.put<std::int32_t>(rows, columns, 3), scalars, rows, columns},
        sums_of(scalars), sums, 0);
  agree(c, op::SquaredError<true, float>{logits, target, scalars, count, 0.5}, sums_of(scalars), sums, 0x1p-40);
  agree(c, op::SquaredError<true, float>{logits, target, scalars, count, 0.5}, logits, count, 0);
  agree(c, op::SumOfSquares<float>{logits, square_sum_of(scalars), count}, sums_of(scalars), sums, 0x1p-40);
  const auto ranks = c.put<double>(4 * 7, 1, 4);
  agree(c, op::ShareSums{scalars, {ranks.offset}}, ranks, 4 * 7, 0);
  agree(c, op::CombineSums{scalars, {ranks.offset}, 7, 0}, sums_of(scalars), sums, 0);
  op::Finish<AdamW> finish{};
  finish.scalars = scalars, finish.clip = 1e-3;
  agree(c, finish, sums_of(scalars), sums, 0x1p-40);  // powers of a device and of the host
  agree(c, op::Calculate<Halve>{ranks, scalars, 1}, ranks, 1, 0);
  agree(c, op::Finish<Descent>{scalars}, sums_of(scalars), sums, 0x1p-40);
  const auto kept = c.scalars();
  agree(c, op::BeginLosses{scalars, kept, 1}, sums_of(kept), sums, 0);
  op::SumLosses total{.scalars = scalars, .losses = kept, .count = 1, .samples = 3, .correct = 0.5};
  total.weights[0] = 0.75;
  agree(c, total, sums_of(scalars), sums, 0x1p-40);
  agree(c, op::KeepResults{scalars, kept}, sums_of(kept), sums, 0);
  agree(c, op::ScalarsOfGroup<AdamW>{scalars, kept}, sums_of(kept), sums, 0x1p-40);
  // The second of three slots, of odd sizes.
  constexpr std::size_t stride = 1024, input_bytes = 301, target_bytes = 76;
  const auto slots = c.put<std::uint8_t>(3 * stride, 255, 5);
  const op::InputRing ring{.taken = c.put<std::uint64_t>(1, 0, 6),
                           .first = slots.offset,
                           .stride = stride,
                           .count = 3,
                           .input = 256,
                           .target = 640};
  *reinterpret_cast<std::uint64_t*>(c.here.data() + ring.taken.offset) = 4;
  const auto input = c.put<std::byte>(input_bytes, 0, 7), target_of = c.put<std::byte>(target_bytes, 0, 8);
  const op::TakeInput take{ring, kept, input, target_of, input_bytes, target_bytes};
  agree(c, take, View<std::uint8_t>{input.offset}, input_bytes, 0);
  agree(c, take, View<std::uint8_t>{target_of.offset}, target_bytes, 0);
  agree(c, take, ring.taken, 1, 0);
  checks<float>();
  checks<bf16>();
  checks<fp16>();
}

/// (1,37,3,43): positions and channels that are multiples of nothing.
template <class T>
void attends() {
  const double tolerance = 256 * 0x1p-24 + neighbour<T>;  // scores of 43 products, exp of them, sums of 37 terms
  Case c;
  op::AttentionBackward<T> back{};
  back.shape = {1, rows, 3, columns / 3, true};
  back.qkv = c.put<T>(3 * count, 1, 1), back.y = c.put<T>(count, 0, 2), back.d_y = c.put<T>(count, 1, 3),
  back.d_qkv = c.put<T>(3 * count, 0, 4);
  const auto softmax = c.put<statistic_t<T>>(6 * rows, 1, 5);
  back.softmax = {softmax.offset}, back.row_dot = c.put<statistic_t<T>>(3 * rows, 0, 6);
  back.drop = {6554, 9, View<op::Random>{c.put<std::uint64_t>(3, 1000, 7).offset}};
  agree(c, op::Attention<T>{back.qkv, back.y, back.softmax, back.shape, back.drop}, back.y, count, tolerance);
  agree(c, op::Attention<T>{back.qkv, back.y, back.softmax, back.shape, back.drop}, softmax, 6 * rows, 256 * 0x1p-24);
  agree(c, back, back.d_qkv, 3 * count, tolerance);
  // (1,37,5,25): three heads share one key head, whose gradients have three times as many terms.
  op::AttentionBackward<T> shared = back;
  shared.shape = {1, rows, 3, columns / 5, true, 1};
  const std::size_t shared_count = rows * 3 * (columns / 5);
  agree(c, op::Attention<T>{shared.qkv, shared.y, shared.softmax, shared.shape, shared.drop}, shared.y, shared_count,
        tolerance);
  agree(c, op::Attention<T>{shared.qkv, shared.y, shared.softmax, shared.shape, shared.drop}, softmax, 6 * rows,
        256 * 0x1p-24);
  agree(c, op::SharedAttentionBackward<T>{shared}, shared.d_qkv, rows * 5 * (columns / 5), 3 * tolerance);
  shared.shape.window = 9;
  const op::WindowAttention<T> slides{{shared.qkv, shared.y, shared.softmax, shared.shape, shared.drop}};
  agree(c, slides, shared.y, shared_count, tolerance);
  agree(c, slides, softmax, 6 * rows, 256 * 0x1p-24);
  agree(c, op::WindowAttentionBackward<T>{shared}, shared.d_qkv, rows * 5 * (columns / 5), 3 * tolerance);
  // The same, within the window, with a number for each head and distance.
  const auto bias = c.put<statistic_t<T>>(3 * rows, 1, 10), d_bias = c.put<statistic_t<T>>(3 * rows, 0, 11);
  agree(c, op::BiasedAttention<T>{slides.attention, bias}, shared.y, shared_count, tolerance);
  const op::BiasedAttentionBackward<T> falls{shared, bias, d_bias};
  agree(c, falls, shared.d_qkv, rows * 5 * (columns / 5), 3 * tolerance);
  agree(c, falls, d_bias, 3 * rows, 37 * tolerance);  // not divided by the root of a head's 25 channels
  agree(c, op::AlibiBias<statistic_t<T>>{bias, 3, rows, rows}, bias, 3 * rows, 0x1p-20);
  const op::DistanceBuckets buckets{8, 20, true};
  agree(c, op::BucketBias<T>{back.qkv, bias, 3, rows, rows, buckets}, bias, 3 * rows, 0);
  agree(c, op::BucketBiasBackward<statistic_t<T>, statistic_t<T>>{bias, d_bias, 1, 3, rows, rows, buckets}, d_bias, 24,
        tolerance);
  // (1,29,3,25) attend to (1,37,1,25).
  op::CrossAttentionBackward<T> across{};
  across.q = shared.qkv, across.kv = shared.qkv + 29 * 3 * (columns / 5), across.y = shared.y, across.d_y = shared.d_y;
  across.d_q = shared.d_qkv, across.d_kv = shared.d_qkv + 29 * 3 * (columns / 5);
  across.softmax = shared.softmax, across.row_dot = shared.row_dot, across.drop = shared.drop;
  across.shape = {1, 29, 3, columns / 5, false, 1, rows};
  agree(c, op::CrossAttention<T>{across.q, across.kv, across.y, across.softmax, across.shape, across.drop}, across.y,
        29 * 3 * (columns / 5), tolerance);
  agree(c, op::CrossAttention<T>{across.q, across.kv, across.y, across.softmax, across.shape, across.drop}, softmax,
        6 * 29, 256 * 0x1p-24);
  agree(c, across, across.d_q, 29 * 3 * (columns / 5), tolerance);
  agree(c, across, across.d_kv, rows * 2 * (columns / 5), 3 * tolerance);
  // The same to keys that end, and of a text among its own positions, with and without a number for each distance.
  const auto ends = c.put<std::int32_t>(1, 0, 12);
  reinterpret_cast<std::int32_t*>(c.here.data() + ends.offset)[0] = 23;
  const op::CrossAttention<T> whole{across.q, across.kv, across.y, across.softmax, across.shape, across.drop};
  agree(c, op::WithinLengths<op::CrossAttention<T>>{whole, ends}, across.y, 29 * 3 * (columns / 5), tolerance);
  const op::WithinLengths<op::CrossAttentionBackward<T>> ended{across, ends};
  agree(c, ended, across.d_q, 29 * 3 * (columns / 5), tolerance);
  agree(c, ended, across.d_kv, rows * 2 * (columns / 5), 3 * tolerance);
  op::AttentionBackward<T> among = shared;
  among.shape = {1, rows, 3, columns / 5, false, 1};
  const op::Attention<T> all{among.qkv, among.y, among.softmax, among.shape, among.drop};
  const auto apart = c.put<statistic_t<T>>(6 * rows, 1, 13), d_apart = c.put<statistic_t<T>>(6 * rows, 0, 14);
  agree(c, op::WithinLengths<op::Attention<T>>{all, ends}, among.y, shared_count, tolerance);
  agree(c, op::WithinLengths<op::SharedAttentionBackward<T>>{{among}, ends}, among.d_qkv, rows * 5 * (columns / 5),
        3 * tolerance);
  agree(c, op::WithinLengths<op::AttentionBackward<T>>{among, ends}, among.d_qkv, rows * 5 * (columns / 5),
        3 * tolerance);
  agree(c, op::WithinLengths<op::BiasedAttention<T>>{{all, apart}, ends}, among.y, shared_count, tolerance);
  const op::WithinLengths<op::BiasedAttentionBackward<T>> both{{among, apart, d_apart}, ends};
  agree(c, both, among.d_qkv, rows * 5 * (columns / 5), 3 * tolerance);
  agree(c, both, d_apart, 3 * (2 * rows - 1), 37 * tolerance);
  const auto keys = c.put<T>(count, 0, 8), values = c.put<T>(count, 0, 9);
  agree(c, op::KeepKeys<T>{back.qkv, keys, values, back.shape, 0, rows}, keys, count, 0);
  agree(c, op::KeepKeys<T>{back.qkv, keys, values, back.shape, 0, rows}, values, count, 0);
  op::Rotate<T> rotate{};
  rotate.x = back.qkv, rotate.y = back.d_qkv, rotate.first = 1000;
  rotate.shape = {1, rows, 1, columns - 1, true};  // an even head, that fits the tensors
  agree(c, rotate, rotate.y, rows * 3 * (columns - 1), tolerance);
  agree(c, op::AddSinusoids<T>{back.y, back.d_y, 1, rows, columns, 1000}, back.d_y, count, tolerance);
  agree(c, op::AddSinusoids<T>{back.y, back.d_y, 1, rows, columns, 1000, true}, back.d_y, count, tolerance);
  op::AttentionShape one = back.shape;
  one.length = 1;
  agree(c, op::AttendKept<T>{back.qkv, keys, values, back.y, one, rows, rows}, back.y, 129, tolerance);
  agree(c, op::BiasedAttendKept<T>{{back.qkv, keys, values, back.y, one, rows, rows}, bias}, back.y, 129, tolerance);
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);  // a kernel that hangs is the one behind the last line
#ifdef REGIMEN_MISUSE
  start();
#endif
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("no CUDA device: the kernels were compiled, and did not run");
    return 77;
  }
  elementwise<float>();
  elementwise<bf16>();
  elementwise<fp16>();
  rows_apart<bf16>();
  rows_apart<fp16>();
  const auto convolve = [](auto... shape) {
    convolves<float>(shape...);
    convolves<double>(shape...);
    convolves<bf16>(shape...);
    convolves<fp16>(shape...);
  };
  convolve(1, 1, 1);
  convolve(2, 2, 43);
  for (const std::size_t width : {columns, std::size_t{128}, std::size_t{1028}}) {  // by elements, by warps, by blocks
    norms<true, float>(width);
    norms<false, float>(width);
    norms<true, bf16>(width);
    norms<false, bf16>(width);
    norms<true, fp16>(width);
    norms<false, fp16>(width);
    for (const std::size_t gap : {0u, 3u}) losses<float>(width, gap), soft_losses<float>(width, gap);
  }
  norms<true, double>(columns);
  batch_norms<float>(columns);
  batch_norms<bf16>(columns);
  batch_norms<fp16>(columns);
  batch_norms<double>(columns);
  group_norms<float>(3);
  group_norms<bf16>(3);
  group_norms<fp16>(1);
  group_norms<double>(columns);
  recurrent_cells<float>();
  recurrent_cells<bf16>();
  recurrent_cells<fp16>();
  recurrent_cells<double>();
  losses<double>(columns, 1);
  soft_losses<double>(columns, 1);
  for (const std::size_t width : {5u, 129u, 700u}) contrastive_losses<float>(width);
  contrastive_losses<double>(columns);
  squares();
  updates<AdamW, bf16>();
  updates<AdamW, fp16>();
  updates<Descent, bf16>();
  tables<float, float>();
  tables<bf16, float>();
  tables<fp16, float>();
  tables<double, double>();
  steps();
  attends<float>();
  attends<bf16>();
  attends<fp16>();
  attends<double>();
  for (const std::size_t length : {std::size_t{37}, std::size_t{40}})
    for (const bool causal : {true, false}) {
      softmax<float>(length, causal);
      softmax<bf16>(length, causal);
      softmax<fp16>(length, causal);
      softmax<double>(length, causal);
    }
  std::printf("%d wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}
