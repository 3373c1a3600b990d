// bench/gpu/kernels.cpp — each memory-bound kernel on tensors of a GiB: bytes that must move, per second. One JSON
// object a line.
#include "timing.hpp"

#include <regimen/core/activation.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/optimizer/adamw.hpp>

namespace bench {
namespace {

struct Sizes {
  std::size_t rows, columns, vocabulary;
  std::size_t count() const { return rows * columns; }
};

template <class T, class Operation>
void report(Timing& timing, const Sizes& sizes, const Operation& operation) {
  const double seconds = timing.seconds(operation), bytes = operation.cost().bytes;
  std::printf(
      "{\"kernel\":\"%s\",\"type\":\"%s\",\"rows\":%zu,\"columns\":%zu,\"bytes\":%.0f,\"microseconds\":%.2f,"
      "\"gb_per_s\":%.1f}\n",
      Operation::name, name_of<T>, sizes.rows, sizes.columns, bytes, seconds * 1e6, bytes / seconds * 1e-9);
  std::fflush(stdout);
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
}

template <class T>
void elementwise(Timing& t, const Sizes& s) {
  t.clear();
  const auto x = t.put<T>(s.count(), -1, 1), y = t.put<T>(s.count(), -1, 1), d_x = t.put<T>(s.count(), -1, 1);
  const auto bias = t.put<T>(s.columns, -1, 1);
  const auto sums = t.put<float>(s.columns, 0, 1);
  report<T>(t, s, op::Cast<T, T>{x, y, s.count()});
  report<T>(t, s, op::Add<T>{x, y, s.count()});
  op::BiasActivation<activation::GeluTanh, T, T> gelu{};
  gelu.x = x, gelu.bias = bias, gelu.y = y, gelu.rows = s.rows, gelu.columns = s.columns;
  report<T>(t, s, gelu);
  op::BiasBackward<activation::GeluTanh, T, float> back{};
  back.x = x, back.bias = bias, back.d_y = y, back.d_x = d_x, back.d_bias = sums, back.rows = s.rows;
  back.columns = s.columns;
  report<T>(t, s, back);
  op::AddTable<T> table{};
  table.x = x, table.table = bias, table.y = y, table.samples = s.rows, table.elements = s.columns;
  report<T>(t, s, table);
  op::AddTableBackward<T, float> table_back{};
  table_back.d_y = y, table_back.d_table = sums, table_back.samples = s.rows, table_back.elements = s.columns;
  report<T>(t, s, table_back);
  op::Dropout<T> dropout{};
  dropout.x = x, dropout.y = y, dropout.samples = s.rows, dropout.elements = s.columns;
  dropout.drop = {6554, 9, random_of(t.put(Scalars{}))};
  report<T>(t, s, dropout);
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

/// Logits are fp32, so few rows of a whole vocabulary are a GiB.
void losses(Timing& t, const Sizes& s) {
  t.clear();
  const Sizes of_logits{s.count() / 2 / s.vocabulary, s.vocabulary, s.vocabulary};
  op::CrossEntropy<true, float> loss{};
  loss.logits = t.put<float>(of_logits.count(), -4, 4);
  loss.target = t.put<std::int32_t>(of_logits.rows, 0, double(s.vocabulary)), loss.scalars = t.put(Scalars{});
  loss.rows = of_logits.rows, loss.columns = of_logits.columns;
  report<float>(t, of_logits, loss);
}

void updates(Timing& t, const Sizes& s) {
  t.clear();
  const Sizes flat{1, s.count() / 2, 0};
  Scalars scalars{};
  scalars.apply = 1, scalars.factor = 1, scalars.learning_rate = 1e-3, scalars.correction_first = 2;
  scalars.correction_second = 3;
  op::Update<AdamW, float, bf16, float> update{};
  update.master = t.put<float>(flat.columns, -1, 1);
  update.state = t.put<float>(AdamW::states * flat.columns, 0.1, 0.2), update.copy = t.put<bf16>(flat.columns, -1, 1);
  update.gradient = t.put<float>(flat.columns, -1, 1), update.scalars = t.put(scalars), update.count = flat.columns;
  update.state_stride = flat.columns, update.segments.items[0] = {0, flat.columns, true}, update.segments.count = 1;
  report<float>(t, flat, update);
  report<float>(t, flat, op::SumOfSquares<float>{update.gradient, square_sum_of(update.scalars), flat.columns});
}

void all(bool small) {
  const Sizes sizes = small ? Sizes{64, 96, 40} : Sizes{std::size_t{1} << 19, 1024, 50257};
  Timing timing(small ? std::size_t{1} << 22 : std::size_t{8} << 30);  // an update takes 4.5 GiB
  elementwise<bf16>(timing, sizes);
  norms<true, bf16>(timing, sizes);
  norms<false, bf16>(timing, sizes);
  losses(timing, sizes);
  updates(timing, sizes);
  tables<bf16>(timing, sizes);
  const Sizes half{sizes.rows / 2, sizes.columns, sizes.vocabulary};
  elementwise<float>(timing, half);
  norms<true, float>(timing, half);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) { return bench::run(argc, argv, bench::all); }
// SPDX-License-Identifier: Apache-2.0
