// regimen/core/operation/step.hpp — the operations of a step around its layers: losses, sums, decisions, updates.
#pragma once

#include <regimen/core/hd.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/operation/scalars.hpp>
#include <regimen/core/path.hpp>
#include <regimen/core/pointwise_loss.hpp>
#include <regimen/core/schedule.hpp>
#include <regimen/core/view.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace regimen::op {

constexpr double bytes_of_weights(View<float> weight, std::size_t count) {
  return weight.is_absent() ? 0 : double(count) * sizeof(float);
}
/// How much a target of this weight counts in the divisor of the loss, and in the accuracy: |weight|. Weights of both
/// signs may have a sum of 0, which divides nothing; 0 is what leaves a target out.
REGIMEN_HD constexpr double count_of_weight(double weight) { return weight < 0 ? -weight : weight; }

/// Softmax cross-entropy over the columns of each row, fused with its gradient.
///   logits (rows,V) S, overwritten by their gradient when WithGradient, left alone otherwise; target (rows) int32
///   row loss = −Σ_v q_v log p_v,  q = (1 − smoothing) · onehot(target) + smoothing / V
///   scalars.loss_sum += Σ row losses; scalars.count += valid rows; a row whose target is ignore_index adds nothing,
///   and its gradient is exactly 0, whatever its logits (NaN included)
///   gradient = (p − q) · scale · scalars.loss_scale           the division by count comes once, later
///   leading   elements from row to row of the logits; 0: columns. What lies between two rows is not touched
///   D         of the gradient, whose rows begin where those of the logits do: the layer before multiplies by it, and
///             the engine's products take D. Another type than S: only in rows that begin at multiples of 16 bytes
///   weight    (rows), absent: 1. A row adds weight times its loss, and |weight| to count; its gradient is times
///             weight. A row of weight 0 is as an ignored one
template <bool WithGradient, class S, class D = S>
struct CrossEntropy final {
  static constexpr const char* name = "cross_entropy";
  View<S> logits;
  View<std::int32_t> target;
  View<Scalars> scalars;
  std::size_t rows = 0, columns = 0;
  double scale = 1, smoothing = 0;
  std::size_t leading = 0;
  View<float> weight{};

  REGIMEN_HD constexpr std::size_t row() const { return leading > 0 ? leading : columns; }
  constexpr Cost cost() const {
    return {5 * double(rows * columns),
            double(rows * columns) * (sizeof(S) + (WithGradient ? sizeof(D) : 0)) + bytes_of_weights(weight, rows), 1};
  }
};

/// Cross-entropy with a distribution over the columns of each row as its target, fused with its gradient.
///   logits (rows,V) S, overwritten by their gradient when WithGradient, left alone otherwise; target (rows,V) S, dense
///   row loss = −Σ_v target_v log p_v; a target of 0 adds 0, also where log p_v = −∞
///   scalars.loss_sum += Σ row losses; scalars.count += rows
///   gradient = (p · Σ_v target_v − target) · scale · scalars.loss_scale    the division by count comes once, later
///   masked    a row whose first target is NaN adds nothing, and its gradient is exactly 0, whatever its logits
///   leading   elements from row to row of the logits; 0: columns. What lies between two rows is not touched
///   D, weight (rows)   as CrossEntropy's
template <bool WithGradient, class S, class D = S>
struct SoftCrossEntropy final {
  static constexpr const char* name = "soft_cross_entropy";
  View<S> logits, target;
  View<Scalars> scalars;
  std::size_t rows = 0, columns = 0;
  double scale = 1;
  std::size_t leading = 0;
  bool masked = false;
  View<float> weight{};

  REGIMEN_HD constexpr std::size_t row() const { return leading > 0 ? leading : columns; }
  constexpr Cost cost() const {
    return {8 * double(rows * columns),
            double(rows * columns) * (2 * sizeof(S) + (WithGradient ? sizeof(D) : 0)) + bytes_of_weights(weight, rows),
            1};
  }
};

/// scalars.correct += rows with a valid target whose logit is the row's largest (the first of equals);
/// a row with a NaN has no largest logit
///   logits (rows,columns) S, `leading` elements from row to row, or 0: columns; target (rows) int32
///   weight (rows), absent: 1; a row counts as |weight|
template <class S>
struct CountCorrect final {
  static constexpr const char* name = "count_correct";
  View<S> logits;
  View<std::int32_t> target;
  View<Scalars> scalars;
  std::size_t rows = 0, columns = 0, leading = 0;
  View<float> weight{};

  REGIMEN_HD constexpr std::size_t row() const { return leading > 0 ? leading : columns; }
  constexpr Cost cost() const {
    return {double(rows * columns), double(rows * columns) * sizeof(S) + bytes_of_weights(weight, rows), 1};
  }
};

/// loss_sum += Σ value(output, target), count += elements     gradient: derivative · scale · loss_scale, over output
///   of a Function that says which targets count, those alone are counted
///   output, target (count) S;   Function   of core/pointwise_loss.hpp, or a program's own
///   weight (count), absent: 1; as CrossEntropy's, of elements
template <class Function, bool WithGradient, class S>
struct PointwiseLoss final {
  static constexpr const char* name = Function::name;
  View<S> output, target;
  View<Scalars> scalars;
  std::size_t count = 0;
  double scale = 1;
  View<float> weight{};

  constexpr Cost cost() const {
    return {3 * double(count), 3.0 * double(count) * sizeof(S) + bytes_of_weights(weight, count), 1};
  }
};
template <bool WithGradient, class S>
using SquaredError = PointwiseLoss<pointwise::Squared, WithGradient, S>;

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
///   x (count), or, if `columns` are given, rows of them, `leading` elements from row to row
template <class T>
struct CheckFinite final {
  static constexpr const char* name = "check_finite";
  View<T> x;
  View<Scalars> scalars;
  std::size_t count = 0;
  LayerPath path{};
  Phase phase = Phase::forward;
  std::size_t columns = 0, leading = 0;

  /// Where element i lies.
  REGIMEN_HD constexpr std::size_t place(std::size_t i) const {
    return columns == leading ? i : i / columns * leading + i % columns;
  }
  constexpr Cost cost() const { return {0, double(count) * sizeof(T), 1}; }
};

/// Before the losses of a sum, each of which adds to scalars of its own: losses[0 .. count) = scalars, with sums of 0
struct BeginLosses final {
  static constexpr const char* name = "begin_losses";
  View<Scalars> scalars, losses;
  std::size_t count = 0;

  constexpr Cost cost() const { return {0, double(1 + count) * sizeof(Scalars), 1}; }
};
/// After them: scalars.loss_sum += Σ_i weights[i] · losses[i].loss_sum; scalars.count += samples;
/// scalars.correct += correct · Σ_i losses[i].correct
struct SumLosses final {
  static constexpr const char* name = "sum_losses";
  static constexpr std::size_t limit = 8;
  View<Scalars> scalars, losses{};
  std::size_t count = 0;
  double samples = 0, correct = 0;
  double weights[limit] = {};

  constexpr Cost cost() const { return {4 * double(count), double(1 + count) * sizeof(Scalars), 1}; }
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

/// Slots of the arena into which the host copies micro-batches before their turn, while earlier ones compute. A slot
/// has the scalars that the host gives (`given_bytes`), the input and the target. The device counts the micro-batches
/// that it took, and so finds the next one without the host: slot `taken` mod count.
struct InputRing {
  View<std::uint64_t> taken{};
  std::size_t first = 0, stride = 0, count = 0;  // of slots; count = 0: no ring, the host copies in turn
  std::size_t input = 0, target = 0;             // within a slot

  REGIMEN_HD constexpr std::size_t slot(std::uint64_t micro_batch) const {
    return first + static_cast<std::size_t>(micro_batch % count) * stride;
  }
};

/// Copies the next micro-batch from the ring to where a step reads it; taken += 1.
struct TakeInput final {
  static constexpr const char* name = "take_input";
  InputRing ring;
  View<Scalars> scalars;
  View<std::byte> input, target;
  std::size_t input_bytes = 0, target_bytes = 0;

  constexpr Cost cost() const { return {0, 2 * double(given_bytes + input_bytes + target_bytes), 1}; }
};

/// After a step of several: keeps its results for the host.   to = scalars
struct KeepResults final {
  static constexpr const char* name = "keep_results";
  View<Scalars> scalars, to;

  constexpr Cost cost() const { return {0, 2 * sizeof(Scalars), 1}; }
};

/// Before a step: sets the sums to zero and the anomaly to `none`, which is made on the host: its name points to memory
/// of the host.
struct Begin final {
  static constexpr const char* name = "begin_step";
  View<Scalars> scalars;
  Anomaly none{};

  constexpr Cost cost() const { return {0, sizeof(Scalars), 1}; }
};

/// After the last gradient: the step's decisions, on the device. With stored gradients of Σ loss · scale · loss_scale:
///   loss = loss_sum / count;   unscaled = 1 / (count · scale · loss_scale)     the one division; sums: without count
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
  bool sums = false;

  constexpr Cost cost() const { return {20, 2 * sizeof(Scalars), 1}; }
};

/// The scalars of one group of parameters, whose rule has its own rate and corrections: those of the step, but
///   learning_rate = that of the step · options.learning_rate, or, if the group has its own schedule,
///                   base · schedule.share(step) · options.learning_rate;   corrections of the group's rule for t
template <class UpdateRule>
struct ScalarsOfGroup final {
  static constexpr const char* name = "scalars_of_group";
  View<Scalars> scalars, to;
  typename UpdateRule::Options options{};
  bool has_schedule = false;
  Schedule schedule{};
  double base = 0;

  constexpr Cost cost() const { return {1, 2 * sizeof(Scalars), 1}; }
};

/// Consecutive parameters that the update treats alike.
struct Segment {
  std::size_t offset = 0, count = 0;  // in elements of the unit
  bool decays = false;                // does weight decay apply?
};
/// Ascending; elements between two segments are left alone. By value: a device that runs the operation cannot read the
/// host's memory.
struct Segments {
  static constexpr std::size_t limit = 24;
  std::array<Segment, limit> items{};
  std::size_t count = 0;
};

/// UpdateRule::update on every element of a unit, if scalars.apply. The rule sees gradient · scalars.factor, or, if it
/// is `divided` already, the gradient itself.
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
  bool divided = false;

  /// Of the views' elements those that lie in a segment.
  constexpr std::size_t elements() const {
    std::size_t sum = 0;
    for (std::size_t s = 0; s < segments.count; ++s) {
      const std::size_t begin = segments.items[s].offset, end = begin + segments.items[s].count,
                        from = begin < first ? first : begin, to = end < first + count ? end : first + count;
      sum += from < to ? to - from : 0;
    }
    return sum;
  }
  constexpr Cost cost() const {
    return {12 * double(elements()),
            double(elements()) *
                (sizeof(M) * (2 + 2 * UpdateRule::states) + sizeof(G) + (copy.is_absent() ? 0 : sizeof(T))),
            1};
  }
};

}  // namespace regimen::op
// SPDX-License-Identifier: Apache-2.0
