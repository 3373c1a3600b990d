// regimen/tune/ensemble.hpp — several trained files as one predictor: the mean of their predictions.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/operation.hpp>  // ignore_index
#include <regimen/core/refused.hpp>
#include <regimen/core/rules.hpp>
#include <regimen/core/shape.hpp>
#include <regimen/data/loader.hpp>
#include <regimen/data/rules.hpp>
#include <regimen/trainers/feed.hpp>
#include <regimen/trainers/inference.hpp>
#include <regimen/trainers/result.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace regimen {

namespace detail {

template <class Model>
inline constexpr bool predicts_alone = false;
template <class Network, class... Policies>
inline constexpr bool predicts_alone<Inference<Network, Policies...>> = Inferable<Network, Policies...>;

template <class A, class B>
constexpr bool members_agree() {
  if constexpr (predicts_alone<A> && predicts_alone<B>) {
    using X = typename A::Step::Output;
    if constexpr (is_joined<typename X::Shape> || is_joined<typename B::Step::Output::Shape>) return false;
    else
      return std::is_same_v<typename A::Input, typename B::Input> &&
             std::is_same_v<typename A::Output, typename B::Output> && A::input_size == B::input_size &&
             A::output_rows == B::output_rows && A::output_size == B::output_size;
  } else return false;
}

}  // namespace detail

namespace rule {
/// Outputs are averaged element by element, so members have one input type and shape, one output type and shape, and
/// one output.   docs/errors/inference.md#members_agree
template <class First, class Other>
struct members_agree {
  static constexpr bool holds = detail::members_agree<First, Other>();
  struct must_hold {
    static_assert(
        holds,
        "regimen: an ensemble averages Inferences of one input shape and one output shape; end every model alike");
  };
};
}  // namespace rule

namespace detail {

/// Turns each row of logits into probabilities, in place. In double: a probability of e^-700 still has a logarithm.
inline void softmax_rows(std::span<double> values, std::size_t columns) {
  for (std::size_t begin = 0; begin < values.size(); begin += columns) {
    const std::span<double> row = values.subspan(begin, columns);
    const double largest = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (double& value : row) sum += value = std::exp(value - largest);
    for (double& value : row) value /= sum;
  }
}

}  // namespace detail

/// The mean of the predictions of trained files. Models are Inferences, perhaps of different networks, policies and
/// devices, with one input shape and one output shape.
///
///   Ensemble<Inference<Mlp>> three({"a.safetensors", "b.safetensors", "c.safetensors"});   // one model, any files
///   Ensemble<Inference<Mlp>, Inference<Conv>> both({"mlp.safetensors", "conv.safetensors"});   // a file for each
///   const std::vector<float> p = both.probabilities(images);
///   const Evaluation found = both.evaluate(test);   // of numbers: both.evaluate_numbers(test)
///
/// predict         the mean of the outputs: for models that predict numbers
/// probabilities   for classifiers, whose outputs are logits: the mean of softmax(outputs); each row sums to 1. (The
///                 softmax of mean logits would be a geometric mean)
/// evaluate        for classifiers, of a source of classes: the mean of −log(mean probability of the target) over valid
///                 targets, as CrossEntropy, and accuracy by the largest mean probability
/// evaluate_numbers   for models that predict numbers, of a source of numbers: the mean of the squared errors of the
///                 mean output, as MeanSquaredError. For other losses write a loop over predict
/// memory          the memory of all Inferences at once
/// failure         Error without a file, or with a number of files other than the number of models; the Errors of
///                 Inference
template <class First, class... Others>
class Ensemble final {
  using Rule = rule::first_broken<rule::members_agree<First, First>, rule::members_agree<First, Others>...>;
  static_assert(sizeof(typename Rule::must_hold));
  static constexpr bool agree = Rule::holds;

  template <class Model, class = void>
  struct Types {
    using Input = float;
    using Output = float;
  };
  template <class Model>
  struct Types<Model, std::void_t<typename Model::Output>> {
    using Input = typename Model::Input;
    using Output = typename Model::Output;
  };

 public:
  using Input = typename Types<First>::Input;
  using Output = typename Types<First>::Output;

  /// threads   of each member, as Options::threads
  explicit Ensemble(const std::vector<std::string>& files, int threads = 0) {
    constexpr std::size_t models = 1 + sizeof...(Others);
    if (files.empty() || (models > 1 && files.size() != models))
      throw Error("Ensemble", models > 1 ? std::to_string(models) + " files, one for each model" : "at least 1 file",
                  std::to_string(files.size()));
    if constexpr (agree) {
      if constexpr (models == 1) {
        for (const std::string& file : files) add<First>(file, threads);
      } else {
        std::size_t at = 0;
        add<First>(files[at++], threads);
        (add<Others>(files[at++], threads), ...);
      }
    }
  }

  Ensemble(const Ensemble&) = delete;
  Ensemble& operator=(const Ensemble&) = delete;

  std::size_t members() const { return members_.size(); }

  /// inputs (samples,input_size)  →  (samples,output_size)
  std::vector<Output> predict(std::span<const Input> inputs) { return rounded(mean(inputs, false)); }
  std::vector<Output> probabilities(std::span<const Input> inputs) { return rounded(mean(inputs, true)); }

  /// evaluate is for classes, evaluate_numbers for numbers. One name for both would be ambiguous: a pipeline whose
  /// writer takes any Sample can write both.
  template <class Source>
  Evaluation evaluate(const Source& source, std::size_t workers = 1) {
    return evaluated<std::int32_t>(source, workers);
  }
  template <class Source>
  Evaluation evaluate_numbers(const Source& source, std::size_t workers = 1) {
    return evaluated<Output>(source, workers);
  }

 private:
  template <class Model>
  void add(const std::string& file, int threads) {
    auto model = std::make_shared<Model>(file, threads);  // a std::function is copied, an Inference is not
    members_.push_back([model](std::span<const Input> inputs) { return model->predict(inputs); });
  }

  std::vector<double> mean(std::span<const Input> inputs, bool of_probabilities) {
    std::vector<double> sums;
    for (const auto& predict : members_) {
      const std::vector<Output> found = predict(inputs);
      std::vector<double> one(found.begin(), found.end());
      if (of_probabilities) detail::softmax_rows(one, columns());
      sums.resize(one.size());
      for (std::size_t i = 0; i < one.size(); ++i) sums[i] += one[i];
    }
    for (double& sum : sums) sum /= double(members_.size());
    return sums;
  }
  /// Each rounded once.
  static std::vector<Output> rounded(const std::vector<double>& values) {
    std::vector<Output> all(values.size());
    std::transform(values.begin(), values.end(), all.begin(), [](double value) { return static_cast<Output>(value); });
    return all;
  }
  static constexpr std::size_t columns() {
    if constexpr (agree) return First::output_size / First::output_rows;
    else return 1;
  }

  template <class Label, class Source>
  Evaluation evaluated(const Source& source, std::size_t workers) {
    using Writes = rule::source_writes_samples<Source, Input, Label>;
    static_assert(!agree || sizeof(typename Writes::must_hold) > 0);
    if constexpr (agree && Writes::holds) return evaluated_by<Label>(source, workers);
    else return {};
  }
  template <class Label, class Source>
  Evaluation evaluated_by(const Source& source, std::size_t workers) {
    constexpr bool of_classes = std::is_same_v<Label, std::int32_t>;
    constexpr std::size_t targets = of_classes ? First::output_rows : First::output_size;
    const SampleShape shape{First::input_size, targets, 0, of_classes ? columns() : 0};
    Loader<Input, Label, trainers::SourceReference<Source>> loader(
        {&source}, shape, {.batch = First::batch, .order = Order::Sequential, .epochs = 1, .workers = workers});
    double loss = 0, correct = 0;
    std::size_t count = 0;
    for (auto next = loader.next(); next; next = loader.next()) {
      const std::vector<double> found = mean(next.input, of_classes);
      for (std::size_t i = 0; i < next.target.size(); ++i) {
        if constexpr (of_classes) {
          if (next.target[i] == ignore_index) continue;
          const auto row = std::span(found).subspan(i * columns(), columns());
          const std::size_t target = static_cast<std::size_t>(next.target[i]);
          loss -= std::log(row[target]);
          correct += static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin()) == target ? 1 : 0;
        } else {
          const double error = found[i] - double(next.target[i]);
          loss = std::fma(error, error, loss);  // whatever the flags: a product and a sum may be fused, or not
        }
        ++count;
      }
    }
    return {mean_of(loss, double(count)), of_classes ? mean_of(correct, double(count)) : no_value, count};
  }

  std::vector<std::function<std::vector<Output>(std::span<const Input>)>> members_;
};

/// A member's recipe is refused; there is no other error.
template <class First, class... Others>
  requires(detail::Refused<First> || ... || detail::Refused<Others>)
class Ensemble<First, Others...> final {
 public:
  using Input = float;
  using Output = float;

  explicit Ensemble(const std::vector<std::string>&, int = 0) {
    static_assert(sizeof(First) > 0 && ((sizeof(Others) > 0) && ...));  // each member says its error
  }
  std::size_t members() const { return 0; }
  std::vector<Output> predict(const detail::Anything&) { return {}; }
  std::vector<Output> probabilities(const detail::Anything&) { return {}; }
  Evaluation evaluate(const detail::Anything&, std::size_t = 1) { return {}; }
  Evaluation evaluate_numbers(const detail::Anything&, std::size_t = 1) { return {}; }
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
