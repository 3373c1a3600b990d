// regimen/data/image_folder.hpp — a folder of images, a sub-folder for each class; and image files by themselves.
#pragma once

#include <regimen/core/atomic_file.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/file.hpp>
#include <regimen/core/philox.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/data/choose.hpp>  // scan
#include <regimen/data/dataset.hpp>
#include <regimen/data/files.hpp>  // Corrupt, Skipped
#include <regimen/data/jpeg.hpp>
#include <regimen/data/png.hpp>
#include <regimen/data/resize.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace regimen::data {

/// An image file as it is, its class, and its path.
struct EncodedImage final {
  std::vector<std::uint8_t> encoded;
  std::int32_t label = 0;
  std::string path;

  std::size_t bytes() const { return encoded.capacity() + path.capacity(); }
};

namespace detail {

enum class Format { Jpeg, Png };
[[gnu::noinline]] inline Format format_of(std::span<const std::uint8_t> bytes, const std::string& where) {
  const std::string_view begin(reinterpret_cast<const char*>(bytes.data()), std::min<std::size_t>(bytes.size(), 12));
  if (begin.starts_with("\xFF\xD8")) return Format::Jpeg;
  if (begin.starts_with("\x89PNG\r\n\x1A\n")) return Format::Png;
  const char* found = "bytes of no image format known here";
  if (begin.empty()) found = "an empty file";
  else if (begin.starts_with("GIF8")) found = "a GIF image";
  else if (begin.starts_with("BM")) found = "a BMP image";
  else if (begin.starts_with("RIFF") && begin.ends_with("WEBP")) found = "a WebP image";
  else if (begin.starts_with("II*") || begin.starts_with("MM\0*")) found = "a TIFF image";
  throw Error(where, "a JPEG or PNG image", found, "convert the file, or take it out of the folder");
}

/// Whether these bytes begin as an image that this build has no library for: that is no damage.
inline bool lacks_library(std::span<const std::uint8_t> bytes) {
  return !bytes.empty() && ((bytes[0] == 0xFF && !has_jpeg) || (bytes[0] == 0x89 && !has_png));
}

}  // namespace detail

/// The image of a JPEG or PNG file's bytes; the first bytes decide which format it is. `where` names it in errors.
/// failure  Error as of decode_jpeg and decode_png, and for other formats
[[gnu::noinline]] inline Image decode(std::span<const std::uint8_t> bytes, const std::string& where,
                                      const Decode& decode = {}) {
  return detail::format_of(bytes, where) == detail::Format::Jpeg ? decode_jpeg(bytes, where, decode)
                                                                 : decode_png(bytes, where, decode);
}
inline Image decode(const EncodedImage& image, const Decode& decode = {}) {
  return data::decode(image.encoded, image.path, decode);
}

/// Height and width of an image, from the beginning of its file's bytes.
inline std::array<std::size_t, 2> extents(std::span<const std::uint8_t> bytes, const std::string& where) {
  return detail::format_of(bytes, where) == detail::Format::Jpeg ? jpeg_extents(bytes, where)
                                                                 : png_extents(bytes, where);
}

/// A part of an image, decoded at no more than the resolution that it needs, in the size height x width.
///
///   part   part(height, width) of the file's image gives the Box: RandomResizedCrop::box with a key, `middle`
///
/// The image equals resize(decode(file), part, height, width), with one exception: if the part of a JPEG is twice, four
/// or eight times as large as the result, squares of pixels are averaged first
///
/// failure  Error as of decode and resize; with the file, if the box is empty or not inside the image
template <class Part>
  requires std::same_as<std::invoke_result_t<const Part&, std::size_t, std::size_t>, Box>
Image decode_part(const EncodedImage& file, const Part& part, std::size_t height, std::size_t width,
                  Filter filter = Filter::Bilinear, Decode decode = {}) {
  const auto [tall, wide] = extents(file.encoded, file.path);
  Box box = part(tall, wide);
  detail::expect_inside(file.path + ", part", tall, wide, box, "a part is made for the extents that it is called with");
  // The least sides of the whole image, for a part no smaller than the result.
  const auto needed = [](std::size_t whole, std::size_t of, std::size_t wanted) {
    return wanted > of ? whole : (whole * wanted + of - 1) / of;
  };
  decode.height = needed(tall, box.height, height);
  decode.width = needed(wide, box.width, width);
  const Image image = data::decode(file, decode);
  if (image.height() != tall || image.width() != wide) {
    const auto scaled = [](std::size_t& begin, std::size_t& size, std::size_t whole, std::size_t now) {
      const std::size_t end = ((begin + size) * now + whole / 2) / whole;
      begin = begin * now / whole;
      size = (std::max)(end, begin + 1) - begin;
    };
    scaled(box.top, box.height, tall, image.height());
    scaled(box.left, box.width, wide, image.width());
  }
  return resize(image, box, height, width, filter);
}

namespace detail {

/// All bytes of an image file.
inline std::vector<std::uint8_t> read_whole(const std::string& path) {
  const regimen::detail::OpenFile file = regimen::detail::open_file(path, "an image file");
  constexpr std::size_t most = std::size_t{1} << 30;
  if (file.size > most) throw Error(path, "an image of at most 1 GiB", std::to_string(file.size) + " bytes");
  return regimen::detail::read_to_end<std::vector<std::uint8_t>>(file);
}
inline void write_whole(const std::string& path, std::span<const std::uint8_t> bytes) {
  regimen::detail::write_text(path, text_of(std::as_bytes(bytes)));
}

}  // namespace detail

/// Reads an image file.
inline Image read_image(const std::string& path, const Decode& decode = {}) {
  return data::decode(detail::read_whole(path), path, decode);
}
/// Writes an image file; a file of that name is replaced atomically.
inline void write_png(const std::string& path, const Image& image, int level = 6) {
  detail::write_whole(path, encode_png(image, level));
}
inline void write_jpeg(const std::string& path, const Image& image, int quality = 90) {
  detail::write_whole(path, encode_jpeg(image, quality));
}

/// A folder of images: the name of a sub-folder is the class of all images in it, at any depth.
///
///   FOLDER/cats/1.jpg   FOLDER/cats/old/2.png   FOLDER/dogs/3.JPEG
///
///   value       the file's bytes, its class, its path: EncodedImage. Decode it in a stage, with several workers
///   classes     sub-folders sorted by the bytes of their names; class i is classes()[i]
///   images      files that end in .jpg, .jpeg or .png, in capitals or not, sorted by their paths. others() counts the
///               rest; names that begin with a dot are ignored
///   links       to a file, and of a class to a folder, are followed
///
///   const data::ImageFolder folder("photos");
///   const auto [training, validation] = folder.split(0.2);
///
/// failure  Error when it is made: a folder that cannot be read or has no class folders, a class without images, an
///          image next to the class folders, a link that leads nowhere or, below a class, to a folder, and a pipe or
///          device with the name of an image. at() throws Error if the file cannot be read. The stage that decodes a
///          file finds out whether it is damaged. With Corrupt::Skip opening the folder decodes every file once, with
///          Decode's defaults: a damaged file is left out, counted by skipped() and named by damaged(). A file that
///          cannot be read is still an error, and a class without remaining images, too
/// cost     memory for one path for each file; at() reads one file. Corrupt::Skip reads all files and decodes them,
///          JPEGs at an eighth of their size, by as many threads as there are processors
class ImageFolder final {
 public:
  explicit ImageFolder(const std::string& path, const ReaderOptions& options = {}) {
    namespace fs = std::filesystem;
    auto content = std::make_shared<Content>();
    content->path = path;
    std::vector<std::string> classes, stray;
    for (const fs::directory_entry& entry : entries(path)) {
      if (is_folder(entry)) classes.push_back(entry.path().filename().string());
      else if (is_image(entry.path())) stray.push_back(entry.path().string());
      else ++content->others;
    }
    if (classes.empty())
      throw Error(path, "a sub-folder for each class, with its images in it",
                  regimen::detail::counted(stray.size(), "image") + " and no sub-folder",
                  "move the images of each class to a folder");
    if (!stray.empty()) {
      std::sort(stray.begin(), stray.end());
      throw Error(stray[0], "images in the folders of classes only", "one beside them",
                  "move it to the folder of its class");
    }
    std::sort(classes.begin(), classes.end());
    for (const std::string& name : classes) {
      const std::size_t before = content->files.size();
      collect(path + "/" + name, static_cast<std::int32_t>(content->classes.size()), *content, options.report);
      if (content->files.size() == before)
        throw Error(path + "/" + name, "images of this class: .jpg, .jpeg or .png", "none",
                    "add some, or remove the folder");
      std::ranges::sort(content->files.begin() + std::ptrdiff_t(before), content->files.end(), {}, &File::path);
      content->classes.push_back(name);
    }
    if (options.report) options.report("listing images", content->files.size(), content->files.size());
    if (options.corrupt == Corrupt::Skip) leave_out_damaged(*content, options.report);
    indices_.resize(content->files.size());
    std::iota(indices_.begin(), indices_.end(), std::size_t{0});
    content_ = std::move(content);
  }

  std::size_t size() const { return indices_.size(); }
  EncodedImage at(const Key& key) const {
    const File& file = content_->files[indices_[key.index]];
    return {detail::read_whole(file.path), file.label, file.path};
  }
  std::string place(const Key& key) const { return path(key.index); }
  const std::string& name() const& { return content_->path; }
  std::string name() const&& { return name(); }

  const std::vector<std::string>& classes() const& { return content_->classes; }
  std::vector<std::string> classes() const&& { return classes(); }
  const std::string& path(std::size_t index) const& { return content_->files[indices_[index]].path; }
  std::string path(std::size_t index) const&& { return path(index); }
  std::int32_t label(std::size_t index) const { return content_->files[indices_[index]].label; }
  /// Files in the folder that are no images.
  std::size_t others() const { return content_->others; }
  /// The files that Corrupt::Skip left out of the folder: their number and bytes.
  const Skipped& skipped() const& { return content_->skipped; }
  Skipped skipped() const&& { return skipped(); }
  /// The path of each file that Corrupt::Skip left out, with the reason.
  const std::vector<std::string>& damaged() const& { return content_->damaged; }
  std::vector<std::string> damaged() const&& { return damaged(); }

  /// Two parts that share no image. The second part has `share` of each class, rounded, and at least one image of each
  /// class of two or more images. The images' names in the folder, and the seed, decide: a folder at another place is
  /// split in the same way, and added images move few others.
  std::pair<ImageFolder, ImageFolder> split(double share, std::uint64_t seed = 0) const {
    if (!(share > 0 && share < 1))
      throw Error(name() + ", split", "a share above 0 and below 1", regimen::detail::digits_of(share));
    std::pair<ImageFolder, ImageFolder> parts{*this, *this};
    parts.first.indices_.clear();
    parts.second.indices_.clear();
    for (std::size_t begin = 0, end = 0; begin < size(); begin = end) {
      while (end < size() && label(end) == label(begin)) ++end;
      std::vector<std::pair<std::uint64_t, std::size_t>> lots;
      for (std::size_t i = begin; i < end; ++i) lots.emplace_back(lot(path(i).substr(name().size()), seed), i);
      std::sort(lots.begin(), lots.end());
      auto taken = static_cast<std::size_t>(std::llround(share * double(end - begin)));
      if (taken == 0 && end - begin > 1) taken = 1;
      if (taken == end - begin) --taken;
      for (std::size_t i = 0; i < lots.size(); ++i)
        (i < taken ? parts.second : parts.first).indices_.push_back(indices_[lots[i].second]);
    }
    std::sort(parts.first.indices_.begin(), parts.first.indices_.end());
    std::sort(parts.second.indices_.begin(), parts.second.indices_.end());
    if (parts.second.size() == 0)
      throw Error(name() + ", split", "two images or more of some class", "one of each", "add images");
    return parts;
  }

 private:
  struct File {
    std::string path;
    std::int32_t label;
  };
  struct Content {
    std::string path;
    std::vector<std::string> classes;
    std::vector<File> files;
    std::size_t others = 0;
    Skipped skipped;
    std::vector<std::string> damaged;
  };

  static std::uint64_t lot(std::string_view name, std::uint64_t seed) {
    std::uint64_t state = Philox::mix(seed, 0x1F);
    for (const char letter : name) state = Philox::mix(state, static_cast<unsigned char>(letter));
    return state;
  }

  static bool is_image(const std::filesystem::path& path) {
    std::string ending = path.extension().string();
    for (char& letter : ending)
      if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    return ending == ".jpg" || ending == ".jpeg" || ending == ".png";
  }
  /// The entries of a folder, without names that begin with a dot.
  static std::vector<std::filesystem::directory_entry> entries(const std::string& path) {
    std::error_code error;
    std::vector<std::filesystem::directory_entry> found;
    std::filesystem::directory_iterator at(path, error);
    for (; !error && at != std::filesystem::directory_iterator(); at.increment(error))
      if (!at->path().filename().string().starts_with('.')) found.push_back(*at);
    if (error) throw Error(path, "a folder that can be read", error.message(), "check the path and its permissions");
    return found;
  }
  /// Whether an entry is a folder, or a link to one.
  static bool is_folder(const std::filesystem::directory_entry& entry) {
    std::error_code error;
    const auto status = entry.status(error);
    if (status.type() == std::filesystem::file_type::not_found)
      throw Error(entry.path().string(), "a file, or a link to one", "a link that leads nowhere", "remove it");
    if (error) throw Error(entry.path().string(), "a file that can be read", error.message(), "check its permissions");
    return status.type() == std::filesystem::file_type::directory;
  }
  static void collect(const std::string& folder, std::int32_t label, Content& content, const Report& report) {
    for (const auto& entry : entries(folder)) {
      const std::string path = entry.path().string();
      if (is_folder(entry)) {
        if (entry.is_symlink())
          throw Error(path, "files and folders", "a link to a folder, which may lead in a circle",
                      "put the folder itself there");
        collect(path, label, content, report);
      } else if (!is_image(entry.path())) {
        ++content.others;
      } else if (!entry.is_regular_file()) {
        throw Error(path, "an image file", "a pipe or a device", "remove it");
      } else {
        content.files.push_back({path, label});
        if (report && content.files.size() % 4096 == 0) report("listing images", content.files.size(), 0);
      }
    }
  }
  static void leave_out_damaged(Content& content, const Report& report) {
    std::vector<std::string> wrong(content.files.size());
    std::vector<std::size_t> bytes(content.files.size());
    detail::scan(wrong.size(), {.report = report}, "checking images", [&](std::size_t i) {
      const std::string& path = content.files[i].path;
      const std::vector<std::uint8_t> encoded = detail::read_whole(path);
      try {
        (void)data::decode(encoded, path, {.height = 1, .width = 1});  // a smaller image is read to its end as well
      } catch (const Error& failure) {
        if (detail::lacks_library(encoded)) throw;
        wrong[i] = failure.what();
        bytes[i] = encoded.size();
      }
    });
    std::vector<File> whole;
    std::vector<std::size_t> left(content.classes.size());
    for (std::size_t i = 0; i < wrong.size(); ++i) {
      if (wrong[i].empty()) {
        ++left[static_cast<std::size_t>(content.files[i].label)];
        whole.push_back(std::move(content.files[i]));
        continue;
      }
      content.skipped.records += 1;
      content.skipped.bytes += bytes[i];
      content.damaged.push_back(std::move(wrong[i]));
    }
    for (std::size_t c = 0; c < left.size(); ++c)
      if (left[c] == 0)
        throw Error(content.path + "/" + content.classes[c], "an image of this class that is not damaged", "none",
                    "the first of all that is: " + content.damaged[0]);
    content.files = std::move(whole);
  }

  std::shared_ptr<const Content> content_;
  std::vector<std::size_t> indices_;
};

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
