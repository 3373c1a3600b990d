// tests/train/recorded.hpp — reading what PyTorch computed, and how far from it a result may be.
#pragma once

#include <regimen/engine/cpu/device.hpp>
#include <regimen/layer/activation.hpp>
#include <regimen/layer/batch_norm.hpp>
#include <regimen/layer/conv.hpp>
#include <regimen/layer/conv1d.hpp>
#include <regimen/layer/conv3d.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/group_norm.hpp>
#include <regimen/layer/join.hpp>
#include <regimen/layer/layer_scale.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/patches.hpp>
#include <regimen/layer/recurrent.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/layer/softmax.hpp>
#include <regimen/loss/masked.hpp>
#include <regimen/loss/mean_squared_error.hpp>
#include <regimen/loss/nt_xent.hpp>
#include <regimen/loss/pointwise.hpp>
#include <regimen/loss/sample_weighted.hpp>
#include <regimen/loss/soft_cross_entropy.hpp>
#include <regimen/loss/sum_of.hpp>
#include <regimen/saves/safetensors.hpp>
#include <regimen/trainers/trainer.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"

namespace regimen::test {

struct Recorded {
  safetensors::File file;
  explicit Recorded(const std::string& name) : file(support::recorded(name + ".safetensors").string()) {}

  template <class T>
  std::vector<T> values(const std::string& name) const {
    const safetensors::Tensor& tensor = file.tensor(name);
    std::vector<T> result(tensor.bytes.size() / sizeof(T));
    file.copy<T>(name, tensor.shape, result);
    return result;
  }
  template <class Master>
  void fill(const NamedParameter<Master>& parameter, const std::string& name) const {
    const std::vector<float> from = values<float>(name);
    REQUIRE(from.size() == parameter.values.size());
    std::copy(from.begin(), from.end(), parameter.values.begin());
  }
};

/// The largest difference between `ours`, divided by `divisor`, and the truth called `name`.
///   fp32   may be four times as far as PyTorch's own fp32 is, plus four roundings of the largest element: sums are
///          ordered otherwise
///   fp64   1e-12 of the largest element, and as much absolute: two thousand roundings
template <class T, class Values>
void compare(const Recorded& from, const std::string& name, const Values& ours, double divisor = 1) {
  const std::vector<double> truth = from.values<double>("fp64." + name);
  const std::vector<float> theirs = from.values<float>("fp32." + name);
  REQUIRE(truth.size() == ours.size());
  double largest = 0, their_distance = 0, distance = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    largest = std::max(largest, std::abs(truth[i]));
    their_distance = std::max(their_distance, std::abs(double(theirs[i]) - truth[i]));
    const double difference = std::abs(double(ours[i]) / divisor - truth[i]);
    distance = difference <= distance ? distance : difference;  // keeps a NaN
  }
  const double bound =
      std::is_same_v<T, float> ? 4 * their_distance + 4 * epsilon_of<fp32> * largest : 1e-12 * (1 + largest);
  INFO(name << " in " << name_of<T> << ": distance " << distance << ", bound " << bound << ", PyTorch's "
            << their_distance);
  CHECK(distance <= bound);
}

/// Stands in for a loss: the gradient of the output is the target, whatever the output.
struct Upstream final {
  using option_of = axis::loss;
  static constexpr bool couples_samples = false;
  template <class Output>
  using Labels = Value<typename Output::Element, typename Output::Shape>;
  template <class Output>
  static constexpr std::size_t rows = Output::rows;
  template <bool gradient, class Output>
  static constexpr void run(auto& walk, std::size_t output, std::size_t target, View<Scalars>, double) {
    using S = typename Output::Element;
    if constexpr (gradient) walk.run(op::Copy<S>{{target}, {output}, walk.batch * Output::size});
  }
};

/// The rows of the input are the rows of a table, so that the table's gradient is the input's.
template <std::size_t Samples, std::size_t Length, std::size_t Width, class Layer>
struct Alone final : Model<Input<Tokens<Length>>, Embedding<Vocabulary<Samples * Length>, Width>, Layer> {};

template <class T, class Layer, std::size_t Samples, std::size_t Length, std::size_t Width>
void check_layer_in(const std::string& name, const std::vector<std::string>& parameters) {
  INFO(name << " in " << name_of<T>);
  const Recorded from(name);
  Trainer<Alone<Samples, Length, Width, Layer>, Precision<T>, Batch<Samples>, Loss<Upstream>> trainer;
  trainer.poison_dead_memory();
  const auto own = trainer.parameters();
  REQUIRE(own.size() == parameters.size() + 1);
  from.fill(own[0], "input");
  for (std::size_t i = 0; i < parameters.size(); ++i) from.fill(own[i + 1], "parameter." + parameters[i]);
  trainer.parameters_changed();
  std::vector<std::int32_t> rows(Samples * Length);
  std::iota(rows.begin(), rows.end(), 0);
  compare<T>(from, "output", trainer.predict(rows));
  const std::vector<float> upstream = from.values<float>("upstream");
  trainer.backward(trainer.forward(rows, std::vector<T>(upstream.begin(), upstream.end())));
  const auto gradients = trainer.gradients();
  compare<T>(from, "gradient.input", gradients[0].values);
  for (std::size_t i = 0; i < parameters.size(); ++i)
    compare<T>(from, "gradient." + parameters[i], gradients[i + 1].values);
}

template <class Layer, std::size_t Samples, std::size_t Length, std::size_t Width>
void check_layer(const std::string& name, const std::vector<std::string>& parameters = {}) {
  check_layer_in<fp32, Layer, Samples, Length, Width>(name, parameters);
  check_layer_in<fp64, Layer, Samples, Length, Width>(name, parameters);
}

/// In fp32 the losses may be eight times as far as PyTorch's are, and the weights eight times as far as its own drift,
/// since rounding noise is amplified from step to step. In fp64 the weights are the truth, which the file has in fp32.
template <class Network, std::size_t batch, class Rule, class T, class Decays = DecayProducts>
void check_curve(const std::string& name, const std::string& inputs_name, const typename Rule::Options& options) {
  INFO(name << " in " << name_of<T>);
  const Recorded from(name);
  using Train = Trainer<Network, Precision<T>, Batch<batch>, Optimizer<Rule, Decays>>;
  Train trainer{{.optimizer = options}};
  trainer.poison_dead_memory();
  std::vector<std::string> names{""};
  for (const char letter : from.file.value("parameters")) {
    if (letter == ',') names.emplace_back();
    else names.back() += letter;
  }
  auto parameters = trainer.parameters();
  std::erase_if(parameters, [](const auto& parameter) { return parameter.role == ParameterRole::buffer; });
  REQUIRE(parameters.size() == names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    CHECK(parameters[i].shape == from.file.tensor("parameter." + names[i]).shape);
    from.fill(parameters[i], "parameter." + names[i]);
  }
  std::vector<typename Train::Input> inputs;
  if constexpr (std::is_same_v<typename Train::Input, std::int32_t>)
    inputs = from.template values<std::int32_t>(inputs_name);
  else {
    const auto read = from.template values<float>(inputs_name);
    inputs.assign(read.begin(), read.end());
  }
  const auto targets = from.template values<std::int32_t>("targets");
  const auto losses = from.template values<double>("fp64.losses"),
             norms = from.template values<double>("fp64.gradient_norms");
  const auto their_losses = from.template values<float>("fp32.losses"),
             their_norms = from.template values<float>("fp32.gradient_norms");
  double loss_noise = 0, norm_noise = 0;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    loss_noise = std::max(loss_noise, std::abs(their_losses[i] - losses[i]));
    norm_noise = std::max(norm_noise, std::abs(their_norms[i] - norms[i]));
  }
  constexpr bool exact = std::is_same_v<T, fp64>;
  const std::size_t in = batch * Train::input_size, out = batch * Train::target_size;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const StepResult result = trainer.step({inputs.data() + i * in, in}, {targets.data() + i * out, out});
    INFO("step " << i << ": loss " << result.loss - losses[i] << " off, theirs " << loss_noise << "; norm "
                 << result.gradient_norm - norms[i] << " off, theirs " << norm_noise);
    CHECK(std::abs(result.loss - losses[i]) <= (exact ? 1e-10 : 8 * loss_noise));
    CHECK(std::abs(result.gradient_norm - norms[i]) <= (exact ? 1e-9 : 8 * norm_noise));
  }
  const double drift = std::stod(from.file.value("fp32_final_difference"));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto truth = from.template values<float>("final." + names[i]);
    const bool has_keys = names[i].find("qkv.bias") != std::string::npos;  // whose gradient is rounding noise in fp32
    double worst = 0;
    for (std::size_t j = 0; j < truth.size(); ++j) {
      if (!exact && has_keys && j >= truth.size() / 3 && j < truth.size() / 3 * 2) continue;
      const double bound = exact ? 1e-9 + std::abs(double(truth[j])) * 0x1p-24 : 8 * drift;
      worst = std::max(worst, std::abs(double(parameters[i].values[j]) - double(truth[j])) / bound);
    }
    INFO(names[i] << ": " << worst << " of the bound");
    CHECK(worst <= 1);
  }
}

}  // namespace regimen::test
// SPDX-License-Identifier: Apache-2.0
