// tests/kernel/extreme_magnitudes.cpp — gradients of layers and losses that take a statistic of forward from numbers that
// backward computes again: at extreme magnitudes they are as right as with forward's numbers kept.
#include "against_cpu.hpp"

#include <regimen/engine/cpu/batch_norm.hpp>
#include <regimen/engine/cpu/body.hpp>
#include <regimen/engine/cpu/group_norm.hpp>
#include <regimen/engine/cpu/loss.hpp>
#include <regimen/engine/cpu/math.hpp>
#include <regimen/engine/cpu/norm.hpp>
#include <regimen/engine/cpu/nt_xent.hpp>
#include <regimen/kernel/batch_norm.hpp>
#include <regimen/kernel/cross_entropy.hpp>
#include <regimen/kernel/group_norm.hpp>
#include <regimen/kernel/normalize.hpp>
#include <regimen/kernel/nt_xent.hpp>
#include <regimen/kernel/recurrent.hpp>
#include <regimen/kernel/softmax.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

using namespace regimen;
using namespace test;

namespace {

using ::test::Arena;
constexpr std::size_t rows = 6, columns = 10, count = rows * columns;

struct Normal {
  std::mt19937 random;
  std::normal_distribution<double> normal{};
  Values operator()(std::size_t n, double size, double around = 0) {
    Values all(n);
    for (double& x : all) x = number(rounded<float>(around + size * normal(random)));
    return all;
  }
};
template <class S>
std::vector<S> in(const Values& values) {
  std::vector<S> all(values.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<S>(values[i]);
  return all;
}

/// The largest difference in parts of the largest number; of saturated rows all may be 0.
double error_of(const Values& found, const Values& right) {
  double most = 0, largest = 0;
  for (std::size_t i = 0; i < right.size(); ++i) {
    const double difference = std::fabs(found[i] - right[i]);
    if (!(difference <= most)) most = difference;  // a NaN stays
    largest = std::fmax(largest, std::fabs(right[i]));
  }
  return most / std::fmax(largest, 1e-30);
}
double share_of(Values all, std::size_t percent) {
  for (const double x : all)
    if (std::isnan(x)) return x;
  std::sort(all.begin(), all.end());
  return all[all.size() * percent / 100];
}

/// draw(normal) gives inputs; defined<S>(inputs) the gradient, line by line, in S; found(inputs, run) that of operations,
/// which run(operation, arena) carries out. Over 200 seeds, by the CPU engine and by blocks.
template <class Draw, class Defined, class Found>
void is_as_right(const Draw& draw, const Defined& defined, const Found& found) {
  const int threads = regimen::thread_count();
  set_threads(1);
  Values saved, own[2];
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    Normal normal{std::mt19937(seed)};
    const std::vector<Values> inputs = draw(normal);
    const Values right = defined.template operator()<double>(inputs);
    saved.push_back(error_of(defined.template operator()<float>(inputs), right));
    own[0].push_back(
        error_of(found(inputs, [](const auto& o, Arena& arena) { cpu::execute(o, arena.memory_for(o)); }), right));
    own[1].push_back(error_of(found(inputs, [](const auto& o, Arena& arena) { run(o, arena, ways[0]); }), right));
  }
  set_threads(threads);
  for (const bool by_blocks : {false, true})
    for (const std::size_t percent : Sizes{50, 90}) {
      CAPTURE(by_blocks, percent);
      CHECK(share_of(own[by_blocks], percent) <= 1.5 * share_of(saved, percent));
    }
}

/// The gradient of a norm over groups of elements, with the normal numbers of forward kept.   x, d_y, gain
template <class S, class GroupOf>
Values gradient_of_norm(const std::vector<Values>& inputs, std::size_t groups, bool centered, const GroupOf& group_of) {
  const auto x = in<S>(inputs[0]), d_y = in<S>(inputs[1]), gain = in<S>(inputs[2]);
  std::vector<S> size(groups, S(0)), mean(groups, S(0)), rstd(groups, S(0)), of_e(groups, S(0)), of_en(groups, S(0));
  std::vector<S> kept(count), d_x(count);
  for (std::size_t i = 0; i < count; ++i) size[group_of(i)] += S(1), mean[group_of(i)] += x[i];
  for (std::size_t g = 0; g < groups; ++g)
    mean[g] = centered ? mean[g] * (S(1) / size[g]) : S(0);  // rounded as forward rounds it
  for (std::size_t i = 0; i < count; ++i) {
    kept[i] = x[i] - mean[group_of(i)];
    rstd[group_of(i)] += kept[i] * kept[i];
  }
  for (std::size_t g = 0; g < groups; ++g) rstd[g] = S(1) / std::sqrt(rstd[g] / size[g] + S(1e-5));
  for (std::size_t i = 0; i < count; ++i) {
    kept[i] *= rstd[group_of(i)];
    of_e[group_of(i)] += d_y[i] * gain[i % columns];
    of_en[group_of(i)] += d_y[i] * gain[i % columns] * kept[i];
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t g = group_of(i);
    d_x[i] =
        rstd[g] * (d_y[i] * gain[i % columns] - (centered ? of_e[g] / size[g] : S(0)) - kept[i] * (of_en[g] / size[g]));
  }
  return Values(d_x.begin(), d_x.end());
}
struct NormTensors {
  View<float> x, d_y, gain, bias, y, d_x, mean, rstd, d_gain, d_bias;
  NormTensors(Arena& arena, const std::vector<Values>& inputs)
      : x(arena.put<float>(inputs[0])),
        d_y(arena.put<float>(inputs[1])),
        gain(arena.put<float>(inputs[2])),
        bias(arena.put<float>(Values(columns, 0.0))),
        y(arena.room<float>(count)),
        d_x(arena.room<float>(count)),
        mean(arena.room<float>(count)),
        rstd(arena.room<float>(count)),
        d_gain(arena.room<float>(columns)),
        d_bias(arena.room<float>(columns)) {}
};
template <bool Centered>
void layer_norm_is_as_right(const auto& draw) {
  is_as_right(
      draw,
      []<class S>(const std::vector<Values>& inputs) {
        return gradient_of_norm<S>(inputs, rows, Centered, [](std::size_t i) { return i / columns; });
      },
      [](const std::vector<Values>& inputs, const auto& run) {
        Arena arena(1 << 19);
        const NormTensors t(arena, inputs);
        op::Normalize<Centered, float> o{t.x, t.gain, {}, t.y, {}, t.rstd, rows, columns};
        op::NormalizeBackward<Centered, float, float> b{t.x,    t.gain,   t.d_y, t.d_x, {},
                                                        t.rstd, t.d_gain, {},    rows,  columns};
        if (Centered) o.bias = t.bias, o.mean = b.mean = t.mean, b.d_bias = t.d_bias;
        run(o, arena);
        run(b, arena);
        return arena.get(t.d_x, count);
      });
}

/// The softmax of each row of scores.
template <class S>
std::vector<S> softmax_of(const std::vector<S>& scores) {
  std::vector<S> p(scores.size());
  for (std::size_t first = 0; first < scores.size(); first += columns) {
    const S largest = *std::max_element(&scores[first], &scores[first] + columns);
    S total = S(0);
    for (std::size_t i = first; i < first + columns; ++i) total += p[i] = std::exp(scores[i] - largest);
    for (std::size_t i = first; i < first + columns; ++i) p[i] /= total;
  }
  return p;
}

}  // namespace

TEST_CASE("norms, of numbers far from zero and of all sizes") {
  for (const double size : {1e-12, 1e-3, 1.0, 1e6, 1e15})
    for (const double around : {0.0, 1e3, 1e6}) {
      CAPTURE(size, around);
      const auto draw = [&](Normal& normal) {
        return std::vector<Values>{normal(count, size, around * size), normal(count, 1), normal(columns, 1)};
      };
      layer_norm_is_as_right<true>(draw);
      layer_norm_is_as_right<false>(draw);
      is_as_right(
          draw,
          []<class S>(const std::vector<Values>& inputs) {
            return gradient_of_norm<S>(inputs, columns, true, [](std::size_t i) { return i % columns; });
          },
          [](const std::vector<Values>& inputs, const auto& run) {
            Arena arena(1 << 19);
            const NormTensors t(arena, inputs);
            const auto running = arena.room<float>(2 * columns);
            run(op::BatchNorm<float, float>{t.x, t.gain, t.bias, t.y, t.mean, t.rstd, running, running + columns, rows,
                                            columns},
                arena);
            run(op::BatchNormBackward<float, float>{t.x, t.gain, t.d_y, t.d_x, t.mean, t.rstd, t.d_gain, t.d_bias, rows,
                                                    columns},
                arena);
            return arena.get(t.d_x, count);
          });
      is_as_right(
          draw,
          []<class S>(const std::vector<Values>& inputs) {  // two samples of two groups
            return gradient_of_norm<S>(inputs, 4, true,
                                       [](std::size_t i) { return i / (count / 2) * 2 + i % columns / (columns / 2); });
          },
          [](const std::vector<Values>& inputs, const auto& run) {
            Arena arena(1 << 19);
            const NormTensors t(arena, inputs);
            const op::ColumnGroups shape{2, rows / 2, columns, 2};
            run(op::GroupNorm<float>{t.x, t.gain, t.bias, t.y, t.mean, t.rstd, shape}, arena);
            run(op::GroupNormBackward<float, float>{t.x, t.gain, t.d_y, t.d_x, t.mean, t.rstd, t.d_gain, t.d_bias,
                                                    shape},
                arena);
            return arena.get(t.d_x, count);
          });
    }
}

TEST_CASE("softmax, and cross entropy of classes and of distributions, at large scores") {
  for (const double size : {1.0, 1e3, 6e4, 6e5, 6e7}) {
    CAPTURE(size);
    is_as_right([&](Normal& normal) { return std::vector<Values>{normal(count, size), normal(count, 1)}; },
                []<class S>(const std::vector<Values>& inputs) {
                  const auto p = softmax_of(in<S>(inputs[0])), d_y = in<S>(inputs[1]);
                  Values d_x(count);
                  for (std::size_t i = 0; i < count; ++i) {
                    S mean = S(0);
                    for (std::size_t k = 0; k < columns; ++k)
                      mean += p[i / columns * columns + k] * d_y[i / columns * columns + k];
                    d_x[i] = double(p[i] * (d_y[i] - mean));
                  }
                  return d_x;
                },
                [](const std::vector<Values>& inputs, const auto& run) {
                  Arena arena(1 << 19);
                  const auto x = arena.put<float>(inputs[0]), y = arena.room<float>(count),
                             d_y = arena.put<float>(inputs[1]), d_x = arena.room<float>(count);
                  run(op::Softmax<float>{x, y, rows, columns}, arena);
                  run(op::SoftmaxBackward<float>{y, d_y, d_x, rows, columns}, arena);
                  return arena.get(d_x, count);
                });
    for (const double smoothing : {0.0, 0.1})
      is_as_right([&](Normal& normal) { return std::vector<Values>{normal(count, size)}; },
                  [&]<class S>(const std::vector<Values>& inputs) {
                    const auto p = softmax_of(in<S>(inputs[0]));
                    Values d_x(count);
                    for (std::size_t i = 0; i < count; ++i) {
                      const S target =
                          S(smoothing / double(columns)) + (i % columns == i / columns ? S(1 - smoothing) : S(0));
                      d_x[i] = double(p[i] - target);
                    }
                    return d_x;
                  },
                  [&](const std::vector<Values>& inputs, const auto& run) {
                    Arena arena(1 << 19);
                    const auto logits = arena.put<float>(inputs[0]);
                    run(op::CrossEntropy<true, float>{logits, put_integers(arena, {0, 1, 2, 3, 4, 5}), arena.scalars(),
                                                      rows, columns, 1, smoothing},
                        arena);
                    return arena.get(logits, count);
                  });
    is_as_right(
        [&](Normal& normal) {
          Values target = normal(count, 1);
          for (double& x : target) x = number(rounded<float>(std::fabs(x)));
          return std::vector<Values>{normal(count, size), target};
        },
        []<class S>(const std::vector<Values>& inputs) {
          const auto p = softmax_of(in<S>(inputs[0])), target = in<S>(inputs[1]);
          Values d_x(count);
          for (std::size_t i = 0; i < count; ++i) {
            S mass = S(0);
            for (std::size_t k = 0; k < columns; ++k) mass += target[i / columns * columns + k];
            d_x[i] = double(p[i] * mass - target[i]);
          }
          return d_x;
        },
        [](const std::vector<Values>& inputs, const auto& run) {
          Arena arena(1 << 19);
          const auto logits = arena.put<float>(inputs[0]), target = arena.put<float>(inputs[1]);
          run(op::SoftCrossEntropy<true, float>{logits, target, arena.scalars(), rows, columns}, arena);
          return arena.get(logits, count);
        });
  }
}

TEST_CASE("NtXent, at low temperatures") {
  for (const double temperature : {1.0, 1e-2, 1e-4, 1e-6}) {
    CAPTURE(temperature);
    const op::Embeddings<float> shape{{}, 1, 0, rows, columns, rows * (columns + 1), rows};
    is_as_right([](Normal& normal) { return std::vector<Values>{normal(count, 1)}; },
                [&]<class S>(const std::vector<Values>& inputs) {
                  const auto x = in<S>(inputs[0]);
                  const auto rest = static_cast<S>(1 / temperature);
                  std::vector<S> z(count), length(rows, S(0)), p(rows * rows, S(0));
                  for (std::size_t i = 0; i < count; ++i) length[i / columns] += x[i] * x[i];
                  for (S& one : length) one = std::sqrt(one);
                  for (std::size_t i = 0; i < count; ++i) z[i] = x[i] / length[i / columns];
                  const auto dot = [&](const S* a, const S* b) {
                    S sum = S(0);
                    for (std::size_t c = 0; c < columns; ++c) sum += a[c] * b[c];
                    return sum;
                  };
                  for (std::size_t i = 0; i < rows; ++i) {
                    S largest = -std::numeric_limits<S>::infinity(), total = S(0);
                    for (std::size_t k = 0; k < rows; ++k)
                      if (k != i) largest = std::max(largest, p[i * rows + k] = dot(&z[i * columns], &z[k * columns]));
                    for (std::size_t k = 0; k < rows; ++k)
                      if (k != i) total += p[i * rows + k] = std::exp((p[i * rows + k] - largest) * rest);
                    for (std::size_t k = 0; k < rows; ++k) p[i * rows + k] /= total;
                  }
                  Values d_x(count);
                  for (std::size_t i = 0; i < rows; ++i) {
                    std::vector<S> d(columns, S(0));
                    for (std::size_t k = 0; k < rows; ++k) {
                      const S weight = k == i ? S(0) : p[i * rows + k] + p[k * rows + i] - S(k == (i ^ 1) ? 2 : 0);
                      for (std::size_t c = 0; c < columns; ++c) d[c] += weight * z[k * columns + c];
                    }
                    const S along = dot(d.data(), &z[i * columns]);
                    for (std::size_t c = 0; c < columns; ++c)
                      d_x[i * columns + c] = double((d[c] - along * z[i * columns + c]) * rest / length[i]);
                  }
                  return d_x;
                },
                [&](const std::vector<Values>& inputs, const auto& run) {
                  Arena arena(1 << 19);
                  op::Embeddings<float> z = shape;
                  z.all = arena.room<float>(z.slice);
                  const auto x = arena.put<float>(inputs[0]), d_x = arena.room<float>(count);
                  const auto softmax = arena.room<op::SoftmaxRow<float>>(rows);
                  const auto scalars = arena.scalars();
                  run(op::NormalizeViews<float>{x, put_integers(arena, {0, 0, 0}), z, rows / 2}, arena);
                  run(op::NtXent<float>{z, softmax, scalars, temperature}, arena);
                  run(op::NtXentBackward<float>{z, softmax, d_x, scalars, rows / 2, temperature, 1}, arena);
                  return arena.get(d_x, count);
                });
  }
}

/// They keep what they use again but for tanh(c), of a c that is kept.
TEST_CASE("an LSTM and a GRU, of large sums and states") {
  const auto sigmoid = []<class S>(S x) { return S(1) / (S(1) + std::exp(-x)); };
  for (const double size : {1.0, 1e2, 1e4}) {
    CAPTURE(size);
    is_as_right(
        [&](Normal& normal) {
          return std::vector<Values>{normal(4 * count, size), normal(count, size), normal(count, 1)};
        },
        [&]<class S>(const std::vector<Values>& inputs) {
          const auto s = in<S>(inputs[0]), before = in<S>(inputs[1]), d_y = in<S>(inputs[2]);
          Values d(4 * count);
          for (std::size_t row = 0; row < rows; ++row)
            for (std::size_t c = 0; c < columns; ++c) {
              const std::size_t at = row * columns + c;
              const auto part = [&](std::size_t of) { return s[(row * 4 + of) * columns + c]; };
              const S i = sigmoid(part(0)), f = sigmoid(part(1)), g = std::tanh(part(2)), out = sigmoid(part(3)),
                      t = std::tanh(f * before[at] + i * g), e = d_y[at] * out * (S(1) - t) * (S(1) + t);
              const S all[4] = {e * g * i * (S(1) - i), e * before[at] * f * (S(1) - f),
                                e * i * (S(1) - g) * (S(1) + g), d_y[at] * t * out * (S(1) - out)};
              for (std::size_t of = 0; of < 4; ++of) d[(row * 4 + of) * columns + c] = double(all[of]);
            }
          return d;
        },
        [](const std::vector<Values>& inputs, const auto& run) {
          Arena arena(1 << 19);
          const auto gates = arena.put<float>(inputs[0]), before = arena.put<float>(inputs[1]),
                     d_y = arena.put<float>(inputs[2]), c = arena.room<float>(count), y = arena.room<float>(count),
                     h = arena.room<float>(count), d_c = arena.room<float>(count),
                     d_gates = arena.room<float>(4 * count);
          run(op::LstmCell<float>{gates, {}, {}, {}, before, c, y, h, rows, columns}, arena);
          run(op::LstmCellBackward<float>{gates, c, before, d_y, {}, d_c, d_gates, rows, columns}, arena);
          return arena.get(d_gates, 4 * count);
        });
    is_as_right(
        [&](Normal& normal) {
          return std::vector<Values>{normal(3 * count, size), normal(3 * count, size), normal(count, 1),
                                     normal(count, 1)};
        },
        [&]<class S>(const std::vector<Values>& inputs) {
          const auto s = in<S>(inputs[0]), k = in<S>(inputs[1]), before = in<S>(inputs[2]), d_y = in<S>(inputs[3]);
          Values d(3 * count);
          for (std::size_t row = 0; row < rows; ++row)
            for (std::size_t c = 0; c < columns; ++c) {
              const std::size_t at = row * columns + c;
              const auto place = [&](std::size_t of) { return (row * 3 + of) * columns + c; };
              const S r = sigmoid(s[place(0)] + k[place(0)]), z = sigmoid(s[place(1)] + k[place(1)]), q = k[place(2)],
                      n = std::tanh(s[place(2)] + r * q), e = d_y[at] * (S(1) - z) * (S(1) - n) * (S(1) + n);
              const S all[3] = {e * q * r * (S(1) - r), d_y[at] * (before[at] - n) * z * (S(1) - z), e * r};
              for (std::size_t of = 0; of < 3; ++of) d[place(of)] = double(all[of]);
            }
          return d;
        },
        [](const std::vector<Values>& inputs, const auto& run) {
          Arena arena(1 << 19);
          const auto gates = arena.put<float>(inputs[0]), hidden = arena.put<float>(inputs[1]),
                     before = arena.put<float>(inputs[2]), d_y = arena.put<float>(inputs[3]),
                     inner = arena.room<float>(count), state = arena.room<float>(count), y = arena.room<float>(count),
                     h = arena.room<float>(count), d_state = arena.room<float>(count),
                     d_gates = arena.room<float>(3 * count);
          run(op::GruCell<float>{gates, hidden, {}, {}, inner, before, state, y, h, rows, columns}, arena);
          run(op::GruCellBackward<float>{gates, inner, before, d_y, d_state, d_gates, rows, columns, 1, true}, arena);
          return arena.get(d_gates, 3 * count);
        });
  }
}
// SPDX-License-Identifier: Apache-2.0
