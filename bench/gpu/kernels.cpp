// bench/gpu/kernels.cpp — each memory-bound kernel on tensors of a GiB: bytes that must move, per second. First those of
// a GPT-2's step, with dropout or without; then those of other models and policies. One JSON object a line.
#include "timing.hpp"

#include <regimen/core/activation.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/kernel/composed_attention.hpp>
#include <regimen/kernel/library.hpp>
#include <regimen/optimizer/adamw.hpp>

#include <type_traits>

namespace bench {
namespace {

struct Sizes {
  std::size_t rows, columns, vocabulary;
  const char* of = "gpt2";  // whose step runs the kernel
  std::size_t count() const { return rows * columns; }
};

template <class T, class Operation>
void report(Timing& timing, const Sizes& sizes, const Operation& operation, double bytes) {
  const double seconds = timing.seconds(operation);
  std::printf(
      "{\"kernel\":\"%s\",\"of\":\"%s\",\"type\":\"%s\",\"rows\":%zu,\"columns\":%zu,\"bytes\":%.0f,"
      "\"microseconds\":%.2f,\"gb_per_s\":%.1f}\n",
      Operation::name, sizes.of, name_of<T>, sizes.rows, sizes.columns, bytes, seconds * 1e6, bytes / seconds * 1e-9);
  std::fflush(stdout);
}
template <class T, class Operation>
void report(Timing& timing, const Sizes& sizes, const Operation& operation) {
  report<T>(timing, sizes, operation, operation.cost().bytes);
}

template <bool Centered, class T>
void norms(Timing& t, const Sizes& s) {
  t.clear();
  op::Normalize<Centered, T> forward{};
  forward.x = t.put<T>(s.count(), -1, 1), forward.gain = t.put<T>(s.columns, 0.5, 1.5);
  forward.y = t.put<T>(s.count(), 0, 1), forward.rstd = t.put<statistic_t<T>>(s.rows, 1, 2);
  if (Centered) forward.bias = t.put<T>(s.columns, -1, 1), forward.mean = t.put<statistic_t<T>>(s.rows, 0, 1);
  forward.rows = s.rows, forward.columns = s.columns;
  report<T>(t, s, forward);
  op::NormalizeBackward<Centered, T, float> backward{};
  backward.x = forward.x, backward.gain = forward.gain, backward.mean = forward.mean, backward.rstd = forward.rstd;
  backward.d_y = forward.y, backward.d_x = t.put<T>(s.count(), -1, 1);
  backward.d_gain = t.put<float>(s.columns, 0, 1), backward.rows = s.rows, backward.columns = s.columns;
  if (Centered) backward.d_bias = t.put<float>(s.columns, 0, 1);
  report<T>(t, s, backward);
  report<T>(t, s,
            op::NormalizeBackwardSum<Centered, T, float>{.backward = backward, .onto = t.put<T>(s.count(), -1, 1)});
}

template <class T>
void elementwise(Timing& t, const Sizes& s) {
  t.clear();
  const auto x = t.put<T>(s.count(), -1, 1), y = t.put<T>(s.count(), -1, 1), z = t.put<T>(s.count(), -1, 1);
  const auto row = t.put<T>(s.columns, -1, 1);
  const auto sums = t.put<float>(s.columns, 0, 1);
  op::BiasBackward<activation::Identity, T, float> bias{};
  bias.d_y = y, bias.d_x = y, bias.d_bias = sums, bias.rows = s.rows, bias.columns = s.columns;
  report<T>(t, s, bias);
  op::AddTable<T> table{};
  table.x = x, table.table = row, table.y = y, table.samples = s.rows, table.elements = s.columns;
  report<T>(t, s, table);
  op::AddTableBackward<T, float> table_back{};
  table_back.d_y = y, table_back.d_table = sums, table_back.samples = s.rows, table_back.elements = s.columns;
  report<T>(t, s, table_back);
  op::Dropout<T> dropout{};
  dropout.x = x, dropout.y = y, dropout.samples = s.rows, dropout.elements = s.columns;
  dropout.drop = {6554, 9, random_of(t.put(Scalars{}))};
  report<T>(t, s, dropout);
  report<T>(t, s, op::DropoutSum<T>{.dropout = dropout, .onto = z});
}

/// What is no epilogue of a product: the activations that the library lacks, and a sum behind one.
template <class T>
void activations(Timing& t, Sizes s) {
  s.of = "others";
  t.clear();
  const auto x = t.put<T>(s.count(), -1, 1), y = t.put<T>(s.count(), -1, 1), z = t.put<T>(s.count(), -1, 1);
  const auto row = t.put<T>(s.columns, -1, 1);
  op::BiasActivation<activation::GeluErf, T, T> gelu{};
  gelu.x = x, gelu.bias = row, gelu.y = y, gelu.rows = s.rows, gelu.columns = s.columns;
  report<T>(t, s, gelu);
  op::BiasBackward<activation::GeluErf, T, float> back{};
  back.x = x, back.bias = row, back.d_y = y, back.d_x = z, back.d_bias = t.put<float>(s.columns, 0, 1);
  back.rows = s.rows, back.columns = s.columns;
  report<T>(t, s, back);
  report<T>(t, s, op::Add<T>{x, y, s.count()});
}

/// Between the products of causal attention: of scores half is read, of weights all is written.
template <class T>
void attention(Timing& t, const Sizes& s, std::size_t length) {
  using S = statistic_t<T>;
  t.clear();
  const std::size_t heads = s.count() / (length * length), all = heads * length * length;
  const Sizes of_scores{heads * length, length, s.vocabulary};
  const double seen = double(heads * length) * double(length + 1) / 2;
  kernel::AttentionWeights<T> forward{};
  forward.scores = t.put<S>(all, -4, 4), forward.weights = t.put<T>(all, 0, 1);
  forward.shape = {1, length, heads, 64, true};
  forward.run = {0, 1, heads};
  report<T>(t, of_scores, forward, seen * sizeof(S) + double(all) * sizeof(T));
  kernel::AttentionWeightsBackward<T> backward{};
  backward.scores = forward.scores, backward.d_weights = t.put<S>(all, -1, 1);
  backward.weights = forward.weights, backward.d_scores = t.put<T>(all, 0, 1), backward.shape = forward.shape;
  backward.run = forward.run;
  report<T>(t, of_scores, backward, 2 * seen * sizeof(S) + 2 * double(all) * sizeof(T));
}

template <class T>
void tables(Timing& t, const Sizes& s) {
  t.clear();
  op::Embed<T> look{};
  look.token = t.put<std::int32_t>(s.rows, 0, double(s.vocabulary));
  look.table = t.put<T>(s.vocabulary * s.columns, -1, 1), look.y = t.put<T>(s.count(), -1, 1);
  look.count = s.rows, look.vocabulary = s.vocabulary, look.columns = s.columns;
  report<T>(t, s, look);
  op::EmbedBackward<T, float> back{};
  back.token = look.token, back.d_y = look.y, back.d_table = t.put<float>(s.vocabulary * s.columns, 0, 1);
  back.count = s.rows, back.vocabulary = s.vocabulary, back.columns = s.columns;
  report<T>(t, s, back);
}

/// Logits are fp32, so few rows of a whole vocabulary are a GiB. They begin at multiples of 16 bytes; the gradient is
/// copied to such rows in 16 bits.
void losses(Timing& t, const Sizes& s) {
  t.clear();
  const Sizes of_logits{s.count() / 2 / s.vocabulary, s.vocabulary, s.vocabulary};
  const std::size_t leading = (s.vocabulary + 3) / 4 * 4, narrow = (s.vocabulary + 7) / 8 * 8;
  op::CrossEntropy<true, float> loss{};
  loss.logits = t.put<float>(of_logits.rows * leading, -4, 4);
  loss.target = t.put<std::int32_t>(of_logits.rows, 0, double(s.vocabulary)), loss.scalars = t.put(Scalars{});
  loss.rows = of_logits.rows, loss.columns = of_logits.columns, loss.leading = leading;
  report<float>(t, of_logits, loss);
  kernel::PadRows<float, bf16> pad{};
  pad.x = loss.logits, pad.y = t.put<bf16>(of_logits.rows * narrow, 0, 1), pad.rows = of_logits.rows;
  pad.columns = of_logits.columns, pad.leading = narrow, pad.from_leading = leading;
  report<bf16>(t, of_logits, pad, double(of_logits.count()) * (sizeof(float) + sizeof(bf16)));
}

/// T: of the copy that kernels read, if that is not fp32.
template <class T>
void updates(Timing& t, const Sizes& s) {
  t.clear();
  const Sizes flat{1, s.count() / 2, 0};
  Scalars scalars{};
  scalars.apply = 1, scalars.factor = 1, scalars.learning_rate = 1e-3, scalars.correction_first = 2;
  scalars.correction_second = 3;
  op::Update<AdamW, float, T, float> update{};
  update.master = t.put<float>(flat.columns, -1, 1);
  update.state = t.put<float>(AdamW::states * flat.columns, 0.1, 0.2);
  if constexpr (!std::is_same_v<T, float>) update.copy = t.put<T>(flat.columns, -1, 1);
  update.gradient = t.put<float>(flat.columns, -1, 1), update.scalars = t.put(scalars), update.count = flat.columns;
  update.state_stride = flat.columns, update.segments.items[0] = {0, flat.columns, true}, update.segments.count = 1;
  report<T>(t, flat, update);
  if constexpr (std::is_same_v<T, float>)
    report<float>(t, flat, op::SumOfSquares<float>{update.gradient, square_sum_of(update.scalars), flat.columns});
}

void all(bool small) {
  const Sizes sizes = small ? Sizes{64, 96, 41} : Sizes{std::size_t{1} << 19, 1024, 50257};
  Timing timing(small ? std::size_t{1} << 22 : std::size_t{8} << 30);  // an update takes 4.5 GiB
  const Sizes half{sizes.rows / 2, sizes.columns, sizes.vocabulary};
  const std::size_t length = small ? 16 : 1024;
  attempt("elementwise, bf16", [&] { elementwise<bf16>(timing, sizes); });
  attempt("norms, bf16", [&] { norms<true, bf16>(timing, sizes); });
  attempt("attention, bf16", [&] { attention<bf16>(timing, sizes, length); });
  attempt("tables, bf16", [&] { tables<bf16>(timing, sizes); });
  attempt("losses", [&] { losses(timing, sizes); });
  attempt("updates, bf16", [&] { updates<bf16>(timing, sizes); });
  attempt("elementwise, fp32", [&] { elementwise<float>(timing, half); });
  attempt("norms, fp32", [&] { norms<true, float>(timing, half); });
  attempt("attention, fp32", [&] { attention<float>(timing, half, length); });
  attempt("tables, fp32", [&] { tables<float>(timing, half); });
  attempt("updates, fp32", [&] { updates<float>(timing, sizes); });
  attempt("RmsNorm, bf16",
          [&] { norms<false, bf16>(timing, {sizes.rows, sizes.columns, sizes.vocabulary, "others"}); });
  attempt("activations, bf16", [&] { activations<bf16>(timing, sizes); });
  attempt("activations, fp32", [&] { activations<float>(timing, half); });
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) { return bench::run(argc, argv, bench::all); }
// SPDX-License-Identifier: Apache-2.0
