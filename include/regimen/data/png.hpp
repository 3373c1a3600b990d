// regimen/data/png.hpp — PNG images, by libpng.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/data/jpeg.hpp>  // Decode

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#if defined(REGIMEN_HAS_PNG)
#include <csetjmp>
#include <cstdio>

#include <png.h>
#endif

namespace regimen::data {

namespace detail {

#if defined(REGIMEN_HAS_PNG)
inline constexpr bool has_png = true;

/// Common to reading and writing by libpng. Its errors return to the last setjmp: between it and the call that may fail
/// there is no C++ object.
class PngState {
 public:
  PngState(const PngState&) = delete;
  PngState& operator=(const PngState&) = delete;
  const char* words() const { return words_; }

 protected:
  PngState() = default;
  ~PngState() = default;

  /// Takes the struct that libpng has made with `this` and fail(). False: no memory.
  bool begin(::png_structp made) {
    png_ = made;
    if (png_ != nullptr) info_ = ::png_create_info_struct(png_);
    if (info_ == nullptr) std::snprintf(words_, sizeof words_, "no memory for libpng");
    return info_ != nullptr;
  }
  [[noreturn]] static void fail(::png_structp png, ::png_const_charp words) {
    auto* const state = static_cast<PngState*>(::png_get_error_ptr(png));
    std::snprintf(state->words_, sizeof state->words_, "%s", words);
    std::longjmp(state->back_, 1);
  }
  static void ignore(::png_structp, ::png_const_charp) {}

  ::png_structp png_ = nullptr;
  ::png_infop info_ = nullptr;
  std::jmp_buf back_{};

 private:
  char words_[128] = {};
};

/// Each function returns false after an error.
class PngReader final : public PngState {
 public:
  explicit PngReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  ~PngReader() { ::png_destroy_read_struct(&png_, &info_, nullptr); }

  bool read_header() {
    if (setjmp(back_) != 0) return false;
    if (!begin(::png_create_read_struct(PNG_LIBPNG_VER_STRING, static_cast<PngState*>(this), fail, ignore)))
      return false;
    ::png_set_read_fn(png_, this, [](::png_structp png, ::png_bytep to, std::size_t size) {
      auto* const self = static_cast<PngReader*>(::png_get_io_ptr(png));
      if (size > self->bytes_.size() - self->read_) ::png_error(png, "the end of the file");
      std::memcpy(to, self->bytes_.data() + self->read_, size);
      self->read_ += size;
    });
    ::png_set_crc_action(png_, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
    ::png_set_benign_errors(png_, 0);
    // Chunks without pixels are skipped, after their checksum. Of the optional chunks only tRNS is read.
    static constexpr ::png_byte others[] =
        "bKGD\0cHRM\0eXIf\0gAMA\0hIST\0iCCP\0iTXt\0oFFs\0pCAL\0pHYs\0sBIT\0sCAL\0sPLT\0sRGB\0tEXt\0tIME\0zTXt";
    ::png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, 0);
    ::png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, others, static_cast<int>(sizeof others / 5));
    ::png_read_info(png_, info_);
    return true;
  }
  /// Asks for bytes: gray, or red, green and blue, then alpha if it is wanted and present.
  bool choose(bool gray_as_rgb, bool alpha) {
    if (setjmp(back_) != 0) return false;
    ::png_set_expand(png_);
    ::png_set_scale_16(png_);
    if (!alpha) ::png_set_strip_alpha(png_);
    if (gray_as_rgb) ::png_set_gray_to_rgb(png_);
    ::png_set_interlace_handling(png_);
    ::png_read_update_info(png_, info_);
    return true;
  }
  bool read_pixels(::png_bytepp rows) {
    if (setjmp(back_) != 0) return false;
    ::png_read_image(png_, rows);
    ::png_read_end(png_, nullptr);
    return true;
  }

  std::size_t height() const { return ::png_get_image_height(png_, info_); }
  std::size_t width() const { return ::png_get_image_width(png_, info_); }
  std::size_t channels() const { return ::png_get_channels(png_, info_); }
  std::size_t row_bytes() const { return ::png_get_rowbytes(png_, info_); }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t read_ = 0;
};

class PngWriter final : public PngState {
 public:
  ~PngWriter() { ::png_destroy_write_struct(&png_, &info_); }

  bool write(::png_bytepp rows, std::size_t height, std::size_t width, std::size_t channels, int level) {
    if (setjmp(back_) != 0) return false;
    if (!begin(::png_create_write_struct(PNG_LIBPNG_VER_STRING, static_cast<PngState*>(this), fail, ignore)))
      return false;
    ::png_set_write_fn(
        png_, &bytes_,
        [](::png_structp png, ::png_bytep from, std::size_t size) {
          if (!append(*static_cast<std::vector<std::uint8_t>*>(::png_get_io_ptr(png)), from, size))
            ::png_error(png, "no memory for the file");
        },
        [](::png_structp) {});
    constexpr int colours[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                               PNG_COLOR_TYPE_RGB_ALPHA};
    ::png_set_IHDR(png_, info_, static_cast<::png_uint_32>(width), static_cast<::png_uint_32>(height), 8,
                   colours[channels - 1], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    ::png_set_compression_level(png_, level);
    ::png_write_info(png_, info_);
    ::png_write_image(png_, rows);
    ::png_write_end(png_, nullptr);
    return true;
  }
  std::vector<std::uint8_t>& bytes() { return bytes_; }

 private:
  /// No exception passes through libpng.
  static bool append(std::vector<std::uint8_t>& to, const std::uint8_t* from, std::size_t size) noexcept {
    try {
      to.insert(to.end(), from, from + size);
      return true;
    } catch (...) { return false; }
  }

  std::vector<std::uint8_t> bytes_;
};

/// An image without its alpha: blended with the background.
inline Image blended(const Image& image, const std::array<std::uint8_t, 3>& background) {
  const std::size_t colours = image.channels() - 1;
  Image result(image.height(), image.width(), colours);
  const std::uint8_t* from = image.pixels().data();
  std::uint8_t* to = result.pixels().data();
  const std::array<std::uint8_t, 3> behind =
      colours == 3 ? background : std::array<std::uint8_t, 3>{luma(background.data())};
  for (std::size_t i = image.height() * image.width(); i > 0; --i, from += colours + 1, to += colours)
    for (std::size_t c = 0; c < colours; ++c)
      to[c] = static_cast<std::uint8_t>((from[c] * from[colours] + behind[c] * (255 - from[colours]) + 127) / 255);
  return result;
}

#else
inline constexpr bool has_png = false;
#endif

}  // namespace detail

/// Height and width of the image, from the beginning of a PNG file's bytes.
inline std::array<std::size_t, 2> png_extents(std::span<const std::uint8_t> bytes, const std::string& where) {
#if defined(REGIMEN_HAS_PNG)
  detail::PngReader reader(bytes);
  if (!reader.read_header()) throw detail::no_image(where, "PNG", reader.words());
  return {reader.height(), reader.width()};
#else
  throw detail::no_library(where, "libpng, which decodes PNG", "libpng-dev", bytes.size());
#endif
}

/// The image of a PNG file's bytes: every colour type and depth, interlaced or not; 16 bits are rounded to 8. `where`
/// names it in errors. Numbers are as the file has them: gamma and colour profiles are not applied.
///
/// failure  Error for anything that libpng refuses, a wrong checksum in any chunk among them; and for more pixels than
///          decode.most_pixels, or a side above a million
/// source   PNG specification, third edition; libpng's manual
[[gnu::noinline]] inline Image decode_png(std::span<const std::uint8_t> bytes, const std::string& where,
                                          const Decode& decode = {}) {
  detail::expect_decode(where, decode);
#if defined(REGIMEN_HAS_PNG)
  detail::PngReader reader(bytes);
  const auto expect = [&](bool well) {
    if (!well) throw detail::no_image(where, "PNG", reader.words());
  };
  expect(reader.read_header());
  const std::size_t height = reader.height(), width = reader.width();
  detail::expect_pixels(where, height, width, decode);
  expect(reader.choose(decode.channels == 3, decode.blend));
  Image image(height, width, reader.channels());
  if (reader.row_bytes() != width * image.channels())
    throw Error(where, "rows of " + std::to_string(width * image.channels()) + " bytes",
                std::to_string(reader.row_bytes()));
  std::vector<::png_bytep> rows(height);
  for (std::size_t y = 0; y < height; ++y) rows[y] = image.row(y);
  expect(reader.read_pixels(rows.data()));
  if (image.channels() % 2 == 0) image = detail::blended(image, decode.background);
  return decode.channels == 1 && image.channels() == 3 ? to_gray(image) : image;
#else
  throw detail::no_library(where, "libpng, which decodes PNG", "libpng-dev", bytes.size());
#endif
}

/// An image, with or without alpha, as the bytes of a PNG file. Nothing is lost.
///
///   level   of zlib's compression, 0 to 9
[[gnu::noinline]] inline std::vector<std::uint8_t> encode_png(const Image& image, int level = 6) {
  if (image.channels() == 0) throw Error("encode_png", "an image", "one without pixels");
  if (level < 0 || level > 9) throw Error("encode_png", "a level from 0 to 9", std::to_string(level));
#if defined(REGIMEN_HAS_PNG)
  std::vector<::png_bytep> rows(image.height());
  for (std::size_t y = 0; y < image.height(); ++y)
    rows[y] = const_cast<::png_bytep>(image.row(y));  // which it only reads
  detail::PngWriter writer;
  if (!writer.write(rows.data(), image.height(), image.width(), image.channels(), level))
    throw Error("encode_png", "an image that libpng can write", writer.words());
  return std::move(writer.bytes());
#else
  throw Error("encode_png", "a build with libpng", "one without", "install libpng-dev, and link regimen::images");
#endif
}

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
