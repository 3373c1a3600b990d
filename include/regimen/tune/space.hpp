// regimen/tune/space.hpp — the values among which a search chooses.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/finite.hpp>
#include <regimen/watch/text.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace regimen::tune {

/// One number that a search varies: made by choice, uniform or log_uniform.
///
///   tune::choice("weight_decay", {0, 0.01, 0.1})     each as likely; a Grid takes them in this order
///   tune::uniform("beta2", 0.9, 0.999)               low <= value <= high
///   tune::log_uniform("learning_rate", 1e-4, 1e-1)   its logarithm is uniform; low above 0
///
/// failure  Error for an empty name, an empty range or list, a value twice, a number that is not finite
struct Axis final {
  enum class Kind { choice, uniform, log_uniform };
  std::string name;
  Kind kind = Kind::choice;
  std::vector<double> values;  // the choices; of a range: its two ends

  /// The value at a share of the range, in [0, 1).
  double at(double share) const {
    if (kind == Kind::choice)
      return values[(std::min)(values.size() - 1, static_cast<std::size_t>(share * double(values.size())))];
    const double low = values[0], high = values[1];
    // std::fma: else a compiler's flags decide whether a product is rounded before it is added.
    const double value = kind == Kind::uniform
                             ? std::fma(share, high - low, low)
                             : std::exp(std::fma(share, std::log(high) - std::log(low), std::log(low)));
    return (std::clamp)(value, low, high);
  }
  /// "learning_rate, log_uniform 0.0001 0.1"
  std::string words() const {
    constexpr const char* kinds[] = {", choice", ", uniform", ", log_uniform"};
    std::string text = name + kinds[static_cast<int>(kind)];
    for (const double value : values) text += " " + regimen::detail::text_of(value);
    return text;
  }
};

namespace detail {
using regimen::detail::text_of;

[[gnu::cold]] inline Axis checked(Axis axis) {
  const std::string where = "axis " + (axis.name.empty() ? std::string("without a name") : axis.name);
  if (axis.name.empty()) throw Error(where, "a name", "an empty one", "the program asks for the value by it");
  for (const char letter : axis.name)
    if (static_cast<unsigned char>(letter) < 0x20) throw Error(where, "a name in one line", "a control character");
  for (const double value : axis.values)
    if (!is_finite(value)) throw Error(where, "finite numbers", text_of(value));
  if (axis.kind == Axis::Kind::choice) {
    if (axis.values.empty()) throw Error(where, "at least 1 value", "none");
    for (auto value = axis.values.begin(); value != axis.values.end(); ++value)
      if (std::find(axis.values.begin(), value, *value) != value)
        throw Error(where, "each value once", text_of(*value) + " twice");
    return axis;
  }
  if (axis.kind == Axis::Kind::log_uniform && !(axis.values[0] > 0))
    throw Error(where, "a range above 0, as its logarithm is drawn", text_of(axis.values[0]),
                "give a smallest value above 0, or write uniform");
  if (!(axis.values[0] < axis.values[1]))
    throw Error(where, "a range from a smaller to a larger number",
                text_of(axis.values[0]) + " to " + text_of(axis.values[1]));
  return axis;
}
}  // namespace detail

inline Axis choice(std::string name, std::vector<double> values) {
  return detail::checked({std::move(name), Axis::Kind::choice, std::move(values)});
}
inline Axis uniform(std::string name, double low, double high) {
  return detail::checked({std::move(name), Axis::Kind::uniform, {low, high}});
}
inline Axis log_uniform(std::string name, double low, double high) {
  return detail::checked({std::move(name), Axis::Kind::log_uniform, {low, high}});
}

/// The values of one trial, by the names of their axes: `values["learning_rate"]`.
class Values final {
 public:
  Values(const std::vector<Axis>& axes, std::vector<double> values) : values_(std::move(values)), read_(axes.size()) {
    for (const Axis& axis : axes) names_.push_back(axis.name);
  }

  /// failure  Error if no axis has this name
  double operator[](std::string_view name) const {
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (names_[i] == name) {
        read_[i] = true;
        return values_[i];
      }
    std::string all;
    for (const std::string& known : names_) all += (all.empty() ? "" : ", ") + known;
    throw Error("the values of a trial", "the name of an axis: " + (all.empty() ? "there is none" : all),
                std::string(name));
  }
  /// Whether the value of an axis has been asked for.
  bool has_read(std::size_t axis) const { return read_[axis]; }
  const std::vector<double>& all() const& { return values_; }
  std::vector<double> all() const&& { return all(); }

 private:
  std::vector<std::string> names_;
  std::vector<double> values_;
  mutable std::vector<bool> read_;
};

}  // namespace regimen::tune
// SPDX-License-Identifier: Apache-2.0
