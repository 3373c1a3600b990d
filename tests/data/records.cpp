// TFRecord files and Examples: framing, checksums, damage, protocol buffers, and files of another program.
#include <regimen/data/example.hpp>
#include <regimen/data/records.hpp>
#include <regimen/data/report_line.hpp>

#include "../temporary.hpp"
#include "support/captured.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

using namespace regimen;
using test::error_of;
using test::refuses;
using test::says;

static_assert(data::Dataset<data::Records>);

namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
std::vector<std::string> all(const data::Records& records) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < records.size(); ++i) result.push_back(text_of(records.at({i}).bytes));
  return result;
}
void write(const std::string& path, const std::vector<std::string>& payloads) {
  data::RecordWriter writer(path);
  for (const std::string& payload : payloads) writer.write(payload);
  REQUIRE(writer.records() == payloads.size());
  writer.commit();
}
const std::vector<std::string> payloads{"first", "", std::string(1000, 'x'), "the last"};

}  // namespace

TEST_CASE("CRC-32C gives the sums of RFC 3720, by table and by hardware, at every length and alignment") {
  const auto of = [](auto f) {
    std::string bytes;
    for (int i = 0; i < 32; ++i) bytes += static_cast<char>(f(i));
    return crc32c(bytes_of(bytes));
  };
  CHECK(crc32c(bytes_of("123456789")) == 0xE3069283u);
  CHECK(of([](int) { return 0; }) == 0x8A9136AAu);
  CHECK(of([](int) { return 0xFF; }) == 0x62A8AB43u);
  CHECK(of([](int i) { return i; }) == 0x46DD794Eu);
  CHECK(of([](int i) { return 31 - i; }) == 0x113FDB5Cu);
  CHECK(crc32c({}) == 0);
  const std::string text = "what is summed, at every length and alignment of its beginning";
  for (std::size_t begin = 0; begin < 9; ++begin)
    for (std::size_t length = 0; begin + length <= text.size(); ++length) {
      const auto part = bytes_of(text).subspan(begin, length);
      REQUIRE(crc32c(part) == static_cast<std::uint32_t>(~detail::crc32c_by_table(~0u, part)));
    }
}

TEST_CASE("records come back in the order of files and of writing, from a pattern too") {
  const test::Directory directory;
  write(directory / "b-1.tfrec", {"three"});
  write(directory / "b-0.tfrec", {"one", "two"});
  write(directory / "none.tfrec", {});
  CHECK(all(data::Records(directory / "b-*.tfrec")) == std::vector<std::string>{"one", "two", "three"});
  const data::Records listed({directory / "b-1.tfrec", directory / "none.tfrec", directory / "b-0.tfrec"});
  CHECK(all(listed) == std::vector<std::string>{"three", "one", "two"});
  CHECK(listed.name() == (directory / "b-1.tfrec") + " and 2 more");
  CHECK(listed.at({2}).where() == (directory / "b-0.tfrec") + ", offset 19");  // after 12 + 3 + 4 bytes
  CHECK(listed.place({2}) == listed.at({2}).where());
  CHECK(data::Records(directory / "none.tfrec").size() == 0);
  refuses([&] { (void)listed.at({3}); }, "expected a record below 3, found record 3");
  refuses([&] { data::Records(directory / "c-*.tfrec"); }, "c-*.tfrec: expected files that match it, found none");
  refuses([&] { data::Records(directory / "gone.tfrec"); }, "gone.tfrec: expected a file that can be read");
  refuses([&] { data::Records(std::vector<std::string>{}); }, "one file or more");
  CHECK(data::Records({directory / "b-0.tfrec", directory / "b-0.tfrec"}).size() == 4);
  for (const bool pattern_first : {false, true}) {
    const std::string one = directory / "b-1.tfrec", both = directory / "b-*.tfrec";
    test::refuses([&] { data::Records({pattern_first ? both : one, pattern_first ? one : both}); },
                  "expected no file that the list has already, found ");
  }
  write(directory / "a[1].tfrec", {"brackets"});  // a file of that name is meant before a pattern
  CHECK(all(data::Records(directory / "a[1].tfrec")) == std::vector<std::string>{"brackets"});
}

TEST_CASE("what exists under the very name comes before a pattern") {
  const test::Directory directory;
  const auto put = [&](const std::string& name) {
    std::filesystem::create_directories(std::filesystem::path(directory / name).parent_path());
    test::put(directory / name, std::string_view("x"));
  };
  for (const char* const name :
       {"runs[2]/right.bin", "runs2/wrong.bin", "a*b/right.bin", "aab/wrong.bin", "x[1]/y[1]/right.bin",
        "x[1]/y1/wrong.bin", "x1/y1/wrong.bin", "z[1].bin", "z1.bin", "back\\[1]/right.bin"})
    put(name);
  using Names = std::vector<std::string>;
  const auto found = [&](const std::string& pattern) {
    Names names = data::Paths(directory / pattern).files();
    for (std::string& name : names) name = name.substr(directory.path().size() + 1);
    return names;
  };
  CHECK(found("runs[2]/right.bin") == Names{"runs[2]/right.bin"});
  CHECK(found("runs[2]/*.bin") == Names{"runs[2]/right.bin"});
  CHECK(found("runs[2]/r[i]ght.bin") == Names{"runs[2]/right.bin"});
  CHECK(found("runs[23]/*.bin") == Names{"runs2/wrong.bin"});
  CHECK(found("runs\\[2\\]/*.bin") == Names{"runs[2]/right.bin"});
  CHECK(found("runs*/*.bin") == Names{"runs2/wrong.bin", "runs[2]/right.bin"});
  CHECK(found("a*b/*") == Names{"a*b/right.bin"});
  CHECK(found("x[1]/y[1]/*") == Names{"x[1]/y[1]/right.bin"});
  CHECK(found("z[1].bin") == Names{"z[1].bin"});
  CHECK(found("[z]1.bin") == Names{"z1.bin"});
  CHECK(found("back\\[1]/*") == Names{"back\\[1]/right.bin"});
  CHECK(found("runs[2]/none.bin") == Names{"runs[2]/none.bin"});  // a name, which whoever opens it does not find
  refuses([&] { found("runs[2]/*.txt"); }, "runs[2]/*.txt: expected files that match it, found none");
}

TEST_CASE("a writer that does not commit leaves what was there, and one that has takes no more") {
  const test::Directory directory;
  const std::string path = directory / "a.tfrec";
  write(path, payloads);
  { data::RecordWriter(path).write("lost"); }
  CHECK(all(data::Records(path)) == payloads);
  CHECK(directory.files() == 1);
  data::RecordWriter writer(path);
  writer.commit();
  refuses([&] { writer.write("late"); }, "no more data after commit()");
}

TEST_CASE("a flipped bit anywhere is refused, when opened or when read; Skip leaves out the record and counts it") {
  const test::Directory directory;
  const std::string path = directory / "a.tfrec";
  write(path, payloads);
  const test::Bytes whole = test::get(path);
  REQUIRE(whole.size() == 4 * 16 + 5 + 1000 + 8);
  for (std::size_t bit = 0; bit < whole.size() * 8; bit += bit < 600 ? 1 : 41) {
    INFO("bit " << bit);
    test::Bytes bytes = whole;
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
    test::put(path, bytes);
    const std::string error = error_of([&] { all(data::Records(path)); });
    REQUIRE(says(error, path + ", offset "));
    REQUIRE(says(error, "Corrupt::Skip"));
    const data::Records rest(path, {.corrupt = data::Corrupt::Skip});
    const std::vector<std::string> found = all(rest);
    REQUIRE(rest.skipped().records == 1);
    REQUIRE(found.size() < payloads.size());
    for (std::size_t i = 0, p = 0; i < found.size(); ++i, ++p) {  // the others, in their order
      while (p < payloads.size() && payloads[p] != found[i]) ++p;
      REQUIRE(p < payloads.size());
    }
  }
}

TEST_CASE("a file that is cut off is refused when opened, at every length but between records") {
  const test::Directory directory;
  const std::string path = directory / "a.tfrec";
  write(path, {"first", "", "the last"});
  const test::Bytes whole = test::get(path);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    INFO("length " << length);
    test::put(path, std::span(whole).first(length));
    const bool between = length == 0 || length == 21 || length == 37;
    REQUIRE(error_of([&] { data::Records{path}; }).empty() == between);
    const data::Records rest(path, {.corrupt = data::Corrupt::Skip});
    REQUIRE(rest.size() == (length >= 37 ? 2u : length >= 21 ? 1u : 0u));
    REQUIRE(rest.skipped().records == (between ? 0u : 1u));
  }
  refuses([&] { test::put(path, test::Bytes{0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), data::Records{path}; },
          "expected records that are not compressed, found a gzip file; decompress it with gunzip");
}

TEST_CASE("opening tells how far it is") {
  const test::Directory directory;
  write(directory / "a-0", payloads), write(directory / "a-1", payloads);
  std::vector<std::size_t> seen;
  const data::Records records(directory / "a-?", {.report = [&](const char* what, std::size_t done, std::size_t of) {
                                seen.push_back(done), seen.push_back(of);
                                CHECK(std::string(what) == "indexing records");
                              }});
  CHECK(records.size() == 8);
  CHECK(seen == std::vector<std::size_t>{2 * 1077, 2 * 1077});
}

TEST_CASE("an Example gives its features by name, whatever their order, packed or not") {
  data::ExampleBuilder builder;
  builder.bytes("image", "\x01\x02").integers("class", {3}).floats("one_hot", {0, 0, 0, 1}).integers("empty", {});
  builder.integers("wide", {-1, 0, 127, 128, INT64_MIN, INT64_MAX}).bytes_list("words", {"a", "", "b"});
  const std::string encoded = builder.encode();
  const data::Example example(bytes_of(encoded));
  CHECK(example.text("image") == "\x01\x02");
  CHECK(example.bytes("image").size() == 2);
  CHECK(example.integer("class") == 3);
  CHECK(example.floats("one_hot") == std::vector<float>{0, 0, 0, 1});
  CHECK(example.integers("wide") == std::vector<std::int64_t>{-1, 0, 127, 128, INT64_MIN, INT64_MAX});
  CHECK(example.bytes_list("words").size() == 3);
  CHECK(text_of(example.bytes_list("words")[2]) == "b");
  CHECK(example.count("words") == 3);
  CHECK(example.names().size() == 6);
  CHECK((example.floats("empty").empty() && example.integers("empty").empty() && example.bytes_list("empty").empty()));
  CHECK((example.has("wide") && !example.has("wid") && !example.has("widee")));
  refuses([&] { (void)example.bytes("label"); },
          "a record, feature \"label\": expected a value, found only class, empty, image, one_hot, wide, words");
  refuses([&] { (void)example.floats("class"); }, "feature \"class\": expected floats, found integers");
  refuses([&] { (void)example.bytes("words"); }, "expected one value, found 3; ask for the whole list");
  refuses([&] { (void)example.integer("empty"); }, "expected one value, found 0");
  refuses([&] { builder.floats("image", {1}); }, "feature \"image\": expected each feature once");

  // Not packed and packed in one list, and the entry's value before its name.
  const std::string fields("\x1A\x07\x08\x05\x0A\x03\x06\x87\x01", 9);  // the Feature
  const std::string entry = std::string("\x12\x09", 2) + fields + "\x0A\x01n";
  const std::string features = std::string("\x0A") + static_cast<char>(entry.size()) + entry;
  const std::string mixed = std::string("\x0A") + static_cast<char>(features.size()) + features;
  CHECK(data::Example(bytes_of(mixed)).integers("n") == std::vector<std::int64_t>{5, 6, 135});
  CHECK(data::Example(bytes_of("")).names().empty());
}

TEST_CASE("what is no Example is refused with the byte") {
  const auto refusal = [](std::string_view text) { return error_of([&] { data::Example example(bytes_of(text)); }); };
  using namespace std::string_view_literals;
  CHECK(says(refusal("\x12\x00"sv), "a record, byte 1 of its data: expected the field of an Example, 1 (features)"));
  CHECK(says(refusal("\x0A\x05"sv), "expected a field of 5 bytes, found 0"));
  CHECK(says(refusal("\x0A"sv), "expected a whole number, found the end of the message in it"));
  CHECK(says(refusal("\x02\x00"sv), "field 0"));
  CHECK(says(refusal("\x8A\x80\x80\x80\x80\x80\x80\x80\x80\x02\x00"sv), "a number of 64 bits, found a longer one"));
  // An entry with two lists in its feature; a feature of a list of integers where a float is cut off; a name twice.
  CHECK(says(refusal("\x0A\x0C\x0A\x0A\x12\x08\x1A\x02\x08\x01\x1A\x02\x08\x02"sv), "one list in a feature"));
  CHECK(says(refusal("\x0A\x0B\x0A\x09\x12\x07\x12\x05\x0A\x03\x00\x00\x80"sv), "a number of 4 bytes, found 3"));
  CHECK(says(refusal("\x0A\x0A\x0A\x03\x0A\x01n\x0A\x03\x0A\x01n"sv), "expected each feature once, found \"n\" twice"));
  CHECK(says(refusal("\x0A\x08\x0A\x06\x12\x04\x12\x02\x08\x01"sv), "field 1 of wire type 0"));  // a float as a varint
  CHECK(refusal("\x0A\x05\x0A\x03\x0A\x01n"sv).empty());
}

TEST_CASE("records and Examples of another program are read") {
  // tests/recorded/make_records.py: 3 + 2 records, image[j] = (7 i + j) mod 256, class = i mod 4, one_hot of it
  const data::Records records((support::recorded("records") / "flowers-*.tfrec").string());
  REQUIRE(records.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    const data::Example example(records.at({i}));
    CHECK(example.names() == std::vector<std::string_view>{"class", "image", "one_hot", "wide"});
    const auto image = example.bytes("image");
    REQUIRE(image.size() == 5 + i);
    for (std::size_t j = 0; j < image.size(); ++j) CHECK(std::to_integer<std::size_t>(image[j]) == (7 * i + j) % 256);
    CHECK(example.integer("class") == static_cast<std::int64_t>(i % 4));
    std::vector<float> one_hot(4);
    one_hot[i % 4] = 1;
    CHECK(example.floats("one_hot") == one_hot);
    CHECK(example.integers("wide") ==
          std::vector<std::int64_t>{-static_cast<std::int64_t>(i), INT64_MAX, INT64_MIN, 300});
  }
}

TEST_CASE("a ReportLine says how far long work is, and nothing of short work") {
  const std::string short_work = support::captured_error([] {
    data::ReportLine line;
    for (std::size_t i = 0; i <= 10; ++i) line("records", i, 10);
  });
  CHECK(short_work.empty());
  const std::string long_work = support::captured_error([] {
    const data::Report line = data::ReportLine();  // as readers keep it
    line("records", 0, 3);
    std::this_thread::sleep_for(std::chrono::milliseconds(1050));
    line("records", 1, 3);
    line("records", 2, 3);  // too soon after it
    line("records", 3, 3);  // the end is said
    line("words", 7, 0);    // other work begins anew
  });
  CAPTURE(long_work);
  CHECK(std::count(long_work.begin(), long_work.end(), '\n') == 2);
  CHECK(long_work.starts_with("records: 1 of 3  0."));
  CHECK(long_work.find(" s left\nrecords: 3 of 3  ") != std::string::npos);
  CHECK(long_work.ends_with("/s\n"));
}
