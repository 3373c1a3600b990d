// Mapped files: regular files only, empty ones too.
#include <regimen/core/mapped_file.hpp>

#include "../temporary.hpp"

#include <sys/stat.h>
#include <catch2/catch.hpp>

#include <utility>

using regimen::MappedFile;
using test::error_of;
using test::says;

TEST_CASE("a mapped file shows its bytes, and survives being moved and replaced") {
  const test::Directory directory;
  const std::string path = directory / "file";
  test::put(path, std::string_view("abc"));
  MappedFile file(path);
  MappedFile moved = std::move(file);
  test::put(directory / "other", std::string_view("xyz!"));
  REQUIRE(std::rename((directory / "other").c_str(), path.c_str()) == 0);
  REQUIRE(moved.bytes().size() == 3);
  REQUIRE(moved.bytes()[2] == std::byte{'c'});
  const MappedFile four(path);
  REQUIRE(four.bytes().size() == 4);
}

TEST_CASE("an empty file has no bytes") {
  const test::Directory directory;
  test::put(directory / "empty", std::string_view());
  const MappedFile none(directory / "empty");
  REQUIRE(none.bytes().empty());
}

TEST_CASE("what is no regular file is refused, without waiting for it") {
  const test::Directory directory;
  REQUIRE(says(error_of([&] { MappedFile{directory / "none"}; }),
               "/none: expected a file that can be read, found No such file or directory"));
  REQUIRE(says(error_of([&] { MappedFile{directory.path()}; }), "expected a regular file, found a directory"));
  REQUIRE(::mkfifo((directory / "pipe").c_str(), 0600) == 0);
  REQUIRE(says(error_of([&] { MappedFile{directory / "pipe"}; }), "found a pipe or a device"));
  REQUIRE(says(error_of([&] { MappedFile{""}; }), "No such file"));
}
