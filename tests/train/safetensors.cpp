// Safetensors: round trips, and every way in which a file can be wrong.
#include <regimen/saves/safetensors.hpp>

#include "../temporary.hpp"

#include <sys/wait.h>
#include <catch2/catch.hpp>

#include <csignal>
#include <random>

using namespace regimen;
using safetensors::Dtype;
using safetensors::File;
using safetensors::Tensor;
using ::test::Bytes;
using ::test::error_of;
using ::test::says;

static_assert(safetensors::dtype_of<bf16> == Dtype::BF16 && safetensors::dtype_of<std::int32_t> == Dtype::I32);
static_assert(safetensors::dtype_of<std::uint64_t> == Dtype::U64 && safetensors::dtype_of<bool> == Dtype::BOOL);

namespace {

const std::vector<float> floats{1.5f, -2, 3, 4, 5, 6};
const std::vector<std::uint8_t> small{9, 8, 7};
const std::vector<double> scalar{0.1};

std::vector<Tensor> example() {
  return {{"mask", Dtype::U8, {3}, std::as_bytes(std::span(small))},
          {"layer.0.weight", Dtype::F32, {2, 3}, std::as_bytes(std::span(floats))},
          {"empty.b", Dtype::F32, {0, 7}, {}},
          {"empty.a", Dtype::F32, {7, 0}, {}},
          {"rate", Dtype::F64, {}, std::as_bytes(std::span(scalar))}};
}

/// All that a file means.
struct Meaning {
  std::vector<std::tuple<std::string, Dtype, std::vector<std::size_t>, std::vector<std::byte>>> tensors;
  std::map<std::string, std::string> metadata;
  bool operator==(const Meaning&) const = default;
};

Meaning meaning(const std::string& path) {
  const File file(path);
  Meaning result;
  for (const Tensor& tensor : file.tensors()) {
    result.tensors.emplace_back(tensor.name, tensor.dtype, tensor.shape,
                                std::vector<std::byte>(tensor.bytes.begin(), tensor.bytes.end()));
  }
  result.metadata = file.metadata();
  return result;
}

/// A file with this header and so many bytes of data.
Bytes with_header(const std::string& header, std::size_t data = 0) {
  Bytes bytes(8);
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::uint8_t>(header.size() >> (8 * i) & 0xFF);
  bytes.insert(bytes.end(), header.begin(), header.end());
  bytes.resize(bytes.size() + data, 1);
  return bytes;
}

}  // namespace

TEST_CASE("what is written is read, aligned, in a file that says so") {
  const ::test::Directory directory;
  const std::string path = directory / "state.safetensors";
  safetensors::write(path, example(), {{"step", "12"}, {"note", "\"quoted\" \xC3\xA9 \n"}});
  const File file(path);
  REQUIRE(file.tensors().size() == 5);
  REQUIRE(file.tensors()[0].name == "rate");  // widest first
  REQUIRE(file.value("step") == "12");
  REQUIRE(file.value("note") == "\"quoted\" \xC3\xA9 \n");
  REQUIRE(file.value("format") == "pt");
  REQUIRE(file.metadata().size() == 3);
  REQUIRE(file.tensor("layer.0.weight").shape == std::vector<std::size_t>{2, 3});
  std::vector<float> read(6);
  file.copy<float>("layer.0.weight", std::vector<std::size_t>{2, 3}, read);
  REQUIRE(read == floats);
  for (const Tensor& tensor : file.tensors()) {
    REQUIRE(reinterpret_cast<std::uintptr_t>(tensor.bytes.data()) % safetensors::bytes_of_dtype(tensor.dtype) == 0);
  }
  REQUIRE(reinterpret_cast<std::uintptr_t>(file.tensors()[0].bytes.data()) % 64 == 0);
  const Bytes once = ::test::get(path);
  safetensors::write(path, example(), {{"step", "12"}, {"note", "\"quoted\" \xC3\xA9 \n"}});
  REQUIRE(::test::get(path) == once);  // a file is a function of its content
  REQUIRE(directory.files() == 1);
}

TEST_CASE("no tensors is a file too") {
  const ::test::Directory directory;
  safetensors::write(directory / "none", {});
  const File none(directory / "none");
  REQUIRE(none.tensors().empty());
  REQUIRE(says(error_of([&] { (void)none.tensor("x"); }), "found no tensors"));
}

TEST_CASE("every number format comes back bit for bit") {
  const ::test::Directory directory;
  std::vector<std::vector<std::byte>> data;
  std::vector<Tensor> tensors;
  for (int i = 0; i <= static_cast<int>(Dtype::BOOL); ++i) {
    const auto dtype = static_cast<Dtype>(i);
    data.emplace_back(3 * safetensors::bytes_of_dtype(dtype), static_cast<std::byte>(i + 1));
    tensors.push_back({safetensors::name_of_dtype(dtype), dtype, {3}, data.back()});
  }
  safetensors::write(directory / "all", tensors);
  const File file(directory / "all");
  for (const Tensor& tensor : tensors) {
    REQUIRE(file.tensor(tensor.name).dtype == tensor.dtype);
    REQUIRE(std::equal(tensor.bytes.begin(), tensor.bytes.end(), file.tensor(tensor.name).bytes.begin(),
                       file.tensor(tensor.name).bytes.end()));
  }
}

TEST_CASE("a tensor of another type, shape or name is refused, never converted") {
  const ::test::Directory directory;
  const std::string path = directory / "state";
  safetensors::write(path, example());
  const File file(path);
  std::vector<double> doubles(6);
  std::vector<float> read(6);
  const std::vector<std::size_t> shape{2, 3}, turned{3, 2};
  REQUIRE(says(error_of([&] { file.copy<double>("layer.0.weight", shape, doubles); }),
               path + ", tensor \"layer.0.weight\": expected elements of type F64, found F32"));
  REQUIRE(
      says(error_of([&] { file.copy<float>("layer.0.weight", turned, read); }), "expected shape [3, 2], found [2, 3]"));
  REQUIRE(says(error_of([&] { file.copy<float>("layer.0.weight", shape, std::span(read).first(5)); }), path));
  REQUIRE(says(error_of([&] { file.copy<float>("layer.1.weight", shape, read); }),
               path + ": expected tensor \"layer.1.weight\", found others: rate, "));
  REQUIRE(says(error_of([&] { (void)file.value("seed"); }), "expected metadata \"seed\""));
  REQUIRE(file.find("nothing") == nullptr);
}

TEST_CASE("every truncation is refused by name") {
  const ::test::Directory directory;
  const std::string path = directory / "state";
  safetensors::write(path, example(), {{"step", "12"}});
  const Bytes whole = ::test::get(path);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    INFO("length " << length);
    ::test::put(path, std::span(whole).first(length));
    REQUIRE(says(error_of([&] { File{path}; }), path));
  }
  Bytes longer = whole;
  longer.push_back(0);
  ::test::put(path, longer);
  REQUIRE(says(error_of([&] { File{path}; }), path + ": expected"));
}

TEST_CASE("every flipped bit of a file is refused, or changes nothing") {
  const ::test::Directory directory;
  const std::string path = directory / "state";
  const std::vector<Tensor> two{{"m", Dtype::U8, {3}, std::as_bytes(std::span(small))},
                                {"\xC3\xA9", Dtype::F32, {2, 3}, std::as_bytes(std::span(floats))}};
  safetensors::write(path, two, {{"s", "\"\\"}});
  const Bytes whole = ::test::get(path);
  const Meaning expected = meaning(path);
  std::size_t accepted = 0;
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    INFO("bit " << bit);
    Bytes bytes = whole;
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
    ::test::put(path, bytes);
    Meaning found;
    const std::string error = error_of([&] { found = meaning(path); });
    if (error.empty()) REQUIRE(found == expected);
    else REQUIRE(says(error, path));
    accepted += error.empty();
  }
  REQUIRE(accepted == 0);
}

TEST_CASE("a thousand random damages are refused, or change nothing") {
  const ::test::Directory directory;
  const std::string path = directory / "state";
  safetensors::write(path, example(), {{"step", "12"}});
  const Bytes whole = ::test::get(path);
  const Meaning expected = meaning(path);
  std::mt19937 random(7);
  for (int trial = 0; trial < 1000; ++trial) {
    Bytes bytes = whole;
    for (std::size_t flips = 1 + random() % 6; flips-- > 0;)
      bytes[random() % bytes.size()] ^= static_cast<std::uint8_t>(1u << (random() % 8));
    ::test::put(path, bytes);
    Meaning found;
    const std::string error = error_of([&] { found = meaning(path); });
    if (error.empty()) REQUIRE(found == expected);
    else REQUIRE(says(error, path));
  }
}

TEST_CASE("damage to a foreign file, which has no checksums, never crashes") {
  const ::test::Directory directory;
  const std::string path = directory / "state";
  const Bytes whole = with_header(
      R"({"a":{"dtype":"F32","shape":[2,2],"data_offsets":[4,20]},"b":{"dtype":"I8","shape":[4],"data_offsets":[0,4]}}   )",
      20);
  ::test::put(path, whole);
  const File file(path);
  REQUIRE(file.tensors()[0].name == "b");  // the order of the data
  REQUIRE(File(path).metadata().empty());
  std::mt19937 random(11);
  for (int trial = 0; trial < 1000; ++trial) {
    Bytes bytes = whole;
    for (std::size_t flips = 1 + random() % 3; flips-- > 0;)
      bytes[random() % bytes.size()] ^= static_cast<std::uint8_t>(1u << (random() % 8));
    ::test::put(path, bytes);
    const std::string error = error_of([&] { (void)meaning(path); });
    REQUIRE((error.empty() || says(error, path)));
  }
}

TEST_CASE("headers that lie are refused with the cause") {
  const ::test::Directory directory;
  const std::string path = directory / "lie.safetensors";
  const auto refusal = [&](const Bytes& bytes) {
    ::test::put(path, bytes);
    const std::string error = error_of([&] { File{path}; });
    REQUIRE(says(error, path));
    return error;
  };
  const auto tensor = [&](const std::string& body, std::size_t data = 4) {
    return refusal(with_header("{\"w\":{" + body + "}}", data));
  };
  const std::string dtype = R"("dtype":"F32",)", shape = R"("shape":[1],)", offsets = R"("data_offsets":[0,4])";

  REQUIRE(says(refusal({}), ", header: expected at least 8 bytes, found 0"));
  REQUIRE(says(refusal(Bytes(8, 0xFF)), "expected a length of at most 100000000 bytes, found 18446744073709551615"));
  REQUIRE(says(refusal({0, 0, 0, 0, 0, 0, 0, 0x80, '{', '}'}), "found 9223372036854775808"));
  REQUIRE(says(refusal({0, 0xE1, 0xF5, 0x05, 0, 0, 0, 0, '{', '}'}),
               "expected 100000000 bytes, its length, found 2 bytes in the file"));
  REQUIRE(says(refusal(Bytes(8)), "expected JSON from { to }"));
  REQUIRE(says(refusal(with_header("[]")), "expected JSON from { to }"));
  REQUIRE(says(refusal(with_header("{}{}")), "expected well-formed JSON"));
  REQUIRE(says(refusal(with_header("{\"w\":}")), "expected well-formed JSON"));
  REQUIRE(says(refusal(with_header("{\"\xFF\":1}")), "expected well-formed JSON"));
  REQUIRE(says(refusal(with_header(std::string("{}\0}", 4))), "a zero byte"));
  REQUIRE(says(refusal(with_header("{}", 3)), "expected 0 bytes of data, as the header says, found 3"));
  std::string deep = "{\"w\":";
  for (int i = 0; i < 1'000'000; ++i) deep += '[';
  REQUIRE(says(refusal(with_header(deep + "}")), "\"w\": expected an object, found an array"));
  deep.clear();
  for (int i = 0; i < 300'000; ++i) deep += "{\"w\":";
  REQUIRE(says(refusal(with_header(deep + "}")), "expected dtype, shape and data_offsets, found \"w\""));
  REQUIRE(says(refusal(with_header(R"({"w":1})")), "expected an object, found 1"));
  REQUIRE(says(refusal(with_header(R"({"w":null})")), "found null"));
  REQUIRE(
      says(refusal(with_header(R"({"__metadata__":{"step":12}})")), "__metadata__, \"step\": expected text, found 12"));
  REQUIRE(
      says(refusal(with_header(R"({"__metadata__":{"a":"1","a":"2"}})")), "expected each key once, found \"a\" twice"));
  REQUIRE(says(refusal(with_header(R"({"__metadata__":{},"__metadata__":{}})")), "each tensor once"));
  REQUIRE(says(refusal(with_header(R"({"__metadata__":{"crc32.w":"00000000"}})")),
               "expected a checksum \"crc32\" beside the others"));

  REQUIRE(says(tensor(dtype + shape + "\"data_offsets\":[0,4]},\"w\":{" + dtype + shape + offsets),
               "expected each tensor once, found \"w\" twice"));
  REQUIRE(says(tensor(dtype + dtype + shape + offsets), "expected each key once, found \"dtype\" twice"));
  REQUIRE(says(tensor(shape + offsets), "tensor \"w\": expected dtype, shape and data_offsets, found only some"));
  REQUIRE(says(tensor(dtype + shape + offsets + ",\"extra\":1"), "found \"extra\""));
  REQUIRE(says(tensor(R"("dtype":"F31",)" + shape + offsets), "found \"F31\""));
  REQUIRE(says(tensor(R"("dtype":4,)" + shape + offsets), "dtype: expected text, found 4"));
  REQUIRE(says(tensor(R"("dtype":["F32"],)" + shape + offsets), "found an array"));
  REQUIRE(says(tensor(dtype + R"("shape":[-1],)" + offsets), "expected integers from 0 to 2^64 - 1, found -1"));
  REQUIRE(says(tensor(dtype + R"("shape":[1.0],)" + offsets), "found 1.0"));
  REQUIRE(says(tensor(dtype + R"("shape":[1e999],)" + offsets), "expected"));
  REQUIRE(says(tensor(dtype + R"("shape":[18446744073709551616],)" + offsets), "expected"));
  REQUIRE(says(tensor(dtype + R"("shape":["1"],)" + offsets), "found \"1\""));
  REQUIRE(says(tensor(dtype + R"("shape":[[1]],)" + offsets), "found an array"));
  REQUIRE(says(tensor(dtype + R"("shape":1,)" + offsets), "expected an array, found 1"));
  REQUIRE(says(tensor(dtype + R"("shape":[4611686018427387904,4],)" + offsets),
               "expected a shape whose bytes fit 64 bits"));
  REQUIRE(
      says(tensor(dtype + R"("shape":[18446744073709551615],)" + offsets), "expected a shape whose bytes fit 64 bits"));
  REQUIRE(says(tensor(dtype + R"("shape":[2],)" + offsets),
               "expected 8 bytes between its data_offsets, for F32 [2], found [0, 4]"));
  REQUIRE(says(tensor(dtype + shape + R"("data_offsets":[0])"), "expected 2 data_offsets, found 1"));
  REQUIRE(says(tensor(dtype + shape + R"("data_offsets":[4,0])"), "data_offsets that ascend to at most 4"));
  REQUIRE(says(tensor(dtype + shape + R"("data_offsets":[4,8])"), "found [4, 8]"));
  REQUIRE(says(tensor(dtype + shape + R"("data_offsets":[18446744073709551612,18446744073709551615])"),
               "data_offsets that ascend"));
  REQUIRE(says(tensor(dtype + shape + R"("data_offsets":[1,5])", 5),
               "expected data from offset 0, where the tensor before it ends, found 1"));
  const std::string second = "},\"v\":{" + dtype + shape;
  REQUIRE(says(tensor(dtype + shape + offsets + second + R"("data_offsets":[2,6])", 6), "tensor \"w\"") == false);
  REQUIRE(says(tensor(dtype + shape + offsets + second + R"("data_offsets":[2,6])", 6),
               "tensor \"v\": expected data from offset 4"));
  REQUIRE(
      says(tensor(dtype + shape + offsets + second + R"("data_offsets":[8,12])", 12), "expected data from offset 4"));
  REQUIRE(says(tensor(dtype + shape + offsets, 5), "expected 4 bytes of data, as the header says, found 5"));
  REQUIRE(says(error_of([&] { File{directory / "none"}; }), "No such file"));
}

TEST_CASE("what cannot be written is refused, and the old file stays") {
  const ::test::Directory directory;
  const std::string path = directory / "state";
  safetensors::write(path, example());
  const Bytes before = ::test::get(path);
  const auto refusal = [&](const std::vector<Tensor>& tensors,
                           const std::map<std::string, std::string>& metadata = {}) {
    const std::string error = error_of([&] { safetensors::write(path, tensors, metadata); });
    REQUIRE(says(error, path));
    REQUIRE(::test::get(path) == before);
    REQUIRE(directory.files() == 1);
    return error;
  };
  std::vector<Tensor> tensors = example();
  tensors.push_back(tensors[0]);
  REQUIRE(says(refusal(tensors), "tensor \"mask\" to write: expected a name of its own"));
  tensors = example();
  tensors[0].shape = {4};
  REQUIRE(says(refusal(tensors), "expected the bytes of U8 [4], found 3 bytes"));
  tensors = example();
  tensors[0].name = "__metadata__";
  refusal(tensors);
  tensors[0].name = "\xFF";
  REQUIRE(says(refusal(tensors), "names and metadata in UTF-8"));
  REQUIRE(says(refusal(example(), {{"note", "\xC3"}}), "names and metadata in UTF-8"));
  REQUIRE(says(refusal(example(), {{"crc32.x", "1"}}), "which hold checksums"));
  REQUIRE(
      says(error_of([&] { safetensors::write(directory / "none/state", example()); }), "No such file or directory"));
}

TEST_CASE("killed while saving, a file loads") {
  const ::test::Directory directory;
  const std::string path = directory / "state";
  const auto save = [&path](float value) {
    const std::vector<float> values(50'000, value);
    safetensors::write(path, std::vector<Tensor>{{"w", Dtype::F32, {values.size()}, std::as_bytes(std::span(values))}},
                       {{"value", std::to_string(value)}});
  };
  save(0);
  for (int trial = 0; trial < 40; ++trial) {
    const ::pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (float value = 0;; value += 1) save(value);
    }
    ::usleep(static_cast<::useconds_t>(500 + trial * 131 % 5000));
    ::kill(child, SIGKILL);
    REQUIRE(::test::reap(child));
    const File file(path);
    std::vector<float> values(50'000);
    file.copy<float>("w", std::vector<std::size_t>{values.size()}, values);
    REQUIRE(std::to_string(values[49'999]) == file.value("value"));
  }
}
