// regimen/watch/chart.hpp — curves as a drawing (SVG) in a page of HTML.
#pragma once

#include <regimen/core/finite.hpp>
#include <regimen/core/printed.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace regimen::detail {

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

/// A drawing of curves. Of many points in one place it has the least and the largest finite point; a place without
/// finite points is a gap. A point between two gaps is a dash.
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

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
