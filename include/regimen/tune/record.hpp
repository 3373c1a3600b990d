// regimen/tune/record.hpp — the results of a search: trials, their order, a table; one line of JSON for each trial.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/file.hpp>
#include <regimen/core/finite.hpp>
#include <regimen/core/json.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/trainers/result.hpp>
#include <regimen/tune/space.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace regimen::tune {

/// The present state of a trial.
///
///   rungs     its results after a number of steps in all: one entry, or under Halving one for each rung
///   failure   why it failed; empty if it did not. A failed trial is not run again, and is never the best
struct Trained final {
  struct Result {
    std::uint64_t steps = 0;
    double loss = no_value, accuracy = no_value, seconds = 0;
  };
  std::size_t number = 0, recipe = 0;
  std::vector<double> values{};
  std::vector<Result> rungs{};
  std::string failure{};

  bool has_failed() const { return !failure.empty(); }
  double loss() const { return rungs.empty() ? no_value : rungs.back().loss; }
  double accuracy() const { return rungs.empty() ? no_value : rungs.back().accuracy; }
  std::uint64_t steps() const { return rungs.empty() ? 0 : rungs.back().steps; }
  double seconds() const {
    double sum = 0;
    for (const Result& rung : rungs) sum += rung.seconds;
    return sum;
  }
};

/// The results of a search so far.
///
///   trials     all of them, by number
///   looks      how often test data of this search have been evaluated
///   complete   whether no trial is left to run
///   rungs      of a whole trial: 1, or more under Halving
struct Found final {
  std::vector<std::string> recipes, axes;
  std::vector<Trained> trials;
  std::size_t looks = 0;
  bool complete = false;
  std::size_t rungs = 1;

  /// The trials that have not failed, best first: sorted by the number of steps, most first; then by loss, then by
  /// number.
  [[gnu::cold]] std::vector<Trained> ranking() const {
    std::vector<Trained> all;
    for (const Trained& trial : trials)
      if (!trial.has_failed() && !trial.rungs.empty()) all.push_back(trial);
    std::sort(all.begin(), all.end(), [](const Trained& a, const Trained& b) {
      if (a.rungs.size() != b.rungs.size()) return a.rungs.size() > b.rungs.size();
      return a.loss() != b.loss() ? a.loss() < b.loss() : a.number < b.number;
    });
    return all;
  }
  /// The chosen trial: the least loss among the trials that have made all steps. Throws Error if there is none: a trial
  /// that ended in an earlier rung is never chosen, and its state is gone.
  [[gnu::cold]] Trained best() const {
    const std::vector<Trained> all = ranking();
    if (!all.empty() && all.front().rungs.size() == rungs) return all.front();
    std::string reason = all.empty() ? "none of them has run" : "none";
    if (const auto failed = std::ranges::find_if(trials, &Trained::has_failed); failed != trials.end())
      reason = "none; trial " + std::to_string(failed->number) + ": " + failed->failure;
    throw Error("a search of " + regimen::detail::counted(trials.size(), "trial"),
                "a trial that has ended well, with all steps", reason);
  }
  /// For people: the best first, failed ones last, with their reasons; then the recipes.
  [[gnu::cold]] std::string table() const {
    std::string text;
    const auto cell = [&](std::size_t width, const std::string& value) {
      text += std::string(value.size() < width ? width - value.size() : 0, ' ') + value + "  ";
    };
    const auto width_of = [](const std::string& axis) { return (std::max)(std::size_t{10}, axis.size()); };
    const auto end_line = [&] {
      while (text.back() == ' ') text.pop_back();
      text += '\n';
    };
    const auto digits = [](const char* form, double value) {
      return is_nan(value) ? std::string("-") : regimen::detail::printed(form, value);
    };
    const auto begin = [&](const Trained& trial) {
      cell(5, std::to_string(trial.number));
      if (recipes.size() > 1) cell(6, std::to_string(trial.recipe));
      for (std::size_t i = 0; i < axes.size(); ++i) cell(width_of(axes[i]), digits("%.4g", trial.values[i]));
    };
    cell(5, "trial");
    if (recipes.size() > 1) cell(6, "recipe");
    for (const std::string& axis : axes) cell(width_of(axis), axis);
    cell(7, "steps");
    cell(10, "loss");
    cell(8, "accuracy");
    cell(8, "seconds");
    end_line();
    for (const Trained& trial : ranking()) {
      begin(trial);
      cell(7, std::to_string(trial.steps()));
      cell(10, digits("%.5g", trial.loss()));
      cell(8, digits("%.4f", trial.accuracy()));
      cell(8, digits("%.1f", trial.seconds()));
      end_line();
    }
    for (const Trained& trial : trials) {
      if (!trial.has_failed() && !trial.rungs.empty()) continue;
      begin(trial);
      text += trial.has_failed() ? "failed: " + trial.failure : "not run";
      end_line();
    }
    for (std::size_t i = 0; recipes.size() > 1 && i < recipes.size(); ++i)
      text += "recipe " + std::to_string(i) + ": " + recipes[i] + "\n";
    if (looks > 0) text += "test data: " + regimen::detail::counted(looks, "look") + "\n";
    return text;
  }
};

namespace detail {

[[gnu::cold]] inline void append_string(std::string& to, std::string_view text) {
  const std::size_t size = to.size();
  if (regimen::detail::append_json(to, text)) return;
  std::string plain(text);  // no UTF-8: what a user's exception said
  std::ranges::replace_if(plain, [](char letter) { return static_cast<unsigned char>(letter) >= 0x80; }, '?');
  to.resize(size);
  regimen::detail::append_json(to, plain);
}
/// JSON has no number for NaN.
[[gnu::cold]] inline std::string json_of(double number) { return is_finite(number) ? text_of(number) : "null"; }

/// {"trial":3,"recipe":0,"values":{"learning_rate":0.01},"rungs":[{"steps":90,"loss":0.5,...}],"failure":""}
[[gnu::cold]] inline std::string line_of(const Trained& trial, const std::vector<std::string>& axes) {
  std::string line =
      "{\"trial\":" + std::to_string(trial.number) + ",\"recipe\":" + std::to_string(trial.recipe) + ",\"values\":{";
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (i > 0) line += ',';
    append_string(line, axes[i]);
    line += ':' + json_of(trial.values[i]);
  }
  line += "},\"rungs\":[";
  for (const Trained::Result& rung : trial.rungs)
    line += (line.back() == '[' ? "{\"steps\":" : ",{\"steps\":") + std::to_string(rung.steps) +
            ",\"loss\":" + json_of(rung.loss) + ",\"accuracy\":" + json_of(rung.accuracy) +
            ",\"seconds\":" + json_of(rung.seconds) + "}";
  line += "],\"failure\":";
  append_string(line, trial.failure);
  return line + "}\n";
}

/// Reads a line_of line; values come from the plan.
[[gnu::cold]] inline Trained trial_of(const std::string& where, std::string_view line) {
  using regimen::detail::JsonReader;
  using Kind = JsonReader::Kind;
  const std::string cure = "remove the line; its trial runs again";
  JsonReader json(where, line, cure);
  const auto number = [&](const JsonReader::Value& value) {
    if (value.kind == Kind::null) return no_value;
    if (value.kind != Kind::number && value.kind != Kind::whole) throw Error(where, "a number", value.words(), cure);
    const auto result = regimen::detail::number_of<double>(value.text);
    if (!result) throw Error(where, "a number that a double holds", value.words(), cure);
    return *result;
  };
  const auto whole = [&](const JsonReader::Value& value) {
    if (value.kind != Kind::whole) throw Error(where, "a whole number", value.words(), cure);
    return value.whole;
  };
  const auto open = [&](Kind kind, const char* expected) {
    if (const auto value = json.value(); value.kind != kind) throw Error(where, expected, value.words(), cure);
  };
  Trained trial;
  open(Kind::object, "an object");
  for (std::string key; json.key(key);) {
    if (key == "trial") trial.number = static_cast<std::size_t>(whole(json.value()));
    else if (key == "recipe") trial.recipe = static_cast<std::size_t>(whole(json.value()));
    else if (key == "failure") trial.failure = json.value().text;
    else if (key == "values") {
      open(Kind::object, "an object");
      for (std::string axis; json.key(axis);) trial.values.push_back(number(json.value()));
    } else if (key == "rungs") {
      open(Kind::array, "an array");
      while (json.element()) {
        Trained::Result rung;
        open(Kind::object, "an object");
        for (std::string name; json.key(name);) {
          const auto value = json.value();
          if (name == "steps") rung.steps = whole(value);
          else if (name == "loss") rung.loss = number(value);
          else if (name == "accuracy") rung.accuracy = number(value);
          else if (name == "seconds") rung.seconds = number(value);
          else throw Error(where, "steps, loss, accuracy, seconds", name, cure);
        }
        trial.rungs.push_back(rung);
      }
    } else {
      throw Error(where, "trial, recipe, values, rungs, failure", key, cure);
    }
  }
  json.end();
  return trial;
}

[[gnu::cold]] inline std::vector<std::string> lines_in(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = (std::min)(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
  }
  return lines;
}
/// The lines of a text file; none if there is no such file.
[[gnu::cold]] inline std::vector<std::string> lines_of(const std::string& path) {
  return lines_in(regimen::detail::read_if_there(path).value_or(""));
}

}  // namespace detail

}  // namespace regimen::tune
// SPDX-License-Identifier: Apache-2.0
