// Several files of tokens as one stream, and the documents in a stream.
#include <regimen/data/tokens.hpp>

#include "../temporary.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <vector>

using namespace regimen;

static_assert(Source<data::TokenFiles, std::int32_t, std::int32_t>);
static_assert(data::Dataset<data::TokenDocuments<TokenFile>> && data::Dataset<data::TokenDocuments<data::TokenFiles>>);

namespace {

std::string put(const std::string& path, const std::vector<std::uint16_t>& tokens) {
  test::put(path, {reinterpret_cast<const std::uint8_t*>(tokens.data()), 2 * tokens.size()});
  return path;
}

}  // namespace

TEST_CASE("several files are one stream, cut into windows across their borders") {
  const test::Directory directory;
  const TokenFile one(put(directory / "whole", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  put(directory / "a-0", {1, 2, 3, 4, 5, 6, 7}), put(directory / "a-1", {8}), put(directory / "a-2", {9, 10, 11});
  const data::TokenFiles three(directory / "a-*");
  REQUIRE(three.length() == 11);
  CHECK((three.name() == (directory / "a-0") + " and 2 more" && three[7] == 8 && three[0] == 1 && three[10] == 11));
  for (const bool blocks : {false, true}) {
    const TokenFile expected = blocks ? one.blocks() : one;
    const data::TokenFiles found = blocks ? three.blocks() : three;
    const std::size_t windows = expected.size({.input = 4, .target = 4});
    REQUIRE(found.size({.input = 4, .target = 4}) == windows);
    for (std::size_t i = windows; i-- > 0;) {
      std::int32_t input[2][4], target[2][4];
      expected.read(i, Sample<std::int32_t, std::int32_t>{input[0], target[0]});
      found.read(i, Sample<std::int32_t, std::int32_t>{input[1], target[1]});
      CHECK((std::ranges::equal(input[0], input[1]) && std::ranges::equal(target[0], target[1])));
    }
  }
  const data::TokenFiles::Split split = three.split(0.7);  // the border is that of two files
  const data::TokenFiles &train = split.train, &rest = split.validation;
  CHECK((train.length() == 7 && rest.length() == 4 && rest[0] == 8 && rest[1] == 9));
  test::refuses([&] { (void)rest.size({.input = 4, .target = 4}); }, "a-0 and 2 more: expected more than 4 tokens");
  test::put(directory / "a-1", test::Bytes{8});
  test::refuses([&] { data::TokenFiles(directory / "a-*"); }, "a-1: expected an even number of bytes");
}

TEST_CASE("documents begin or end with a token; none is lost") {
  const test::Directory directory;
  const TokenFile file(put(directory / "a", {9, 1, 2, 9, 9, 3, 4}));
  const data::TokenFiles files({put(directory / "b", {9, 1}), put(directory / "c", {2, 9, 9, 3, 4})});
  using Rows = std::vector<std::vector<std::int32_t>>;
  const auto all = [](const auto& stream, std::int32_t token, data::Separator side) {
    const data::TokenDocuments documents(stream, token, side);
    Rows rows;
    for (std::size_t i = 0; i < documents.size(); ++i) rows.push_back(documents.at({i}));
    return rows;
  };
  CHECK(all(file, 9, data::Separator::Ends) == Rows{{9}, {1, 2, 9}, {9}, {3, 4}});
  CHECK(all(file, 9, data::Separator::Begins) == Rows{{9, 1, 2}, {9}, {9, 3, 4}});
  CHECK(all(files, 9, data::Separator::Begins) == Rows{{9, 1, 2}, {9}, {9, 3, 4}});
  CHECK(all(file, 4, data::Separator::Ends) == Rows{{9, 1, 2, 9, 9, 3, 4}});
  CHECK(all(file, 7, data::Separator::Begins) == Rows{{9, 1, 2, 9, 9, 3, 4}});
  std::size_t reports = 0;
  const data::TokenDocuments told(file, 9, data::Separator::Ends, [&](const char*, std::size_t done, std::size_t of) {
    CHECK((done == 7 && of == 7));
    ++reports;
  });
  CHECK(reports == 1);
  test::refuses([&] { (void)told.at({4}); }, "expected a document below 4, found document 4");
}
