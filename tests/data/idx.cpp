// IDX images and labels: plain and gzipped, every truncation, flipped bits, absurd dimensions.
#include <regimen/data/idx.hpp>

#include "../temporary.hpp"

#include <catch2/catch.hpp>

#include <random>

using namespace regimen;
using test::Bytes;
using test::error_of;
using test::says;

static_assert(Source<Idx, float, std::int32_t> && Source<Idx, double, std::int32_t>);
static_assert(!Source<Idx, float, float> && !Source<Idx, std::int32_t, std::int32_t>);

namespace {

Bytes idx(const std::vector<std::uint32_t>& extents, const Bytes& data, std::uint8_t type = 8) {
  Bytes bytes{0, 0, type, static_cast<std::uint8_t>(extents.size())};
  for (const std::uint32_t extent : extents) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::uint8_t>(extent >> shift & 0xFF));
  }
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}

void put_gzipped(const std::string& path, const Bytes& bytes) {
  const ::gzFile file = ::gzopen(path.c_str(), "wb");
  REQUIRE(file != nullptr);
  REQUIRE(::gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())) == static_cast<int>(bytes.size()));
  REQUIRE(::gzclose(file) == Z_OK);
}

const Bytes pixels{0, 255, 51, 102, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};  // 3 images of 2 x 3
const Bytes images = idx({3, 2, 3}, pixels), labels = idx({3}, {7, 0, 9});

struct Content {
  std::vector<float> pixels;
  std::vector<std::int32_t> labels;
  bool operator==(const Content&) const = default;
};

Content load(const Idx& set, std::size_t extent) {
  Content content;
  std::vector<float> image(extent);
  std::int32_t label = 0;
  for (std::size_t i = 0; i < set.size({.input = extent, .target = 1}); ++i) {
    set.read(i, Sample<float, std::int32_t>{image, {&label, 1}});
    content.pixels.insert(content.pixels.end(), image.begin(), image.end());
    content.labels.push_back(label);
  }
  return content;
}

}  // namespace

TEST_CASE("images become numbers from 0 to 1, plain or gzipped") {
  const test::Directory directory;
  const std::string image_path = directory / "images", label_path = directory / "labels";
  for (const bool gzipped : {false, true}) {
    if (gzipped) put_gzipped(image_path, images), put_gzipped(label_path, labels);
    else test::put(image_path, images), test::put(label_path, labels);
    const Idx set(image_path, label_path);
    REQUIRE(set.length() == 3);
    REQUIRE(set.classes() == 10);
    REQUIRE(set.extents().size() == 2);
    REQUIRE(set.extents()[1] == 3);
    const Content content = load(set, 6);
    REQUIRE(content.labels == std::vector<std::int32_t>{7, 0, 9});
    for (std::size_t i = 0; i < pixels.size(); ++i)
      REQUIRE(content.pixels[i] == static_cast<float>(pixels[i]) / 255.0f);
    double precise[6];
    std::int32_t label = 0;
    set.read(0, Sample<double, std::int32_t>{precise, {&label, 1}});
    REQUIRE(precise[2] == 51.0 / 255.0);
    const Idx rest = set.range(1, 3).range(1, 2);
    REQUIRE(rest.length() == 1);
    REQUIRE(rest.label(0) == 9);
    REQUIRE(load(rest, 6).pixels[0] == static_cast<float>(pixels[12]) / 255.0f);
  }
}

TEST_CASE("a model that does not fit the images is refused") {
  const test::Directory directory;
  const std::string image_path = directory / "images", label_path = directory / "labels";
  test::put(image_path, images), test::put(label_path, labels);
  const Idx set(image_path, label_path);
  REQUIRE(says(error_of([&] { (void)set.size({.input = 784, .target = 1}); }),
               image_path + ": expected a model that takes 6 inputs and 1 target a sample"));
  REQUIRE(says(error_of([&] { (void)set.size({.input = 6, .target = 1, .vocabulary_or_classes = 9}); }),
               label_path + ": expected ids below 9"));
  REQUIRE(set.size({.input = 6, .target = 1, .vocabulary_or_classes = 9, .classes = 10}) == 3);
  REQUIRE(says(error_of([&] { (void)set.range(2, 4); }), "begin < end <= 3, found 2 to 4"));
  REQUIRE(says(error_of([&] { (void)set.range(2, 2); }), image_path));
}

TEST_CASE("every truncation of an IDX file is refused by name") {
  const test::Directory directory;
  const std::string image_path = directory / "images", label_path = directory / "labels", plain = directory / "plain";
  put_gzipped(plain, images);
  const Bytes gzipped = test::get(plain);
  test::put(label_path, labels);
  for (const Bytes& whole : {images, gzipped}) {
    for (std::size_t length = 0; length < whole.size(); ++length) {
      INFO("length " << length << " of " << whole.size());
      test::put(image_path, std::span(whole).first(length));
      REQUIRE(says(error_of([&] { Idx(image_path, label_path); }), image_path));
    }
    Bytes longer = whole;
    longer.push_back(0);
    test::put(image_path, longer);
    if (whole == images) REQUIRE(says(error_of([&] { Idx(image_path, label_path); }), "found more"));
  }
  test::put(image_path, images);
  for (std::size_t length = 0; length < labels.size(); ++length) {
    test::put(label_path, std::span(labels).first(length));
    REQUIRE(says(error_of([&] { Idx(image_path, label_path); }), label_path));
  }
}

TEST_CASE("every flipped bit of an IDX header is refused") {
  const test::Directory directory;
  const std::string image_path = directory / "images", label_path = directory / "labels";
  test::put(label_path, labels);
  for (std::size_t bit = 0; bit < 16 * 8; ++bit) {
    INFO("bit " << bit);
    Bytes bytes = images;
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
    test::put(image_path, bytes);
    REQUIRE(says(error_of([&] { Idx(image_path, label_path); }), image_path));
  }
}

TEST_CASE("a gzip file that expands without measure is refused before it does, a plain file that large is not") {
  const test::Directory directory;
  const std::string path = directory / "images";
  const auto refusal = [&](std::uint32_t rows, bool gzipped) {
    const Bytes bytes = idx({rows, 1024, 1024}, Bytes(1024));
    if (gzipped) put_gzipped(path, bytes);
    else test::put(path, bytes);
    return error_of([&] { (void)detail::read_idx(path); });
  };
  CHECK(says(refusal(1025, true),
             "images, header: expected at most 1073741824 bytes of data in this gzip file: 1 GiB, "
             "or 32 times its size, found 1074790400; is the file"));
  CHECK(says(refusal(1024, true), "1073741824 bytes of data, as its header says, found 1024"));  // and is read
  CHECK(says(refusal(1025, false), "1074790400 bytes of data, as its header says, found 1024"));
}

TEST_CASE("flipped bits in a gzipped IDX file are refused, or change nothing") {
  const test::Directory directory;
  const std::string image_path = directory / "images", label_path = directory / "labels";
  test::put(label_path, labels);
  put_gzipped(image_path, images);
  const Bytes whole = test::get(image_path);
  const Content expected = load(Idx(image_path, label_path), 6);
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    INFO("bit " << bit);
    Bytes bytes = whole;
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
    test::put(image_path, bytes);
    Content found;
    const std::string error = error_of([&] { found = load(Idx(image_path, label_path), 6); });
    if (error.empty()) REQUIRE(found == expected);
    else REQUIRE(says(error, image_path));
  }
}

TEST_CASE("a thousand random damages of an IDX file never crash") {
  const test::Directory directory;
  const std::string image_path = directory / "images", label_path = directory / "labels";
  test::put(label_path, labels);
  std::mt19937 random(1);
  for (int trial = 0; trial < 1000; ++trial) {
    Bytes bytes = images;
    for (std::size_t flips = 1 + random() % 4; flips-- > 0;)
      bytes[random() % bytes.size()] ^= static_cast<std::uint8_t>(1u << (random() % 8));
    test::put(image_path, bytes);
    std::size_t length = 3;
    const std::string error = error_of([&] { length = Idx(image_path, label_path).length(); });
    REQUIRE(length == 3);
    REQUIRE((error.empty() || says(error, image_path)));
  }
}

TEST_CASE("dimensions that no file bears out are refused without their memory") {
  const test::Directory directory;
  const std::string image_path = directory / "images", label_path = directory / "labels";
  test::put(label_path, labels);
  const auto refusal = [&](const Bytes& bytes) {
    test::put(image_path, bytes);
    return error_of([&] { Idx(image_path, label_path); });
  };
  constexpr std::uint32_t most = 0xFFFF'FFFF;
  REQUIRE(says(refusal(idx({most, most, most}, pixels)),
               image_path + ", header: expected dimensions whose product fits 64 bits"));
  REQUIRE(says(refusal(idx({most, most}, pixels)),
               image_path + ": expected 18446744065119617025 bytes of data, as its header says, found 18"));
  REQUIRE(says(refusal(idx({3, 2, 4}, pixels)), "expected 24 bytes"));
  REQUIRE(says(refusal(idx({3, 0, 3}, {})), "expected images, found none"));
  REQUIRE(says(refusal(idx({0, 2, 3}, {})), label_path + ": expected 0 labels"));
  REQUIRE(says(refusal(idx(std::vector<std::uint32_t>(255, 1), {1})), label_path + ": expected 1 labels"));
  REQUIRE(says(refusal(idx({3, 2, 3}, pixels, 13)),
               "the IDX magic number of unsigned bytes, 0 0 8 and the number of dimensions, found 0 0 13 3"));
  REQUIRE(says(refusal(labels), image_path + ": expected images, of 2 dimensions or more"));
  test::put(image_path, images), test::put(label_path, images);
  REQUIRE(says(error_of([&] { Idx(image_path, label_path); }), label_path + ": expected labels, of 1 dimension"));
  test::put(label_path, idx({4}, {1, 2, 3, 4}));
  REQUIRE(says(error_of([&] { Idx(image_path, label_path); }),
               label_path + ": expected 3 labels, one for each image of " + image_path + ", found 4"));
  REQUIRE(says(error_of([&] { Idx(directory / "none", label_path); }),
               "none: expected a file that can be read, found No such file"));
  REQUIRE(says(error_of([&] { Idx(directory.path(), label_path); }), directory.path()));
}

TEST_CASE("MNIST's test set is 10,000 images of 28 by 28") {
  const std::string directory = test::real_data("mnist-t10k-images-idx3-ubyte.gz");
  if (directory.empty()) return;
  const Idx set(directory + "mnist-t10k-images-idx3-ubyte.gz", directory + "mnist-t10k-labels-idx1-ubyte.gz");
  REQUIRE(set.size({.input = 784, .target = 1, .vocabulary_or_classes = 10}) == 10'000);
  REQUIRE(set.extents()[0] == 28);
  REQUIRE(set.classes() == 10);
  REQUIRE(set.label(0) == 7);
  REQUIRE(set.range(8000, 10'000).length() == 2000);
  int counts[10] = {};
  for (std::size_t i = 0; i < set.length(); ++i) ++counts[set.label(i)];
  REQUIRE(counts[0] == 980);
  REQUIRE(counts[1] == 1135);
}
