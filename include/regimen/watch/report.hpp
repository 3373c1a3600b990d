// regimen/watch/report.hpp — a run as one HTML file: curves, the plan, the memory of a step.
#pragma once

#include <regimen/core/arena.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/finite.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/core/refused.hpp>
#include <regimen/train/result.hpp>
#include <regimen/watch/history.hpp>
#include <regimen/watch/run_text.hpp>
#include <regimen/watch/text.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace regimen {

namespace detail {

inline std::string escaped(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '&') result += "&amp;";
    else if (letter == '<') result += "&lt;";
    else if (letter == '>') result += "&gt;";
    else if (letter == '"') result += "&quot;";
    else result += letter;
  }
  return result;
}
/// Four digits; from 10,000 on in thousands (k), millions (M), ...
inline std::string short_text(double number) {
  const char* unit = "kMGT";
  const bool is_large = std::abs(number) >= 1e4 && std::abs(number) < 1e15;
  if (is_large)
    for (number /= 1000; std::abs(number) >= 1000; ++unit) number /= 1000;
  return printed("%.4g", number) + (is_large ? std::string(" ") + *unit : std::string());
}

struct Curve final {
  std::string name;
  std::vector<std::pair<double, double>> points;  // x never falls
};

/// The least and the largest finite number, and round numbers from one to the other.
struct Axis final {
  double least = 0, most = 0;
  bool any = false;

  void add(double number) {
    if (!is_finite(number)) return;
    least = any ? (std::min)(least, number) : number;
    most = any ? (std::max)(most, number) : number;
    any = true;
  }
  double span() const { return most > least ? most - least : 1; }
  /// Where a number lies, from 0 to 1.
  double at(double number) const { return most > least ? (number - least) / span() : 0.5; }
  /// About `count` multiples of 1, 2 or 5 times a power of ten; of one number, that number.
  std::vector<double> ticks(double count) const {
    if (!(most > least)) return {least};
    const double rough = span() / count, power = std::pow(10, std::floor(std::log10(rough))), times = rough / power;
    const double step = power * (times > 5 ? 10 : times > 2 ? 5 : times > 1 ? 2 : 1);
    const double first = std::ceil(least / step - 1e-9), last = std::floor(most / step + 1e-9);
    std::vector<double> found;
    for (double i = 0; i <= last - first; ++i) found.push_back((first + i) * step);
    return found;
  }
};

/// A drawing of curves. Of many points in one place the least and the largest that are finite are drawn; where there is
/// none is a gap. A point between two gaps is a dash.
inline std::string chart(const std::string& title, const std::string& across, const std::vector<Curve>& curves) {
  constexpr double width = 760, height = 260, left = 84, top = 10, right = 16, bottom = 40;
  Axis horizontal, vertical;
  for (const Curve& curve : curves)
    for (const auto& [x, y] : curve.points)
      if (is_finite(x) && is_finite(y)) horizontal.add(x), vertical.add(y);
  const std::string heading = "<section>\n<h2>" + escaped(title) + "</h2>\n";
  if (!horizontal.any) return heading + "<p>No numbers.</p>\n</section>\n";
  const auto at_x = [&](double x) { return left + (width - left - right) * horizontal.at(x); };
  const auto at_y = [&](double y) { return height - bottom - (height - top - bottom) * vertical.at(y); };
  const auto place = [](double x, double y) { return printed("%.1f,%.1f", x, y); };
  std::string svg = heading + "<svg viewBox=\"0 0 760 260\" role=\"img\" aria-label=\"" + escaped(title) + "\">\n";
  const auto words = [&](double x, double y, const char* anchor, const std::string& text) {
    svg += "<text x=\"" + short_text(x) + "\" y=\"" + short_text(y) + "\" text-anchor=\"" + anchor + "\">" +
           escaped(text) + "</text>\n";
  };
  for (const double y : vertical.ticks(5)) {
    svg += "<path class=\"grid\" d=\"M" + place(left, at_y(y)) + " L" + place(width - right, at_y(y)) + "\"/>\n";
    words(left - 6, at_y(y) + 4, "end", short_text(y));
  }
  for (const double x : horizontal.ticks(6)) words(at_x(x), height - bottom + 18, "middle", short_text(x));
  words((left + width - right) / 2, height - 5, "middle", across);
  std::string legend;
  for (std::size_t c = 0; c < curves.size(); ++c) {
    const auto& points = curves[c].points;
    const std::string colour = "c" + std::to_string(c % 4);
    const std::size_t together = points.size() / 1500 + 1;
    std::string path;
    std::size_t connected = 0;  // points of the line that is being drawn
    const auto end_line = [&] {
      if (std::exchange(connected, 0) == 1) path += " h2";  // a line of one point would not be seen
    };
    for (std::size_t i = 0; i < points.size(); i += together) {
      const std::pair<double, double>*least = nullptr, *largest = nullptr;
      for (std::size_t k = i; k < (std::min)(i + together, points.size()); ++k) {
        if (!is_finite(points[k].second)) continue;
        if (least == nullptr || points[k].second < least->second) least = &points[k];
        if (largest == nullptr || points[k].second > largest->second) largest = &points[k];
      }
      if (least == nullptr) {
        end_line();
        continue;
      }
      if (largest < least) std::swap(least, largest);  // by place, from here on
      for (const auto* point : {least, largest}) {
        path += (connected++ > 0 ? " L" : " M") + place(at_x(point->first), at_y(point->second));
        if (least == largest) break;
      }
    }
    end_line();
    if (path.empty()) continue;
    svg += "<path class=\"curve " + colour + "\" d=\"" + path + "\"/>\n";
    legend += "<span class=\"" + colour + "\">" + escaped(curves[c].name) + "</span> ";
  }
  return svg + "</svg>\n<p class=\"legend\">" + legend + "</p>\n</section>\n";
}

/// The bytes that live after each allocation and release of a step, as its plan has them.
template <class Trainer>
std::vector<std::size_t> memory_of_step(Trainer& trainer) {
  using Recipe = typename Trainer::Recipe;
  struct Timeline {
    std::vector<std::size_t> bytes{0};
    static void lives(void* self, std::size_t, std::size_t count) {
      auto& all = static_cast<Timeline*>(self)->bytes;
      all.push_back(all.back() + count);
    }
    static void dies(void* self, std::size_t, std::size_t count) {
      auto& all = static_cast<Timeline*>(self)->bytes;
      all.push_back(all.back() - count);
    }
  } timeline;
  const TensorArena::Witness witness{&timeline, &Timeline::dies, &Timeline::lives};
  typename Recipe::Planned walk(Trainer::batch, trainer.ranks(), std::size_t{0}, trainer.ranks(), true);
  walk.checks_finite = Recipe::checks_finite;
  walk.arena.witness = &witness;
  const train::Resident resident = Recipe::Step::setup(walk);
  Recipe::Step::step(walk, resident, Recipe::loss_scaling, Recipe::clip, {}, [](std::size_t) { return true; });
  return timeline.bytes;
}

/// How a report looks: light or dark as its reader's system is, and readable on a narrow screen.
inline constexpr const char* report_style =
    ":root{color-scheme:light dark;--ink:#222;--soft:#555;--line:#ddd;--box:#f5f5f5;--back:#fff;--a:#1965b0;--b:#dc050c;"
    "--c:#2a8a42;--d:#a86a00}@media(prefers-color-scheme:dark){:root{--ink:#ddd;--soft:#aaa;--line:#3a3a3a;--box:#242424;"
    "--back:#161616;--a:#6ab0f3;--b:#ff7b72;--c:#6cc97f;--d:#f0b44c}}body{font:15px/1.4 sans-serif;max-width:800px;"
    "margin:2em auto;padding:0 1em;color:var(--ink);background:var(--back)}h1{overflow-wrap:anywhere}h2{font-size:1.1em;"
    "margin:2em 0 .5em}svg{display:block;width:100%}svg text{font-size:12px;fill:var(--soft)}.grid{stroke:var(--line)}"
    ".curve{fill:none;stroke:currentColor;stroke-width:1.5}.c0{color:var(--a)}.c1{color:var(--b)}.c2{color:var(--c)}"
    ".c3{color:var(--d)}.legend{margin:.2em 0;text-align:center}.legend span{margin:0 .7em}.legend span::before{"
    "content:\"\\2014\\a0\"}table{border-collapse:collapse}th,td{text-align:left;padding:.15em 1.5em .15em 0;font-weight:"
    "normal}th{color:var(--soft)}pre{overflow:auto;background:var(--box);padding:1em;font-size:12px}"
    "@media(max-width:500px){svg text{font-size:18px}}";

/// What a reader looks for first.
inline std::string summary(const History& history) {
  double milliseconds = 0, waited = 0, best = no_value;
  std::uint64_t samples = 0, skipped = 0;
  for (const StepResult& step : history.steps) {
    skipped += step.skipped();
    milliseconds += step.milliseconds;
    waited += step.waited;
    samples += step.samples;
  }
  for (const auto& [step, found] : history.evaluations)
    if (is_finite(found.loss) && !(found.loss >= best)) best = found.loss;
  std::string rows;
  const auto row = [&](const char* what, const std::string& value) {
    rows += "<tr><th>" + std::string(what) + "</th><td>" + value + "</td></tr>\n";
  };
  row("steps", std::to_string(history.steps.size()));
  if (skipped > 0) row("of them skipped, as a gradient was not finite", std::to_string(skipped));
  if (!history.steps.empty()) row("last loss", short_text(history.steps.back().loss));
  if (!history.evaluations.empty()) {
    row("last validation loss", short_text(history.evaluations.back().evaluation.loss));
    row("best validation loss", short_text(best));
  }
  if (milliseconds > 0) {
    row("time in steps", short_text(milliseconds * 1e-3) + " s");
    row("samples a second", short_text(double(samples) / milliseconds * 1e3));
    row("waiting for data", short_text(100 * waited / milliseconds) + " %");
  }
  return "<table>\n" + rows + "</table>\n";
}

}  // namespace detail

/// The history of a run as one HTML file that opens offline: loss of steps, evaluations and epochs, learning rate, norm
/// of the gradient, samples a second, the memory of a step as planned, recipe and plan. It refers to nothing outside
/// itself, and has no script.
template <class Trainer>
std::string report_html(Trainer& trainer, const History& history, const std::string& title = "A run") {
  using detail::chart;
  using detail::Curve;
  Curve loss{"training", {}}, epochs{"epochs", {}}, validation{"validation", {}}, accuracy{"accuracy", {}},
      rate{"learning rate", {}}, norm{"norm", {}}, speed{"samples a second", {}}, memory{"MiB that live", {}};
  for (const StepResult& s : history.steps) {
    const double x = double(s.step);
    loss.points.emplace_back(x, s.loss);
    rate.points.emplace_back(x, s.learning_rate);
    norm.points.emplace_back(x, s.gradient_norm);
    if (s.milliseconds > 0) speed.points.emplace_back(x, double(s.samples) / s.milliseconds * 1e3);
  }
  for (const EpochEvent& e : history.epochs) epochs.points.emplace_back(double(e.step), e.loss);
  for (const auto& [step, e] : history.evaluations) {
    validation.points.emplace_back(double(step), e.loss);
    accuracy.points.emplace_back(double(step), e.accuracy);
  }
  const std::vector<std::size_t> bytes = detail::memory_of_step(trainer);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (const std::size_t end : {i, i + 1}) memory.points.emplace_back(double(end), double(bytes[i]) * 0x1p-20);
  std::string page =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>" +
      detail::escaped(title) + "</title>\n<style>" + detail::report_style + "</style></head>\n<body>\n<h1>" +
      detail::escaped(title) + "</h1>\n" + detail::summary(history);
  page += chart("Loss", "step", {loss, validation, epochs});
  if (std::any_of(accuracy.points.begin(), accuracy.points.end(), [](const auto& p) { return is_finite(p.second); }))
    page += chart("Accuracy of evaluations", "step", {accuracy});
  for (const std::string& name : history.names_of_metrics()) {
    Curve training{"training", {}}, evaluations{"validation", {}};
    for (const Measured& found : history.metrics)
      (found.evaluation ? evaluations : training).points.emplace_back(double(found.step), found.value(name));
    page += chart(name, "step", {training, evaluations});
  }
  page += chart("Learning rate", "step", {rate});
  page += chart("Norm of the gradient", "step", {norm});
  page += chart("Samples a second", "step", {speed});
  page += chart("Memory of a step, as planned", "allocations and releases", {memory});
  return page + "<h2>Recipe and plan</h2>\n<pre>" + detail::escaped(run_text(trainer)) + "</pre>\n</body></html>\n";
}
template <detail::Refused Trainer>
std::string report_html(Trainer&, const History&, const std::string& = "A run") {
  return {};
}

/// A callback of fit that writes such a file when the run ends:
///
///   HtmlReport report("run.html");
///   trainer.fit(data, held_out, {.epochs = 3, .validate_every = 100}, report);
///
/// All ranks may have one; rank 0 writes.
///
/// memory   that of its History
/// failure  Error if the file cannot be written
class HtmlReport final {
 public:
  explicit HtmlReport(std::string path, std::string title = "A run")
      : path_(std::move(path)), title_(std::move(title)) {
    detail::AtomicFile::expect_name(path_);
    const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
    std::error_code failed;
    if (!folder.empty()) std::filesystem::create_directories(folder, failed);
    if (failed) throw Error(folder.string(), "a folder, or a name where one can be made", failed.message());
    if (std::filesystem::is_directory(path_, failed))
      throw Error(path_, "the name of a file", "a folder", "write \"" + path_ + "/run.html\"");
  }

  template <class Trainer>
  void operator()(Trainer& trainer, const StepResult& step) {
    history_(trainer, step);
  }
  template <class Trainer>
  void operator()(Trainer& trainer, std::span<const StepResult> launch) {
    history_(trainer, launch);
  }
  template <class Trainer>
  void operator()(Trainer& trainer, const EpochEvent& epoch) {
    history_(trainer, epoch);
  }
  template <class Trainer>
  void operator()(Trainer& trainer, const Evaluation& found) {
    history_(trainer, found);
  }
  template <class Trainer>
  void operator()(Trainer& trainer, const Fitted&) {
    if (trainer.rank() == 0) detail::write_text(path_, report_html(trainer, history_, title_));
  }
  template <class Trainer>
  void operator()(Trainer& trainer, const Measured& found) {
    history_(trainer, found);
  }
  const History& history() const { return history_; }

 private:
  std::string path_, title_;
  History history_;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
