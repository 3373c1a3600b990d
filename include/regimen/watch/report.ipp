// regimen/watch/report.ipp — a run as one HTML file, drawn.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/finite.hpp>
#include <regimen/watch/chart.hpp>
#include <regimen/watch/report.hpp>
#include <regimen/watch/text.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

namespace regimen {

namespace detail {

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

/// The main numbers of the run.
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

REGIMEN_INLINE std::string detail::report_page(const History& history, const std::string& title,
                                               const std::vector<std::size_t>& bytes, const std::string& run) {
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
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (const std::size_t end : {i, i + 1}) memory.points.emplace_back(double(end), double(bytes[i]) * 0x1p-20);
  std::string page =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>" +
      escaped(title) + "</title>\n<style>" + report_style + "</style></head>\n<body>\n<h1>" + escaped(title) +
      "</h1>\n" + summary(history);
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
  return page + "<h2>Recipe and plan</h2>\n<pre>" + escaped(run) + "</pre>\n</body></html>\n";
}
REGIMEN_INLINE HtmlReport::HtmlReport(std::string path, std::string title)
    : path_(std::move(path)), title_(std::move(title)) {
  detail::AtomicFile::expect_name(path_);
  const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  if (!folder.empty()) detail::make_folder(folder.string());
  std::error_code ignored;
  if (std::filesystem::is_directory(path_, ignored))
    throw Error(path_, "the name of a file", "a folder", "write \"" + path_ + "/run.html\"");
}

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
