// regimen/watch/report.hpp — a run as one HTML file: curves, the plan, the memory of a step.
#pragma once

#include <regimen/core/arena.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/finite.hpp>
#include <regimen/train/result.hpp>
#include <regimen/watch/history.hpp>
#include <regimen/watch/run_text.hpp>
#include <regimen/watch/text.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
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
inline std::string short_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", number);
  return text;
}

struct Curve final {
  std::string name;
  std::vector<std::pair<double, double>> points;  // x never falls
};

/// A drawing of curves. Of many points in one place the least and the largest that are finite are drawn; where there is
/// none is a gap. A point between two gaps is a dash.
inline std::string chart(const std::string& title, const std::string& across, const std::vector<Curve>& curves) {
  constexpr double width = 760, height = 260, left = 70, top = 10, right = 10, bottom = 40;
  constexpr const char* colours[] = {"#1965b0", "#dc050c", "#4eb265", "#f7a600"};
  double x0 = 0, x1 = 0, y0 = 0, y1 = 0;
  bool any = false;
  for (const Curve& curve : curves)
    for (const auto& [x, y] : curve.points)
      if (is_finite(x) && is_finite(y)) {
        x0 = any ? (std::min)(x0, x) : x;
        x1 = any ? (std::max)(x1, x) : x;
        y0 = any ? (std::min)(y0, y) : y;
        y1 = any ? (std::max)(y1, y) : y;
        any = true;
      }
  if (!any) return "<h2>" + escaped(title) + "</h2>\n<p>No numbers.</p>\n";
  const double wide = x1 > x0 ? x1 - x0 : 1, tall = y1 > y0 ? y1 - y0 : 1;
  const auto at_x = [&](double x) { return left + (width - left - right) * ((x - x0) / wide); };
  const auto at_y = [&](double y) { return height - bottom - (height - top - bottom) * ((y - y0) / tall); };
  const auto place = [](double x, double y) {
    char text[64];
    std::snprintf(text, sizeof text, "%.1f,%.1f", x, y);
    return std::string(text);
  };
  std::string svg = "<h2>" + escaped(title) + "</h2>\n<svg viewBox=\"0 0 760 260\" role=\"img\">\n";
  const auto words = [&](double x, double y, const char* anchor, const std::string& text) {
    svg += "<text x=\"" + short_text(x) + "\" y=\"" + short_text(y) + "\" text-anchor=\"" + anchor + "\">" +
           escaped(text) + "</text>\n";
  };
  for (int i = 0; i <= 4; ++i) {
    const double y = y0 + tall * i / 4, x = x0 + wide * i / 4;
    svg += "<path class=\"grid\" d=\"M" + place(left, at_y(y)) + " L" + place(width - right, at_y(y)) + "\"/>\n";
    words(left - 6, at_y(y) + 4, "end", short_text(y));
    words(at_x(x), height - bottom + 16, i == 0 ? "start" : i == 4 ? "end" : "middle", short_text(x));
  }
  words((left + width - right) / 2, height - 6, "middle", across);
  std::string legend;
  for (std::size_t c = 0; c < curves.size(); ++c) {
    const auto& points = curves[c].points;
    const std::string colour = colours[c % std::size(colours)];
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
    svg += "<path class=\"curve\" stroke=\"" + colour + "\" d=\"" + path + "\"/>\n";
    legend += " <span style=\"color:" + colour + "\">" + escaped(curves[c].name) + "</span>";
  }
  return svg + "</svg>\n<p>" + legend + "</p>\n";
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
  const Arena::Witness witness{&timeline, &Timeline::dies, &Timeline::lives};
  typename Recipe::Planned walk(Trainer::batch, trainer.ranks(), std::size_t{0}, trainer.ranks(), true);
  walk.checks_finite = Recipe::checks_finite;
  walk.arena.witness = &witness;
  const train::Resident resident = Recipe::Step::setup(walk);
  Recipe::Step::step(walk, resident, Recipe::loss_scaling, Recipe::clip, {}, [](std::size_t) { return true; });
  return timeline.bytes;
}

}  // namespace detail

/// The history of a run as one HTML file that opens offline: loss of steps, evaluations and epochs, learning rate, norm
/// of the gradient, the memory of a step as planned, recipe and plan. It refers to nothing outside itself, and has no
/// script.
template <class Trainer>
std::string report_html(Trainer& trainer, const History& history, const std::string& title = "A run") {
  using detail::chart;
  using detail::Curve;
  Curve loss{"training", {}}, epochs{"epochs", {}}, validation{"validation", {}}, accuracy{"accuracy", {}},
      rate{"learning rate", {}}, norm{"norm", {}}, memory{"bytes that live", {}};
  for (const StepResult& s : history.steps) {
    const double x = double(s.step);
    loss.points.emplace_back(x, s.loss);
    rate.points.emplace_back(x, s.learning_rate);
    norm.points.emplace_back(x, s.gradient_norm);
  }
  for (const EpochEvent& e : history.epochs) epochs.points.emplace_back(double(e.step), e.loss);
  for (const auto& [step, e] : history.evaluations) {
    validation.points.emplace_back(double(step), e.loss);
    accuracy.points.emplace_back(double(step), e.accuracy);
  }
  const std::vector<std::size_t> bytes = detail::memory_of_step(trainer);
  for (std::size_t i = 0; i < bytes.size(); ++i) memory.points.emplace_back(double(i), double(bytes[i]));
  std::string page = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" +
                     detail::escaped(title) +
                     "</title>\n<style>body{font:15px sans-serif;max-width:800px;margin:2em auto}svg{width:100%}"
                     "svg text{font-size:11px;fill:#555}.grid{stroke:#ddd}.curve{fill:none;stroke-width:1.5}"
                     "pre{overflow:auto;background:#f5f5f5;padding:1em}</style></head>\n<body>\n<h1>" +
                     detail::escaped(title) + "</h1>\n";
  page += chart("Loss", "step", {loss, validation, epochs});
  if (std::any_of(accuracy.points.begin(), accuracy.points.end(), [](const auto& p) { return is_finite(p.second); }))
    page += chart("Accuracy of evaluations", "step", {accuracy});
  page += chart("Learning rate", "step", {rate});
  page += chart("Norm of the gradient", "step", {norm});
  page += chart("Memory of a step, as planned", "allocations and releases", {memory});
  return page + "<h2>Recipe and plan</h2>\n<pre>" + detail::escaped(run_text(trainer)) + "</pre>\n</body></html>\n";
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
    const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
    std::error_code failed;
    if (!folder.empty()) std::filesystem::create_directories(folder, failed);
    if (failed) throw Error(folder.string(), "a folder, or a name where one can be made", failed.message());
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
  const History& history() const { return history_; }

 private:
  std::string path_, title_;
  History history_;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
