// Folders of images: classes, parts, what is refused; and thousands of damaged files.
#include <regimen/data/image_folder.hpp>

#include "../support/catch.hpp"
#include "../support/data.hpp"
#include "../temporary.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <iterator>
#include <random>
#include <set>
#include <vector>

using namespace regimen;
using test::Bytes;
using test::put;
using test::refuses;

static_assert(data::Dataset<data::ImageFolder>);

namespace {

namespace fs = std::filesystem;

/// Files of these names; what they hold is their own name, as a folder does not look into them.
void fill(const test::Directory& folder, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    fs::create_directories(fs::path(folder / name).parent_path());
    put(folder / name, name);
  }
}

}  // namespace

TEST_CASE("classes are sub-folders by name, images are sorted, at any depth") {
  const test::Directory root;
  fill(root, {"dogs/b.JPEG", "dogs/a.png", "cats/z.jpg", "cats/old/y.Jpg", "ants/\xC3\xA4 \n.png", "dogs/notes.txt",
              "read.me", "cats/.hidden.jpg", ".git/x.jpg"});
  const data::ImageFolder folder(root.path());
  CHECK(folder.classes() == std::vector<std::string>{"ants", "cats", "dogs"});
  CHECK(folder.size() == 5);
  CHECK(folder.others() == 2);
  CHECK(folder.name() == root.path());
  const std::vector<std::string> names{"ants/\xC3\xA4 \n.png", "cats/old/y.Jpg", "cats/z.jpg", "dogs/a.png",
                                       "dogs/b.JPEG"};
  for (std::size_t i = 0; i < 5; ++i) {
    const data::EncodedImage image = folder.at({i, 3, 4});
    CHECK(folder.place({i, 3, 4}) == image.path);
    CHECK(image.path == root / names[i]);
    CHECK(std::string(image.encoded.begin(), image.encoded.end()) == names[i]);
    CHECK(image.label == (i == 0 ? 0 : i < 3 ? 1 : 2));
    CHECK((folder.label(i) == image.label && folder.path(i) == image.path));
  }
}

TEST_CASE("links to files and of classes are followed, others are refused") {
  const test::Directory root, elsewhere;
  fill(elsewhere, {"one.png", "two.png"});
  fill(root, {"a/one.png"});
  fs::create_symlink(elsewhere.path(), root / "b");
  fs::create_symlink(elsewhere / "two.png", root / "a/two.png");
  CHECK(data::ImageFolder(root.path()).size() == 4);
  SECTION("a circle") {
    fs::create_directory_symlink("..", root / "a/up");
    refuses([&] { data::ImageFolder(root.path()); }, "a/up: expected files and folders, found a link to a folder");
  }
  SECTION("nowhere") {
    fs::create_symlink("gone.png", root / "a/dangling.png");
    refuses([&] { data::ImageFolder(root.path()); },
            "a/dangling.png: expected a file, or a link to one, found a link that leads nowhere");
  }
  SECTION("a link to itself") {
    fs::create_symlink("me.png", root / "a/me.png");
    refuses([&] { data::ImageFolder(root.path()); }, "a/me.png: expected");
  }
}

TEST_CASE("folders that are none of images say what is wrong") {
  const test::Directory root;
  refuses([&] { data::ImageFolder(root / "missing"); }, "missing: expected a folder that can be read");
  refuses([&] { data::ImageFolder(root.path()); }, "a sub-folder for each class");
  fill(root, {"a/one.png", "b/two.txt"});
  refuses([&] { data::ImageFolder(root.path()); }, "b: expected images of this class: .jpg, .jpeg or .png, found none");
  fill(root, {"b/two.png", "three.png"});
  refuses([&] { data::ImageFolder(root.path()); }, "three.png: expected images in the folders of classes only");
  fs::remove(root / "three.png");
  const data::ImageFolder folder(root.path());
  fs::remove(root / "a/one.png");
  refuses([&] { (void)folder.at({0, 0, 0}); }, "a/one.png: expected a file that can be read, found No such file");
  fs::create_directory(root / "a/one.png");
  refuses([&] { (void)folder.at({0, 0, 0}); }, "a/one.png: expected an image file, found a directory");
  REQUIRE(::mkfifo((root / "a/pipe.jpg").c_str(), 0600) == 0);
  refuses([&] { data::ImageFolder(root.path()); }, "a/pipe.jpg: expected an image file, found a pipe or a device");
  refuses([&] { data::ImageFolder(root / "b/two.png"); }, "two.png: expected a folder that can be read");
}

TEST_CASE("a split has the same share of each class, and does not depend on the place of the folder") {
  const test::Directory root, copy;
  std::vector<std::string> names{"c/only.jpg"};
  for (int i = 0; i < 40; ++i) names.push_back("a/" + std::to_string(i) + ".jpg");
  for (int i = 0; i < 10; ++i) names.push_back("b/" + std::to_string(i) + ".jpg");
  fill(root, names);
  fill(copy, names);
  const auto files = [](const data::ImageFolder& part, const test::Directory& of) {
    std::set<std::string> all;
    for (std::size_t i = 0; i < part.size(); ++i) all.insert(part.path(i).substr(of.path().size()));
    return all;
  };
  const auto parts = data::ImageFolder(root.path()).split(0.2, 5);
  const data::ImageFolder &training = parts.first, &validation = parts.second;
  CHECK((training.size() == 41 && validation.size() == 10));
  CHECK(std::count_if(names.begin(), names.end(), [&](const std::string& name) {
          return (files(training, root).count("/" + name) + files(validation, root).count("/" + name)) == 1;
        }) == 51);
  std::size_t of_a = 0;
  for (std::size_t i = 0; i < validation.size(); ++i) of_a += validation.label(i) == 0;
  CHECK(of_a == 8);
  CHECK(validation.classes().size() == 3);
  CHECK(files(data::ImageFolder(copy.path()).split(0.2, 5).second, copy) == files(validation, root));
  CHECK(files(data::ImageFolder(copy.path()).split(0.2, 6).second, copy) != files(validation, root));
  fill(root, {"a/more.jpg"});  // one image more moves one at most
  std::set<std::string> moved;
  const auto before = files(validation, root), after = files(data::ImageFolder(root.path()).split(0.2, 5).second, root);
  std::set_symmetric_difference(before.begin(), before.end(), after.begin(), after.end(),
                                std::inserter(moved, moved.end()));
  CHECK(moved.size() <= 2);
  refuses([&] { (void)data::ImageFolder(root.path()).split(1); }, "a share above 0 and below 1");
}

#if defined(REGIMEN_HAS_PNG) && defined(REGIMEN_HAS_JPEG)

TEST_CASE("image files are written and read") {
  const test::Directory folder;
  data::Image image(3, 4, 3);
  image.pixels()[5] = 77;
  data::write_png(folder / "a.png", image);
  CHECK(data::read_image(folder / "a.png") == image);
  data::write_jpeg(folder / "a.png", image);  // its bytes say what it is, not its name
  CHECK(data::read_image(folder / "a.png").extents() == "3 x 4 x 3");
  refuses([&] { data::write_png(folder / "none/a.png", image); }, "make the folder");
  refuses([&] { data::read_image(folder / "b.png"); }, "b.png: expected a file that can be read");
}

TEST_CASE("a folder opened with Corrupt::Skip has the images that decode, and names the others") {
  const test::Directory root;
  data::Image image(40, 30, 3);
  for (std::size_t i = 0; i < image.pixels().size(); ++i) image.pixels()[i] = std::uint8_t(i * i / 7);
  fill(root, {"a/0.jpg", "b/0.jpg"});
  std::size_t bytes = 7;  // of b/0.jpg, whose bytes are its name
  data::write_png(root / "a/0.jpg", image);
  for (const char* name : {"a/1.jpg", "b/1.png", "b/2.jpg"}) {
    if (std::string(name).ends_with("png")) data::write_png(root / name, image);
    else data::write_jpeg(root / name, image);
    if (name[2] == '2') continue;
    Bytes whole = test::get(root / name);
    whole.resize(whole.size() * 9 / 10);
    put(root / name, whole);
    bytes += whole.size();
  }
  CHECK(data::ImageFolder(root.path()).size() == 5);
  CHECK(data::ImageFolder(root.path()).skipped() == data::Skipped{});
  std::vector<std::string> heard;
  const data::ImageFolder rest(
      root.path(), {.corrupt = data::Corrupt::Skip, .report = [&](const char* what, std::size_t done, std::size_t all) {
                      heard.push_back(what);
                      CHECK((done == 5 && all == 5));
                    }});
  CHECK(heard == std::vector<std::string>{"listing images", "checking images"});
  REQUIRE(rest.size() == 2);
  CHECK((rest.path(0) == root / "a/0.jpg" && rest.label(0) == 0 && rest.path(1) == root / "b/2.jpg" &&
         rest.label(1) == 1));
  CHECK(rest.skipped() == data::Skipped{3, bytes});
  REQUIRE(rest.damaged().size() == 3);
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(test::says(rest.damaged()[i], (i == 0 ? "a/1.jpg" : i == 1 ? "b/0.jpg" : "b/1.png") + std::string(": exp")));
  fs::remove(root / "a/0.jpg");
  refuses([&] { data::ImageFolder(root.path(), {.corrupt = data::Corrupt::Skip}); },
          "/a: expected an image of this class that is not damaged, found none; the first of all that is: ");
}

TEST_CASE("damaged files are refused, or are images; a PNG with a wrong checksum never is one") {
  std::vector<Bytes> files;
  for (const char* name : {"baseline.jpg", "progressive.jpg", "full.jpg", "gray.jpg", "cmyk.jpg", "rgb.png", "rgba.png",
                           "palette.png", "gray16.png", "bits.png"})
    files.push_back(test::get(support::recorded(std::string("images/") + name).string()));
  const char* const given = std::getenv("REGIMEN_MUTATIONS");
  const int count = given != nullptr ? std::atoi(given) : 3000;
  std::mt19937_64 random(17);
  const auto below = [&](std::size_t bound) { return std::size_t(random() % bound); };
  int refused = 0, images = 0;
  for (int i = 0; i < count; ++i) {
    const Bytes& whole = files[below(files.size())];
    const bool png = whole[0] == 0x89;
    const data::Decode least{.height = 1, .width = 1, .most_pixels = 1 << 18};  // as ImageFolder checks files
    const data::Decode decode{
        .channels = below(2) == 0 ? 3u : 1u, .height = below(3), .most_pixels = 1 << 18, .blend = below(2) == 0};
    Bytes bytes = whole;
    for (std::size_t times = 1 + below(4); times > 0 && !bytes.empty(); --times) {
      const std::size_t at = below(below(2) == 0 ? std::min<std::size_t>(bytes.size(), 200) : bytes.size());
      switch (below(6)) {
        case 0:
          bytes[at] ^= std::uint8_t(1u << below(8));
          break;
        case 1:
          bytes[at] = std::uint8_t(random());
          break;
        case 2:
          bytes[at] = 0xFF;
          break;
        case 3:
          bytes.resize(at);
          break;
        case 4:
          bytes.erase(bytes.begin() + std::ptrdiff_t(at),
                      bytes.begin() + std::ptrdiff_t(std::min(bytes.size(), at + 1 + below(20))));
          break;
        default:
          bytes.insert(bytes.begin() + std::ptrdiff_t(at), bytes.begin(),
                       bytes.begin() + std::ptrdiff_t(below(std::min<std::size_t>(bytes.size(), 40))));
          break;
      }
    }
    try {
      const data::Image image = data::decode(bytes, "damaged", decode);
      ++images;
      CHECK_NOTHROW(data::decode(bytes, "damaged", least));
      if (png) CHECK(image == data::decode(whole, "whole", decode));
    } catch (const Error& error) {
      ++refused;
      refuses([&] { data::decode(bytes, "damaged", least); }, "damaged: expected");
      CHECK(test::says(error.what(), "damaged: expected"));
    }
  }
  INFO(refused << " refused, " << images << " images");
  CHECK(refused > count / 2);
  CHECK(images > count / 100);
}

TEST_CASE("scans without end are refused") {
  // A progressive file whose scans are repeated until there are 300.
  const Bytes whole = test::get(support::recorded("images/progressive.jpg").string());
  std::size_t last = 0, end = whole.size() - 2;
  for (std::size_t i = 0; i + 1 < whole.size(); ++i)
    if (whole[i] == 0xFF && whole[i + 1] == 0xDA) last = i;
  Bytes bytes(whole.begin(), whole.begin() + std::ptrdiff_t(end));
  for (int i = 0; i < 300; ++i)
    bytes.insert(bytes.end(), whole.begin() + std::ptrdiff_t(last), whole.begin() + std::ptrdiff_t(end));
  bytes.insert(bytes.end(), {0xFF, 0xD9});
  refuses([&] { data::decode(bytes, "scans.jpg"); }, "scans.jpg: expected a whole JPEG image");
}

#endif
