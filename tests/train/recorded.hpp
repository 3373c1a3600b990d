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
#include <regimen/layer/pool.hpp>
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
#include <regimen/state/safetensors.hpp>
#include <regimen/train/trainer.hpp>

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
  static constexpr void run(auto& engine, std::size_t output, std::size_t target, View<Scalars>, double) {
    using S = typename Output::Element;
    if constexpr (gradient) engine.run(op::Cast<S, S>{{target}, {output}, engine.batch * Output::size});
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

}  // namespace regimen::test
// SPDX-License-Identifier: Apache-2.0
