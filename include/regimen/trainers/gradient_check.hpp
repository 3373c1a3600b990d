// regimen/trainers/gradient_check.hpp — compares gradients with differences of the loss: a new layer's first test.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/finite.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/loss/mean_squared_error.hpp>
#include <regimen/programs/parameters.hpp>
#include <regimen/rule/model_rules.hpp>
#include <regimen/rule/rejected.hpp>  // speech

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace regimen {

/// The result of a gradient check.
///
///   worst     the largest error of a checked element, relative to its tensor's largest
///             gradient (NaN counts as infinite)
///   tensor    the parameter's name, and `element`, the index, of that error
///   checked   the number of checked elements in all tensors
struct GradientCheck final {
  double worst = 0;
  std::string tensor;
  std::size_t element = 0, checked = 0;
};

/// The options of a gradient check.
///
///   samples    at least 1: checked elements per tensor, spread over it, with the first and the last
///   distance   h > 0, in units of the parameter; smaller if the loss has kinks (Relu), which
///              lie in ±2h with probability ~ h
///   seed       of weights, data and dropout
struct GradientCheckOptions final {
  std::size_t samples = 12;
  double distance = 1e-3;
  std::uint64_t seed = 1;
};

namespace detail {

/// A sample of any shape.
template <class SampleShape>
struct AnyShape final {
  template <class Statistic>
  using value = Value<Statistic, SampleShape>;
};
template <class Layer, class SampleShape>
struct LayerModel final : Model<Input<AnyShape<SampleShape>>, Linear<SampleShape::columns>, Layer> {};

/// A number in [-1, 1), a pure function of its index.
inline double check_number(std::uint64_t key, std::uint64_t index) {
  return double(Philox::draw(key, index, 0).word[0]) * 0x1p-31 - 1;
}

/// The step of a recipe on an engine of its own, without the updates.
template <class Recipe>
class GradientProbe final {
  using Step = typename Recipe::Step;
  using In = typename Step::X::Element;
  using Label = typename Step::Labels::Element;
  using Master = typename Step::Master;
  using Reduce = typename Step::Reduce;
  static_assert(
      std::is_same_v<Master, fp64> && std::is_same_v<Reduce, fp64>,
      "regimen: a gradient check compares differences of the loss, which only Precision<fp64> resolves; leave Precision out");

 public:
  explicit GradientProbe(std::uint64_t seed)
      : walk_(Recipe::batch, std::size_t{1}, std::size_t{0},
              engines::Resources<typename Engine::Ranks>{.bytes = Recipe::plan.peak, .host_bytes = Recipe::plan.host}),
        tensors_(programs::list_tensors<typename Recipe::Bound>()),
        seed_(seed) {
    walk_.arena.capacity = Recipe::plan.peak;
    resident_ = Step::setup(walk_);
    given_.random.seed = seed;
    programs::upload(walk_, resident_.scalars, std::span<const Scalars>(&given_, 1)).wait();
    fill_weights();
    walk_.poison_dead();
  }

  GradientCheck check(const GradientCheckOptions& options) {
    if (options.samples == 0) throw Error("gradient_check, samples", "at least 1 element of each tensor to check", "0");
    if (!(options.distance > 0) || !is_finite(options.distance))
      throw Error("gradient_check, distance", "a finite number above 0", regimen::detail::digits_of(options.distance),
                  "1e-3 is usual");
    for (const programs::TensorRecord& tensor : tensors_)  // poisoned: the first write must assign
      if (tensor.place.trains)
        write(gradient(tensor), std::vector<Reduce>(tensor.place.count, std::numeric_limits<Reduce>::quiet_NaN()));
    loss_sum(true);
    double largest_of_all = 0;
    std::vector<std::vector<Reduce>> analytic;
    for (const programs::TensorRecord& tensor : tensors_) {
      analytic.emplace_back(tensor.place.trains ? tensor.place.count : 0);
      if (tensor.place.trains) programs::download(walk_, gradient(tensor), std::span(analytic.back()));
      for (const Reduce value : analytic.back()) largest_of_all = (std::max)(largest_of_all, std::abs(value));
    }
    GradientCheck result;
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      if (!tensors_[t].place.trains) continue;
      const std::size_t count = tensors_[t].place.count;
      double largest = 1e-4 * largest_of_all;  // the gradient of a tensor without effect is rounding noise
      for (const Reduce value : analytic[t]) largest = (std::max)(largest, std::abs(value));
      const auto check_element = [&](std::size_t element, double gradient) {
        const double scale = Step::scale_of(walk_.capacity, 1);
        const double error =
            std::abs(slope(weight(tensors_[t]) + element, options.distance) - gradient / scale) * scale / largest;
        ++result.checked;
        if (!(error <= result.worst)) {
          result.worst = is_finite(error) ? error : std::numeric_limits<double>::infinity();
          result.tensor = tensors_[t].name;
          result.element = element;
        }
      };
      const Parameter& table = tensors_[t].parameter;  // a row of which may have lookups without a gradient
      const std::size_t columns = table.zero_row < 0 ? 0 : table.extents[1];
      const std::size_t from = columns == 0 ? 0 : static_cast<std::size_t>(table.zero_row) * columns,
                        to = from + columns;
      for_spread(options.samples, 0, count, [&](std::size_t element) {
        if (element < from || element >= to) check_element(element, analytic[t][element]);
      });
      if (from < to)
        look_away(tensors_[t], [&](const std::vector<Reduce>& gradients) {
          for_spread(options.samples, from, to,
                     [&](std::size_t element) { check_element(element, gradients[element]); });
        });
    }
    return result;
  }

 private:
  using Engine = typename Recipe::Device::type;

  /// f(element) for at most `most` in [from, to), with the first and last.
  static void for_spread(std::size_t most, std::size_t from, std::size_t to, const auto& f) {
    const std::size_t looks = (std::min)(most, to - from);
    for (std::size_t look = 0; look < looks; ++look) f(looks == 1 ? from : from + look * (to - from - 1) / (looks - 1));
  }
  /// Calls f(gradients of the table), for differences that do not see a lookup of padding, but see other readers of the
  /// padding's row, such as a TiedLinear: for gradients each text begins with padding, for differences with another
  /// token, whose row has the same, constant numbers. (Only the first position, so a text has the same length with
  /// both.) Does not call f for a table of one row, or if the two tokens give different losses.
  void look_away(const programs::TensorRecord& table, const auto& f) {
    const std::size_t rows = table.parameter.extents[0], padding = static_cast<std::size_t>(table.parameter.zero_row);
    if (rows < 2) return;
    const std::size_t other = (padding + 1) % rows;
    std::vector<std::pair<View<Master>, std::vector<Master>>> kept;
    for (const programs::TensorRecord& each : tensors_) {
      const Parameter& parameter = each.parameter;
      if (parameter.role != ParameterRole::table || parameter.rank != 2 ||
          parameter.extents[0] <= (std::max)(padding, other))
        continue;
      const auto row_at = [&](std::size_t row) { return weight(each) + row * parameter.extents[1]; };
      std::vector<Master> row(parameter.extents[1]);
      programs::download(walk_, row_at(other), std::span(row));
      kept.emplace_back(row_at(other), row);
      programs::download(walk_, row_at(padding), std::span(row));
      write(row_at(other), row);
    }
    padding_ = static_cast<std::int32_t>(padding);
    begins_with_ = padding_;
    const double loss = loss_sum(true);
    std::vector<Reduce> gradients(table.place.count);
    programs::download(walk_, gradient(table), std::span(gradients));
    begins_with_ = static_cast<std::int32_t>(other);
    if (loss_sum(false) == loss) f(gradients);
    padding_ = -1;
    for (const auto& [at, row] : kept) write(at, row);
  }

  View<Master> weight(const programs::TensorRecord& tensor) const {
    return View<Master>{resident_.parameters + tensor.unit.parameters + tensor.master_offset} + tensor.master;
  }
  View<Reduce> gradient(const programs::TensorRecord& tensor) const {
    return View<Reduce>{resident_.gradients + tensor.unit.gradients} + tensor.place.gradient;
  }
  template <class T>
  auto write(View<T> at, const std::vector<T>& values) {
    programs::upload(walk_, at, std::span<const T>(values)).wait();
  }

  /// Gains near 1, all others in ±1/2: zeros and ones would hide mistakes.
  void fill_weights() {
    std::uint64_t index = 0;
    for (const programs::TensorRecord& tensor : tensors_) {
      std::vector<Master> values(tensor.place.count);
      for (Master& value : values)
        value =
            (tensor.parameter.role == ParameterRole::gain ? 1 : 0) + 0.5 * check_number(Philox::mix(seed_, 1), index++);
      write(weight(tensor), values);
    }
  }

  /// Different micro-batches, with some ignored targets if the loss can ignore them.
  void upload_batch(std::size_t micro_batch) {
    given_.random.first_sample = micro_batch * walk_.batch;
    walk_.engine.upload(resident_.scalars.offset, std::as_bytes(std::span(&given_, 1)).first(given_bytes)).wait();
    write(View<In>{resident_.input},
          numbers<In>(walk_.batch, Step::X::size, rule::vocabulary_of<typename Recipe::Network>(),
                      Philox::mix(Philox::mix(seed_, 2), micro_batch)));
    write(View<Label>{resident_.target}, numbers<Label>(walk_.batch, Step::Labels::size, Step::classes,
                                                        Philox::mix(Philox::mix(seed_, 3), micro_batch), true));
  }
  ///   bound     of whole numbers; of a bundle, each value's
  ///   ignores   some are ignored targets
  template <class T>
  std::vector<T> numbers(std::size_t samples, std::size_t length, [[maybe_unused]] const auto& bound, std::uint64_t key,
                         [[maybe_unused]] bool ignores = false) const {
    const std::size_t count = samples * length;
    std::vector<T> values(count);  // 0 where nothing bounds them
    if constexpr (is_bundle<T>) {
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        const auto fill = [&]<std::size_t i>(std::integral_constant<std::size_t, i>) {
          using Value = typename bundled_value<i, T>::type;
          const auto all = numbers<typename Value::Element>(count, Value::size, bound[i], Philox::mix(key, i), ignores);
          for (std::size_t s = 0; s < count; ++s)
            std::copy_n(all.data() + s * Value::size, Value::size, values[s].template get<i>().begin());
        };
        (fill(std::integral_constant<std::size_t, I>{}), ...);
      }(std::make_index_sequence<T::count>{});
    } else if constexpr (std::is_integral_v<T>) {
      for (std::size_t i = 0; i < count && bound > 0; ++i)
        values[i] = ignores && i % 5 == 4 ? ignore_index : static_cast<T>(Philox::draw(key, i, 0).word[0] % bound);
      if (!ignores && padding_ >= 0 && static_cast<std::size_t>((std::max)(padding_, begins_with_)) < bound)
        for (std::size_t i = 0; i < count; ++i) {
          if (values[i] == padding_) values[i] = static_cast<T>((static_cast<std::size_t>(padding_) + 1) % bound);
          if (i % length == 0) values[i] = static_cast<T>(begins_with_);
        }
    } else {
      for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<T>(check_number(key, i));
    }
    return values;
  }

  double loss_sum(bool with_gradient) {
    Step::begin(walk_, resident_);
    for (std::size_t m = 0; m < Recipe::micro_batches; ++m) {
      upload_batch(m);
      const std::size_t output = Step::forward(walk_, resident_, m > 0);
      if (with_gradient) Step::backward(walk_, resident_, output, m);
      else walk_.abandon(resident_.end);
    }
    Scalars found{};
    programs::download(walk_, resident_.scalars, std::span(&found, 1));
    return found.loss_sum;
  }

  double slope(View<Master> value, double h) {
    std::vector<Master> kept(1);
    programs::download(walk_, value, std::span(kept));
    const auto at = [&](double offset) {
      write(value, std::vector<Master>{kept[0] + offset});
      return loss_sum(false);
    };
    const double result = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
    write(value, kept);
    return result;
  }

  walk::Walk<Engine> walk_;
  programs::Resident resident_{};
  Scalars given_{};
  std::vector<programs::TensorRecord> tensors_;
  std::uint64_t seed_;
  // If padding_ >= 0, each text begins with begins_with_, and has padding_ nowhere else.
  std::int32_t padding_ = -1, begins_with_ = -1;
};

template <class Network, class Policies>
struct GradientRules;
template <class Network, class... Policies>
struct GradientRules<Network, boost::mp11::mp_list<Policies...>> {
  using Broken = broken_rules<Network, Policies...>;
};

}  // namespace detail

/// Compares the gradient of every parameter tensor of a network with central differences of its loss L, in fp64, with
/// random weights and data, with dropout, and with freed memory filled with NaN. Trains nothing.
///
///   dL/dw ≈ (8 (L(w + h) − L(w − h)) − (L(w + 2h) − L(w − 2h))) / 12h
///
///   policies  any except Precision and LossScale; the batch is 3 unless Batch gives another. Checkpoint, Fusion,
///             Accumulate, Freeze and Loss change the checked program
///   padding   lookups of the padding row of an Embedding<..., PaddedWith<token>> add no gradient by definition. So the
///             differences of this row leave its lookups unchanged; they move only the other readers of the row, whose
///             gradient is checked
///
/// error     of the differences: h⁴/30 · d⁵L/dw⁵ of truncation, and 2⁻⁵³ L / h of rounding. For one smooth layer they
///           are at most 1e-9; for several layers in sequence d⁵L/dw⁵ is larger (measured: 3e-8 for six LayerNorms and
///           four attentions). Half the distance divides the truncation by 16 (that network: 2e-9 with h = 5e-4, 1e-10
///           with 2.5e-4); an error that stays is a defect. A missing or wrong term shows as 1e-3 to 1. Relu has kinks:
///           use a distance of 1e-5 there, for errors near 1e-8
/// failure   Error for options outside their ranges
/// cost      four forward passes per checked element
template <class Network, class... Policies>
GradientCheck gradient_check(const GradientCheckOptions& options = {}) {
  using All = MergedPolicies<boost::mp11::mp_list<Precision<fp64>, Batch<3>>, Policies...>;
  using Broken = typename detail::GradientRules<Network, All>::Broken;
  if constexpr (boost::mp11::mp_empty<Broken>::value) {
    using Recipe = programs::Recipe<Network, boost::mp11::mp_apply<ConfigurationOf, All>>;
    return detail::GradientProbe<Recipe>(options.seed).check(options);
  } else {  // each broken rule gives its error, as of a Trainer, and nothing follows
    static_assert(sizeof(detail::speech<Broken, 0>) && sizeof(detail::speech<Broken, 1>) &&
                  sizeof(detail::speech<Broken, 2>));
    return {};
  }
}

/// Checks one layer, whose input is fp64 of this shape per sample: `gradient_check_layer<Gelu, Shape<5, 8>>()`. A
/// Linear before it shows the gradient of its input, as "0.weight" and "0.bias"; the layer's own names begin with "1.".
/// The loss is the mean squared error against random targets.
template <class Layer, class SampleShape, class... Policies>
GradientCheck gradient_check_layer(const GradientCheckOptions& options = {}) {
  using All = MergedPolicies<boost::mp11::mp_list<Loss<MeanSquaredError>>, Policies...>;
  return [&]<class... Chosen>(boost::mp11::mp_list<Chosen...>) {
    return gradient_check<detail::LayerModel<Layer, SampleShape>, Chosen...>(options);
  }(All{});
}

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
