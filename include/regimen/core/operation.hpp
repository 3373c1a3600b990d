// regimen/core/operation.hpp — the vocabulary in which a training step is written: definitions, shapes, costs.
#pragma once

#include <regimen/core/activation.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/path.hpp>
#include <regimen/core/view.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace regimen {

/// What an operation costs: floating-point operations, bytes that it must read or write at least once, and bytes that
/// this rank sends to others.
struct Cost {
  double flops = 0, bytes = 0;
  std::size_t operations = 0, wire = 0;

  constexpr Cost& operator+=(const Cost& other) {
    flops += other.flops;
    bytes += other.bytes;
    operations += other.operations;
    wire += other.wire;
    return *this;
  }
};

/// Target that stands for "no target here": the row adds nothing to loss, count, or gradient.
inline constexpr std::int32_t ignore_index = -100;

namespace op {

/// Which part of a step an operation belongs to.
enum class Phase : unsigned char { forward, backward, update };

/// Which numbers to draw. The word for element e of sample s in layer `stream` is
///   Philox::draw(key, e / 8, s)  →  eight 16-bit values, low half of word 0 first; key = mix(mix(seed, step), stream)
/// with s the sample's index in the global batch of the step. So a recomputed layer draws the same numbers.
struct Random {
  std::uint64_t seed = 0, step = 0, first_sample = 0;
};

/// The first value that was not finite since the step began, as op::CheckFinite found it.
struct Anomaly {
  Path path{};  // of the layer
  std::uint64_t element = 0;
  bool found = false, is_nan = false;
  Phase phase = Phase::forward;
};

}  // namespace op

/// The numbers of one step that its operations hand to each other. They live in the arena and never leave the device
/// inside a step: whatever depends on them is decided by operations, not by the host.
///
/// The host writes the first members before a micro-batch. They are data, so that an engine can record a step once and
/// replay it with other values.
struct Scalars {
  op::Random random{};
  double learning_rate = 0;
  // Operations write the members below.
  double loss_sum = 0;           // over the valid targets of the whole global batch
  double count = 0;              // those valid targets
  double correct = 0;            // valid rows whose largest output is the target's, when evaluating
  double square_sum = 0;         // of all gradients as stored (scaled, not divided)
  double loss = 0;               // loss_sum / count
  double gradient_norm = 0;      // of the divided, unscaled gradient, before clipping
  double factor = 0;             // stored gradient · factor = the gradient that the update rule sees
  double correction_first = 0;   // 1 / (1 - beta1^t)
  double correction_second = 0;  // 1 / (1 - beta2^t)
  double loss_scale = 1;
  std::uint64_t finite_streak = 0;  // consecutive finite steps, for the dynamic loss scale
  std::uint64_t updates = 0;        // Adam's t: steps that changed the weights
  std::uint64_t skipped = 0;        // steps that a non-finite gradient skipped
  std::uint32_t apply = 0;          // does this step change the weights?
  op::Anomaly anomaly{};
};
/// Bytes of Scalars that the host writes before a micro-batch.
inline constexpr std::size_t given_bytes = offsetof(Scalars, loss_sum);

/// One rank's sums of a step, which all ranks exchange.
///   square_sum   over the part of the gradients that this rank sums
struct RankSums {
  double loss_sum = 0, count = 0, correct = 0, square_sum = 0;
};

/// Offsets of members.
constexpr View<double> square_sum_of(View<Scalars> scalars) { return {scalars.offset + offsetof(Scalars, square_sum)}; }
constexpr View<double> square_sum_of(View<RankSums> sums) { return {sums.offset + offsetof(RankSums, square_sum)}; }
constexpr View<op::Random> random_of(View<Scalars> scalars) {
  return {scalars.is_absent() ? scalars.offset : scalars.offset + offsetof(Scalars, random)};
}

namespace op {

// Letters: rows x columns for row-wise operations; B batch, T time, H heads, D width of a
// head, V vocabulary, C channels.
// T: activations and the parameters that kernels read. S = statistic_t<T>: at least fp32. G: gradients of parameters.
// `add`: false assigns the gradient of a parameter, true adds to it (tied weights, accumulation); gradients are never
// zeroed. A view may be absent only where its comment says so; then its member has an initialiser.

/// c = op(a) · op(b), or c += if `add`                       accumulation in at least fp32, one rounding to C
///   a (m,k), or stored (k,m) if transpose_a; b (k,n), or stored (n,k) if transpose_b; c (m,n); dense, row-major
template <class A, class B, class C>
struct Product final {
  static constexpr const char* name = "product";
  View<A> a;
  View<B> b;
  View<C> c;
  std::size_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false, add = false;

  constexpr Cost cost() const {
    const double dm = double(m), dn = double(n), dk = double(k);
    return {2 * dm * dn * dk, dm * dk * sizeof(A) + dk * dn * sizeof(B) + dm * dn * sizeof(C) * (add ? 2 : 1), 1};
  }
};

/// y = act(x + bias)                                         y may be x
///   x, y (rows,columns); bias (columns), may be absent
template <class Activation, class T, class B = T>
struct BiasActivation final {
  static constexpr const char* name = "bias_activation";
  View<T> x;
  View<B> bias{};
  View<T> y;
  std::size_t rows = 0, columns = 0;

  constexpr Cost cost() const { return {10 * double(rows * columns), 2.0 * double(rows * columns) * sizeof(T), 1}; }
};

/// d_x = d_y · act'(x + bias);  d_bias = Σ_rows d_x          d_x may be d_y
///   bias, d_bias (columns) may be absent; Relu may read its output in place of x, then without bias; for Identity x is
///   absent, d_x is d_y and is not written
template <class Activation, class T, class G>
struct BiasBackward final {
  static constexpr const char* name = "bias_activation_backward";
  View<T> x{}, bias{}, d_y, d_x;
  View<G> d_bias{};
  std::size_t rows = 0, columns = 0;
  bool add = false;

  constexpr Cost cost() const { return {12 * double(rows * columns), 3.0 * double(rows * columns) * sizeof(T), 1}; }
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

/// y = x in another element type, rounded to nearest even    (count); with To = From a copy
template <class From, class To>
struct Cast final {
  static constexpr const char* name = "cast";
  View<From> x;
  View<To> y;
  std::size_t count = 0;

  constexpr Cost cost() const { return {0, double(count) * (sizeof(From) + sizeof(To)), 1}; }
};

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

  constexpr Cost cost() const { return {2.0 * double(samples * elements), 2.0 * double(samples * elements) * sizeof(T), 1}; }
};

struct AttentionShape {
  static constexpr std::size_t largest_width = 2048;  // of a head
  std::size_t batch = 0, length = 0, heads = 0, width = 0;
  bool causal = false;

  constexpr double score_flops() const {  // of one T x T x D product over all heads; the causal half of it
    return (causal ? 1.0 : 2.0) * double(batch * heads * width) * double(length) * double(length);
  }
};

/// y = softmax(q kᵀ / √D) v per head; causal: position t sees 0..t
///   qkv (B,T,3,H,D): q, k, v side by side per position; y (B,T,H,D); log_sum (B,H,T) S: log Σ exp of the scaled scores
///   drop.threshold > 0 drops probabilities after normalisation: for query t and key u, element
///   (h·T + t)·T + u of the sample
///   Never stores (T,T): works on tiles with a running maximum                       Dao et al. 2022, algorithm 1
template <class T>
struct Attention final {
  static constexpr const char* name = "attention";
  using S = statistic_t<T>;
  View<T> qkv, y;
  View<S> log_sum;
  AttentionShape shape;
  Drop drop{};

  constexpr Cost cost() const {
    const double tokens = double(shape.batch * shape.length), channels = double(shape.heads * shape.width);
    return {2 * shape.score_flops(), 4 * tokens * channels * sizeof(T), 1};
  }
};

/// d_qkv from d_y; probabilities are computed again from qkv and log_sum.   row_dot (B,H,T) S: scratch for Σ_D y · d_y
template <class T>
struct AttentionBackward final {
  static constexpr const char* name = "attention_backward";
  using S = statistic_t<T>;
  View<T> qkv, y, d_y, d_qkv;
  View<S> log_sum, row_dot;
  AttentionShape shape;
  Drop drop{};

  constexpr Cost cost() const {
    const double tokens = double(shape.batch * shape.length), channels = double(shape.heads * shape.width);
    return {5 * shape.score_flops(), 8 * tokens * channels * sizeof(T), 1};
  }
};

/// keys[b,h,first + t,:] = k[b,t,h,:], and values likewise, for `length` new positions; earlier positions stay
///   qkv (B,T,3,H,D); keys, values (B,H,window,D)
template <class T>
struct KeepKeys final {
  static constexpr const char* name = "keep_keys";
  View<T> qkv, keys, values;
  AttentionShape shape;
  std::size_t first = 0, window = 0;

  constexpr Cost cost() const { return {0, 4 * double(shape.batch * shape.length * shape.heads * shape.width) * sizeof(T), 1}; }
};

/// y = softmax(q kᵀ / √D) v per head, for one new position against the first `seen` positions of the cache
///   qkv (B,1,3,H,D), of which q is read; keys, values (B,H,window,D); y (B,1,H,D)
///   Works on tiles of keys with a running maximum, as Attention does
template <class T>
struct AttendKept final {
  static constexpr const char* name = "attend_kept";
  View<T> qkv, keys, values, y;
  AttentionShape shape;
  std::size_t seen = 0, window = 0;

  constexpr Cost cost() const {
    const double kept = double(shape.batch * shape.heads * shape.width) * double(seen);
    return {4 * kept, 2 * kept * sizeof(T), 1};
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

/// d_table[v,:] = Σ over i with token[i] = v of d_y[i,:]   in order of i; rows that no token names become 0 (unless add)
template <class T, class G>
struct EmbedBackward final {
  static constexpr const char* name = "embedding_backward";
  View<std::int32_t> token;
  View<T> d_y;
  View<G> d_table;
  std::size_t count = 0, vocabulary = 0, columns = 0;
  bool add = false;

  constexpr Cost cost() const { return {double(count * columns), double(count * columns) * sizeof(T) + double(vocabulary * columns) * sizeof(G), 1}; }
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

/// Softmax cross-entropy over the columns of each row, fused with its gradient.
///   logits (rows,V) S, overwritten by their gradient when WithGradient, left alone otherwise; target (rows) int32
///   row loss = −Σ_v q_v log p_v,  q = (1 − smoothing) · onehot(target) + smoothing / V
///   scalars.loss_sum += Σ row losses; scalars.count += valid rows; a row whose target is ignore_index adds nothing,
///   and its gradient is exactly 0, whatever its logits (NaN included)
///   gradient = (p − q) · scale · scalars.loss_scale           the division by count comes once, later
template <bool WithGradient, class S>
struct CrossEntropy final {
  static constexpr const char* name = "cross_entropy";
  View<S> logits;
  View<std::int32_t> target;
  View<Scalars> scalars;
  std::size_t rows = 0, columns = 0;
  double scale = 1, smoothing = 0;

  constexpr Cost cost() const { return {5 * double(rows * columns), (WithGradient ? 2.0 : 1.0) * double(rows * columns) * sizeof(S), 1}; }
};

/// scalars.correct += rows with a valid target whose logit is the row's largest (the first of equals);
/// a row with a NaN has no largest logit
///   logits (rows,columns) S; target (rows) int32
template <class S>
struct CountCorrect final {
  static constexpr const char* name = "count_correct";
  View<S> logits;
  View<std::int32_t> target;
  View<Scalars> scalars;
  std::size_t rows = 0, columns = 0;

  constexpr Cost cost() const { return {double(rows * columns), double(rows * columns) * sizeof(S), 1}; }
};

/// loss_sum += Σ (output − target)², count += elements     gradient 2 (output − target) · scale · loss_scale, over output
///   output, target (count) S
template <bool WithGradient, class S>
struct SquaredError final {
  static constexpr const char* name = "squared_error";
  View<S> output, target;
  View<Scalars> scalars;
  std::size_t count = 0;
  double scale = 1;

  constexpr Cost cost() const { return {3 * double(count), 3.0 * double(count) * sizeof(S), 1}; }
};

/// sum += Σ gradient²: fp64 sums over fixed chunks of 4096 elements, added as a balanced binary tree
template <class G>
struct SumOfSquares final {
  static constexpr const char* name = "sum_of_squares";
  View<G> gradient;
  View<double> sum;
  std::size_t count = 0;

  constexpr Cost cost() const { return {2 * double(count), double(count) * sizeof(G), 1}; }
};

/// How a loss scale behaves. Static and none: growth_interval = 0.
struct LossScaling {
  double initial = 1;
  std::uint64_t growth_interval = 0;  // the scale doubles after this many consecutive finite steps
};

/// Writes the first element of x that is not finite, if none was found since the step began, to scalars.anomaly
///   x (count)
template <class T>
struct CheckFinite final {
  static constexpr const char* name = "check_finite";
  View<T> x;
  View<Scalars> scalars;
  std::size_t count = 0;
  Path path{};
  Phase phase = Phase::forward;

  constexpr Cost cost() const { return {0, double(count) * sizeof(T), 1}; }
};

/// sums[rank] = this rank's loss_sum, count and correct from scalars; its square_sum is already there
struct ShareSums final {
  static constexpr const char* name = "share_sums";
  View<Scalars> scalars;
  View<RankSums> sums;  // of this rank

  constexpr Cost cost() const { return {0, sizeof(Scalars) + sizeof(RankSums), 1}; }
};

/// The sums of all ranks: scalars' loss_sum, count, correct and square_sum each become a balanced binary tree over sums
/// (ranks). The first three are ordered by rank, square_sum by the part of the gradients that a rank sums: in groups of
/// `group` ranks, rank r sums part (r mod group) · ranks / group + r div group; in one group (group = 0), part r.
struct CombineSums final {
  static constexpr const char* name = "combine_sums";
  View<Scalars> scalars;
  View<RankSums> sums;
  std::size_t ranks = 1, group = 0;

  constexpr Cost cost() const { return {4 * double(ranks), double(ranks) * sizeof(RankSums), 1}; }
};

/// Before a step: sets the sums to zero and clears the anomaly.
struct Begin final {
  static constexpr const char* name = "begin_step";
  View<Scalars> scalars;

  constexpr Cost cost() const { return {0, sizeof(Scalars), 1}; }
};

/// After the last gradient: the step's decisions, on the device. With stored gradients of Σ loss · scale · loss_scale:
///   loss = loss_sum / count;   unscaled = 1 / (count · scale · loss_scale)     the one division
///   gradient_norm = √square_sum · unscaled; factor = unscaled · min(1, clip / (gradient_norm + 1e-6)) (clip = 0: none)
///   apply = the norm is finite;   t += apply;   corrections of the rule for t
///   count = 0 (no valid target): loss = gradient_norm = NaN, apply = false, and nothing else changes
///   an anomaly was found: apply = false, and nothing else changes
/// Dynamic loss scale (Keras). Finite: after growth_interval consecutive finite steps the scale doubles,
/// if the result is finite in fp32. Not finite: scale = max(scale / 2, 1); the step is skipped and
/// counted, weights and t do not change.
template <class UpdateRule>
struct Finish final {
  static constexpr const char* name = "finish_gradient";
  View<Scalars> scalars;
  double scale = 1, clip = 0;
  LossScaling loss_scaling{};
  typename UpdateRule::Options options{};

  constexpr Cost cost() const { return {20, 2 * sizeof(Scalars), 1}; }
};

/// Consecutive parameters that the update treats alike.
struct Segment {
  std::size_t offset = 0, count = 0;  // in elements of the unit
  bool decays = false;                // does weight decay apply?
};
/// Ascending, without gaps. By value: a device that runs the operation cannot read the host's memory.
struct Segments {
  static constexpr std::size_t limit = 24;
  std::array<Segment, limit> items{};
  std::size_t count = 0;
};

/// UpdateRule::update on every element of a unit, if scalars.apply. The rule sees gradient · scalars.factor.
///   master (count) M; copy (count) T, rounded from master after the update, absent when kernels read master;
///   state: UpdateRule::states arrays of (count) M, one behind the other, `state_stride` elements apart
template <class UpdateRule, class M, class T, class G>
struct Update final {
  static constexpr const char* name = "update";
  View<M> master, state{};
  View<T> copy{};
  View<G> gradient;
  View<Scalars> scalars;
  Segments segments{};
  std::size_t count = 0, state_stride = 0;
  typename UpdateRule::Options options{};
  std::size_t first = 0;  // index, in the segments' numbering, of the views' first element

  constexpr Cost cost() const {
    return {12 * double(count), double(count) * (sizeof(M) * (2 + 2 * UpdateRule::states) + sizeof(G) + (copy.is_absent() ? 0 : sizeof(T))), 1};
  }
};

}  // namespace op
}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
