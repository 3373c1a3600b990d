// tests/kernel/recurrent.cpp — one position of an LSTM and of a GRU by its definition, on the CPU and as kernels in every
// order of threads: the first position, one inside, and the last.
#include "against_cpu.hpp"

#include <regimen/engine/cpu/body.hpp>
#include <regimen/engine/cpu/math.hpp>
#include <regimen/kernel/recurrent.hpp>

#include <cmath>
#include <string>

using namespace regimen;
using namespace test;

namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// Samples, positions, columns, and the position.
struct Place {
  std::size_t rows, length, columns, t;

  std::size_t all(std::size_t parts) const { return rows * length * parts * columns; }
  /// Element i of part `part`, of a tensor of so many parts.
  std::size_t at(std::size_t row, std::size_t parts, std::size_t part, std::size_t i, std::size_t back = 0) const {
    return ((row * length + t - back) * parts + part) * columns + i;
  }
  template <class T>
  View<T> view(View<T> whole, std::size_t parts, std::size_t back = 0) const {
    return whole + (t - back) * parts * columns;
  }
  /// `of` is called for every element, and `whole` becomes what it returns there.
  template <class Of>
  void change(Values& whole, std::size_t parts, std::size_t part, const Of& of) const {
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t i = 0; i < columns; ++i) whole[at(row, parts, part, i)] = of(row, i);
  }
};
const Place places[] = {{3, 4, 37, 2}, {3, 4, 37, 0}, {5, 3, 16, 2}, {2, 1, 7, 0}, {40, 2, 65, 1}, {0, 4, 5, 1}};

/// Sums of four numbers up to 3, of which sigmoid and tanh keep at most the error; functions of 4 ulp; products and sums
/// of five such with states up to 3: less than 512 roundings of 1, of S. Then one to T.
template <class T, class U = T>
void are(const Arena& arena, View<U> view, const Values& expected) {
  constexpr double u = epsilon_of<statistic_t<T>> / 2;
  CHECK(misses(arena.get(view, expected.size()), expected, [&](std::size_t i) {
          return std::isnan(expected[i]) ? 0 : 512 * u + rounding_of<U>(std::fabs(expected[i]) + 512 * u);
        }) == 0);
}

}  // namespace

TEMPLATE_TEST_CASE("a position of an LSTM", "", float, double, bf16, fp16) {
  using T = TestType;
  using S = statistic_t<T>;
  for (const Place& p : places)
    for (const bool biased : {true, false}) {
      const std::size_t w = p.columns;
      CAPTURE(name_of<T>, p.rows, p.length, w, p.t, biased);
      const bool first = p.t == 0, last = p.t + 1 == p.length;
      const Values gates = values<T>(p.all(4), 3, 1), hidden = values<S>(p.rows * 4 * w, 3, 2),
                   bias_ih = values<T>(4 * w, 3, 3), bias_hh = values<T>(4 * w, 3, 4), c = values<S>(p.all(1), 3, 5),
                   y = values<T>(p.all(1), 1, 6);
      by_definition(
          std::size_t{1} << 20,
          [&](Arena& arena) {
            const View<S> states = arena.put<S>(c);
            op::LstmCell<T> o{};
            o.gates = p.view(arena.put<T>(gates), 4);
            if (!first) o.hidden = arena.put<S>(hidden), o.c_before = p.view(states, 1, 1);
            if (biased) o.bias_ih = arena.put<T>(bias_ih), o.bias_hh = arena.put<T>(bias_hh);
            o.c = p.view(states, 1), o.y = p.view(arena.put<T>(y), 1), o.h = arena.put<T>(Values(p.rows * w));
            o.rows = p.rows, o.columns = w, o.length = p.length;
            return o;
          },
          [&](const Arena& arena, const op::LstmCell<T>& o) {
            Values new_gates = gates, new_c = c, new_y = y, h(p.rows * w);
            const auto gate = [&](std::size_t row, std::size_t part, std::size_t i) {
              const double s = gates[p.at(row, 4, part, i)] + (first ? 0 : hidden[(row * 4 + part) * w + i]) +
                               (biased ? bias_ih[part * w + i] + bias_hh[part * w + i] : 0);
              return part == 2 ? std::tanh(s) : sigmoid(s);
            };
            for (std::size_t part = 0; part < 4; ++part)
              p.change(new_gates, 4, part, [&](std::size_t row, std::size_t i) { return gate(row, part, i); });
            p.change(new_c, 1, 0, [&](std::size_t row, std::size_t i) {
              return gate(row, 1, i) * (first ? 0 : c[p.at(row, 1, 0, i, 1)]) + gate(row, 0, i) * gate(row, 2, i);
            });
            p.change(new_y, 1, 0, [&](std::size_t row, std::size_t i) {
              return h[row * w + i] = gate(row, 3, i) * std::tanh(new_c[p.at(row, 1, 0, i)]);
            });
            are<T>(arena, View<T>{o.gates.offset - p.t * 4 * w * sizeof(T)}, new_gates);
            are<T>(arena, View<S>{o.c.offset - p.t * w * sizeof(S)}, new_c);
            are<T>(arena, View<T>{o.y.offset - p.t * w * sizeof(T)}, new_y);
            are<T>(arena, o.h, h);
          });

      Values open = values<T>(p.all(4), 0.5, 7);  // i, f, o in (0,1), g in (−1,1)
      for (double& gate : open) gate = number(rounded<T>(gate + 0.5));
      const Values d_y = values<T>(p.all(1), 2, 8), d_hidden = values<S>(p.rows * w, 2, 9),
                   d_c = values<S>(p.rows * w, 2, 10);
      by_definition(
          std::size_t{1} << 20,
          [&](Arena& arena) {
            const View<S> states = arena.put<S>(c);
            op::LstmCellBackward<T> o{};
            o.gates = p.view(arena.put<T>(open), 4), o.c = p.view(states, 1);
            if (!first) o.c_before = p.view(states, 1, 1);
            o.d_y = p.view(arena.put<T>(d_y), 1);
            if (!last) o.d_hidden = arena.put<S>(d_hidden);
            o.d_c = arena.put<S>(last ? Values(p.rows * w, std::nan("")) : d_c);
            o.d_gates = arena.put<T>(Values(p.rows * 4 * w));
            o.rows = p.rows, o.columns = w, o.length = p.length;
            return o;
          },
          [&](const Arena& arena, const op::LstmCellBackward<T>& o) {
            Values new_gates = open, new_d_c(p.rows * w), dense(p.rows * 4 * w);
            for (std::size_t part = 0; part < 4; ++part)
              p.change(new_gates, 4, part, [&](std::size_t row, std::size_t i) {
                const auto gate = [&](std::size_t which) { return open[p.at(row, 4, which, i)]; };
                const double t = std::tanh(c[p.at(row, 1, 0, i)]),
                             d_h = d_y[p.at(row, 1, 0, i)] + (last ? 0 : d_hidden[row * w + i]),
                             e = (last ? 0 : d_c[row * w + i]) + d_h * gate(3) * (1 - t * t);
                new_d_c[row * w + i] = e * gate(1);
                const double d_gate[] = {e * gate(2), e * (first ? 0 : c[p.at(row, 1, 0, i, 1)]), e * gate(0), d_h * t};
                return dense[(row * 4 + part) * w + i] =
                           d_gate[part] * (part == 2 ? 1 - gate(2) * gate(2) : gate(part) * (1 - gate(part)));
              });
            are<T>(arena, View<T>{o.gates.offset - p.t * 4 * w * sizeof(T)}, new_gates);
            are<T>(arena, o.d_c, new_d_c);
            are<T>(arena, o.d_gates, dense);
          });
    }
}

TEMPLATE_TEST_CASE("a position of a GRU", "", float, double, bf16, fp16) {
  using T = TestType;
  using S = statistic_t<T>;
  for (const Place& p : places)
    for (const bool biased : {true, false}) {
      const std::size_t w = p.columns;
      CAPTURE(name_of<T>, p.rows, p.length, w, p.t, biased);
      const bool first = p.t == 0, last = p.t + 1 == p.length;
      const Values gates = values<T>(p.all(3), 3, 1), hidden = values<S>(p.rows * 3 * w, 3, 2),
                   bias_ih = values<T>(3 * w, 3, 3), bias_hh = values<T>(3 * w, 3, 4),
                   before = values<S>(p.rows * w, 1, 5), rest = values<T>(p.all(1), 1, 6);
      by_definition(
          std::size_t{1} << 20,
          [&](Arena& arena) {
            op::GruCell<T> o{};
            o.gates = p.view(arena.put<T>(gates), 3);
            if (!first) o.hidden = arena.put<S>(hidden);
            if (biased) o.bias_ih = arena.put<T>(bias_ih), o.bias_hh = arena.put<T>(bias_hh);
            o.inner = p.view(arena.put<T>(rest), 1);
            o.state = arena.put<S>(before), o.state_before = first ? View<S>{} : o.state;
            o.y = p.view(arena.put<T>(rest), 1), o.h = arena.put<T>(Values(p.rows * w));
            o.rows = p.rows, o.columns = w, o.length = p.length;
            return o;
          },
          [&](const Arena& arena, const op::GruCell<T>& o) {
            Values new_gates = gates, inner = rest, y = rest, h(p.rows * w);
            const auto input = [&](std::size_t row, std::size_t part, std::size_t i) {
              return gates[p.at(row, 3, part, i)] + (biased ? bias_ih[part * w + i] : 0);
            };
            const auto state = [&](std::size_t row, std::size_t part, std::size_t i) {
              return (first ? 0 : hidden[(row * 3 + part) * w + i]) + (biased ? bias_hh[part * w + i] : 0);
            };
            const auto gate = [&](std::size_t row, std::size_t part, std::size_t i) {
              const double r = sigmoid(input(row, 0, i) + state(row, 0, i));
              return part == 0   ? r
                     : part == 1 ? sigmoid(input(row, 1, i) + state(row, 1, i))
                                 : std::tanh(input(row, 2, i) + r * state(row, 2, i));
            };
            for (std::size_t part = 0; part < 3; ++part)
              p.change(new_gates, 3, part, [&](std::size_t row, std::size_t i) { return gate(row, part, i); });
            p.change(inner, 1, 0, [&](std::size_t row, std::size_t i) { return state(row, 2, i); });
            p.change(y, 1, 0, [&](std::size_t row, std::size_t i) {
              const double z = gate(row, 1, i);
              return h[row * w + i] = (1 - z) * gate(row, 2, i) + z * (first ? 0 : before[row * w + i]);
            });
            are<T>(arena, View<T>{o.gates.offset - p.t * 3 * w * sizeof(T)}, new_gates);
            are<T>(arena, View<T>{o.inner.offset - p.t * w * sizeof(T)}, inner);
            are<T>(arena, View<T>{o.y.offset - p.t * w * sizeof(T)}, y);
            are<T>(arena, o.state, h);
            are<T>(arena, o.h, h);
          });

      Values open = values<T>(p.all(3), 0.5, 7);
      for (double& gate : open) gate = number(rounded<T>(gate + 0.5));
      const Values inner = values<T>(p.all(1), 3, 8), y = values<T>(p.all(1), 1, 9), d_y = values<T>(p.all(1), 2, 10),
                   d_state = values<S>(p.rows * w, 2, 11);
      by_definition(
          std::size_t{1} << 20,
          [&](Arena& arena) {
            op::GruCellBackward<T> o{};
            o.gates = p.view(arena.put<T>(open), 3), o.inner = p.view(arena.put<T>(inner), 1);
            const View<T> states = arena.put<T>(y);
            if (!first) o.y_before = p.view(states, 1, 1);
            o.d_y = p.view(arena.put<T>(d_y), 1);
            o.d_state = arena.put<S>(last ? Values(p.rows * w, std::nan("")) : d_state);
            o.d_gates = arena.put<T>(Values(p.rows * 3 * w));
            o.rows = p.rows, o.columns = w, o.length = p.length, o.is_last = last;
            return o;
          },
          [&](const Arena& arena, const op::GruCellBackward<T>& o) {
            Values new_gates = open, new_inner = inner, new_d_state(p.rows * w), dense(p.rows * 3 * w);
            for (std::size_t part = 0; part < 3; ++part)
              p.change(new_gates, 3, part, [&](std::size_t row, std::size_t i) {
                const std::size_t here = p.at(row, 1, 0, i);
                const double r = open[p.at(row, 3, 0, i)], z = open[p.at(row, 3, 1, i)], n = open[p.at(row, 3, 2, i)],
                             d_h = d_y[here] + (last ? 0 : d_state[row * w + i]), e = d_h * (1 - z) * (1 - n * n),
                             h = first ? 0 : y[p.at(row, 1, 0, i, 1)];
                new_d_state[row * w + i] = d_h * z;
                new_inner[here] = e * r;
                const double d_gate[] = {e * inner[here] * r * (1 - r), d_h * (h - n) * z * (1 - z), e};
                dense[(row * 3 + part) * w + i] = part == 2 ? e * r : d_gate[part];
                return d_gate[part];
              });
            are<T>(arena, View<T>{o.gates.offset - p.t * 3 * w * sizeof(T)}, new_gates);
            are<T>(arena, View<T>{o.inner.offset - p.t * w * sizeof(T)}, new_inner);
            are<T>(arena, o.d_state, new_d_state);
            are<T>(arena, o.d_gates, dense);
          });
    }
}

TEST_CASE("a thread of a cell that does nothing is told") {
  const auto make = [](Arena& arena) {
    op::LstmCell<float> o{};
    o.gates = arena.put<float>(values<float>(4 * 3 * 11, 3)), o.c = arena.room<float>(33), o.y = arena.room<float>(33);
    o.h = arena.room<float>(33), o.rows = 3, o.columns = 11;
    return o;
  };
  const auto y = [](const Arena& arena, const auto& o) {
    std::vector<std::string> all;
    for (const double value : arena.get(o.y, 33)) all.push_back(std::to_string(value));
    return all;
  };
  for (const std::string& what : told<WithoutAThread>(65536, make, y)) CHECK(what == "another result");
}
