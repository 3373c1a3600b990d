// tests/kernel/reductions.cpp — kernels that add: cross-entropy, sums of squares; and updates.
#include "run.hpp"

#include <regimen/engine/cpu/execute.hpp>
#include <regimen/engine/cpu/loss.hpp>
#include <regimen/engine/cpu/update.hpp>
#include <regimen/kernel/cross_entropy.hpp>
#include <regimen/kernel/update.hpp>
#include <regimen/optimizer/adamw.hpp>
#include <regimen/optimizer/sgd.hpp>

#include <cmath>
#include <limits>
#include <numeric>

using namespace regimen;
using namespace test;

namespace {

constexpr std::size_t room = std::size_t{1} << 21;

/// In fp64 both engines are right to some 1e-13, so what differs by more than 1e-12 of the largest number that goes in
/// differs in its formula.
constexpr double agreement = 1e-12;

/// Within 1, some below 0, so that what follows holds for weighted rows, too; sums of them are exact.
Values some_weights(std::size_t count) {
  Values weights(count);
  for (std::size_t i = 0; i < count; ++i) weights[i] = (double(i * 7 % 5) - 1) / 4;
  return weights;
}

/// In fp32 against fp64. Logits of at most 20: differences are at most 40, so an exponential has an error of 42 u, their
/// sum one of `columns` u more, and a gradient, at most 1, both twice, and a few roundings. As much has a row's loss;
/// with smoothing also that of a sum of differences, 40 · columns u of 40, a tenth of which counts.
template <bool WithGradient, class S>
void cross_entropy(double smoothing, std::size_t rows, std::size_t columns, std::size_t past, bool weighted = false) {
  INFO(rows << " rows, " << columns << " classes, smoothing " << smoothing << (WithGradient ? "" : ", loss alone"));
  CAPTURE(past, name_of<S>);
  const auto make = [&]<class T>(Arena& arena, T) {
    op::CrossEntropy<WithGradient, T> o{};
    arena.begin_past(past * sizeof(T));
    o.logits = arena.put<T>(values<S>(rows * columns, 20));
    Values targets(rows);
    for (std::size_t i = 0; i < rows; ++i) targets[i] = double(i * 7 % columns);
    targets[3] = ignore_index;
    o.target = arena.put<std::int32_t>(targets);
    Scalars scalars;
    scalars.loss_scale = 4, scalars.loss_sum = 1.5, scalars.count = 2;
    o.scalars = arena.scalars(scalars), o.rows = rows, o.columns = columns, o.scale = 0.25, o.smoothing = smoothing;
    if (weighted) o.weight = arena.put<float>(some_weights(rows));
    return o;
  };
  Arena reference(room);
  const auto done = make(reference, 0.0);
  cpu::execute(done, reference.memory_for(done));
  const Scalars found = *reference.memory()(done.scalars);
  const double u = epsilon_of<S> / 2, n = double(columns);
  const bool same = std::is_same_v<S, double>;
  const double loss = same ? found.loss_sum * agreement * 100 : double(rows) * (100 + 5 * n) * u,
               gradient = same ? 100 * agreement : (100 + 2 * n) * u;
  in_every_way(
      room, [&](Arena& arena) { return make(arena, S()); },
      [&](Arena& arena, const auto& o) {
        const Scalars& own = *arena.memory()(o.scalars);
        CHECK(own.count == found.count);
        CHECK(std::fabs(own.loss_sum - found.loss_sum) <= loss);
        const Values logits = WithGradient ? reference.get(done.logits, rows * columns) : values<S>(rows * columns, 20);
        CHECK(misses(arena.get(o.logits, rows * columns), logits, [&](std::size_t) { return gradient; }) == 0);
      });
}

/// As above. Targets are below 2 / columns, so their sum is below 2, and off by `columns` u of that. A gradient is at most
/// 2, off by (44 + 2 columns) u of it and a few roundings. A row's loss is the sum of targets times log(sum), at most
/// log(columns) < 9, and a sum of products, at most 40 each: off by 2 (42 + columns) u, 2 · 9 columns u, 80 (columns + 3) u.
template <bool WithGradient, class S>
void soft_cross_entropy(std::size_t rows, std::size_t columns, std::size_t past, std::size_t past_of_target,
                        bool weighted = false) {
  CAPTURE(WithGradient, name_of<S>, rows, columns, past, past_of_target);
  Values target = values<S>(rows * columns, 2 / double(columns), 2);
  for (double& p : target) p = std::fabs(p);
  for (std::size_t i = columns; i < 2 * columns; ++i) target[i] = 0;
  Values without = target;
  without[2 * columns] = std::nan("");  // row 2 has no target
  const auto make = [&]<class T>(Arena& arena, T) {
    op::SoftCrossEntropy<WithGradient, T> o{};
    arena.begin_past(past * sizeof(T));
    o.logits = arena.put<T>(values<S>(rows * columns, 20));
    arena.begin_past(past_of_target * sizeof(T));
    o.target = arena.put<T>(without);
    Scalars scalars;
    scalars.loss_scale = 4, scalars.loss_sum = 1.5, scalars.count = 2;
    o.scalars = arena.scalars(scalars), o.rows = rows, o.columns = columns, o.scale = 0.25, o.masked = true;
    if (weighted) o.weight = arena.put<float>(some_weights(rows));
    return o;
  };
  Arena reference(room);
  const auto done = make(reference, 0.0);
  cpu::execute(done, reference.memory_for(done));
  const Scalars found = *reference.memory()(done.scalars);
  const double u = epsilon_of<S> / 2, n = double(columns);
  const bool same = std::is_same_v<S, double>;
  const double loss = same ? found.loss_sum * agreement * 100 : double(rows) * (330 + 100 * n) * u,
               gradient = same ? 100 * agreement : (100 + 4 * n) * u;
  in_every_way(
      room, [&](Arena& arena) { return make(arena, S()); },
      [&](Arena& arena, const auto& o) {
        const Scalars& own = *arena.memory()(o.scalars);
        CHECK(own.count == found.count);
        if (!weighted) CHECK(own.count == 2 + double(rows - 1));
        CHECK(std::fabs(own.loss_sum - found.loss_sum) <= loss);
        const Values logits = WithGradient ? reference.get(done.logits, rows * columns) : values<S>(rows * columns, 20),
                     own_logits = arena.get(o.logits, rows * columns);
        CHECK(misses(own_logits, logits, [&](std::size_t) { return gradient; }) == 0);
        if (WithGradient)
          for (std::size_t i = columns; i < 3 * columns; ++i) CHECK(own_logits[i] == 0);
        Values kept = arena.get(o.target, rows * columns);
        CHECK(std::isnan(kept[2 * columns]));
        kept[2 * columns] = target[2 * columns];
        CHECK(kept == target);
      });
}

}  // namespace

/// Rows that begin at multiples of 16 bytes and not, and shorter than what lies before the first; 5000 classes are more
/// than the threads of a block take at a time.
TEST_CASE("cross-entropy") {
  for (const double smoothing : {0.0, 0.1}) {
    for (const std::size_t columns : Sizes{2, 33, 256, 1000})
      cross_entropy<true, double>(smoothing, 11, columns, 0), cross_entropy<false, double>(smoothing, 11, columns, 1);
    for (const std::size_t past : Sizes{0, 1, 3}) {
      for (const std::size_t columns : Sizes{1, 2, 33, 256}) cross_entropy<true, float>(smoothing, 11, columns, past);
      cross_entropy<false, float>(smoothing, 5, 5003, past);
    }
    cross_entropy<true, float>(smoothing, 5, 5000, 0);
    cross_entropy<true, double>(smoothing, 11, 33, 0, true), cross_entropy<true, float>(smoothing, 11, 33, 1, true);
    cross_entropy<false, double>(smoothing, 11, 33, 0, true);
  }
}

/// Targets that begin where logits do, as far from a multiple of 16 bytes, and elsewhere.
TEST_CASE("cross-entropy with distributions") {
  for (const std::size_t columns : Sizes{2, 33, 256, 1000})
    soft_cross_entropy<true, double>(11, columns, 0, 0), soft_cross_entropy<false, double>(11, columns, 1, 0);
  for (const std::size_t past : Sizes{0, 1, 3}) {
    for (const std::size_t columns : Sizes{1, 2, 33, 256}) soft_cross_entropy<true, float>(11, columns, past, 0);
    soft_cross_entropy<true, float>(5, 5000, past, past);
  }
  soft_cross_entropy<false, float>(5, 5003, 3, 3);
  soft_cross_entropy<true, double>(11, 33, 0, 0, true), soft_cross_entropy<true, float>(11, 33, 1, 0, true);
  soft_cross_entropy<false, double>(11, 33, 0, 0, true);
}

TEST_CASE("a target that is no class makes its row NaN, and no other") {
  const auto make = [](Arena& arena) {
    op::CrossEntropy<true, float> o{};
    o.logits = arena.put<float>(values<float>(3 * 40)), o.target = arena.put<std::int32_t>({1, 40, 2});
    o.scalars = arena.scalars(), o.rows = 3, o.columns = 40;
    return o;
  };
  in_every_way(room, make, [](Arena& arena, const auto& o) {
    CHECK(std::isnan(arena.memory()(o.scalars)->loss_sum));
    const Values gradient = arena.get(o.logits, 120);
    for (std::size_t i = 0; i < 120; ++i) CHECK(std::isnan(gradient[i]) == (i / 40 == 1));
  });
}

TEST_CASE("sums of squares have the CPU engine's tree over chunks") {
  for (const std::size_t count : Sizes{1, 4095, 4096, 4097, 5 * 4096 + 3, 40000}) {
    INFO(count << " elements");
    const auto make = [&](Arena& arena) {
      Values integers(count);  // squares and sums that are exact: only a wrong or missing element differs
      for (std::size_t i = 0; i < count; ++i) integers[i] = double(i * 37 % 41) - 20;
      const auto gradient = arena.put<float>(integers);
      return op::SumOfSquares<float>{gradient, arena.put<double>({0.5}), count};
    };
    Arena reference(room);
    const auto done = make(reference);
    cpu::execute(done, reference.memory_for(done));
    in_every_way(room, make,
                 [&](const Arena& arena, const auto& o) { CHECK(arena.get(o.sum, 1) == reference.get(done.sum, 1)); });
  }
}

TEMPLATE_TEST_CASE("sums of squares have one order, wherever the gradient begins", "", float, double, bf16) {
  using G = TestType;
  for (const std::size_t count : Sizes{1, 9, 4096, 4097, 9001}) {
    const Values gradient = values<G>(count);
    for (const Way& way : ways) {
      const auto sum = [&](std::size_t behind) {
        Arena arena(room);
        const op::SumOfSquares<G> o{put_behind<G>(arena, behind, gradient), arena.put<double>({0}), count};
        run(o, arena, way);
        return arena.get(o.sum, 1)[0];
      };
      const double found = sum(0);
      // Fewer than 4096 roundings of a chunk and two of its place in the tree, of positive terms.
      const double exact = std::inner_product(gradient.begin(), gradient.end(), gradient.begin(), 0.0);
      CAPTURE(count, way.name);
      CHECK(found == Approx(exact).epsilon((4098 + double(count)) * 0x1p-53));  // and `count` of the test's own
      CHECK(sum(1) == found);
    }
  }
}

/// One element a chunk, so that a chunk's sum is its square in every order, and the order of the chunks alone decides
/// the last bits.
TEST_CASE("chunks of squares are added as the CPU engine's tree: the bits of its order, and of no other") {
  for (const std::size_t chunks : Sizes{2, 3, 6, 8, 13, 16, 23, 25, 27, 30}) {
    INFO(chunks << " chunks");
    const std::size_t count = (chunks - 1) * kernel::square_chunk + 1;
    Values gradient(count), squares = values<double>(chunks, 1, chunks);
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      gradient[chunk * kernel::square_chunk] = squares[chunk] /= 3;
      squares[chunk] *= squares[chunk];
    }
    const auto make = [&](Arena& arena) {
      const auto view = arena.put<double>(gradient);
      return op::SumOfSquares<double>{view, arena.put<double>({0}), count};
    };
    Arena reference(room);
    const auto done = make(reference);
    cpu::execute(done, reference.memory_for(done));
    const double sum = reference.get(done.sum, 1)[0];
    in_every_way(room, make, [&](const Arena& arena, const auto& o) { CHECK(arena.get(o.sum, 1)[0] == sum); });
    if (chunks > 3)
      CHECK(sum != std::accumulate(squares.begin(), squares.end(), 0.0));  // of other numbers both may round alike
  }
}

namespace {

/// A part of a unit, as a rank has it: it begins within a segment and ends within another. `apply` as the step says.
template <class UpdateRule, class M, class T>
void updates(std::uint32_t apply) {
  const op::Segments segments{{{{0, 1, true}, {1, 20, false}, {21, 3000, true}, {3021, 992, false}, {4013, 600, true}}},
                              5};
  for (const std::size_t first : Sizes{0, 7}) {
    const std::size_t count = 4613 - 2 * first, states = UpdateRule::states * count;
    const auto make = [&](Arena& arena) {
      op::Update<UpdateRule, M, T, M> o{};
      o.master = arena.put<M>(values<M>(count)), o.state = arena.put<M>(Values(states, 0.25));
      o.gradient = arena.put<M>(values<M>(count, 1, 2)), o.segments = segments, o.first = first, o.count = count,
      o.state_stride = count;
      if (!std::is_same_v<M, T>) o.copy = arena.put<T>(Values(count, 3));
      Scalars s;
      s.apply = apply, s.factor = 0.3, s.learning_rate = 0.1, s.correction_first = 2, s.correction_second = 3;
      o.scalars = arena.scalars(s), o.divided = first > 0;
      return o;
    };
    Arena reference(room);
    const auto done = make(reference);
    const Values before = reference.get(done.master, count);
    cpu::execute(done, reference.memory_for(done));
    CHECK((reference.get(done.master, count) == before) == (apply == 0));
    // Ten roundings of a step that is at most 1, and what a fused multiply-add leaves out.
    const double each = apply == 0 ? 0 : 10 * (sizeof(M) == 8 ? agreement : double(epsilon_of<M>));
    in_every_way(room, make, [&](const Arena& arena, const auto& o) {
      const Values master = arena.get(o.master, count);
      CHECK(misses(master, reference.get(done.master, count), [&](std::size_t) { return each; }) == 0);
      CHECK(misses(arena.get(o.state, states), reference.get(done.state, states), [&](std::size_t) { return each; }) ==
            0);
      if (std::is_same_v<M, T>) return;
      Values copy(count, 3);
      for (std::size_t i = 0; i < count && apply != 0; ++i) copy[i] = number(rounded<T>(master[i]));
      CHECK(arena.get(o.copy, count) == copy);
    });
  }
}

}  // namespace

namespace {

/// One update, whose tensors begin so many elements behind multiples of 16 bytes, and states so many elements apart from
/// one another's end: all that it writes, and what lies around it.
struct Places {
  std::size_t master = 0, gradient = 0, state = 0, copy = 0, apart = 0;
};
template <class UpdateRule, class M, class T>
Values updated_at(const Places& places, const Way& way) {
  constexpr std::size_t count = 80;
  const std::size_t stride = count + places.apart, states = UpdateRule::states * stride;
  Arena arena(room);
  op::Update<UpdateRule, M, T, M> o{};
  o.master = put_behind<M>(arena, places.master, values<M>(count)),
  o.state = put_behind<M>(arena, places.state, Values(states, 0.25)),
  o.gradient = put_behind<M>(arena, places.gradient, values<M>(count, 1, 2)),
  o.copy = put_behind<T>(arena, places.copy, Values(count, 3));
  // Segments of whole packs and others, which begin with a pack, or not.
  o.segments = {{{{0, 17, true}, {24, 16, false}, {40, 1, true}, {41, 22, false}, {64, 16, true}}}, 5};
  o.count = count, o.state_stride = stride;
  Scalars s;
  s.apply = 1, s.factor = 0.3, s.learning_rate = 0.1, s.correction_first = 2, s.correction_second = 3;
  o.scalars = arena.scalars(s);
  run(o, arena, way);
  CHECK(arena.guards_hold());
  Values all = get_around(arena, o.master, count);
  for (std::size_t m = 0; m < UpdateRule::states; ++m) {
    const Values of_state = arena.get(View<M>{o.state.offset + m * stride * sizeof(M)}, count);
    all.insert(all.end(), of_state.begin(), of_state.end());
  }
  const Values copy = get_around(arena, o.copy, count);
  all.insert(all.end(), copy.begin(), copy.end());
  for (double& value : all)
    if (std::isnan(value)) value = 99;  // around tensors
  return all;
}

template <class UpdateRule, class M, class T>
void updates_anywhere() {
  const Values aligned = updated_at<UpdateRule, M, T>({}, ways[0]);
  for (const Way& way : ways)
    for (const Places& places :
         {Places{}, Places{1, 0, 0, 0, 0}, Places{0, 1, 0, 0, 0}, Places{0, 0, 1, 0, 0}, Places{0, 0, 0, 1, 0},
          Places{0, 0, 0, 0, 1}, Places{0, 0, 0, 0, 8}, Places{1, 1, 1, 1, 0}, Places{1, 2, 3, 4, 5}}) {
      CAPTURE(way.name, places.master, places.gradient, places.state, places.copy, places.apart);
      CHECK((updated_at<UpdateRule, M, T>(places, way) == aligned));
    }
}

}  // namespace

TEST_CASE("updates have the same bits wherever their tensors begin") {
  updates_anywhere<AdamW, float, bf16>();
  updates_anywhere<AdamW, double, float>();
  updates_anywhere<Sgd, float, fp16>();
}

TEST_CASE("updates: weights, state, the rounded copy, of a whole unit or a part") {
  updates<AdamW, double, double>(1);
  updates<AdamW, float, bf16>(1);
  updates<AdamW, float, fp16>(1);
  updates<Sgd, float, bf16>(1);
  updates<Sgd, double, double>(1);
}

TEST_CASE("a step that does not count touches nothing") {
  updates<AdamW, double, double>(0);
  updates<AdamW, float, bf16>(0);
}
