// Arrays and images of fixed size: .npy, safetensors, IDX, CIFAR, by other programs and by this one.
#include <regimen/data/cifar.hpp>
#include <regimen/data/idx_array.hpp>
#include <regimen/data/npy.hpp>
#include <regimen/saves/tensor_rows.hpp>

#include "../temporary.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

using namespace regimen;
using test::error_of;
using test::refuses;
using test::says;

static_assert(data::Dataset<data::Npy<float>> && data::Dataset<data::IdxArray<float>> && data::Dataset<data::Cifar> &&
              data::Dataset<data::TensorRows<float>>);

namespace {

std::string recorded(const std::string& name) { return (support::recorded("records") / name).string(); }

template <class Rows>
void holds_0_to_11(const Rows& rows) {
  REQUIRE(rows.size() == 3);
  REQUIRE(rows.extents().size() == 2);
  for (std::size_t i = 0, next = 0; i < 3; ++i) {
    const auto row = rows.at({i});
    REQUIRE(row.size() == 4);
    for (const auto value : row) REQUIRE(static_cast<std::size_t>(value) == next++);
  }
  refuses([&] { (void)rows.at({3}); }, "expected a row below 3, found row 3");
}
template <class T>
std::vector<T> twelve() {
  std::vector<T> values(12);
  std::iota(values.begin(), values.end(), T{0});
  return values;
}
template <class T>
void npy_goes_both_ways(const std::string& name) {
  INFO(name);
  holds_0_to_11(data::Npy<T>(recorded(name + ".npy")));
  const test::Directory directory;
  data::write_npy<T>(directory / "a.npy", twelve<T>(), {3, 4});
  holds_0_to_11(data::Npy<T>(directory / "a.npy"));
}
template <class T>
void idx_goes_both_ways() {
  const test::Directory directory;
  data::write_idx<T>(directory / "a.idx", twelve<T>(), {3, 4});
  holds_0_to_11(data::IdxArray<T>(directory / "a.idx"));
}
/// A .npy file of 12 floats with this dictionary.
test::Bytes with_header(std::string dictionary, std::uint8_t version = 1) {
  dictionary.append(128 - 10 - dictionary.size(), ' ');
  test::Bytes bytes{0x93, 'N', 'U', 'M', 'P', 'Y', version, 0, static_cast<std::uint8_t>(dictionary.size()), 0};
  for (const char letter : dictionary) bytes.push_back(static_cast<std::uint8_t>(letter));
  bytes.resize(bytes.size() + 48);
  return bytes;
}

}  // namespace

TEST_CASE("arrays of NumPy are read in each type and version, and written so that they come back") {
  npy_goes_both_ways<float>("f4");
  npy_goes_both_ways<double>("f8");
  npy_goes_both_ways<std::int32_t>("i4");
  npy_goes_both_ways<std::int64_t>("i8");
  npy_goes_both_ways<std::uint8_t>("u1");
  npy_goes_both_ways<std::uint16_t>("u2");
  const test::Directory directory;
  data::write_npy<float>(directory / "v.npy", twelve<float>(), {12});
  CHECK(data::Npy<float>(directory / "v.npy").at({5}).front() == 5);
  data::write_npy<float>(directory / "none.npy", {}, {0, 7});
  CHECK(data::Npy<float>(directory / "none.npy").size() == 0);
  data::write_npy<float>(directory / "cube.npy", twelve<float>(), {2, 3, 2});
  CHECK(data::Npy<float>(directory / "cube.npy").at({1}).size() == 6);
  refuses([&] { data::write_npy<float>(directory / "x", twelve<float>(), {5, 2}); }, "a shape (5, 2, )");
}

TEST_CASE("arrays of other kinds are refused by name") {
  refuses([] { data::Npy<double>(recorded("f4.npy")); },
          "expected elements of type '<f8', as Npy's T says, found '<f4'; change T");
  refuses([] { data::Npy<float>(recorded("fortran.npy")); },
          "expected an array in C order, found one in Fortran order");
  refuses([] { data::Npy<float>(recorded("big_endian.npy")); }, "found '>f4'");
  refuses([] { data::Npy<float>(recorded("cifar10.bin")); }, "a NumPy array, which begins with");
  const test::Directory directory;
  const std::string path = directory / "a.npy", begin = "{'descr': '<f4', 'fortran_order': False, 'shape': ";
  const auto refusal = [&](const test::Bytes& bytes) {
    test::put(path, bytes);
    return error_of([&] { data::Npy<float>{path}; });
  };
  CHECK(refusal(with_header(begin + "(3,4)}")).empty());
  CHECK(refusal(with_header("{\"shape\" : (12 , ) ,'fortran_order':False,'descr':'<f4'}")).empty());
  CHECK(refusal(with_header(begin + "(3L, 4L), }")).empty());  // of numpy for Python 2, which numpy reads as well
  CHECK(data::Npy<float>(path).at({1}).size() == 4);
  CHECK(says(refusal(with_header(begin + "(3LL, 4), }")), "expected ')', found 'L, 4"));
  CHECK(says(refusal(with_header(begin + "(3, 4)}", 4)), "expected version 1.0, 2.0 or 3.0, found 4.0"));
  CHECK(says(refusal(with_header(begin + "(3, 5), }")), "expected 15 elements, as its header says, found 48 bytes"));
  CHECK(
      says(refusal(with_header(begin + "(4611686018427387905, 4), }")), "expected extents whose product fits 64 bits"));
  CHECK(says(refusal(with_header(begin + "(4611686018427387907,), }")), "expected 4611686018427387907 elements"));
  CHECK(says(refusal(with_header(begin + "(99999999999999999999,), }")), "expected an extent"));
  CHECK(says(refusal(with_header(begin + "(-1,), }")), "expected an extent"));
  CHECK(says(refusal(with_header(begin + "(), }")), "an array of one dimension or more"));
  CHECK(says(refusal(with_header(begin + "(3, 4), 'more': 1}")), "each once, found 'more'"));
  CHECK(says(refusal(with_header(begin + "(3, 4), 'descr': '<f4'}")), "each once, found 'descr'"));
  CHECK(says(refusal(with_header(begin + "(3, 4)} x")), "nothing after the dictionary"));
  CHECK(says(refusal(with_header("{'descr': '<f4', 'shape': (12,)}")), "found fewer"));
  CHECK(says(refusal(with_header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (12,)}")),
             "expected elements of one type, found a structured array, [('a', '<f4')]"));
  const test::Bytes whole = test::get(recorded("f4.npy"));
  for (std::size_t length = 0; length < whole.size(); ++length)
    REQUIRE(says(refusal({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)}), path));
}

TEST_CASE("rows of a tensor in a safetensors file") {
  const test::Directory directory;
  const std::string path = directory / "a.safetensors";
  const auto values = twelve<float>();
  const std::vector<std::uint8_t> labels{3, 1, 4};
  const std::vector<safetensors::Tensor> tensors{
      {"x", safetensors::Dtype::F32, {3, 4}, std::as_bytes(std::span(values))},
      {"label", safetensors::Dtype::U8, {3}, std::as_bytes(std::span(labels))}};
  safetensors::write(path, tensors);
  const auto file = std::make_shared<const safetensors::File>(path);
  holds_0_to_11(data::TensorRows<float>(file, "x"));
  holds_0_to_11(data::TensorRows<float>(path, "x"));
  const data::TensorRows<std::uint8_t> label(file, "label");
  CHECK(label.at({2}).front() == 4);
  CHECK(label.name() == path + ", tensor \"label\"");
  CHECK(label.place({2}) == path + ", tensor \"label\", row 2");
  std::vector<std::size_t> heard;
  data::TensorRows<float>(path, "x", [&](const char* what, std::size_t done, std::size_t bytes) {
    CHECK(std::string(what) == "checking checksums");
    CHECK(bytes == 3 * 4 * sizeof(float) + 3);
    heard.push_back(done);
  });
  CHECK(heard == std::vector<std::size_t>{48, 51});
  refuses([&] { data::TensorRows<double>(file, "x"); }, "expected elements of type F64, found F32");
  refuses([&] { data::TensorRows<float>(file, "y"); }, "expected tensor \"y\"");
}

TEST_CASE("arrays in IDX format go both ways in each type") {
  idx_goes_both_ways<std::uint8_t>(), idx_goes_both_ways<std::int8_t>(), idx_goes_both_ways<std::int16_t>();
  idx_goes_both_ways<std::int32_t>(), idx_goes_both_ways<float>(), idx_goes_both_ways<double>();
  const test::Directory directory;
  const std::string path = directory / "a.idx";
  test::put(path, test::Bytes{0, 0, 11, 1, 0, 0, 0, 2, 0x01, 0x02, 0xFF, 0xFE});
  const data::IdxArray<std::int16_t> two(path);
  CHECK((two.at({0}).front() == 0x0102 && two.at({1}).front() == -2));
  CHECK(two.place({1}) == path + ", row 1");
  std::size_t heard = 0;
  data::IdxArray<std::int16_t>(path, [&](const char* what, std::size_t done, std::size_t bytes) {
    CHECK(std::string(what) == "reading an IDX file");
    CHECK((done == 4 && bytes == 4));
    ++heard;
  });
  CHECK(heard == 1);
  refuses([&] { data::IdxArray<float>{path}; },
          "the IDX magic number of floats, 0 0 13 and the number of dimensions, found 0 0 11 1");
  test::put(path, test::Bytes{0, 0, 11, 1, 0, 0, 0, 2, 0x01, 0x02, 0xFF});
  refuses([&] { data::IdxArray<std::int16_t>{path}; }, "expected 4 bytes of data, as its header says, found 3");
  refuses([&] { data::write_idx<float>(path, twelve<float>(), {5}); }, "whose product is 12");
}

TEST_CASE("CIFAR: planes become pixels, as torchvision gives them; labels are checked") {
  const data::Cifar ten(data::Cifar::Ten, recorded("cifar10.bin"));
  const data::Npy<std::uint8_t> expected(recorded("cifar10.npy"));  // (2,32,32,3), of torchvision
  REQUIRE(ten.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) CHECK(std::ranges::equal(ten.at({i}).pixels, expected.at({i})));
  CHECK(ten.place({1}) == ten.name() + ", offset 3073");
  CHECK((ten.at({0}).label == 3 && ten.at({1}).label == 9 && ten.classes() == 10));
  const data::Cifar hundred(data::Cifar::Hundred, {recorded("cifar100.bin"), recorded("cifar100.bin")});
  REQUIRE(hundred.size() == 2);
  CHECK((hundred.at({1}).coarse == 19 && hundred.at({1}).label == 99 && hundred.at({1}).pixels == ten.at({0}).pixels));
  refuses([&] { (void)ten.at({2}); }, "expected an image below 2");
  refuses([] { data::Cifar(data::Cifar::Hundred, recorded("cifar10.bin")); }, "images of 3074 bytes, found 6146 bytes");
  const test::Directory directory;
  test::Bytes bytes = test::get(recorded("cifar10.bin"));
  bytes[3073] = 10;
  test::put(directory / "a.bin", bytes);
  const data::Cifar damaged(data::Cifar::Ten, directory / "a.bin");
  CHECK(damaged.at({0}).label == 3);
  refuses([&] { (void)damaged.at({1}); }, "a.bin, offset 3073: expected a label below 10, found 10");
  bytes = test::get(recorded("cifar100.bin"));
  bytes[0] = 20;
  test::put(directory / "b.bin", bytes);
  refuses([&] { (void)data::Cifar(data::Cifar::Hundred, directory / "b.bin").at({0}); }, "a coarse label below 20");
  const data::Cifar rest(data::Cifar::Ten, {directory / "a.bin", recorded("cifar10.bin")},
                         {.corrupt = data::Corrupt::Skip});
  CHECK(rest.skipped() == data::Skipped{1, 3073});
  REQUIRE(rest.size() == 3);
  CHECK(rest.at({rest.size() - 1}) == ten.at({ten.size() - 1}));
}

TEST_CASE("CIFAR files are written as they are read; images for tests differ by class and repeat") {
  const test::Directory directory;
  for (const auto kind : {data::Cifar::Ten, data::Cifar::Hundred}) {
    data::CifarWriter writer(kind, directory / "a.bin");
    for (std::size_t i = 0; i < 21; ++i) writer.write(data::fake_cifar(kind, i));
    writer.commit();
    const data::Cifar set(kind, directory / "a.bin");
    REQUIRE(set.size() == 21);
    for (std::size_t i = 0; i < 21; ++i) REQUIRE(set.at({i}) == data::fake_cifar(kind, i));
  }
  CHECK(data::fake_cifar(data::Cifar::Ten, 13).label == 3);
  CHECK(data::fake_cifar(data::Cifar::Hundred, 13).coarse == 2);
  CHECK(data::fake_cifar(data::Cifar::Ten, 3).pixels != data::fake_cifar(data::Cifar::Ten, 13).pixels);
  CHECK(data::fake_cifar(data::Cifar::Ten, 3).pixels != data::fake_cifar(data::Cifar::Ten, 3, 1).pixels);
  data::CifarWriter writer(data::Cifar::Ten, directory / "c.bin");
  data::CifarImage image;
  image.label = 10;
  refuses([&] { writer.write(image); }, "a label below 10");
}
