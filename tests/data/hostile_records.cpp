// Damaged files of every reader of records: Error or a value, never a crash, never a record whose checksum does not match.
// REGIMEN_MUTATIONS is the number of damaged files for each reader; run many under sanitizers:
//   clang++-19 -std=c++20 -O1 -fsanitize=address,undefined -fno-sanitize-recover=all ...
#include <regimen/data/cifar.hpp>
#include <regimen/data/csv.hpp>
#include <regimen/data/example.hpp>
#include <regimen/data/idx_array.hpp>
#include <regimen/data/image_folder.hpp>
#include <regimen/data/json_lines.hpp>
#include <regimen/data/npy.hpp>
#include <regimen/data/records.hpp>
#include <regimen/data/tar.hpp>
#include <regimen/data/text.hpp>
#include <regimen/data/token_file.hpp>
#include <regimen/data/tokenizer.hpp>
#include <regimen/saves/sharded_file.hpp>
#include <regimen/saves/tensor_rows.hpp>

#include "../temporary.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <sys/stat.h>

using namespace regimen;

namespace {

using Random = std::mt19937_64;

std::size_t mutations() {
  const char* const number = std::getenv("REGIMEN_MUTATIONS");
  return number == nullptr ? 300 : std::strtoull(number, nullptr, 10);
}

/// One to four damages: flipped bits, other bytes, numbers of extreme size, bytes removed, repeated or added, the end cut off.
test::Bytes damaged(test::Bytes bytes, Random& random) {
  const auto below = [&](std::size_t bound) {
    return static_cast<std::size_t>(random() % std::max<std::size_t>(bound, 1));
  };
  const auto at = [&](std::size_t place) { return bytes.begin() + static_cast<std::ptrdiff_t>(place); };
  for (std::size_t times = 1 + below(4); times-- > 0 && !bytes.empty();) {
    const std::size_t place = below(bytes.size()), length = std::min(bytes.size() - place, 1 + below(40));
    switch (below(8)) {
      case 0:
      case 1:
        bytes[place] ^= static_cast<std::uint8_t>(1u << below(8));
        break;
      case 2:
        bytes[place] = static_cast<std::uint8_t>(random());
        break;
      case 3:
        std::fill(at(place), at(place + std::min<std::size_t>(length, 8)), below(2) == 0 ? 0xFF : 0x7F);
        break;
      case 4:
        bytes.erase(at(place), at(place + length));
        break;
      case 5: {
        const test::Bytes part(at(place), at(place + length));
        bytes.insert(at(below(bytes.size())), part.begin(), part.end());
        break;
      }
      case 6:
        bytes.insert(at(place), static_cast<std::uint8_t>("\"',{}[]\n0919\\\r\t \0\x1b"[below(19)]));
        break;
      default:
        bytes.resize(place);
    }
  }
  return bytes;
}

/// Reads damaged copies of a file; returns how many of them were accepted. All but Error ends the test.
template <class Read>
std::size_t hostile(const test::Bytes& whole, const Read& read) {
  const test::Directory directory;
  const std::string path = directory / "damaged";
  Random random(whole.size());
  std::size_t accepted = 0;
  for (std::size_t i = 0; i < mutations(); ++i) {
    test::put(path, damaged(whole, random));
    try {
      read(path);
      ++accepted;
    } catch (const Error& error) {
      const std::string text = error.what();
      REQUIRE(test::says(text, ", found "));  // no NUL of a file ends it before
      REQUIRE(std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }));
    }
  }
  return accepted;
}
template <class D>
void read_all(const D& dataset) {
  for (std::size_t i = 0; i < dataset.size(); ++i) (void)dataset.at({i});
}
/// The sum of the bytes: reads each of them.
std::size_t touch(std::span<const std::byte> bytes) {
  std::size_t sum = 0;
  for (const std::byte byte : bytes) sum += std::to_integer<std::size_t>(byte);
  return sum;
}
void read_example(const data::Example& example) {
  for (const std::string_view name : example.names()) {
    (void)example.count(name);
    for (int kind = 0; kind < 3; ++kind) try {
        if (kind == 0)
          for (const auto bytes : example.bytes_list(name)) touch(bytes);
        if (kind == 1) (void)example.floats(name);
        if (kind == 2) (void)example.integers(name);
      } catch (const Error&) {}
  }
}
template <class T>
std::vector<T> twelve() {
  std::vector<T> values(12);
  std::iota(values.begin(), values.end(), T{0});
  return values;
}
test::Bytes recorded(const char* name) { return test::get((support::recorded("records") / name).string()); }

}  // namespace

TEST_CASE("no damaged TFRecord is accepted, and what Skip keeps was written") {
  const test::Bytes whole = recorded("flowers-0.tfrec");
  std::set<std::string> written;
  const data::Records records((support::recorded("records") / "flowers-0.tfrec").string());
  for (std::size_t i = 0; i < records.size(); ++i) written.emplace(data::detail::text_of(records.at({i}).bytes));
  std::size_t kept = 0;
  hostile(whole, [&](const std::string& path) {
    for (const auto corrupt : {data::Corrupt::Skip, data::Corrupt::Refuse}) {
      const data::Records damaged_records(path, {.corrupt = corrupt});
      for (std::size_t i = 0; i < damaged_records.size(); ++i, ++kept) {
        const data::Record record = damaged_records.at({i});
        REQUIRE(written.count(std::string(data::detail::text_of(record.bytes))) == 1);
        read_example(data::Example(record));
      }
    }
  });
  CHECK(kept > 0);  // damage behind a record leaves it
  const std::string example = *written.begin();
  const std::size_t accepted = hostile({example.begin(), example.end()}, [](const std::string& path) {
    const MappedFile file(path);
    read_example(data::Example(file.bytes()));
  });
  CHECK(accepted > 0);  // of values, which have no checksum here
}

TEST_CASE("damaged archives, arrays and tables end in an Error or in values") {
  for (const char* const name : {"ustar.tar", "gnu.tar", "pax.tar"}) {
    test::Bytes whole = recorded(name);
    while (!whole.empty() && whole.back() == 0) whole.pop_back();
    whole.resize((whole.size() + 511) / 512 * 512 + 1024);
    CHECK(hostile(whole, [](const std::string& path) {
            for (const auto corrupt : {data::Corrupt::Skip, data::Corrupt::Refuse}) {
              const data::Tar tar(path, {.corrupt = corrupt});
              for (std::size_t i = 0; i < tar.size(); ++i)
                for (const data::TarPart& part : tar.at({i}).parts) touch(part.bytes);
            }
          }) > 0);
  }
  hostile(recorded("f4.npy"), [](const std::string& path) {
    const data::Npy<float> array(path);
    for (std::size_t i = 0; i < std::min<std::size_t>(array.size(), 100); ++i) touch(std::as_bytes(array.at({i})));
  });
  const test::Bytes images = recorded("cifar10.bin");
  hostile(images, [](const std::string& path) { read_all(data::Cifar(data::Cifar::Ten, path)); });
  hostile({0, 0, 11, 2, 0, 0, 0, 2, 0, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8}, [](const std::string& path) {
    const data::IdxArray<std::int16_t> array(path);
    for (std::size_t i = 0; i < std::min<std::size_t>(array.size(), 100); ++i) touch(std::as_bytes(array.at({i})));
  });
  CHECK(hostile(recorded("table.csv"), [](const std::string& path) {
          using Table = data::Csv<std::string, std::int64_t, std::optional<double>>;
          read_all(Table(path, {"name", "count", "share"}, {.corrupt = data::Corrupt::Skip}));
          read_all(Table(path, {"name", "count", "share"}));
        }) > 0);
  CHECK(hostile(recorded("lines.jsonl"), [](const std::string& path) {
          using Lines = data::JsonLines<std::string, std::vector<std::string>, std::int64_t, std::optional<double>>;
          read_all(Lines(path, {"name", "tags", "count", "share"}, {.corrupt = data::Corrupt::Skip}));
          read_all(Lines(path, {"name", "tags", "count", "share"}));
        }) > 0);
}

TEST_CASE("a damaged tensor with checksums is refused, or nothing of it has changed") {
  const test::Directory directory;
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  const std::vector<safetensors::Tensor> tensors{
      {"x", safetensors::Dtype::F32, {3, 2}, std::as_bytes(std::span(values))}};
  safetensors::write(directory / "a", tensors);
  hostile(test::get(directory / "a"), [&](const std::string& path) {
    const data::TensorRows<float> rows(path, "x");
    for (std::size_t i = 0; i < 3; ++i) REQUIRE(std::ranges::equal(rows.at({i}), std::span(values).subspan(2 * i, 2)));
  });
}

TEST_CASE("every reader refuses pipes, devices and directories at once, and an error of reading is no end") {
  const test::Directory directory;
  REQUIRE(::mkfifo((directory / "pipe").c_str(), 0600) == 0);
  std::filesystem::create_directory(directory / "folder");
  const std::vector<std::function<void(const std::string&)>> readers{
      [](const std::string& path) { data::Cifar(data::Cifar::Ten, path); },
      [](const std::string& path) { data::Csv<std::string>(path, {"name"}); },
      [](const std::string& path) { data::IdxArray<std::uint8_t>{path}; },
      [](const std::string& path) { Idx(path, path); },
      [](const std::string& path) { (void)data::read_image(path); },
      [](const std::string& path) { data::JsonLines<std::string>(path, {"name"}); },
      [](const std::string& path) { data::Npy<float>{path}; },
      [](const std::string& path) { data::Records{path}; },
      [](const std::string& path) { data::Tar{path}; },
      [](const std::string& path) { Text{path}; },
      [](const std::string& path) { TokenFile{path}; },
      [](const std::string& path) { data::Tokenizer{path}; },
      [](const std::string& path) { data::Tokenizer::gpt2(path, path); },
      [](const std::string& path) { safetensors::ShardedFile{path}; },
      [](const std::string& path) { safetensors::ShardedFile{path + ".index.json"}; },
      [](const std::string& path) { data::TensorRows<float>(path, "x"); },
  };
  for (std::size_t i = 0; i < readers.size(); ++i) {
    INFO("reader " << i);
    std::filesystem::remove(directory / "pipe.index.json");
    std::filesystem::create_symlink("pipe", directory / "pipe.index.json");
    for (const char* const name : {"pipe", "folder"}) {
      const std::string error = test::error_of([&] { readers[i](directory / name); });
      INFO(error);
      CHECK((test::says(error, "found a pipe or a device") || test::says(error, "found a directory") ||
             test::says(error, "found No such file or directory")));  // of a folder's own files
    }
    const std::string error = test::error_of([&] { readers[i]("/dev/null"); });
    CHECK((test::says(error, "found a pipe or a device") || test::says(error, "found No such file or directory")));
  }
  // Of these the data are read, not mapped: from a regular file whose reading fails.
  test::refuses([] { data::IdxArray<std::uint8_t>{"/proc/self/mem"}; }, "found Input/output error");
  test::refuses([] { (void)data::read_image("/proc/self/mem"); }, "found Input/output error");
}

TEST_CASE("lines of JSON that are nested without end do not overflow the stack") {
  const test::Directory directory;
  std::string line = "{\"name\":" + std::string(200'000, '[');
  test::put(directory / "a", line);
  using Lines = data::JsonLines<std::string>;
  CHECK(test::says(test::error_of([&] { read_all(Lines(directory / "a", {"name"})); }), "an object of JSON"));
  test::put(directory / "a", line + std::string(200'000, ']') + "}");
  CHECK(test::says(test::error_of([&] { read_all(Lines(directory / "a", {"name"})); }),
                   "expected a string, found an array"));
}

TEST_CASE("writes files for make_records.py", "[.]") {  // REGIMEN_WRITE=FOLDER: then make_records.py --check FOLDER
  const char* const folder = std::getenv("REGIMEN_WRITE");
  REQUIRE(folder != nullptr);
  const auto in = [&](const char* name) { return std::string(folder) + "/" + name; };
  data::RecordWriter records(in("flowers.tfrec"));
  for (std::size_t i = 0; i < 5; ++i) {
    std::string image(5 + i, '\0');
    for (std::size_t j = 0; j < image.size(); ++j) image[j] = static_cast<char>((7 * i + j) % 256);
    std::array<float, 4> one_hot{};
    one_hot[i % 4] = 1;
    const auto number = static_cast<std::int64_t>(i);
    data::ExampleBuilder example;
    example.bytes("image", image).integers("class", {number % 4}).floats("one_hot", one_hot);
    records.write(example.integers("wide", {-number, INT64_MAX, INT64_MIN, 300}).encode());
  }
  records.commit();
  data::write_npy<float>(in("f4.npy"), twelve<float>(), {3, 4}),
      data::write_npy<double>(in("f8.npy"), twelve<double>(), {3, 4});
  data::write_npy<std::int32_t>(in("i4.npy"), twelve<std::int32_t>(), {3, 4});
  data::write_npy<std::int64_t>(in("i8.npy"), twelve<std::int64_t>(), {3, 4});
  data::write_npy<std::uint8_t>(in("u1.npy"), twelve<std::uint8_t>(), {3, 4});
  data::write_npy<std::uint16_t>(in("u2.npy"), twelve<std::uint16_t>(), {3, 4});
  data::write_npy<float>(in("vector.npy"), twelve<float>(), {12});
  data::write_idx<std::uint8_t>(in("u1.idx"), twelve<std::uint8_t>(), {3, 4});
  data::write_idx<std::int8_t>(in("i1.idx"), twelve<std::int8_t>(), {3, 4});
  data::write_idx<std::int16_t>(in("i2.idx"), twelve<std::int16_t>(), {3, 4});
  data::write_idx<std::int32_t>(in("i4.idx"), twelve<std::int32_t>(), {3, 4});
  data::write_idx<float>(in("f4.idx"), twelve<float>(), {3, 4}),
      data::write_idx<double>(in("f8.idx"), twelve<double>(), {3, 4});
  data::TarWriter tar(in("samples.tar"));
  for (const std::string& key : {std::string("train/0000"), "train/" + std::string(150, 'd')})
    tar.write(key, "jpg", std::string(513, 'a')), tar.write(key, "cls", "1");
  tar.commit();
  const data::Cifar ten(data::Cifar::Ten, (support::recorded("records") / "cifar10.bin").string());
  data::CifarWriter cifar(data::Cifar::Ten, in("cifar10.bin"));
  cifar.write(ten.at({0})), cifar.write(ten.at({1}));
  cifar.commit();
  data::CsvWriter table(in("table.csv"), {"name", "count", "share"});
  table.write("a \"quote\", and\na line", -2, 0.1), table.write("", 3, std::optional<double>());
  table.commit();
  data::JsonLinesWriter lines(in("lines.jsonl"));
  lines.write({{"name", "\u00e9\n"}, {"count", 1}}), lines.write({{"name", ""}, {"count", 2}});
  lines.commit();
}
