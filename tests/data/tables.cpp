// CSV, TSV and JSON lines: fields as types, quotes, what errors say.
#include <regimen/data/csv.hpp>
#include <regimen/data/json_lines.hpp>
#include <regimen/data/pipeline.hpp>

#include "../temporary.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

using namespace regimen;
using test::error_of;
using test::refuses;
using test::says;

namespace {

using Table = data::Csv<std::string, int>;
using Lines = data::JsonLines<std::string, int>;
static_assert(data::Dataset<Table> && data::Dataset<Lines>);
static_assert(std::is_same_v<data::value_of<Table>, std::tuple<std::string, int>>);

template <class D>
std::vector<data::value_of<D>> all(const D& table) {
  std::vector<data::value_of<D>> rows;
  for (std::size_t i = 0; i < table.size(); ++i) rows.push_back(table.at({i}));
  return rows;
}
using Rows = std::vector<std::tuple<std::string, int>>;

struct File {
  std::string operator()(const std::string& text) const {
    test::put(path, text);
    return path;
  }
  test::Directory directory;
  std::string path = directory / "a.csv";
};
template <class Table>
std::string refusal(const std::string& path, const typename Table::Names& names) {
  return error_of([&] { all(Table(path, names)); });
}

}  // namespace

TEST_CASE("columns are found by name, quotes and ends of lines as RFC 4180 says") {
  const File file;
  const auto rows = [&](const std::string& text) { return all(Table(file(text), {"name", "n"})); };
  const Rows expected{{"a", 1}, {"b", -2}};
  CHECK(rows("name,n\na,1\nb,-2\n") == expected);
  CHECK(rows("n,more,name\r\n1,x,a\r\n-2,,b\r\n") == expected);
  CHECK(rows("\xEF\xBB\xBFname,n\na,1\nb,-2") == expected);
  CHECK(rows("\"name\",\"n\"\n\"a\",\"1\"\n\"b\",-2\r\n") == expected);
  CHECK(rows("name,n\n\"x, \"\"y\"\"\nz\",7\n,0\n") == Rows{{"x, \"y\"\nz", 7}, {"", 0}});
  CHECK(rows("name,n\n").empty());
  CHECK(all(data::Csv<int>(file("n\n1\n2"), {"n"})) == std::vector<std::tuple<int>>{{1}, {2}});
  CHECK(all(Table(file("name\tn\na \"b\"\t1\n"), {"name", "n"}, data::tabs())) == Rows{{"a \"b\"", 1}});
}

TEST_CASE("fields become their types, to the last bit") {
  const File file;
  using Types = data::Csv<double, float, std::uint8_t, bool, std::optional<int>, std::optional<std::string>>;
  const Types table(file("a,b,c,d,e,f\n0.1,0.1,255,true,,\n-inf,1e-45,0,0,7,x\n"), {"a", "b", "c", "d", "e", "f"});
  CHECK(table.at({0}) == Types::Row{0.1, 0.1f, 255, true, std::nullopt, std::nullopt});
  CHECK(table.at({1}) == Types::Row{-std::numeric_limits<double>::infinity(), std::numeric_limits<float>::denorm_min(),
                                    0, false, 7, "x"});
  const data::Csv<float> small(file("a\n1e-50\n-1e-46\n"), {"a"});  // below the least float
  CHECK(small.at({0}) == std::tuple(0.0f));
  CHECK(small.at({1}) == std::tuple(-0.0f));
  const data::Csv<float> large(file("a\n1e50\n"), {"a"});
  refuses([&] { (void)large.at({0}); }, "found \"1e50\"");
}

TEST_CASE("tables by Python's csv are read; ours come back, over several files") {
  using Types = data::Csv<std::string, std::int64_t, double>;
  const Types table((support::recorded("records") / "table.csv").string(), {"name", "count", "share"});
  REQUIRE(table.size() == 4);
  CHECK(table.at({0}) == Types::Row{"plain", 1, 0.1});
  CHECK(table.at({1}) == Types::Row{"a \"quote\", and\na line", -2, 1e-300});
  CHECK(table.at({2}) == Types::Row{"", 3, std::numeric_limits<double>::infinity()});
  CHECK(table.at({3}) == Types::Row{"\xC3\xA9", 4, 2.5});
  const test::Directory directory;
  for (const char* const name : {"b-1.csv", "b-2.csv"}) {
    data::CsvWriter writer(directory / name, {"name", "count", "share"});
    for (std::size_t i = 0; i < 4; ++i) std::apply([&](const auto&... v) { writer.write(v...); }, table.at({i}));
    writer.write(std::string("\r"), std::int64_t{0}, 1.0 / 3);
    refuses([&] { writer.write("too", "few"); }, "expected 3 fields, found 2");
    writer.commit();
  }
  test::put(directory / "b-3.csv", "share,count,name\n1.5,2,swapped\n");
  const Types copies(directory / "b-?.csv", {"name", "count", "share"});
  REQUIRE(copies.size() == 11);
  for (std::size_t i = 0; i < 4; ++i) CHECK((copies.at({i}) == table.at({i}) && copies.at({5 + i}) == table.at({i})));
  CHECK(copies.at({9}) == Types::Row{"\r", 0, 1.0 / 3});
  CHECK(copies.at({10}) == Types::Row{"swapped", 2, 1.5});
  data::CsvWriter tabs(directory / "t.tsv", {"a"}, data::tabs());
  tabs.write("a \"quote\"");
  refuses([&] { tabs.write("a\tb"); }, "text without separators and ends of lines");
}

TEST_CASE("errors of tables name the line and the column") {
  const File file;
  const auto error = [&](const std::string& text) { return refusal<Table>(file(text), {"name", "n"}); };
  CHECK(says(error("name,n\n\"a\nb\",1\nc,1x\n"), file.path + ", line 4, column \"n\": expected a whole number from "
                                                              "-2147483648 to 2147483647, found \"1x\""));
  CHECK(says(error("name,n\na,\n"), "line 2, column \"n\": expected a whole number"));
  CHECK(says(error("name,n\na, 1\n"), "found \" 1\""));
  CHECK(says(error("name,n\na,2147483648\n"), "found \"2147483648\""));
  CHECK(says(error("name,n\na,1,\n"), file.path + ", line 2: expected 2 fields, as in the header, found 3"));
  CHECK(says(error("name,n\na,1\n\n"), "line 3: expected 2 fields, as in the header, found 1"));
  CHECK(says(error("name,n\na,1\n\"b,2\n"), "line 3: expected a closing quotation mark, found the end of the file"));
  CHECK(says(error("name,n\n\"a\"b,1\n"), "line 2: expected a separator or the end of the line after a closing"));
  CHECK(says(error("name,n\na\"b,1\n"), "line 2: expected quotation marks around the whole field"));
  CHECK(says(error("name,x\na,1\n"), "line 1: expected a column named \"n\", found name, x"));
  CHECK(says(error("name,n,n\na,1,1\n"), "line 1: expected one column named \"n\", found two"));
  CHECK(says(error("\x1F\x8B\b"), file.path + ": expected text that is not compressed, found a gzip file"));
  CHECK(
      says(error("\xFE\xFFn"), file.path + ": expected text in UTF-8, found a file in UTF-16; convert it with iconv"));
  CHECK(says(error(""), "a header with the names of columns, found an empty file"));
  const Table rest(file("name,n\na,1\nb,x\nc\nd\"d,1\ne,5\n\"f,6\n"), {"name", "n"}, {.corrupt = data::Corrupt::Skip});
  CHECK(all(rest) == Rows{{"a", 1}, {"e", 5}});
  CHECK(rest.skipped() == data::Skipped{4, 17});
}

TEST_CASE("an error behind a filter names the line of the file") {
  const File file;
  const auto fails = data::map([](const auto& row) -> int { throw Error("it", "more", std::get<0>(row)); }, "use");
  const auto is_even = [](const auto& row) { return std::get<1>(row) % 2 == 0; };
  const auto refusal_of = [&](const auto& rows) { return error_of([&] { rows.at({0}); }); };
  const Table table(file("name,n\na,1\n\"b\nc\",3\nd,4\n"), {"name", "n"});
  CHECK(says(refusal_of(table | data::filter(is_even) | fails),
             file.path + " | filter | use, value 0 (" + file.path + ", line 5): expected"));
  const Lines lines(file("{\"name\":\"a\",\"n\":1}\n\n{\"name\":\"b\",\"n\":2}\n"), {"name", "n"});
  CHECK(says(refusal_of(lines | data::filter(is_even) | fails), " value 0 (" + file.path + ", line 3): expected"));
}

TEST_CASE("JSON lines give fields as types; lines by Python's json are read") {
  using Types = data::JsonLines<std::string, std::vector<std::string>, std::int64_t, std::optional<double>>;
  const Types lines((support::recorded("records") / "lines.jsonl").string(), {"name", "tags", "count", "share"});
  REQUIRE(lines.size() == 4);
  CHECK(lines.at({1}) == Types::Row{"a \"quote\", and\na line", {"a \"quote\", and\na line", "t"}, -2, 1e-300});
  CHECK(lines.at({2}) == Types::Row{"", {"", "t"}, 3, std::nullopt});
  CHECK(std::get<0>(lines.at({3})) == "\xC3\xA9");
  const test::Directory directory;
  data::JsonLinesWriter writer(directory / "a.jsonl");
  for (int i = 0; i < 3; ++i) writer.write({{"name", "\xC3\xA9\n"}, {"n", i}, {"more", {{"deep", {1, 2}}}}});
  refuses([&] { writer.write(7); }, "expected an object of JSON, found number");
  refuses([&] { writer.write({{"name", "\xFF"}}); }, "expected text in UTF-8");
  writer.commit();
  CHECK(all(Lines({directory / "a.jsonl", directory / "a.jsonl"}, {"name", "n"})).size() == 6);
  CHECK(Lines(directory / "a.jsonl", {"name", "n"}).at({2}) == Lines::Row{"\xC3\xA9\n", 2});
  const data::JsonLines<nlohmann::json, bool> whole(File()("{\"more\":[1],\"b\":true}\r\n \t\r\n{\"b\":false}"),
                                                    {"more", "b"});
  CHECK(whole.size() == 2);
}

TEST_CASE("errors of JSON lines name the line and the field") {
  const File file;
  const auto error = [&](const std::string& text) { return refusal<Lines>(file(text), {"name", "n"}); };
  CHECK(error("{\"name\":\"a\",\"n\":1}\n\n").empty());
  CHECK(says(error("\n{\"name\":\"a\",\"n\":1}\n{\"name\":\"a\"}\n"),
             file.path +
                 ", line 3, field \"n\": expected a whole number from -2147483648 to 2147483647, found no such field"));
  CHECK(says(error("{\"name\":1,\"n\":1}"), "field \"name\": expected a string, found 1"));
  CHECK(says(error("{\"name\":\"a\",\"n\":2147483648}"), "found 2147483648"));
  CHECK(says(error("{\"name\":\"a\",\"n\":1.0}"), "found 1.0"));
  CHECK(says(error("{\"name\":\"a\",\"n\":[1]}"), "found an array"));
  CHECK(says(error("{\"name\":\"a\",\"n\":1"), "line 1: expected an object of JSON, found column 18: syntax error"));
  CHECK(says(error("{\"name\":\"a\",\"n\":1e999}"), "expected an object of JSON, found number overflow"));
  CHECK(says(error("\xFF\xFE{"), file.path + ": expected text in UTF-8, found a file in UTF-16"));
  CHECK(says(error("{\"name\":\"a\",\"n\":1} x"), "expected an object of JSON"));
  CHECK(says(error("[1]"), "expected an object of JSON, found array"));
  CHECK(says(refusal<Lines>(file("{}"), {"n", "n"}), "each field once"));
  const data::JsonLines<float> wide(file("{\"x\":1e39}\n{\"x\":1e38}\n"), {"x"});
  refuses([&] { (void)wide.at({0}); }, "field \"x\": expected a number, found 1e+39");
  CHECK(wide.at({1}) == std::tuple(1e38f));
  const Lines rest(file("{\"name\":\"a\",\"n\":1}\n{\"name\"\n{}\n{\"name\":\"b\",\"n\":2}"), {"name", "n"},
                   {.corrupt = data::Corrupt::Skip});
  CHECK(all(rest) == Rows{{"a", 1}, {"b", 2}});
  CHECK(rest.skipped() == data::Skipped{2, 11});
}
