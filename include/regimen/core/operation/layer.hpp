// regimen/core/operation/layer.hpp — the operations of layers, except products and attention.
#pragma once

#include <regimen/core/activation.hpp>
#include <regimen/core/hd.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/operation/product.hpp>
#include <regimen/core/operation/scalars.hpp>
#include <regimen/core/view.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace regimen::op {

/// y = act(x + bias)                                         y may be x
///   x, y (rows,columns); bias (columns), may be absent
///   leading   elements from row to row of x and y; 0: columns
template <class Activation, class T, class B = T>
struct BiasActivation final {
  static constexpr bool activates = !std::is_same_v<Activation, activation::Identity>;
  static constexpr const char* name = "bias_activation";
  View<T> x;
  View<B> bias{};
  View<T> y;
  std::size_t rows = 0, columns = 0, leading = 0;

  REGIMEN_HD constexpr std::size_t row() const { return leading > 0 ? leading : columns; }
  constexpr Cost cost() const {
    return {(activates ? 10 : 1) * double(rows * columns), 2.0 * double(rows * columns) * sizeof(T), 1};
  }
};

/// d_x = d_y · act'(x + bias);  d_bias = Σ_rows d_x          d_x may be d_y
///   bias, d_bias (columns) may be absent; Relu may read its output in place of x, then without bias; for Identity x is
///   absent, d_x is d_y and is not written
///   leading   elements from row to row of x, d_y and d_x; 0: columns
template <class Activation, class T, class G>
struct BiasBackward final {
  static constexpr bool activates = !std::is_same_v<Activation, activation::Identity>;
  static constexpr const char* name = "bias_activation_backward";
  View<T> x{}, bias{}, d_y, d_x;
  View<G> d_bias{};
  std::size_t rows = 0, columns = 0;
  bool add = false;
  std::size_t leading = 0;

  REGIMEN_HD constexpr std::size_t row() const { return leading > 0 ? leading : columns; }
  constexpr Cost cost() const {  // of Identity only sums, which read d_y
    return {(activates ? 12 : 1) * double(rows * columns), (activates ? 3 : 1) * double(rows * columns) * sizeof(T), 1};
  }
};

/// y = 0                                                     (count)
template <class T>
struct Zero final {
  static constexpr const char* name = "zero";
  View<T> y;
  std::size_t count = 0;

  constexpr Cost cost() const { return {0, double(count) * sizeof(T), 1}; }
};

/// y += x                                                    (count)
template <class T>
struct Add final {
  static constexpr const char* name = "add";
  View<T> x, y;
  std::size_t count = 0;

  constexpr Cost cost() const { return {double(count), 3.0 * double(count) * sizeof(T), 1}; }
};

/// y = a · b, in S, rounded once                             (count); y may be a, or b
template <class T>
struct Multiply final {
  static constexpr const char* name = "multiply";
  View<T> a, b, y;
  std::size_t count = 0;

  constexpr Cost cost() const { return {double(count), 3.0 * double(count) * sizeof(T), 1}; }
};

/// y = act(a) · b, in S, rounded once                        (count); y may be a, or b
template <class Activation, class T>
struct Gate final {
  static constexpr const char* name = "gate";
  View<T> a, b, y;
  std::size_t count = 0;

  constexpr Cost cost() const { return {11 * double(count), 3.0 * double(count) * sizeof(T), 1}; }
};
/// d_a = d_y · b · act'(a);  d_b = d_y · act(a)              (count); d_a or d_b may be absent, and either may be d_y
template <class Activation, class T>
struct GateBackward final {
  static constexpr const char* name = "gate_backward";
  View<T> a, b, d_y, d_a, d_b;
  std::size_t count = 0;

  constexpr std::size_t written() const { return std::size_t{!d_a.is_absent()} + std::size_t{!d_b.is_absent()}; }
  constexpr Cost cost() const {
    return {12.0 * double(written() * count), (3.0 + double(written())) * double(count) * sizeof(T), 1};
  }
};

/// y = x, a matrix that is a part of one, or becomes it      x, y (rows,columns), from_row and to_row elements from row
/// to row; they share no elements. from_row = 0: x is one row, which all become. Exact
///   group   if not 0: so many rows are a group, and groups begin from_group and to_group elements apart
template <class T>
struct CopyColumns final {
  static constexpr const char* name = "copy_columns";
  View<T> x, y;
  std::size_t rows = 0, columns = 0, from_row = 0, to_row = 0;
  std::size_t group = 0, from_group = 0, to_group = 0;

  REGIMEN_HD constexpr std::size_t from(std::size_t row) const {
    return group == 0 ? row * from_row : row / group * from_group + row % group * from_row;
  }
  REGIMEN_HD constexpr std::size_t to(std::size_t row) const {
    return group == 0 ? row * to_row : row / group * to_group + row % group * to_row;
  }
  constexpr Cost cost() const { return {0, 2.0 * double(rows * columns) * sizeof(T), 1}; }
};

/// y = x · gain over the columns of each row, rounded once    x, y (rows,columns), gain (columns); y may be x
template <class T>
struct Scale final {
  static constexpr const char* name = "scale";
  View<T> x, gain, y;
  std::size_t rows = 0, columns = 0;

  constexpr Cost cost() const { return {double(rows * columns), 2.0 * double(rows * columns) * sizeof(T), 1}; }
};
/// d_x = d_y · gain;  d_gain = Σ_rows d_y · x                 d_x may be d_y
template <class T, class G>
struct ScaleBackward final {
  static constexpr const char* name = "scale_backward";
  View<T> x, gain, d_y, d_x;
  View<G> d_gain;
  std::size_t rows = 0, columns = 0;
  bool add = false;

  constexpr Cost cost() const { return {3 * double(rows * columns), 3.0 * double(rows * columns) * sizeof(T), 1}; }
};

/// y = the mean of the rows of a sample                  x (samples,rows,columns), y (samples,columns); summed in S, in
/// their order, rounded once
template <class T>
struct MeanRows final {
  static constexpr const char* name = "mean_rows";
  View<T> x, y;
  std::size_t samples = 0, rows = 0, columns = 0;

  constexpr Cost cost() const {
    return {double(samples * rows * columns), double(samples * (rows + 1) * columns) * sizeof(T), 1};
  }
};
/// d_x = d_y / rows, for every row                           shapes as above
template <class T>
struct MeanRowsBackward final {
  static constexpr const char* name = "mean_rows_backward";
  View<T> d_y, d_x;
  std::size_t samples = 0, rows = 0, columns = 0;

  constexpr Cost cost() const {
    return {double(samples * rows * columns), double(samples * (rows + 1) * columns) * sizeof(T), 1};
  }
};

/// y = the largest of the rows of a sample, NaN if one is    x (samples,rows,columns), y (samples,columns); exact
template <class T>
struct MaxRows final {
  static constexpr const char* name = "max_rows";
  View<T> x, y;
  std::size_t samples = 0, rows = 0, columns = 0;

  constexpr Cost cost() const {
    return {double(samples * rows * columns), double(samples * (rows + 1) * columns) * sizeof(T), 1};
  }
};
/// d_x = d_y where x is the largest of its rows (the first of several, the first NaN), else 0     shapes as above
template <class T>
struct MaxRowsBackward final {
  static constexpr const char* name = "max_rows_backward";
  View<T> x, d_y, d_x;
  std::size_t samples = 0, rows = 0, columns = 0;

  constexpr Cost cost() const {
    return {double(samples * rows * columns), double(samples * (2 * rows + 1) * columns) * sizeof(T), 1};
  }
};

/// y = exp(x − largest) / Σ exp(x − largest), of each row     (rows,columns); summed in S; y may be x
template <class T>
struct Softmax final {
  static constexpr const char* name = "softmax";
  View<T> x, y;
  std::size_t rows = 0, columns = 0;

  constexpr Cost cost() const { return {14 * double(rows * columns), 2 * double(rows * columns) * sizeof(T), 1}; }
};
/// d_x = y · (d_y − Σ d_y · y), Σ over the row                (rows,columns); summed in S; d_x may be d_y
template <class T>
struct SoftmaxBackward final {
  static constexpr const char* name = "softmax_backward";
  View<T> y, d_y, d_x;
  std::size_t rows = 0, columns = 0;

  constexpr Cost cost() const { return {4 * double(rows * columns), 3 * double(rows * columns) * sizeof(T), 1}; }
};

/// y = x in another element type, rounded to nearest even    (count)
template <class From, class To>
struct Cast final {
  static constexpr const char* name = std::is_same_v<From, To> ? "copy" : "cast";
  View<From> x;
  View<To> y;
  std::size_t count = 0;

  constexpr Cost cost() const { return {0, double(count) * (sizeof(From) + sizeof(To)), 1}; }
};
/// y = x, byte by byte: a NaN keeps its payload              (count)
template <class T>
using Copy = Cast<T, T>;

/// y = (x − mean) · rstd · gain + bias over the columns of each row, rstd = 1/√(variance + epsilon)     y may be x
///   x, y (rows,columns) T; gain, bias (columns) T; mean, rstd (rows) S
///   Centered = false is RMS normalisation: mean and bias are absent, y = x · rstd · gain,
///   rstd = 1/√(mean of x² + epsilon)
template <bool Centered, class T>
struct Normalize final {
  static constexpr const char* name = Centered ? "layer_norm" : "rms_norm";
  using S = statistic_t<T>;
  View<T> x, gain, bias{}, y;
  View<S> mean{}, rstd;
  std::size_t rows = 0, columns = 0;
  double epsilon = 1e-5;

  constexpr Cost cost() const { return {8 * double(rows * columns), 2.0 * double(rows * columns) * sizeof(T), 1}; }
};

/// With n = (x − mean) · rstd and e = d_y · gain:  d_x = rstd · (e − mean(e) − n · mean(e · n)), means over columns
/// (Centered = false: without mean(e));  d_gain = Σ_rows d_y · n;  d_bias = Σ_rows d_y            d_x may be d_y
///   Sums over rows: fixed chunks into the engine's scratch, then the chunks in order
template <bool Centered, class T, class G>
struct NormalizeBackward final {
  static constexpr const char* name = Centered ? "layer_norm_backward" : "rms_norm_backward";
  using S = statistic_t<T>;
  View<T> x, gain, d_y, d_x;
  View<S> mean{}, rstd;
  View<G> d_gain{}, d_bias{};  // both absent when frozen
  std::size_t rows = 0, columns = 0;
  bool add = false;

  constexpr Cost cost() const { return {14 * double(rows * columns), 3.0 * double(rows * columns) * sizeof(T), 1}; }
};

/// The backward of a norm with which a residual branch begins, and the gradient's sum: d_x as above, + onto
///   onto   (rows,columns), another tensor than d_x
template <bool Centered, class T, class G>
struct NormalizeBackwardSum final {
  static constexpr const char* name = Centered ? "layer_norm_backward_sum" : "rms_norm_backward_sum";
  NormalizeBackward<Centered, T, G> backward;
  View<T> onto;

  constexpr Cost cost() const {
    Cost sum = backward.cost();
    const double elements = double(backward.rows * backward.columns);
    sum.flops += elements;
    sum.bytes += elements * sizeof(T);
    return sum;
  }
};

/// A rate as the kernels use it: an element is dropped when its 16 random bits are below `threshold`; the others are
/// multiplied by 65536 / (65536 − threshold), so the expectation is exact for the rate threshold / 65536.
struct Drop {
  std::uint32_t threshold = 0;
  std::uint64_t stream = 0;  // which layer: a hash of its path
  View<Random> random{};     // absent where nothing is dropped

  constexpr double keep_factor() const { return 65536.0 / (65536.0 - double(threshold)); }
};

/// y[s,e] = x[s,e] · keep_factor, or 0 where dropped         y may be x; backward is the same operation on gradients
template <class T>
struct Dropout final {
  static constexpr const char* name = "dropout";
  View<T> x, y;
  std::size_t samples = 0, elements = 0;  // elements of one sample
  Drop drop;

  constexpr Cost cost() const {
    return {2.0 * double(samples * elements), 2.0 * double(samples * elements) * sizeof(T), 1};
  }
};

/// y[s,:] = x[s,:] · keep_factor, or 0 for a sample that is dropped: by the number of its element 0. y may be x;
/// backward is the same operation on gradients
template <class T>
struct DropSamples final {
  static constexpr const char* name = "drop_samples";
  View<T> x, y;
  std::size_t samples = 0, elements = 0;  // elements of one sample
  Drop drop;

  constexpr Cost cost() const { return {double(samples * elements), 2.0 * double(samples * elements) * sizeof(T), 1}; }
};

/// The sum of a residual branch that ends with a dropout: y as above, + onto (samples,elements), another tensor than y
template <class T>
struct DropoutSum final {
  static constexpr const char* name = "dropout_sum";
  Dropout<T> dropout;
  View<T> onto;

  constexpr Cost cost() const {
    Cost sum = dropout.cost();
    const double elements = double(dropout.samples * dropout.elements);
    sum.flops += elements;
    sum.bytes += elements * sizeof(T);
    return sum;
  }
};

/// y[i,:] = table[token[i],:]                                token (count) int32 in [0,V); table (V,C); y (count,C)
template <class T>
struct Embed final {
  static constexpr const char* name = "embedding";
  View<std::int32_t> token;
  View<T> table, y;
  std::size_t count = 0, vocabulary = 0, columns = 0;

  constexpr Cost cost() const { return {0, 2.0 * double(count * columns) * sizeof(T), 1}; }
};

/// d_table[v,:] = Σ over i with token[i] = v of d_y[i,:]   in order of i; rows that no token names become 0 (unless
///                                                         add). The token `padding` names no row; −1: every token does
template <class T, class G>
struct EmbedBackward final {
  static constexpr const char* name = "embedding_backward";
  View<std::int32_t> token;
  View<T> d_y;
  View<G> d_table;
  std::size_t count = 0, vocabulary = 0, columns = 0;
  bool add = false;
  std::int32_t padding = -1;

  constexpr Cost cost() const {
    return {double(count * columns), double(count * columns) * sizeof(T) + double(vocabulary * columns) * sizeof(G), 1};
  }
};

/// y[b,e] = x[b,e] + table[e]                                x, y (samples,elements); table (elements); y may be x
template <class T>
struct AddTable final {
  static constexpr const char* name = "add_table";
  View<T> x, table, y;
  std::size_t samples = 0, elements = 0;

  constexpr Cost cost() const { return {double(samples * elements), 2.0 * double(samples * elements) * sizeof(T), 1}; }
};

/// d_table[e] = Σ_samples d_y[b,e]
template <class T, class G>
struct AddTableBackward final {
  static constexpr const char* name = "add_table_backward";
  View<T> d_y;
  View<G> d_table;
  std::size_t samples = 0, elements = 0;
  bool add = false;

  constexpr Cost cost() const { return {double(samples * elements), double(samples * elements) * sizeof(T), 1}; }
};

}  // namespace regimen::op
// SPDX-License-Identifier: Apache-2.0
