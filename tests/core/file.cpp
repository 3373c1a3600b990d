// Opening and reading: what is no regular file is refused, an error of reading is no end of the file.
#include <regimen/core/file.hpp>

#include "../temporary.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include <sys/stat.h>

using namespace regimen;
using test::error_of;
using test::refuses;
using test::says;

// A regular file whose reading fails: no memory lies at the addresses from 0.
constexpr const char* unreadable = "/proc/self/mem";

TEST_CASE("a file is read from its beginning to its end, also where its size is not known before") {
  const test::Directory directory;
  for (const std::size_t size : {0u, 1u, 4096u, 10000u}) {
    std::string text(size, 'x');
    if (size > 1) text[size / 2] = '\0';
    test::put(directory / "file", text);
    CHECK(detail::read_to_end(detail::open_file(directory / "file")) == text);
    CHECK(detail::read_to_end<test::Bytes>(detail::open_file(directory / "file")) ==
          test::Bytes(text.begin(), text.end()));
    CHECK(detail::read_if_there(directory / "file") == text);
  }
  CHECK(detail::system_text("/proc/self/cmdline").size() > 1);
  CHECK(detail::system_text("/proc/self/none").empty());
}

TEST_CASE("an error of reading is an Error, and no end of the file") {
  refuses([] { (void)detail::read_to_end(detail::open_file(unreadable)); }, "found Input/output error");
  refuses([] { (void)detail::read_if_there(unreadable); }, "found Input/output error");
  CHECK(detail::system_text(unreadable).empty());
  const test::Directory directory;
  test::put(directory / "file", std::string(100, 'x'));
  const detail::OpenFile file = detail::open_file(directory / "file");
  std::filesystem::resize_file(directory / "file", 50);
  refuses([&] { (void)detail::read_to_end(file); }, "expected 100 bytes, found 50; it became shorter");
}

TEST_CASE("absent is not the same as unknown") {
  const test::Directory directory;
  test::put(directory / "file", std::string_view("x"));
  CHECK(detail::exists(directory / "file"));
  CHECK(!detail::exists(directory / "none"));
  CHECK(!detail::exists(directory / "file/below"));
  CHECK(!detail::read_if_there(directory / "none").has_value());
  refuses([&] { (void)detail::exists(directory / std::string(300, 'x')); }, "found File name too long");
  std::filesystem::create_symlink("circle", directory / "circle");
  refuses([&] { (void)detail::exists(directory / "circle"); }, "expected a path that can be looked up");
  refuses([&] { (void)detail::read_if_there(directory.path()); }, "expected a regular file, found a directory");
  CHECK(detail::names_in(directory / "none/").empty());
  CHECK(detail::names_in(directory.path() + "/").size() == 4);  // and the folder itself, and the one above
  refuses([&] { (void)detail::names_in(directory / "file/"); }, "expected a folder that can be read");
  CHECK(detail::names_to_tidy(directory / "file/").empty());
}

TEST_CASE("a path with a NUL is no path: the system would take what stands before it") {
  const test::Directory directory;
  test::put(directory / "a", std::string_view("x"));
  const std::string path = directory / std::string("a\0.txt", 6);
  for (const std::string& error :
       {error_of([&] { (void)detail::open_file(path); }), error_of([&] { (void)detail::exists(path); }),
        error_of([&] { (void)detail::names_in(path); })})
    CHECK(says(error, "/a\\0.txt: expected a path without a NUL character, found one"));
}
