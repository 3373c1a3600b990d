// regimen/data/jpeg.hpp — JPEG images, by libjpeg-turbo.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/say.hpp>
#include <regimen/data/image.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#if defined(REGIMEN_HAS_JPEG)
#include <csetjmp>
#include <cstdio>  // jpeglib.h names FILE

#include <jpeglib.h>
// its numbers of warnings
#include <jerror.h>
#endif

namespace regimen::data {

/// How an image is decoded.
///
///   channels            3: red, green, blue, also of gray images; 1: gray, by `luma`
///   height, width       the size that you need: a JPEG is decoded at 1/2, 1/4 or 1/8 of its size if no side becomes
///                       less than these. 0: at its full size. Other formats are always decoded at their full size
///   most_pixels         an image of more pixels is refused before memory is allocated
///   blend, background   with `blend` transparent pixels are blended with `background`; without `blend` alpha is
///                       dropped
///   strict              refuses a JPEG whose image is whole, but with stray bytes before its end, or of a revision of
///                       JFIF that does not exist. Without `strict` such images are read as by other libraries;
///                       standard error names the first, and images_with_stray_bytes() counts them
struct Decode final {
  std::size_t channels = 3, height = 0, width = 0, most_pixels = std::size_t{1} << 27;
  bool blend = false;
  std::array<std::uint8_t, 3> background{255, 255, 255};
  bool strict = false;
};

namespace detail {
inline std::atomic<std::uint64_t> stray_images{0};
}  // namespace detail

/// How many of the images that this process has decoded had stray bytes before their end.
inline std::uint64_t images_with_stray_bytes() { return detail::stray_images; }

namespace detail {

inline void expect_decode(const std::string& where, const Decode& decode) {
  if (decode.channels != 1 && decode.channels != 3)
    throw Error(where + ", Decode", "1 or 3 channels", std::to_string(decode.channels));
}
inline void expect_pixels(const std::string& where, std::size_t height, std::size_t width, const Decode& decode) {
  if (height == 0 || width == 0 || height > decode.most_pixels / width)
    throw Error(where, "an image of at most " + std::to_string(decode.most_pixels) + " pixels, but not without any",
                std::to_string(height) + " x " + std::to_string(width),
                "raise Decode::most_pixels if the file is right");
}

/// The error of a format's library for a file.
inline Error no_image(const std::string& where, const char* format, const char* words) {
  return Error(where, std::string("a whole ") + format + " image", words, "the file is damaged or cut off; replace it");
}

/// A build without the library that decodes a format.
inline Error no_library(const std::string& where, const char* library, const char* package, std::size_t bytes) {
  return Error(where, std::string("a build with ") + library, "one without",
               std::string("install ") + package + ", and link regimen::images; " + std::to_string(bytes) +
                   " bytes are not read");
}

#if defined(REGIMEN_HAS_JPEG)
inline constexpr bool has_jpeg = true;

/// libjpeg's errors return to the last setjmp: between it and the call that may fail there is no C++ object.
struct JpegErrors {
  ::jpeg_error_mgr base;  // first: libjpeg has a pointer to it
  std::jmp_buf back;
  char words[JMSG_LENGTH_MAX];
  bool strict;
  bool has_stray_bytes;  // before the end of the image

  void join(auto& info) {
    info.err = ::jpeg_std_error(&base);
    base.error_exit = [](::j_common_ptr of) { fail(of); };
    // Level −1 means corrupt data, which libjpeg would show as gray pixels; other levels are remarks. Two messages of
    // this level are remarks, too, on files of old cameras and programs: bytes after the last pixel, a revision of
    // JFIF.
    base.emit_message = [](::j_common_ptr of, int level) {
      if (level >= 0) return;
      auto* const errors = reinterpret_cast<JpegErrors*>(of->err);
      if (of->err->msg_code == JWRN_JFIF_MAJOR && !errors->strict) return;
      if (of->err->msg_code != JWRN_EXTRANEOUS_DATA || of->err->msg_parm.i[1] != JPEG_EOI || errors->strict) fail(of);
      errors->has_stray_bytes = true;
    };
  }
  /// null: libjpeg's own words.
  [[noreturn]] static void fail(::j_common_ptr of, const char* words = nullptr) {
    auto* const errors = reinterpret_cast<JpegErrors*>(of->err);
    if (words == nullptr) errors->base.format_message(of, errors->words);
    else std::snprintf(errors->words, sizeof errors->words, "%s", words);
    std::longjmp(errors->back, 1);
  }
};

/// Each function returns false after an error.
class JpegReader final {
 public:
  explicit JpegReader(bool strict = false) {
    errors_.join(info_);
    errors_.strict = strict;
  }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
  ~JpegReader() { ::jpeg_destroy_decompress(&info_); }

  bool read_header(std::span<const std::uint8_t> bytes) {
    if (setjmp(errors_.back) != 0) return false;
    jpeg_create_decompress(&info_);
    // A progressive file may repeat its scans without end, each of which costs time for the whole image.
    scans_.progress_monitor = [](::j_common_ptr of) {
      if (reinterpret_cast<::j_decompress_ptr>(of)->input_scan_number > 200)
        JpegErrors::fail(of, "more than 200 scans");
    };
    info_.progress = &scans_;
    ::jpeg_mem_src(&info_, bytes.data(), static_cast<unsigned long>(bytes.size()));
    ::jpeg_read_header(&info_, ::boolean(1));
    return true;
  }
  bool choose(const Decode& decode) {
    if (setjmp(errors_.back) != 0) return false;
    if (four_inks()) info_.out_color_space = JCS_CMYK;
    else info_.out_color_space = decode.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    info_.scale_num = 1;
    info_.scale_denom = 1;
    if (decode.height != 0 || decode.width != 0)
      for (unsigned part = 2; part <= 8 && at_least(info_.image_height, part, decode.height) &&
                              at_least(info_.image_width, part, decode.width);
           part *= 2)
        info_.scale_denom = part;
    ::jpeg_calc_output_dimensions(&info_);
    return true;
  }
  bool read_pixels(std::uint8_t* to) {
    if (setjmp(errors_.back) != 0) return false;
    const std::size_t bytes = std::size_t{info_.output_width} * static_cast<std::size_t>(info_.output_components);
    ::jpeg_start_decompress(&info_);
    while (info_.output_scanline < info_.output_height) {
      ::JSAMPROW rows[8];
      ::JDIMENSION count = 0;
      for (; count < 8 && info_.output_scanline + count < info_.output_height; ++count)
        rows[count] = to + (info_.output_scanline + count) * bytes;
      ::jpeg_read_scanlines(&info_, rows, count);
    }
    ::jpeg_finish_decompress(&info_);
    return true;
  }

  std::size_t file_height() const { return info_.image_height; }
  std::size_t file_width() const { return info_.image_width; }
  std::size_t height() const { return info_.output_height; }
  std::size_t width() const { return info_.output_width; }
  /// Whether pixels are cyan, magenta, yellow and black.
  bool four_inks() const { return info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK; }
  const char* words() const { return errors_.words; }
  bool has_stray_bytes() const { return errors_.has_stray_bytes; }

 private:
  static bool at_least(std::size_t size, std::size_t part, std::size_t wanted) {
    return (size + part - 1) / part >= std::max<std::size_t>(wanted, 1);
  }

  ::jpeg_decompress_struct info_{};
  ::jpeg_progress_mgr scans_{};
  JpegErrors errors_{};
};

/// Prints the first, counts all.
[[gnu::cold]] inline void note_stray_bytes(const std::string& where) {
  if (stray_images++ == 0)
    regimen::detail::say("regimen: " + regimen::detail::printable(where) +
                         ": stray bytes before the end of a JPEG, whose image is whole; others are only counted "
                         "(Decode{.strict = true} refuses them)\n");
}

/// Writes into a buffer that is large enough for any image of its size.
class JpegWriter final {
 public:
  JpegWriter() { errors_.join(info_); }
  JpegWriter(const JpegWriter&) = delete;
  JpegWriter& operator=(const JpegWriter&) = delete;
  ~JpegWriter() { ::jpeg_destroy_compress(&info_); }

  bool write(const std::uint8_t* pixels, std::size_t height, std::size_t width, std::size_t channels, int quality,
             std::uint8_t* to, std::size_t size) {
    if (setjmp(errors_.back) != 0) return false;
    jpeg_create_compress(&info_);
    target_.init_destination = [](::j_compress_ptr) {};
    target_.empty_output_buffer = [](::j_compress_ptr of) -> ::boolean {
      JpegErrors::fail(reinterpret_cast<::j_common_ptr>(of), "more bytes than an image of this size can have");
    };
    target_.term_destination = [](::j_compress_ptr) {};
    target_.next_output_byte = to;
    target_.free_in_buffer = size;
    info_.dest = &target_;
    info_.image_height = static_cast<::JDIMENSION>(height);
    info_.image_width = static_cast<::JDIMENSION>(width);
    info_.input_components = static_cast<int>(channels);
    info_.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    ::jpeg_set_defaults(&info_);
    ::jpeg_set_quality(&info_, quality, ::boolean(1));
    ::jpeg_start_compress(&info_, ::boolean(1));
    while (info_.next_scanline < info_.image_height) {
      ::JSAMPROW row = const_cast<::JSAMPROW>(pixels + info_.next_scanline * width * channels);  // which it only reads
      ::jpeg_write_scanlines(&info_, &row, 1);
    }
    ::jpeg_finish_compress(&info_);
    return true;
  }
  std::size_t left() const { return target_.free_in_buffer; }
  const char* words() const { return errors_.words; }

 private:
  ::jpeg_compress_struct info_{};
  ::jpeg_destination_mgr target_{};
  JpegErrors errors_{};
};

/// An image of inks as red, green and blue. 255 means no ink, as in Adobe's files; also without Adobe's marker, as
/// Pillow and torchvision read it.
inline Image from_inks(const Image& inks) {
  Image result(inks.height(), inks.width(), 3);
  const std::uint8_t* from = inks.pixels().data();
  for (std::size_t i = 0; i < result.pixels().size(); i += 3, from += 4)
    for (std::size_t c = 0; c < 3; ++c)
      result.pixels()[i + c] = static_cast<std::uint8_t>((unsigned{from[c]} * from[3] + 127) / 255);
  return result;
}

#else
inline constexpr bool has_jpeg = false;
#endif

}  // namespace detail

/// Height and width of the image, from the beginning of a JPEG file's bytes.
inline std::array<std::size_t, 2> jpeg_extents(std::span<const std::uint8_t> bytes, const std::string& where) {
#if defined(REGIMEN_HAS_JPEG)
  detail::JpegReader reader;
  if (!reader.read_header(bytes)) throw detail::no_image(where, "JPEG", reader.words());
  return {reader.file_height(), reader.file_width()};
#else
  throw detail::no_library(where, "libjpeg-turbo, which decodes JPEG", "libjpeg-dev", bytes.size());
#endif
}

/// The image of a JPEG file's bytes: baseline and progressive, gray, YCbCr, RGB and CMYK. `where` names it in errors.
/// Colours are the numbers in the file; colour profiles are not applied; orientation in Exif is not applied.
///
/// failure  Error if libjpeg refuses the file or warns about it: another format, corrupt or missing data. (For stray
///          bytes before the end see Decode.) Error for more pixels than decode.most_pixels, or more than 200 scans
/// source   ITU-T T.81; libjpeg-turbo's libjpeg.txt
[[gnu::noinline]] inline Image decode_jpeg(std::span<const std::uint8_t> bytes, const std::string& where,
                                           const Decode& decode = {}) {
  detail::expect_decode(where, decode);
#if defined(REGIMEN_HAS_JPEG)
  detail::JpegReader reader(decode.strict);
  const auto expect = [&](bool well) {
    if (!well) throw detail::no_image(where, "JPEG", reader.words());
  };
  expect(reader.read_header(bytes));
  detail::expect_pixels(where, reader.file_height(), reader.file_width(), decode);
  expect(reader.choose(decode));
  Image image(reader.height(), reader.width(), reader.four_inks() ? 4 : decode.channels);
  expect(reader.read_pixels(image.pixels().data()));
  if (reader.has_stray_bytes()) detail::note_stray_bytes(where);
  if (!reader.four_inks()) return image;
  image = detail::from_inks(image);
  return decode.channels == 1 ? to_gray(image) : image;
#else
  throw detail::no_library(where, "libjpeg-turbo, which decodes JPEG", "libjpeg-dev", bytes.size());
#endif
}

/// A gray image, or one of red, green and blue, as the bytes of a JPEG file.
///
///   quality   1 to 100; colour has half the resolution in both directions
[[gnu::noinline]] inline std::vector<std::uint8_t> encode_jpeg(const Image& image, int quality = 90) {
  constexpr std::size_t most = 65500;
  if ((image.channels() != 1 && image.channels() != 3) || image.height() > most || image.width() > most)
    throw Error("encode_jpeg", "a gray image, or red, green and blue, of at most 65500 x 65500", image.extents());
  if (quality < 1 || quality > 100) throw Error("encode_jpeg", "a quality from 1 to 100", std::to_string(quality));
#if defined(REGIMEN_HAS_JPEG)
  const auto padded = [](std::size_t size) { return (size + 15) / 16 * 16; };
  std::vector<std::uint8_t> bytes(4 * padded(image.height()) * padded(image.width()) + 4096);
  detail::JpegWriter writer;
  if (!writer.write(image.pixels().data(), image.height(), image.width(), image.channels(), quality, bytes.data(),
                    bytes.size()))
    throw Error("encode_jpeg", "an image that libjpeg can write", writer.words());
  bytes.resize(bytes.size() - writer.left());
  return bytes;
#else
  throw Error("encode_jpeg", "a build with libjpeg-turbo", "one without",
              "install libjpeg-dev, and link regimen::images");
#endif
}

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
