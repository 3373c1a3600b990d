// Images: formats beside Pillow's decoder, sizes and operations beside Pillow and torchvision, and what is at random.
#include <regimen/data/augment.hpp>
#include <regimen/data/image_folder.hpp>
#include <regimen/data/mix.hpp>

#include "../support/captured.hpp"
#include "../support/catch.hpp"
#include "../support/data.hpp"
#include "../temporary.hpp"

#include <cmath>
#include <filesystem>
#include <map>
#include <vector>

using namespace regimen;
using data::Box;
using data::Decode;
using data::Filter;
using data::Key;
using test::refuses;

namespace {

/// The picture of make_images.py.
data::Image drawn(std::size_t height, std::size_t width, std::size_t channels = 3) {
  data::Image image(height, width, channels);
  for (std::size_t y = 0; y < height; ++y)
    for (std::size_t x = 0; x < width; ++x)
      for (std::size_t c = 0; c < channels; ++c) {
        const std::size_t waves = (x * (3 + c) + y * (5 - c) + x * y / (7 + c)) % 256;
        image.row(y)[x * channels + c] =
            static_cast<std::uint8_t>((waves * 3 / 4 + ((x / 6 + y / 5) % 3 == c % 3 ? 60 : 0)) % 256);
      }
  return image;
}

data::Image recorded(const std::string& name, const Decode& decode = {}) {
  return data::read_image(support::recorded("images/" + name).string(), decode);
}

/// Rows [top, top + height).
[[maybe_unused]] data::Image rows(const data::Image& image, std::size_t top, std::size_t height) {
  return data::crop(image, {top, 0, height, image.width()});
}

/// The largest difference of two images of one size.
[[maybe_unused]] int difference(const data::Image& a, const data::Image& b) {
  if (a.height() != b.height() || a.width() != b.width() || a.channels() != b.channels()) return 999;
  int most = 0;
  for (std::size_t i = 0; i < a.pixels().size(); ++i) most = (std::max)(most, std::abs(a.pixels()[i] - b.pixels()[i]));
  return most;
}
/// The share of bytes that differ.
[[maybe_unused]] double share(const data::Image& a, const data::Image& b) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.pixels().size(); ++i) count += a.pixels()[i] != b.pixels()[i];
  return double(count) / double(a.pixels().size());
}

}  // namespace

#if defined(REGIMEN_HAS_PNG)

TEST_CASE("PNG files of every type are decoded as Pillow decodes them") {
  const data::Image picture = drawn(12, 10), alpha = drawn(12, 10, 4);
  CHECK(recorded("rgb.png") == picture);
  CHECK(recorded("rgba.png") == picture);  // alpha is dropped
  CHECK(recorded("palette.png") == recorded("palette_rgb.png"));
  CHECK(recorded("bits.png") == recorded("bits_rgb.png"));
  const data::Image gray = recorded("gray.png", {.channels = 1});
  CHECK(gray.channels() == 1);
  for (std::size_t i = 0; i < gray.pixels().size(); ++i) CHECK(gray.pixels()[i] == picture.pixels()[3 * i]);
  CHECK(recorded("gray16.png", {.channels = 1}) == gray);
  CHECK(recorded("gray_alpha.png", {.channels = 1}) == gray);
  const data::Image as_rgb = recorded("gray.png");
  for (std::size_t i = 0; i < as_rgb.pixels().size(); ++i) CHECK(as_rgb.pixels()[i] == gray.pixels()[i / 3]);
  CHECK(recorded("rgb.png", {.channels = 1}) == data::to_gray(picture));
  const data::Image blended = recorded("rgba.png", {.blend = true, .background = {10, 20, 30}});
  for (std::size_t i = 0; i < blended.pixels().size(); ++i) {
    const int opaque = alpha.pixels()[4 * (i / 3) + 3], behind = 10 * (1 + int(i % 3));
    const double exact = (picture.pixels()[i] * opaque + behind * (255 - opaque)) / 255.0;
    CHECK(std::abs(blended.pixels()[i] - exact) <= 0.5);
  }
}

TEST_CASE("PNG files are written without loss, and read by what reads Pillow's") {
  for (const std::size_t channels : {1u, 3u}) {
    const data::Image picture = drawn(31, 17, channels);
    CHECK(data::decode(data::encode_png(picture), "written", {.channels = channels}) == picture);
  }
  const data::Image with_alpha = drawn(3, 5, 4);
  const data::Image without = data::decode_png(data::encode_png(with_alpha, 0), "written");
  for (std::size_t i = 0; i < 45; ++i) CHECK(without.pixels()[i] == with_alpha.pixels()[i / 3 * 4 + i % 3]);
}

TEST_CASE("an image of another size is within a level of Pillow's and torchvision's") {
  const data::Image picture = drawn(37, 53), sizes = recorded("sizes.png"), tensor = recorded("sizes_tensor.png"),
                    larger = recorded("larger.png");
  std::size_t top = 0, number = 0;
  for (const Filter filter : {Filter::Bilinear, Filter::Bicubic}) {
    for (const std::size_t height : {5u, 18u, 37u, 61u}) {
      INFO("filter " << number << ", height " << height);
      const data::Image found = data::resize(picture, height, 24, filter);
      CHECK(difference(found, rows(sizes, top, height)) <= 1);
      top += height;
    }
    CHECK(difference(data::resize(picture, 18, 24, filter), rows(tensor, number * 18, 18)) <= 1);
    CHECK(difference(data::resize(picture, 50, 80, filter), rows(larger, number * 50, 50)) <= 1);
    ++number;
  }
  CHECK(difference(data::resize(picture, Box{7, 11, 20, 31}, 16, 16), recorded("part.png")) <= 1);
  // A filter that is not stretched differs by far more: the tolerance sees antialiasing.
  CHECK(difference(data::resize(picture, 18, 24), rows(sizes, 5 + 18, 18)) > 20);
}

TEST_CASE("operations of RandAugment are within a level of torchvision's") {
  const data::Image picture = drawn(19, 24), all = recorded("operations.png");
  const data::RandAugment nine{.magnitude = 9};
  using Operation = data::RandAugment::Operation;
  std::size_t top = 0;
  for (std::size_t i = 0; i < data::RandAugment::operations; ++i) {
    const auto operation = static_cast<Operation>(i);
    const bool is_signed = operation >= Operation::ShearX && operation <= Operation::Sharpness;
    for (int sign = 0; sign < (is_signed ? 2 : 1); ++sign, top += 19) {
      INFO("operation " << i << ", sign " << sign);
      const data::Image found = nine.apply(picture, operation, sign == 1), expected = rows(all, top, 19);
      if (operation >= Operation::ShearX && operation <= Operation::Rotate) {
        CHECK(share(found, expected) <= 0.01);  // places between two pixels may be rounded to the other one
      } else {
        CHECK(difference(found, expected) <= 1);
      }
      if (operation != Operation::Identity) CHECK(found != picture);
    }
  }
  CHECK(top == all.height());
  const data::Image hue = recorded("hue.png");
  std::size_t number = 0;
  for (const double turns : {-0.4, -0.1, 0.05, 0.3})
    CHECK(difference(data::hue(picture, turns), rows(hue, 19 * number++, 19)) <= 1);
}

#else

TEST_CASE("without libpng a PNG file is refused") {
  refuses([] { recorded("rgb.png"); }, "rgb.png: expected a build with libpng");
  refuses([] { data::encode_png(drawn(2, 2)); }, "install libpng-dev");
}

#endif

#if defined(REGIMEN_HAS_JPEG)

#if defined(REGIMEN_HAS_PNG)
TEST_CASE("JPEG files are decoded as Pillow decodes them") {
  // Decoders may differ by a level in each of the inverse transform, the enlarged colours, and the change of colours.
  for (const char* name : {"baseline", "progressive", "full", "cmyk"}) {
    INFO(name);
    CHECK(difference(recorded(std::string(name) + ".jpg"), recorded(std::string(name) + "_jpg.png")) <= 3);
  }
  auto inks = test::get(support::recorded("images/cmyk.jpg").string());
  for (std::size_t at = 2; at + 4 < inks.size();
       at += 2u + inks[at + 2] * 256u + inks[at + 3])  // from marker to marker
    if (inks[at + 1] == 0xEE) {
      inks.erase(inks.begin() + std::ptrdiff_t(at), inks.begin() + std::ptrdiff_t(at + 2 + inks[at + 3]));
      break;
    }
  CHECK(inks.size() ==
        std::filesystem::file_size(support::recorded("images/cmyk.jpg")) - 16);  // without Adobe's marker
  CHECK(difference(data::decode(inks, "inks.jpg"), recorded("cmyk.jpg")) == 0);
  CHECK(difference(recorded("gray.jpg", {.channels = 1}), recorded("gray_jpg.png", {.channels = 1})) <= 1);
  CHECK(difference(recorded("gray.jpg"), recorded("gray_jpg.png")) <= 1);
  CHECK(difference(recorded("baseline.jpg", {.height = 18, .width = 26}), recorded("baseline_half.png")) <= 3);
}
#endif

TEST_CASE("a JPEG is decoded at a part of its size as long as no side becomes less than is wanted") {
  const auto bytes = data::encode_jpeg(drawn(37, 53));
  const auto extents = [&](std::size_t height, std::size_t width) {
    return data::decode_jpeg(bytes, "a", {.height = height, .width = width}).extents();
  };
  CHECK(extents(0, 0) == "37 x 53 x 3");
  CHECK(extents(20, 20) == "37 x 53 x 3");
  CHECK(extents(19, 27) == "19 x 27 x 3");
  CHECK(extents(19, 28) == "37 x 53 x 3");
  CHECK(extents(10, 0) == "10 x 14 x 3");
  CHECK(extents(1, 1) == "5 x 7 x 3");
  data::Image smooth(40, 50, 3);
  for (std::size_t i = 0; i < smooth.pixels().size(); ++i)
    smooth.pixels()[i] = static_cast<std::uint8_t>(i / 150 * 2 + i % 150);
  const data::Image part = data::decode_jpeg(data::encode_jpeg(smooth, 95), "a", {.height = 20});
  CHECK(difference(part, data::resize(smooth, 20, 25)) <= 8);
}

TEST_CASE("a part outside the image is refused with the file, at any resolution") {
  const data::EncodedImage file{data::encode_jpeg(drawn(64, 48)), 0, "photo.jpg"};
  for (const std::size_t side : {2u, 60u})  // decoded at an eighth, and as it is
    for (const Box& box :
         {Box{0, 0, 65, 48}, Box{10, 0, 64, 48}, Box{0, 40, 64, 16}, Box{0, 0, 0, 48}, Box{70, 0, 1, 1}})
      refuses(
          [&] { data::decode_part(file, [&](std::size_t, std::size_t) { return box; }, side, side); },
          ("photo.jpg, part: expected a box inside the image of 64 x 48, found " + std::to_string(box.height)).c_str());
  CHECK(data::decode_part(
            file, [](std::size_t, std::size_t) { return Box{0, 0, 64, 48}; }, 2, 2)
            .extents() == "2 x 2 x 3");
}

TEST_CASE("JPEG files that are written are near the image") {
  data::Image smooth(40, 50, 3);
  for (std::size_t y = 0; y < 40; ++y)
    for (std::size_t x = 0; x < 50; ++x)
      for (std::size_t c = 0; c < 3; ++c) smooth.row(y)[x * 3 + c] = static_cast<std::uint8_t>(2 * x + 3 * y + 20 * c);
  CHECK(difference(data::decode(data::encode_jpeg(smooth, 95), "a"), smooth) <= 12);
  CHECK(data::encode_jpeg(smooth, 95).size() > data::encode_jpeg(smooth, 30).size());
  const data::Image gray = data::to_gray(smooth);
  CHECK(difference(data::decode(data::encode_jpeg(gray, 95), "a", {.channels = 1}), gray) <= 4);
  CHECK(data::decode(data::encode_jpeg(data::Image(1, 1, 3)), "a").extents() == "1 x 1 x 3");
}

TEST_CASE("stray bytes before the end of a JPEG are passed over, counted and said once, or refused") {
  const auto whole = data::encode_jpeg(drawn(37, 53));
  const auto with_stray = [&](std::ptrdiff_t from_end) {
    auto bytes = whole;
    bytes.insert(bytes.end() - from_end, 65, std::uint8_t{7});
    return bytes;
  };
  const auto before = data::images_with_stray_bytes();
  data::Image read;
  const std::string first = support::captured_error([&] { read = data::decode(with_stray(2), "cat\n.jpg"); });
  CHECK(difference(read, data::decode(whole, "cat.jpg")) == 0);
  CHECK(test::says(first, "regimen: cat\\n.jpg: stray bytes before the end of a JPEG") == (before == 0));
  CHECK(data::images_with_stray_bytes() == before + 1);
  CHECK(data::decode(whole, "cat.jpg", {.strict = true}).height() == 37);
  CHECK(support::captured_error([&] { data::decode(with_stray(2), "cat.jpg"); }).empty());  // the first was named
  CHECK(data::images_with_stray_bytes() == before + 2);
  refuses([&] { data::decode(with_stray(2), "cat.jpg", {.strict = true}); },
          "cat.jpg: expected a whole JPEG image, found Corrupt JPEG data: ");
  refuses([&] { data::decode(with_stray(static_cast<std::ptrdiff_t>(whole.size()) - 2), "cat.jpg"); },
          "extraneous bytes before marker 0xe0");  // of the first marker: here the rest may be anything
  auto revision = whole;
  REQUIRE(std::string(revision.begin() + 6, revision.begin() + 10) == "JFIF");
  revision[11] = 0;
  CHECK(difference(data::decode(revision, "cat.jpg"), data::decode(whole, "cat.jpg")) == 0);
  refuses([&] { data::decode(revision, "cat.jpg", {.strict = true}); }, "unknown JFIF revision number 0.01");
}

TEST_CASE("damaged JPEG files are refused with their name") {
  const auto bytes = data::encode_jpeg(drawn(37, 53));
  for (const std::size_t size : {2ul, 10ul, 300ul, bytes.size() / 2, bytes.size() - 3})
    refuses([&] { data::decode(std::span(bytes).first(size), "cat.jpg"); }, "cat.jpg: expected a whole JPEG image");
  refuses([&] { data::decode(bytes, "cat.jpg", {.most_pixels = 37 * 53 - 1}); },
          "cat.jpg: expected an image of at most 1960 pixels");
  CHECK(data::decode(bytes, "cat.jpg", {.most_pixels = 37 * 53}).height() == 37);
  refuses([&] { data::decode(bytes, "cat.jpg", {.channels = 4}); }, "1 or 3 channels");
}

#else

TEST_CASE("without libjpeg-turbo a JPEG file is refused") {
  refuses([] { recorded("baseline.jpg"); }, "baseline.jpg: expected a build with libjpeg-turbo");
  refuses([] { data::encode_jpeg(drawn(2, 2)); }, "install libjpeg-dev");
}

#endif

TEST_CASE("other formats are refused by their names") {
  const auto found = [](const std::string& text) {
    return test::error_of(
        [&] { data::decode(std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()), "x.png"); });
  };
  CHECK_THAT(found(""), Catch::Contains("x.png: expected a JPEG or PNG image, found an empty file"));
  CHECK_THAT(found("GIF89a"), Catch::Contains("a GIF image"));
  CHECK_THAT(found("RIFF1234WEBPVP8"), Catch::Contains("a WebP image"));
  CHECK_THAT(found("hello, this is text"), Catch::Contains("no image format"));
}

TEST_CASE("an even area stays even in any size, and an image in its own size") {
  for (const Filter filter : {Filter::Bilinear, Filter::Bicubic}) {
    data::Image even(13, 7, 3);
    for (std::uint8_t& pixel : even.pixels()) pixel = 201;
    for (const auto& [height, width] : {std::pair{1ul, 1ul}, {40ul, 3ul}, {5ul, 90ul}}) {
      const data::Image found = data::resize(even, height, width, filter);
      for (const std::uint8_t pixel : found.pixels()) CHECK(pixel == 201);
    }
    CHECK(data::resize(drawn(20, 30), 20, 30, filter) == drawn(20, 30));
  }
  for (const std::size_t channels : {1u, 2u, 3u, 4u}) {  // each channel as if it were alone
    const data::Image all = drawn(20, 30, channels), found = data::resize(all, 9, 11, Filter::Bicubic);
    data::Image one(20, 30, 1);
    for (std::size_t i = 0; i < 600; ++i) one.pixels()[i] = all.pixels()[i * channels + channels - 1];
    const data::Image expected = data::resize(one, 9, 11, Filter::Bicubic);
    for (std::size_t i = 0; i < 99; ++i) CHECK(found.pixels()[i * channels + channels - 1] == expected.pixels()[i]);
  }
  for (const Filter filter : {Filter::Bilinear, Filter::Bicubic})  // whatever memory its rows have
    for (const auto& [height, width] : {std::pair{1ul, 2ul}, {3ul, 9ul}, {17ul, 5ul}, {60ul, 70ul}})
      for (const std::size_t memory : {1ul, 100ul, 200ul, 500ul, 2000ul})
        CHECK(data::detail::resize_within(drawn(37, 23), {2, 1, 33, 21}, height, width, filter, memory) ==
              data::resize(drawn(37, 23), {2, 1, 33, 21}, height, width, filter));
  CHECK(data::resize_shorter(drawn(37, 53), 20).extents() == "20 x 28 x 3");
  refuses([] { data::resize(drawn(4, 4), 0, 3); }, "from 1 to 65536");
  refuses([] { data::resize(drawn(4, 4), Box{1, 1, 4, 2}, 3, 3); }, "4 x 2 at 1, 1");
}

TEST_CASE("parts and mirrored images") {
  const data::Image picture = drawn(10, 12);
  const data::Image part = data::crop(picture, {2, 3, 4, 5});
  CHECK(part.row(1)[3 * 2 + 1] == picture.row(3)[3 * 5 + 1]);
  CHECK(data::center_crop(picture, 4, 5) == data::crop(picture, {3, 3, 4, 5}));
  CHECK(data::flip(data::flip(picture)) == picture);
  CHECK(data::flip(picture).row(7)[3 * 1 + 2] == picture.row(7)[3 * 10 + 2]);
  refuses([&] { data::crop(picture, {0, 0, 11, 2}); }, "inside the image of 10 x 12");
  refuses([&] { data::center_crop(picture, 4, 13); }, "inside the image");
  refuses([] { data::Image(2, 2, 5); }, "1 to 4 channels");
  refuses([] { data::Image(2, 2, 3, std::vector<std::uint8_t>(11)); }, "12 bytes of pixels");
  refuses([] { data::Image(std::size_t{1} << 40, std::size_t{1} << 40, 1); }, "fit memory");
}

TEST_CASE("numbers for a model: less the mean, by the deviation") {
  const data::Image picture = drawn(5, 11);  // three whole periods of 48, and a rest
  std::vector<float> numbers(165);
  const data::Normalise normalise{};
  normalise(picture, std::span(numbers));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double expected =
        (picture.pixels()[i] / 255.0 - double(normalise.mean[i % 3])) / double(normalise.deviation[i % 3]);
    CHECK(numbers[i] == Approx(expected).margin(2e-6));  // |numbers| ≤ 2.7: four roundings of fp32
  }
  std::vector<double> gray(55);
  data::Normalise{.mean = {0.5F}, .deviation = {0.5F}}(data::to_gray(picture), std::span(gray));
  CHECK(gray[7] == Approx(data::to_gray(picture).pixels()[7] / 127.5 - 1));
  refuses([&] { normalise(picture, std::span(gray)); }, "a model of 5 x 11 x 3 numbers");
  refuses([&] { data::Normalise{.height = 11, .width = 5}(picture, std::span(numbers)); },
          "an image of height 11 and width 5");
  refuses([&] { data::Normalise{.deviation = {1, 0, 1}}(picture, std::span(numbers)); }, "a number above 0");
}

TEST_CASE("what is at random is a function of the key, and differs from epoch to epoch") {
  const data::Image picture = drawn(20, 24);
  const auto check = [&](const auto& transform) {
    std::size_t others = 0;
    for (std::size_t i = 0; i < 40; ++i) {
      const data::Image found = transform(picture, Key{i, 0, 7});
      CHECK(found == transform(picture, Key{i, 0, 7}));
      others += (found != transform(picture, Key{i, 1, 7})) + (found != transform(picture, Key{i, 0, 8}));
    }
    CHECK(others >= 20);  // of 80; a flip differs in half of them
  };
  check(data::RandomCrop{16, 16});
  check(data::RandomCrop{20, 24, 4});
  check(data::RandomResizedCrop{12, 10});
  check(data::RandomFlip{});
  check(data::ColorJitter{.brightness = 0.4, .contrast = 0.4, .saturation = 0.4, .hue = 0.1});
  check(data::RandAugment{});
}

TEST_CASE("options of what is at random are refused whatever is drawn") {
  const data::Image picture = drawn(4, 5);
  const double nan = std::nan("");
  for (const double wrong : {2.0, -1.0, nan})
    refuses([&] { (void)data::RandomFlip{wrong}(picture, {1, 0, 3}); }, "RandomFlip, probability: expected a number");
  for (const double wrong : {-1.0, 64.0, nan}) {
    refuses([&] { (void)data::ColorJitter{.brightness = wrong}(picture, {1, 0, 3}); }, "ColorJitter: expected");
    refuses([&] { (void)data::ColorJitter{.contrast = wrong}(picture, {1, 0, 3}); }, "ColorJitter: expected");
    refuses([&] { (void)data::ColorJitter{.saturation = wrong}(picture, {1, 0, 3}); }, "ColorJitter: expected");
    refuses([&] { (void)data::ColorJitter{.hue = wrong}(picture, {1, 0, 3}); }, "ColorJitter, hue: expected");
  }
  for (std::uint64_t epoch = 0; epoch < 20; ++epoch)
    refuses([&] { (void)data::RandAugment{}(data::Image(4, 5, 4), {1, epoch, 3}); },
            "RandAugment: expected a gray image, or red, green and blue");
}

TEST_CASE("draws of crops reach every place, flips are half of all") {
  const data::Image picture = drawn(6, 7);
  std::map<std::size_t, int> places;
  std::size_t flips = 0;
  for (std::size_t i = 0; i < 900; ++i) {
    const data::Image part = data::RandomCrop{4, 5}(picture, {i, 0, 3});
    for (std::size_t place = 0; place < 9; ++place)
      if (part == data::crop(picture, {place / 3, place % 3, 4, 5})) ++places[place];
    flips += data::RandomFlip{}(picture, {i, 0, 3}) != picture;
  }
  CHECK(places.size() == 9);
  for (const auto& [place, count] : places) CHECK(std::abs(count - 100) < 45);  // deviation 9.4
  CHECK(std::abs(int(flips) - 450) < 75);                                       // deviation 15
  const data::Image padded = data::RandomCrop{6, 7, 2}(picture, {1, 0, 3});     // one of 25 places
  bool is_one = false;
  for (std::size_t top = 0; top < 5; ++top)
    for (std::size_t left = 0; left < 5; ++left) {
      data::Image around(10, 11, 3);
      for (std::size_t y = 0; y < 6; ++y) std::copy_n(picture.row(y), 21, around.row(y + 2) + 6);
      is_one |= padded == data::crop(around, {top, left, 6, 7});
    }
  CHECK(is_one);
}

TEST_CASE("parts of random size have the areas and proportions that are asked for") {
  const data::RandomResizedCrop crop{8, 8};
  double least = 1, most = 0, widest = 0, narrowest = 9;
  for (std::size_t i = 0; i < 2000; ++i) {
    const Box box = crop.box(300, 400, {i, 2, 5});
    CHECK((box.top + box.height <= 300 && box.left + box.width <= 400));
    const double area = double(box.height * box.width) / 120'000, ratio = double(box.width) / double(box.height);
    least = (std::min)(least, area), most = (std::max)(most, area);
    widest = (std::max)(widest, ratio), narrowest = (std::min)(narrowest, ratio);
  }
  CHECK((least >= 0.079 && least < 0.1 && most > 0.9));
  CHECK((widest <= 1.35 && widest > 1.3 && narrowest >= 0.74 && narrowest < 0.77));
  const Box strip = crop.box(10, 4000, {0, 0, 5});  // no part fits: the middle
  CHECK(strip == Box{0, 1993, 10, 13});
  refuses([] { data::RandomResizedCrop{8, 8, 0.5, 0.2}.box(9, 9, {}); }, "least_area <= most_area");
}

TEST_CASE("two images as one, with the share of each class") {
  data::LabelledImage a{drawn(8, 10), 0}, b{data::flip(drawn(8, 10)), 2};
  const data::MixedImage blended = data::blend(a, b, 0.25, 3);
  CHECK(blended.target == std::vector<float>{0.25F, 0, 0.75F});
  for (std::size_t i = 0; i < 240; ++i)
    CHECK(std::abs(blended.image.pixels()[i] - (0.25 * a.image.pixels()[i] + 0.75 * b.image.pixels()[i])) <= 0.5);
  const data::MixedImage pasted = data::paste(a, b, {1, 2, 4, 5}, 3);
  CHECK(pasted.target == std::vector<float>{0.75F, 0, 0.25F});
  for (std::size_t y = 0; y < 8; ++y)
    for (std::size_t x = 0; x < 30; ++x)
      CHECK(pasted.image.row(y)[x] == (y >= 1 && y < 5 && x >= 6 && x < 21 ? b : a).image.row(y)[x]);
  CHECK(data::blend(a, {a.image, 0}, 0.3, 1).target[0] == Approx(1));
  refuses([&] { data::blend(a, b, 0.5, 2); }, "classes below 2");
  refuses([&] { data::blend(a, {drawn(8, 9), 1}, 0.5, 3); }, "two images of one size, here 8 x 10 x 3");
}

TEST_CASE("shares are of the distribution that is asked for") {
  for (const double alpha : {0.0, -1.0, -0.5, std::nan("")}) {
    data::Draws draws({3, 1, 4}, 1);
    refuses([&] { (void)data::detail::beta(draws, alpha); }, "mix, alpha: expected a number above 0");
  }
  for (const double alpha : {0.2, 1.0, 4.0}) {
    double sum = 0, squares = 0;
    data::Draws draws({3, 1, 4}, 1);
    constexpr int count = 4000;
    for (int i = 0; i < count; ++i) {
      const double share = data::detail::beta(draws, alpha);
      CHECK((share >= 0 && share <= 1));
      sum += share, squares += share * share;
    }
    const double mean = sum / count, variance = squares / count - mean * mean, expected = 1 / (4 * (2 * alpha + 1));
    CHECK(mean == Approx(0.5).margin(5 * std::sqrt(expected / count)));
    CHECK(variance == Approx(expected).epsilon(0.1));
  }
}

namespace {
/// Ten even images, of two classes.
struct Even {
  std::size_t size() const { return 10; }
  data::LabelledImage at(const Key& key) const {
    data::LabelledImage value{data::Image(4, 6, 1), std::int32_t(key.index % 2)};
    for (std::uint8_t& pixel : value.image.pixels()) pixel = std::uint8_t(20 * key.index);
    return value;
  }
  std::string name() const { return "even"; }
};
}  // namespace

TEST_CASE("a stage mixes each image with another one, drawn anew in each epoch") {
  const auto blended = Even{} | data::mixed(data::Mixup{.classes = 2, .alpha = 1});
  const auto pasted = data::mixed(Even{}, data::CutMix{.classes = 2});
  static_assert(data::varies<decltype(blended)> && data::Dataset<decltype(pasted)>);
  std::size_t others = 0;
  for (std::size_t i = 0; i < 10; ++i) {
    const Key key{i, 0, 5};
    const data::MixedImage found = blended.at(key), cut = pasted.at(key);
    CHECK(found.image == blended.at(key).image);
    CHECK(found.target == blended.at(key).target);
    others += found.image != blended.at({i, 1, 5}).image;
    CHECK(found.target[0] + found.target[1] == Approx(1));
    CHECK(cut.target[0] + cut.target[1] == Approx(1));
    std::size_t own = 0;  // pixels of the image itself, and of one other
    std::size_t pixels[10] = {};
    for (const std::uint8_t pixel : cut.image.pixels()) ++pixels[pixel / 20];
    for (std::size_t j = 0; j < 10; ++j) own += pixels[j] != 0;
    CHECK(own <= 2);
    std::size_t first = 0;
    for (std::size_t j = 0; j < 10; j += 2) first += pixels[j];
    CHECK(double(cut.target[0]) == Approx(double(first) / 24).margin(1e-6));
  }
  CHECK(others >= 6);
  refuses([] { (void)(Even{} | data::mixed(data::Mixup{.classes = 1})).at({1, 0, 5}); },
          "even | mixed, value 1: expected");
}
