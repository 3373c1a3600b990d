// regimen/layer/layer.hpp — the declarations of a layer, and the calls that it receives.
#pragma once

#include <regimen/core/activation.hpp>
#include <regimen/core/arena.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/core/path.hpp>
#include <regimen/core/shape.hpp>
#include <regimen/core/view.hpp>

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace regimen {

/// The tensors that a layer's backward reads, in addition to the gradient of its output. Undeclared tensors are absent.
/// With input_or_output the walker saves the one that costs less memory; the other is absent.
enum class Reads { nothing, input, output, input_and_output, input_or_output };

/// The element types of a model, by role.
template <class Compute, class Master, class Reduce, class Epilogues_ = op::NoEpilogues, class Kept = stored_t<Compute>>
struct Roles final {
  using computed = Compute;                // the policy's choice: an element type, or tf32
  using compute = stored_t<Compute>;       // activations, and parameters as kernels read them
  using master = Master;                   // parameters as the optimizer keeps them, and its state
  using reduce = Reduce;                   // gradients of parameters
  using statistic = statistic_t<Compute>;  // statistics, losses, final outputs
  using Epilogues = Epilogues_;            // the epilogues of products
  using kept = Kept;                       // values with names: activations of the model, also inside As<...>
  /// The type by which a product reads a factor of type T: T, or tf32 in place of fp32. A layer without it reads fp32.
  template <class T>
  using factor = std::conditional_t<std::is_same_v<Compute, tf32> && std::is_same_v<T, fp32>, tf32, T>;
};

namespace detail {

/// A shape with another extent of one axis.
template <class TensorShape, std::size_t axis, std::size_t extent>
struct with_extent;
template <std::size_t... Extents, std::size_t axis, std::size_t extent>
struct with_extent<Shape<Extents...>, axis, extent> {
 private:
  template <std::size_t... i>
  static auto of(std::index_sequence<i...>) -> Shape<(i == axis ? extent : Extents)...>;

 public:
  using type = decltype(of(std::make_index_sequence<sizeof...(Extents)>{}));
};
/// A shape with another innermost extent.
template <class TensorShape, std::size_t Width>
using with_columns = with_extent<TensorShape, TensorShape::rank - 1, Width>;

/// A matrix in a tensor: where it begins, and the elements from row to row.
struct RowsAt {
  std::size_t offset, row;
};
template <class T>
constexpr op::CopyColumns<T> copy_of_rows(RowsAt from, RowsAt to, std::size_t rows, std::size_t columns) {
  return {
      .x = {from.offset}, .y = {to.offset}, .rows = rows, .columns = columns, .from_row = from.row, .to_row = to.row};
}

/// d_bias = the sum of the rows of d_y, or d_bias += if `add`.   leading   as in op::BiasBackward
template <class T, class G>
constexpr auto sum_of_rows(View<T> d_y, View<G> d_bias, std::size_t rows, std::size_t columns, bool add,
                           std::size_t leading = 0) {
  return op::BiasBackward<activation::Identity, T, G>{
      .d_y = d_y, .d_x = d_y, .d_bias = d_bias, .rows = rows, .columns = columns, .add = add, .leading = leading};
}

}  // namespace detail

/// Replaces the type of master weights in inference: each parameter is stored once, in the type that kernels read.
struct NoMaster final {};

/// The element type of buffers: the type of the master weights; in inference the type of statistics.
template <class Roles>
using buffer_t = std::conditional_t<std::is_same_v<typename Roles::master, NoMaster>, typename Roles::statistic,
                                    typename Roles::master>;

/// A parameter's initial distribution.
struct InitialValue {
  enum class Kind { zero, one, normal, uniform, constant, by_fan_in, as_fill };
  Kind kind = Kind::zero;
  /// normal: the standard deviation; uniform: drawn from [-scale, scale]; constant: the value, under every Init<...>.
  /// Only in Parameter::torch: by_fan_in, uniform in ±1/√n, with n inputs for each output of the matrix before it in
  /// the layer; as_fill, the value of `fill`
  double scale = 0;
};

/// The role of a parameter, for initialisation schemes and weight decay. A buffer is no parameter: state that forward
/// moves and no optimizer touches.
enum class ParameterRole { matrix, bias, gain, table, buffer };

/// A parameter tensor as a layer declares it, row-major.
///   fill, torch   the values before the first step: under Init<Default>; under Init<PyTorch>
struct Parameter {
  const char* name = "";
  ParameterRole role = ParameterRole::matrix;
  std::size_t rank = 1;
  std::array<std::size_t, 4> extents{1, 1, 1, 1};
  InitialValue fill{};
  InitialValue torch{InitialValue::Kind::as_fill};
  std::int32_t zero_row = -1;  // a row that begins at 0 under every Init, and whose lookups have no gradient; −1: none

  constexpr std::size_t size() const { return extents[0] * extents[1] * extents[2] * extents[3]; }
};

namespace detail {
/// A parameter, or a buffer, with an element for each channel.
constexpr Parameter per_channel(const char* name, ParameterRole role, std::size_t channels, InitialValue fill = {},
                                InitialValue torch = {InitialValue::Kind::as_fill}) {
  return {.name = name, .role = role, .extents = {channels, 1, 1, 1}, .fill = fill, .torch = torch};
}
/// A parameter of rows and columns.
constexpr Parameter in_rows(const char* name, ParameterRole role, std::size_t rows, std::size_t columns,
                            InitialValue fill, InitialValue torch = {InitialValue::Kind::as_fill}) {
  return {.name = name, .role = role, .rank = 2, .extents = {rows, columns, 1, 1}, .fill = fill, .torch = torch};
}
constexpr Parameter bias_of_product(std::size_t outputs) {
  return per_channel("bias", ParameterRole::bias, outputs, {}, {InitialValue::Kind::by_fan_in});
}
}  // namespace detail

/// A declared tensor whose number of elements is Elements for each sample of the batch.
template <class T, std::size_t Elements>
struct PerSample final {
  static constexpr std::size_t bytes(std::size_t batch) { return batch * Elements * sizeof(T); }
};
/// A declared tensor with a fixed number of elements.
template <class T, std::size_t Elements>
struct FixedTensor final {
  static constexpr std::size_t bytes(std::size_t) { return Elements * sizeof(T); }
};

/// A declaration of several tensors: a layer's saved tensors, or its scratch.
template <class... Declared>
struct Tensors final {
  static constexpr std::size_t count = sizeof...(Declared);
  static constexpr std::array<std::size_t, count> bytes([[maybe_unused]] std::size_t batch) {
    return {TensorArena::align(Declared::bytes(batch))...};
  }
};

/// The default declarations of a layer. A layer's `Bound<X, Roles>` derives from LayerDefaults, names its `Output`, and
/// has `forward(walk, call)` and `backward(walk, call)`, both static and constexpr.
struct LayerDefaults {
  static constexpr std::array<Parameter, 0> parameters{};
  using Element = void;                                 // of the parameters, as kernels read them
  static constexpr std::array<Parameter, 0> buffers{};  // state that is not trained, in `buffer_t<Roles>`
  using Saved = Tensors<>;                              // saved from forward to backward, besides input and output
  using ForwardScratch = Tensors<>;
  using BackwardScratch = Tensors<>;
  using Cache = Tensors<>;  // kept between the steps of incremental decoding
  static constexpr Reads backward_reads(bool /*trains*/) { return Reads::nothing; }
  static constexpr bool backward_reads_parameters(bool /*wants_d_x*/) { return true; }
  using Named = void;                           // the name of a value that lies at call.named; backward gets its
                                                // gradient, too, at call.d_named, to which all add
  using Lengths = void;                         // the name of a KeepLength's lengths, which lie at call.lengths
  static constexpr bool adds_to_named = false;  // backward adds to call.d_named: it comes even if x wants no gradient
  static constexpr bool in_place = false;       // y may overwrite a dead x, d_x may overwrite a dead d_y
  static constexpr bool always_writes_d_x = false;   // backward writes d_x even if no layer before needs it
  static constexpr bool saves_for_backward = false;  // saved tensors are absent where no backward follows
  static constexpr bool writes_d_sum = false;        // backward writes call.d_sum
  static constexpr bool derives_before = false;      // backward reads call.saved_before
  static constexpr bool sums_y = false;              // forward adds call.onto to y, where it is given
  static constexpr bool sums_d_x = false;            // backward adds call.onto to d_x, where it is given
};

/// The offsets of a layer's parameters, or of their gradients, in the order of its declaration. Devices leave gaps
/// between them, so only the offset of a single parameter converts to a number.
template <std::size_t Count>
struct TensorOffsets {
  std::size_t at[Count == 0 ? 1 : Count];

  constexpr std::size_t operator[](std::size_t i) const { return at[i]; }
  constexpr operator std::size_t() const
    requires(Count == 1)
  {
    return at[0];
  }
};

/// Offsets of the tensors that a call may access; undeclared tensors are absent.
///   onto      another tensor of y's shape and type
///   buffers   in the order of the declaration
///   moves     whether forward moves the buffers: once for every micro-batch that trains, also if it is computed again
///   uses_buffers   whether forward uses the buffers in place of the statistics of the batch: in evaluation, and in a
///                  Frozen<KeepStatistics, ...>
template <std::size_t SavedCount, std::size_t ScratchCount, std::size_t CacheCount = 0, std::size_t ParameterCount = 1,
          std::size_t BufferCount = 0>
struct ForwardCall {
  std::size_t x, y;
  TensorOffsets<ParameterCount> parameters;
  std::array<std::size_t, SavedCount> saved{};
  std::array<std::size_t, ScratchCount> scratch{};
  LayerPath path;
  std::array<std::size_t, CacheCount> cache{};
  std::size_t onto = View<char>::absent;
  std::array<std::size_t, BufferCount> buffers{};
  bool moves = false, uses_buffers = false;
  std::size_t named = View<char>::absent, lengths = View<char>::absent;
};

/// d_x is absent if no layer before this one needs a gradient; gradients is absent if the layer is frozen.
///   d_sum          a tensor of d_y's shape and type, or d_y itself if it is not read later
///   saved_before   the saved tensor of the layer before, of x's shape and type
///   onto           another tensor of d_x's shape and type
///   uses_buffers   whether forward used the buffers
template <std::size_t SavedCount, std::size_t ScratchCount, std::size_t ParameterCount = 1>
struct BackwardCall {
  std::size_t x, y, d_y, d_x;
  TensorOffsets<ParameterCount> parameters, gradients;
  bool add;
  std::array<std::size_t, SavedCount> saved;
  std::array<std::size_t, ScratchCount> scratch{};
  LayerPath path;
  std::size_t d_sum = View<char>::absent, saved_before = View<char>::absent, onto = View<char>::absent,
              named = View<char>::absent, d_named = View<char>::absent, lengths = View<char>::absent;
  bool uses_buffers = false;

  constexpr bool wants_d_x() const { return d_x != absent; }
  constexpr bool trains() const { return gradients.at[0] != absent; }
  static constexpr std::size_t absent = View<char>::absent;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
