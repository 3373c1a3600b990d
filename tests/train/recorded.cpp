// An independent implementation: losses, update rules, loss scales and whole training curves against what PyTorch
// computed.
#include "train/recorded.hpp"

#include <regimen/engine/cpu/kernels.hpp>
#include <regimen/optimizer/adam.hpp>
#include <regimen/optimizer/lamb.hpp>
#include <regimen/optimizer/muon.hpp>
#include <regimen/optimizer/rmsprop.hpp>
#include <regimen/optimizer/sgd.hpp>

#include <limits>

using namespace regimen;
using namespace regimen::test;

namespace {

struct Embedded final : Model<Input<Tokens<6>>, Embedding<Vocabulary<11>, 8>, PositionEmbedding> {};
struct Logits final : Model<Input<Tokens<10>>, Embedding<Vocabulary<10>, 7>> {};
struct Table final : Model<Input<Tokens<4>>, Embedding<Vocabulary<4>, 3>> {};
template <std::size_t inputs>
struct Sixteen final : Model<Input<Vector<inputs>>, Linear<16>> {};
struct Views final : Model<Input<Tokens<2>>, Embedding<Vocabulary<10>, 3>> {};
struct TinyGpt final : Model<Input<Tokens<8>>, Embedding<Vocabulary<11>, 16>, PositionEmbedding,
                             Repeat<2, Sequential<Residual<LayerNorm, SelfAttention<Heads<2>, Causal>>,
                                                  Residual<LayerNorm, Linear<64>, GeluTanh, Linear<16>>>>,
                             LayerNorm, Linear<11>> {};
struct TinyMlp final : Model<Input<Vector<6>>, Linear<12>, Relu, Linear<9>, Relu, Linear<5>> {};

template <class T>
void check_embedding() {
  const Recorded from("embedding");
  Trainer<Embedded, Precision<T>, Batch<2>, Loss<Upstream>> trainer;
  from.fill(trainer.parameters()[0], "parameter.token.weight");
  from.fill(trainer.parameters()[1], "parameter.position.weight");
  const auto tokens = from.values<std::int32_t>("tokens");
  compare<T>(from, "output", trainer.predict(tokens));
  const auto upstream = from.values<float>("upstream");
  trainer.backward(trainer.forward(tokens, std::vector<T>(upstream.begin(), upstream.end())));
  compare<T>(from, "gradient.token.weight", trainer.gradients()[0].values);
  compare<T>(from, "gradient.position.weight", trainer.gradients()[1].values);
}

/// sums   under Summed: the recorded sum, whose gradient is recorded
template <class Network, class Function, class T, std::size_t batch = 1, bool sums = false>
void check_loss(const std::string& name, const std::string& output) {
  INFO(name);
  const Recorded from(name);
  using Train = Trainer<Network, Precision<T>, Batch<batch>, Loss<Function>>;
  Train trainer;
  from.fill(trainer.parameters()[0], output);
  std::vector<std::int32_t> rows(batch * Train::input_size);
  std::iota(rows.begin(), rows.end(), 0);
  std::vector<typename Train::Label> target;
  if constexpr (std::is_same_v<typename Train::Label, std::int32_t>)
    target = from.template values<std::int32_t>("target");
  else {
    const auto read = from.template values<float>("target");
    target.assign(read.begin(), read.end());
  }
  const auto loss = trainer.forward(rows, target);
  compare<T>(from, sums ? "loss_sum" : "loss", std::vector<double>{loss.value()});
  trainer.backward(loss);
  const double count = sums ? 1 : from.template values<std::int32_t>("count")[0];
  compare<T>(from, "gradient." + output, trainer.gradients()[0].values, trainer.gradient_divisor() / count);
}
/// The same with a weight for each target.
template <class Network, class Function, class T, class Target>
void check_weighted(const std::string& name, const std::string& output) {
  INFO(name << " in " << name_of<T>);
  const Recorded from(name);
  Trainer<Network, Precision<T>, Batch<1>, Loss<SampleWeighted<Function>>> trainer;
  from.fill(trainer.parameters()[0], output);
  std::vector<std::int32_t> rows(trainer.input_size);
  std::iota(rows.begin(), rows.end(), 0);
  const auto target = from.template values<Target>("target");
  const auto weight = from.template values<float>("weight");
  std::vector<typename decltype(trainer)::Label> targets(1);
  REQUIRE(targets[0].template get<0>().size() == target.size());
  REQUIRE(targets[0].template get<1>().size() == weight.size());
  std::copy(target.begin(), target.end(), targets[0].template get<0>().begin());
  std::copy(weight.begin(), weight.end(), targets[0].template get<1>().begin());
  double sum = 0;
  for (std::size_t i = 0; i < weight.size(); ++i) sum += double(target[i]) == ignore_index ? 0 : double(weight[i]);
  const auto loss = trainer.forward(rows, targets);
  compare<T>(from, "loss", std::vector<double>{loss.value()});
  trainer.backward(loss);
  compare<T>(from, "gradient." + output, trainer.gradients()[0].values, trainer.gradient_divisor() / sum);
}
template <class Function>
void check_cross_entropy(const std::string& name) {
  check_loss<Logits, Function, fp32>(name, "logits");
  check_loss<Logits, Function, fp64>(name, "logits");
}

/// 16 outputs: the one division, by a count of 16 times a scale of 1/16, is by 1. Weights that the file lacks stand still.
template <class Rule, class T, std::size_t inputs>
void check_rule(const std::string& name, typename Rule::Options options) {
  INFO(name);
  const Recorded from(name);
  const auto start = from.values<float>("start"), gradients = from.values<float>("gradients");
  Trainer<Sixteen<inputs>, Precision<T>, Batch<1>, Loss<MeanSquaredError>, Optimizer<Rule>> trainer{
      {.optimizer = options}};
  const auto weight = trainer.parameters()[0].values;
  std::fill(weight.begin(), weight.end(), T(0));
  std::copy(start.begin(), start.end(), weight.begin());
  std::vector<T> history;
  for (std::size_t step = 0; step < 5; ++step) {
    auto found = trainer.backward(trainer.forward(std::vector<T>(inputs, T(0)), std::vector<T>(16, T(0))));
    for (const auto& gradient : trainer.gradients()) std::fill(gradient.values.begin(), gradient.values.end(), T(0));
    std::copy_n(gradients.begin() + std::ptrdiff_t(step * start.size()), start.size(),
                trainer.gradients()[0].values.begin());
    CHECK(trainer.gradient_divisor() == 1);
    trainer.apply(found);
    history.insert(history.end(), weight.begin(), weight.begin() + std::ptrdiff_t(start.size()));
    CHECK(std::all_of(weight.begin() + std::ptrdiff_t(start.size()), weight.end(), [](T w) { return w == 0; }));
  }
  compare<T>(from, "weights", history);
}
template <class Rule, std::size_t inputs = 1>
void check_rule(const std::string& name, const typename Rule::Options& options) {
  check_rule<Rule, fp32, inputs>("optimizer_" + name, options);
  check_rule<Rule, fp64, inputs>("optimizer_" + name, options);
}

/// The state machine of a dynamic loss scale, step by step.
void check_loss_scale(const std::string& name) {
  INFO(name);
  const Recorded from("loss_scale_" + name);
  const auto steps = from.values<std::int32_t>("step"), finite = from.values<std::int32_t>("finite"),
             streak = from.values<std::int32_t>("streak");
  const auto scale = from.values<float>("scale");
  op::LossScaling scaling{std::stod(from.file.value("initial")), std::stoull(from.file.value("growth_steps"))};
  Scalars scalars;
  scalars.loss_scale = scaling.initial;
  cpu::Memory memory{reinterpret_cast<std::byte*>(&scalars), sizeof scalars};
  std::int32_t step = 1;
  std::uint64_t updates = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (; step <= steps[i]; ++step) {
      const bool good = step < steps[i] || finite[i] != 0;
      updates += good;
      cpu::execute(op::Begin{{0}}, memory);
      scalars.count = 1;
      scalars.square_sum = good ? 1 : std::numeric_limits<double>::infinity();
      cpu::execute(op::Finish<AdamW>{.scalars = {0}, .loss_scaling = scaling}, memory);
      CHECK(scalars.apply == (good ? 1 : 0));
    }
    INFO("step " << steps[i]);
    CHECK(scalars.loss_scale == double(scale[i]));
    CHECK(scalars.finite_streak == static_cast<std::uint64_t>(streak[i]));
    CHECK(scalars.updates == updates);
  }
}

}  // namespace

/// The outputs of six samples are the rows of two tables.
struct TwoTables final : Model<Input<Bundle<Tokens<1>, Tokens<1>>>,
                               Fork<Outputs, Sequential<Part<0>, Embedding<Vocabulary<6>, 5>, Flatten>,
                                    Sequential<Part<1>, Embedding<Vocabulary<6>, 3>, Flatten>>> {};
template <class T>
void check_weighted_sum(const std::string& suffix) {
  INFO(name_of<T> << suffix);
  const Recorded from("weighted_sum");
  using Train =
      Trainer<TwoTables, Precision<T>, Batch<6>, Loss<SumOf<CrossEntropy, Weighted<MeanSquaredError, Ratio<1, 2>>>>>;
  Train trainer;
  from.fill(trainer.parameters()[0], "logits");
  from.fill(trainer.parameters()[1], "numbers");
  std::vector<typename Train::Input> rows(6);
  std::vector<typename Train::Label> targets(6);
  const auto target = from.values<std::int32_t>("target" + suffix);
  const auto goal = from.values<float>("goal");
  for (std::size_t s = 0; s < 6; ++s) {
    rows[s].template get<0>()[0] = rows[s].template get<1>()[0] = static_cast<std::int32_t>(s);
    targets[s].template get<0>()[0] = target[s];
    std::copy_n(goal.begin() + static_cast<std::ptrdiff_t>(3 * s), 3, targets[s].template get<1>().begin());
  }
  const auto loss = trainer.forward(rows, targets);
  compare<T>(from, "loss" + suffix, std::vector<double>{loss.value()});
  trainer.backward(loss);
  compare<T>(from, "gradient.logits" + suffix, trainer.gradients()[0].values, trainer.gradient_divisor());
  compare<T>(from, "gradient.numbers" + suffix, trainer.gradients()[1].values, trainer.gradient_divisor());
}

TEST_CASE("a weighted sum of losses agrees with PyTorch") {
  check_weighted_sum<fp32>("");
  check_weighted_sum<fp64>("");
  check_weighted_sum<fp32>(".ignoring");
  check_weighted_sum<fp64>(".ignoring");
}
TEST_CASE("embeddings agree with PyTorch") {
  check_embedding<fp32>();
  check_embedding<fp64>();
}
TEST_CASE("losses agree with PyTorch") {
  check_cross_entropy<CrossEntropy>("cross_entropy");
  check_cross_entropy<CrossEntropy>("cross_entropy_ignore");
  check_cross_entropy<CrossEntropy>("cross_entropy_masked");
  check_cross_entropy<SmoothedCrossEntropy<Ratio<1, 10>>>("cross_entropy_smoothing");
  check_cross_entropy<SmoothedCrossEntropy<Ratio<1, 10>>>("cross_entropy_ignore_smoothing");
  check_cross_entropy<SoftCrossEntropy>("soft_cross_entropy");
  check_loss<Table, MeanSquaredError, fp32>("squared_error", "output");
  check_loss<Table, MeanSquaredError, fp64>("squared_error", "output");
  check_loss<Table, Huber<Ratio<1, 2>>, fp32>("huber", "output");
  check_loss<Table, Huber<Ratio<1, 2>>, fp64>("huber", "output");
  check_loss<Table, BinaryCrossEntropy, fp32>("binary_cross_entropy", "output");
  check_loss<Table, BinaryCrossEntropy, fp64>("binary_cross_entropy", "output");
  check_loss<Logits, Masked<SoftCrossEntropy>, fp32>("masked_soft_cross_entropy", "logits");
  check_loss<Logits, Masked<SoftCrossEntropy>, fp64>("masked_soft_cross_entropy", "logits");
  check_loss<Table, Masked<Huber<Ratio<1, 2>>>, fp32>("masked_huber", "output");
  check_loss<Table, Masked<Huber<Ratio<1, 2>>>, fp64>("masked_huber", "output");
  check_weighted<Logits, CrossEntropy, fp32, std::int32_t>("weighted_cross_entropy", "logits");
  check_weighted<Logits, CrossEntropy, fp64, std::int32_t>("weighted_cross_entropy", "logits");
  check_weighted<Table, Huber<Ratio<1, 2>>, fp32, float>("weighted_huber", "output");
  check_weighted<Table, Huber<Ratio<1, 2>>, fp64, float>("weighted_huber", "output");
  check_loss<Logits, Summed<CrossEntropy>, fp64, 1, true>("cross_entropy_ignore", "logits");
  check_loss<Table, Summed<Masked<Huber<Ratio<1, 2>>>>, fp64, 1, true>("masked_huber", "output");
  check_loss<Views, NtXent<Ratio<1, 10>>, fp32, 5>("nt_xent", "output");
  check_loss<Views, NtXent<Ratio<1, 10>>, fp64, 5>("nt_xent", "output");
}
TEST_CASE("update rules agree with PyTorch") {
  check_rule<AdamW>("adamw", {.learning_rate = 1e-2, .beta2 = 0.99, .weight_decay = 0.1});
  check_rule<Adam>("adam", {.learning_rate = 1e-2, .weight_decay = 0.1});
  check_rule<Sgd>("sgd", {.learning_rate = 0.1, .weight_decay = 0.1});
  check_rule<Sgd>("sgd_momentum", {.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.1});
  check_rule<Sgd>("sgd_nesterov", {.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.1, .nesterov = true});
  check_rule<RmsProp>("rmsprop", {.learning_rate = 1e-2, .weight_decay = 0.1});
  check_rule<RmsProp>("rmsprop_momentum", {.learning_rate = 1e-2, .momentum = 0.9});
  check_rule<Lamb>("lamb", {.learning_rate = 0.1, .beta2 = 0.99, .weight_decay = 0.1});
  check_rule<Muon, 3>("muon", {.learning_rate = 1e-2, .momentum = 0.9});
  check_rule<Muon, 3>("muon_plain", {.learning_rate = 1e-2, .momentum = 0.9, .nesterov = false});
}
TEST_CASE("a dynamic loss scale is that of Keras") {
  for (const char* name : {"usual", "floor", "ceiling", "default"}) check_loss_scale(name);
}
TEST_CASE("a small GPT trains as PyTorch's does") {
  const AdamW::Options options{
      .learning_rate = 1e-2, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .weight_decay = 0.1};
  check_curve<TinyGpt, 4, AdamW, fp32>("train_gpt", "tokens", options);
  check_curve<TinyGpt, 4, AdamW, fp64>("train_gpt", "tokens", options);
}
TEST_CASE("a small MLP trains as PyTorch's does") {
  check_curve<TinyMlp, 8, Sgd, fp32>("train_mlp", "inputs", {.learning_rate = 0.1, .momentum = 0.9});
  check_curve<TinyMlp, 8, Sgd, fp64>("train_mlp", "inputs", {.learning_rate = 0.1, .momentum = 0.9});
}
