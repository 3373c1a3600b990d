// Numbers in files are the same in every locale: all writers and readers, with a decimal comma, grouped digits, and a decimal
// point of two bytes.
#include <regimen/core/printed.hpp>
#include <regimen/data/csv.hpp>
#include <regimen/data/fake.hpp>
#include <regimen/data/json_lines.hpp>
#include <regimen/data/npy.hpp>
#include <regimen/data/tokenizer.hpp>
#include <regimen/engine/rank_trace.hpp>
#include <regimen/tune/trials.hpp>
#include <regimen/watch/chart.hpp>
#include <regimen/watch/history.hpp>
#include <regimen/watch/report.hpp>
#include <regimen/watch/run_text.hpp>
#include <regimen/watch/tensorboard.hpp>

#include "../temporary.hpp"
#include "support/catch.hpp"
#include "support/locale.hpp"
#include "support/tiny.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdio>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

using namespace regimen;

namespace {

using Train = Trainer<tiny::Gpt, Batch<4>, Debug<Profile>>;

std::string text_in(const std::string& path) {
  const ::test::Bytes bytes = ::test::get(path);
  return {bytes.begin(), bytes.end()};
}
std::string exact(double number) { return std::to_string(std::bit_cast<std::uint64_t>(number)); }

/// What each writer writes, and each reader reads of it: a text without measured times.
std::map<std::string, std::string> everything() {
  const ::test::Directory folder;
  std::map<std::string, std::string> all;

  const auto search = [&] {
    tune::Trials trials(folder / "search", tune::Grid{}, {tune::choice("x", {1234.5, 0.75, 0.125, 1e-9})}, 0,
                        {.progress = false});
    return trials.run([](const tune::Trial& trial) { return trial.values["x"] + 1; });
  };
  for (const char* const when : {"search", "search, read again"}) {
    const tune::Found found = search();
    for (const tune::Trained& trial : found.trials) all[when] += exact(trial.loss()) + " ";
    all[when] += std::to_string(found.best().number);
  }
  all["search.txt"] = text_in(folder / "search/search.txt");
  const tune::Trained trial{.number = 3, .values = {1e-9, 1234567.25}, .rungs = {{100, 0.5, 0.25, 1234.125}}};
  all["line of a trial"] = tune::detail::line_of(trial, {"a", "b"});
  const tune::Trained read = tune::detail::trial_of("line", all["line of a trial"]);
  all["trial of a line"] = exact(read.values[0]) + exact(read.values[1]) + exact(read.rungs[0].seconds);
  tune::Found table;
  table.trials = {trial};
  table.axes = {"a", "b"};
  table.rungs = 1;
  all["table of a search"] = table.table();

  {
    data::CsvWriter csv(folder / "a.csv", {"x", "n"});
    csv.write(1234.5, 12345678);
    csv.write(-1e-30, 0);
    csv.commit();
    all["csv"] = text_in(folder / "a.csv");
    const data::Csv<double, std::int64_t> rows(folder / "a.csv", {"x", "n"});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto [x, n] = rows.at({i});
      all["csv, read"] += exact(x) + " " + std::to_string(n) + " ";
    }
    data::JsonLinesWriter lines(folder / "a.jsonl");
    lines.write({{"x", 1234.5}, {"list", {0.1, 1e300}}});
    lines.commit();
    all["json"] = text_in(folder / "a.jsonl");
    const data::JsonLines<double, std::vector<double>> values(folder / "a.jsonl", {"x", "list"});
    const auto [x, list] = values.at({0});
    all["json, read"] = exact(x) + exact(list[0]) + exact(list[1]);
    data::write_npy<float>(folder / "a.npy", std::vector<float>(2 * 1234), {2, 1234});
    all["npy"] = text_in(folder / "a.npy") + std::to_string(data::Npy<float>(folder / "a.npy").at({0}).size());
  }
  all["tokenizer"] = ::test::error_of([] {
    data::Tokenizer::from_string(R"({"pre_tokenizer": {"type": "ByteLevel"},
        "model": {"type": "BPE", "dropout": 0.5, "vocab": {}, "merges": []}})");
  });

  Train trainer({.optimizer = {.learning_rate = 0.0125}, .threads = 1});
  HtmlReport report(folder / "report.html");
  TensorBoard board(folder / "board", {.file = "events"});
  trainer.fit(Fake({.samples = 24, .classes = 11}), {.steps = 3, .progress = false}, report, board);
  trainer.save(folder / "state.safetensors");
  all["state"] = text_in(folder / "state.safetensors");
  Train again({.optimizer = {.learning_rate = 0.0125}, .threads = 1});
  again.load(folder / "state.safetensors");
  for (const float weight : tiny::weights(again)) all["state, read"] += exact(double(weight));
  all["plan"] = Train::plan().table();
  all["run"] = run_text(trainer, "note");
  all["run"].erase(all["run"].find("command"), all["run"].find("recipe") - all["run"].find("command"));
  const Evaluation evaluation{.loss = 0.125, .accuracy = 0.5};
  History history;
  history(trainer, evaluation);
  all["history"] = history.csv();
  all["chart"] = detail::chart("t", "x", {{"c", {{0, 0.25}, {1234.5, 0.5}, {98765.4, 0.125}}}});
  all["error"] = ::test::error_of([] { data::Csv<int>("/dev/null", {"x"}); }) +
                 ::test::error_of([] { Train({.optimizer = {.learning_rate = -0.5}}); });

  // These hold times: no bytes to compare, but JSON, and pairs of numbers.
  RankTrace trace;
  trace.add(0, trainer.profile());
  trace.write(folder / "ranks.json");
  trainer.profile().write_trace(folder / "trace.json");
  for (const char* const name : {"ranks.json", "trace.json"}) {
    const detail::LocaleC locale;
    const auto events = nlohmann::json::parse(text_in(folder / name)).at("traceEvents");
    std::size_t with_times = 0;
    for (const auto& event : events) with_times += event.contains("ts") && event.at("ts").is_number_float();
    all[name] = std::to_string(with_times);
  }
  const auto has_comma_in_numbers = [](const std::string& text) {
    for (std::size_t i = 1; i + 1 < text.size(); ++i)
      if (text[i] == ',' && std::isdigit(text[i - 1]) && std::isdigit(text[i + 1])) return true;
    return false;
  };
  all["profile"] = has_comma_in_numbers(trainer.profile().table()) ? "commas" : "points";
  const std::string page = text_in(folder / "report.html");
  for (std::size_t at = 0; (at = page.find(" d=\"", at)) != std::string::npos;) {
    std::istringstream points(page.substr(at + 4, page.find('"', at + 4) - at - 4));
    for (std::string point; points >> point;)
      if (point[0] == 'M' || point[0] == 'L')
        all["report"] +=
            std::count(point.begin(), point.end(), ',') == 1 ? "" : "a point of other than two numbers: " + point;
    ++at;
  }
  all["report"] += " end";
  return all;
}

void check_under(const char* source) {
  const std::map<std::string, std::string> expected = everything();
  std::map<std::string, std::string> found;
  bool is_there = false;
  {
    const support::OtherLocale locale(source);
    is_there = locale.is_there();
    std::ostringstream stream;
    stream << 1234.5;
    REQUIRE(stream.str() == "1.234,5");
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", 0.5);
    REQUIRE((std::string(text) != "0.5") == is_there);
    found = everything();
    std::snprintf(text, sizeof text, "%.1f", 0.5);
    REQUIRE((std::string(text) != "0.5") == is_there);  // the program has the locale that it had
  }
  REQUIRE(found.size() == expected.size());
  for (const auto& [name, text] : expected) {
    INFO(name);
    CHECK(found[name] == text);
  }
  if (!is_there) REGIMEN_SKIP("localedef makes no such locale here; streams alone had another");
}

}  // namespace

TEST_CASE("printed writes numbers as the locale C has them") {
  CHECK(detail::printed("%.3f %5.1e|%-6s|%zu", 1234.5, 1e10, "ab", std::size_t{12345678}) ==
        "1234.500 1.0e+10|ab    |12345678");
  CHECK(detail::printed("%s", std::string(5000, 'x').c_str()).size() == 5000);
  CHECK(detail::printed("none").size() == 4);
  CHECK(detail::digits_of(0.001) == "0.001");
}

TEST_CASE("files are the same with a decimal comma and grouped digits", "[machine]") { check_under("de_DE"); }
TEST_CASE("files are the same with a decimal point of two bytes", "[machine]") { check_under("ps_AF"); }
