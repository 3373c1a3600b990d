// Lstm and Gru: their definition in loops, calculus, the same bits whatever is computed again and wherever weights lie,
// the memory and work that are planned, the state in more than 16 bits, a text that takes memory to learn, and generation.
#include <regimen/data/text.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/trainers/generate.hpp>
#include <regimen/trainers/gradient_check.hpp>
#include <regimen/trainers/inference.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"
#include "support/on_two.hpp"
#include "support/weights.hpp"
#include "temporary.hpp"

#include <cmath>
#include <string>
#include <vector>

using namespace regimen;

namespace {

/// First, in a Repeat, in a Residual, in a branch, without biases.
struct Net final
    : Model<Input<Tokens<6>>, Embedding<Vocabulary<9>, 8>, Lstm<8>, Repeat<3, Residual<Lstm<8>, Gru<8>>>,
            Fork<Concat, Identity, Sequential<Gru<5, NoBias>, Lstm<4, NoBias>>>, LayerNorm, Gru<7>, Linear<9>> {};

const Text& text() {  // 22 samples of 6 tokens: the sixth batch of 4 is short
  static const Text one = Text::from_string("she sells sea shells here by", Text::Characters);
  return one;
}
std::vector<double> numbers(auto& trainer) {
  trainer.poison_dead_memory();
  std::vector<double> all;
  all.push_back(trainer.fit(text(), {.steps = 6, .progress = false}).loss);
  all.push_back(trainer.evaluate(text().blocks()).loss);
  CHECK(trainer.used().peak == trainer.planned().peak);
  for (const double weight : support::weights_of<double>(trainer)) all.push_back(weight);
  return all;
}
template <class... Policies>
std::vector<double> trained() {
  Trainer<Net, Batch<4>, Policies...> trainer;
  return numbers(trainer);
}
template <class... Policies>
std::vector<double> on_two() {
  return support::on_two<Trainer<Net, Batch<3>, Communicator<Threads>, Policies...>>(
      [](auto& trainer) { return numbers(trainer); });
}

/// What a plan says of iterations that it skips is what it finds in all of them.
template <class... Policies>
void skips_what_repeats() {
  using Recipe = programs::Recipe<Net, ConfigurationOf<Policies...>>;
  for (const std::size_t batch : {std::size_t{1}, std::size_t{3}}) {
    const auto found = Recipe::walk_step(batch), all = Recipe::walk_step(batch, true);
    CHECK(found.arena.peak == all.arena.peak);
    for (std::size_t phase = 0; phase < 3; ++phase) {
      CHECK(found.engine.cost[phase].operations == all.engine.cost[phase].operations);
      CHECK(found.engine.cost[phase].flops == Approx(all.engine.cost[phase].flops).epsilon(1e-12));
      CHECK(found.engine.cost[phase].bytes == Approx(all.engine.cost[phase].bytes).epsilon(1e-12));
    }
  }
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// Of one sample, x (T,C): weights as PyTorch has them.
struct Cell {
  std::vector<double> of_input, of_state, bias_ih, bias_hh;  // biases may be empty
  std::size_t in = 0;

  static double affine(const std::vector<double>& matrix, const std::vector<double>& bias, std::size_t row,
                       const double* x, std::size_t count) {
    double sum = bias.empty() ? 0 : bias[row];
    for (std::size_t i = 0; i < count; ++i) sum += matrix[row * count + i] * x[i];
    return sum;
  }
};
std::vector<double> lstm(const Cell& p, const std::vector<double>& x) {
  const std::size_t w = p.of_state.size() / (p.of_input.size() / p.in);
  std::vector<double> h(w), c(w), y;
  for (std::size_t t = 0; t * p.in < x.size(); ++t) {
    const std::vector<double> before = h;
    for (std::size_t i = 0; i < w; ++i) {
      double s[4];
      for (std::size_t part = 0; part < 4; ++part)
        s[part] = Cell::affine(p.of_input, p.bias_ih, part * w + i, &x[t * p.in], p.in) +
                  Cell::affine(p.of_state, p.bias_hh, part * w + i, before.data(), w);
      c[i] = sigmoid(s[1]) * c[i] + sigmoid(s[0]) * std::tanh(s[2]);
      h[i] = sigmoid(s[3]) * std::tanh(c[i]);
    }
    y.insert(y.end(), h.begin(), h.end());
  }
  return y;
}
std::vector<double> gru(const Cell& p, const std::vector<double>& x) {
  const std::size_t w = p.of_state.size() / (p.of_input.size() / p.in);
  std::vector<double> h(w), y;
  for (std::size_t t = 0; t * p.in < x.size(); ++t) {
    const std::vector<double> before = h;
    for (std::size_t i = 0; i < w; ++i) {
      const auto s = [&](std::size_t part) {
        return Cell::affine(p.of_input, p.bias_ih, part * w + i, &x[t * p.in], p.in);
      };
      const auto k = [&](std::size_t part) {
        return Cell::affine(p.of_state, p.bias_hh, part * w + i, before.data(), w);
      };
      const double r = sigmoid(s(0) + k(0)), z = sigmoid(s(1) + k(1)), n = std::tanh(s(2) + r * k(2));
      h[i] = (1 - z) * n + z * before[i];
    }
    y.insert(y.end(), h.begin(), h.end());
  }
  return y;
}
struct Two final
    : Model<Input<Tokens<7>>, Embedding<Vocabulary<5>, 3>, Lstm<6>, Gru<4, NoBias>, Lstm<2, NoBias>, Gru<5>> {};

template <class Layer, class Shape, class... Policies>
double worst() {
  return gradient_check_layer<Layer, Shape, Policies...>({12, 1e-3, 1}).worst;
}

}  // namespace

TEST_CASE("recurrent layers are their definition") {
  Trainer<Two, Precision<fp64>, Batch<3>, Loss<MeanSquaredError>> trainer;
  const auto all = trainer.parameters();
  REQUIRE(all.size() == 1 + 4 + 2 + 2 + 4);
  CHECK(all[1].name == "1.weight_ih");
  CHECK(all[4].name == "1.bias_hh");
  for (std::size_t p = 0; p < all.size(); ++p)
    for (std::size_t i = 0; i < all[p].values.size(); ++i)  // far from what a layer begins with
      all[p].values[i] = 1.5 * std::sin(double(17 * p + i * i + 1));
  trainer.parameters_changed();
  const auto weights = [&](std::size_t first, bool biased, std::size_t in) {
    const auto copy = [&](std::size_t i) {
      return std::vector<double>(all[first + i].values.begin(), all[first + i].values.end());
    };
    Cell result{copy(0), copy(1), {}, {}, in};
    if (biased) result.bias_ih = copy(2), result.bias_hh = copy(3);
    return result;
  };
  std::vector<std::int32_t> tokens(21);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::int32_t>(Philox::mix(1, i) % 5);
  const std::vector<double> found = trainer.predict(tokens);
  for (std::size_t sample = 0; sample < 3; ++sample) {
    std::vector<double> x;
    for (std::size_t t = 0; t < 7; ++t)
      for (std::size_t i = 0; i < 3; ++i) x.push_back(all[0].values[std::size_t(tokens[sample * 7 + t]) * 3 + i]);
    x = gru(weights(9, true, 2), lstm(weights(7, false, 4), gru(weights(5, false, 6), lstm(weights(1, true, 3), x))));
    double far = 0;
    for (std::size_t i = 0; i < x.size(); ++i) far = std::max(far, std::abs(x[i] - found[sample * x.size() + i]));
    CHECK(far < 1e-12);  // four layers of some tens of roundings for each of seven positions
  }
}

TEST_CASE("recurrent layers have the gradients of calculus") {
  CHECK(worst<Lstm<5>, Shape<6, 3>>() < 1e-9);
  CHECK(worst<Gru<5>, Shape<6, 3>>() < 1e-9);
  CHECK(worst<Lstm<4, NoBias>, Shape<2, 3>>() < 1e-9);
  CHECK(worst<Gru<4, NoBias>, Shape<2, 3>>() < 1e-9);
  CHECK(worst<Lstm<4>, Shape<1, 3>>() < 1e-9);  // without a position before
  CHECK(worst<Gru<4>, Shape<1, 3>>() < 1e-9);
  CHECK(worst<Lstm<5>, Shape<4, 3>, Freeze<Lstm<5>>>() < 1e-9);
  CHECK(worst<Gru<5>, Shape<4, 3>, Freeze<Gru<5>>>() < 1e-9);
  CHECK(gradient_check<Net, Accumulate<2>>({8, 5e-4, 1}).worst < 1e-7);
}

TEST_CASE("recurrent layers train the same bits, whatever is computed again and wherever weights lie") {
  const std::vector<double> plain = trained<>();
  CHECK(trained<Checkpoint<Every<1>>>() == plain);
  CHECK(trained<Checkpoint<Every<2>>>() == plain);
  CHECK(trained<Checkpoint<Selective<LayerNorm>>>() == plain);
  const std::vector<double> narrow = trained<Precision<bf16, fp32>>();
  CHECK(trained<Precision<bf16, fp32>, Checkpoint<Every<1>>>() == narrow);
  const std::vector<double> replicated = on_two<>();
  CHECK(on_two<Shard<ZeRO1>>() == replicated);
  CHECK(on_two<Shard<ZeRO2>>() == replicated);
  CHECK(on_two<Shard<ZeRO3>, Checkpoint<Every<1>>>() == replicated);
}

TEST_CASE("plans of recurrent layers are exact, and cost as much to make for long texts as for short ones") {
  skips_what_repeats<Batch<3>>();
  skips_what_repeats<Batch<3>, Checkpoint<Every<1>>, Precision<bf16, fp32>>();
  using Profiled = Trainer<Net, Batch<4>, Debug<Profile>>;
  Profiled trainer;
  trainer.fit(text(), {.steps = 2, .progress = false});
  const MemoryPlan& plan = Profiled::plan();
  CHECK(trainer.profile().operations() == 2 * plan.operations());
  double flops = 0, bytes = 0;
  for (const OperationTime& row : trainer.profile().rows()) flops += row.flops, bytes += row.bytes;
  CHECK(flops == Approx(2 * (plan.forward.flops + plan.backward.flops + plan.update.flops)));
  CHECK(bytes == Approx(2 * (plan.forward.bytes + plan.backward.bytes + plan.update.bytes)));
  // A million positions, in a constant expression. Saved: the input and the output, gates and c, in fp32.
  struct Long : Model<Input<Tokens<1'000'000>>, Embedding<Vocabulary<9>, 8>, Lstm<8>, Linear<9>> {};
  constexpr std::size_t steps = Trainer<Long, Batch<2>>::plan().forward.operations;
  static_assert(steps > 2'000'000 && steps < 2'000'100);
}

// Gates that let the state come 1/400 of the rest nearer to 1 with each position. Steps of less than 1/512 are lost where
// the sum is rounded to bf16 above 1/2.
TEST_CASE("the state is carried in more than 16 bits") {
  const auto last = []<class Layer, class T>(std::type_identity<Layer>, std::type_identity<T>, std::size_t fill_at) {
    struct Slow : Model<Input<Tokens<600>>, Embedding<Vocabulary<2>, 1>, Layer> {};
    Trainer<Slow, Precision<T, std::conditional_t<std::is_same_v<T, fp64>, fp64, fp32>>, Batch<1>,
            Loss<MeanSquaredError>>
        trainer;
    for (const auto& parameter : trainer.parameters())
      for (auto& value : parameter.values) value = 0;
    const auto bias = trainer.parameters()[3].values;
    if (fill_at == 4) bias[0] = -6, bias[1] = 6, bias[2] = 10, bias[3] = 10;  // i, f, g, o
    else bias[0] = 0, bias[1] = 6, bias[2] = 10;                              // r, z, n
    trainer.parameters_changed();
    return double(trainer.predict(std::vector<std::int32_t>(600)).back());
  };
  const double of_lstm = last(std::type_identity<Lstm<1>>{}, std::type_identity<fp64>{}, 4),
               of_gru = last(std::type_identity<Gru<1>>{}, std::type_identity<fp64>{}, 3);
  CHECK(of_gru == Approx(1 - std::pow(sigmoid(6), 600)));
  CHECK(of_lstm == Approx(std::tanh(1 - std::pow(sigmoid(6), 600))).epsilon(1e-3));
  CHECK(std::abs(last(std::type_identity<Lstm<1>>{}, std::type_identity<bf16>{}, 4) - of_lstm) < 0x1p-8);
  CHECK(std::abs(last(std::type_identity<Gru<1>>{}, std::type_identity<bf16>{}, 3) - of_gru) < 0x1p-8);
}

// One of two words of four letters, by chance: the last letter is told by the first alone, and the two between are the
// same. A bit for each word is left, ln 2 / 4 for a letter; without memory of three letters it is twice as much.
template <class Layer>
struct Speller final : Model<Input<Tokens<16>>, Embedding<Vocabulary<5>, 24>, Repeat<2, Layer>, Linear<5>> {};

TEMPLATE_TEST_CASE("a text that takes memory is learnt, and continued in the same way from states and from windows", "",
                   Lstm<24>, Gru<24>) {
  std::string words;
  for (std::uint64_t i = 0; i < 400; ++i) words += Philox::mix(5, i) % 2 == 0 ? "abcd" : "dbca";
  const Text source = Text::from_string(words, Text::Characters);
  using Network = Speller<TestType>;
  Trainer<Network, Batch<16>> trainer{{.optimizer = {.learning_rate = 1e-2}}};
  trainer.fit(source, {.steps = 400, .progress = false});
  const double left = trainer.evaluate(source.blocks()).loss;
  CHECK(left < 0.3);  // and what a window's first letters do not tell: 0.21; without memory 0.38
  CHECK(left > 0.17);

  const ::test::Directory folder;
  trainer.save(folder / "state");
  Inference<Network, Batch<1>> model(folder / "state");
  static_assert(Inference<Network, Batch<1>>::decodes);
  model.poison_dead_memory();
  const std::vector<std::int32_t> prompt = source.encode("ab");
  const std::vector<std::int32_t> greedy = generate(trainer, prompt, 30, {.temperature = 0});
  CHECK(generate(model, prompt, 30, {.temperature = 0}) == greedy);
  CHECK(generate(model, prompt, 30, {.seed = 3}) == generate(trainer, prompt, 30, {.seed = 3}));
  CHECK(source.decode(std::vector<std::int32_t>(greedy.begin(), greedy.begin() + 2)) == "cd");
  // The logits of each position, after a beginning that is read at once or one by one.
  const std::vector<std::int32_t> line = source.encode(words.substr(8, 16));
  const std::vector<float> whole = trainer.predict(line);
  for (const std::size_t beginning : {std::size_t{1}, std::size_t{9}}) {
    double far = 0;
    for (std::size_t t = beginning; t <= 16; ++t) {
      const std::vector<float> logits =
          t == beginning ? model.start(std::span(line).first(t)) : model.next(line[t - 1]);
      for (std::size_t i = 0; i < 5; ++i)
        far = std::max(far, std::abs(double(logits[i]) - double(whole[(t - 1) * 5 + i])));
    }
    CHECK(far < 1e-4);
  }
  CHECK(model.used().peak == Inference<Network, Batch<1>>::plan().peak);
}
