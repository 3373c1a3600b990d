// regimen/saves/safetensors.hpp — the safetensors format: files are checked completely
// when read, and written atomically.
#pragma once

#include <regimen/core/mapped_file.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/rules.hpp>
#include <regimen/data/report.hpp>

#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace regimen::safetensors {

/// Element types of the format, in the order of dtype_names and dtype_bytes. A File with another one (F8_E4M3, F4, C64)
/// is refused.
enum class Dtype { F64, F32, F16, BF16, I64, I32, I16, I8, U8, U16, U32, U64, BOOL };

namespace detail {

inline constexpr std::array<const char*, 13> dtype_names{"F64", "F32", "F16", "BF16", "I64", "I32", "I16",
                                                         "I8",  "U8",  "U16", "U32",  "U64", "BOOL"};
inline constexpr std::array<std::size_t, 13> dtype_bytes{8, 4, 2, 2, 8, 4, 2, 1, 1, 2, 4, 8, 1};

/// Integers go by their size and sign, whatever their name.
template <class T>
consteval Dtype find_dtype() {
  if constexpr (std::is_same_v<T, fp64>) return Dtype::F64;
  else if constexpr (std::is_same_v<T, fp32>) return Dtype::F32;
  else if constexpr (std::is_same_v<T, fp16>) return Dtype::F16;
  else if constexpr (std::is_same_v<T, bf16>) return Dtype::BF16;
  else if constexpr (std::is_same_v<T, bool>) return Dtype::BOOL;
  else {
    static_assert(std::is_integral_v<T>,
                  "regimen: safetensors holds numbers; use fp64, fp32, fp16, bf16, bool or an integer type");
    constexpr bool is_signed = std::is_signed_v<T>;
    if constexpr (sizeof(T) == 8) return is_signed ? Dtype::I64 : Dtype::U64;
    else if constexpr (sizeof(T) == 4) return is_signed ? Dtype::I32 : Dtype::U32;
    else if constexpr (sizeof(T) == 2) return is_signed ? Dtype::I16 : Dtype::U16;
    else return is_signed ? Dtype::I8 : Dtype::U8;
  }
}

}  // namespace detail

/// The element type of the file for a T of the program. A BOOL is one byte.
template <class T>
inline constexpr Dtype dtype_of = detail::find_dtype<T>();

/// As the header spells it; and the bytes of one element.
constexpr const char* name_of_dtype(Dtype dtype) { return detail::dtype_names[static_cast<std::size_t>(dtype)]; }
constexpr std::size_t bytes_of_dtype(Dtype dtype) { return detail::dtype_bytes[static_cast<std::size_t>(dtype)]; }

/// A tensor in a file, or to be written to one. `bytes` are its elements, row-major, little-endian; not necessarily
/// aligned in files of other writers. They belong to the File, or to the caller of write().
///   read(tensor, offset, to)   replaces `bytes` for a tensor to be written that the host cannot read: copies
///                              the bytes from `offset` on, of `size`; called piece by piece, in order,
///                              twice. `owner` and `at` locate it
///   at, size                   of a tensor that was read: where its bytes begin in the file's data, and how many
struct Tensor {
  std::string name;
  Dtype dtype = Dtype::F32;
  std::vector<std::size_t> shape;  // empty: one element
  std::span<const std::byte> bytes;
  void (*read)(const Tensor& tensor, std::size_t offset, std::span<std::byte> to) = nullptr;
  void* owner = nullptr;
  std::size_t at = 0, size = 0;

  std::size_t byte_count() const { return read != nullptr ? size : bytes.size(); }
};

/// The metadata of a file, and of one to be written.
using Metadata = std::map<std::string, std::string>;

/// "[2, 3]"
[[gnu::cold]] std::string shape_text(std::span<const std::size_t> shape);

/// A file in the safetensors format: 8 bytes of header length, little-endian; a header in JSON; data.
///
///   { "__metadata__": {"key": "value"}, "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ... }
///
/// The constructor checks all of it: a header of at most 100 MB, well-formed JSON without unknown or
/// repeated keys, known element types, shapes whose product fits 64 bits and agrees with the offsets, offsets that tile
/// the data without gap or overlap, the size of the file to the byte, and, if write() wrote the file, checksums of the
/// header and of each tensor, which find every flipped bit. Files of other programs have no checksums and are accepted.
///
/// failure  Error that names the file, the tensor, the expected and the found value. No memory is allocated for sizes
///          that a header only claims.
/// source   github.com/huggingface/safetensors, format of version 0.3 and later
/// cost     mapped, not copied; one pass over the data for the checksums (about 1 GB/s), reported to `report`
class File final {
 public:
  [[gnu::cold]] explicit File(const std::string& path, const data::Report& report = {});

  const std::string& path() const& { return path_; }
  std::string path() const&& { return path(); }
  /// In the order of their data.
  std::span<const Tensor> tensors() const&;
  template <class Temporary = File>
  std::span<const Tensor> tensors() const&& {
    static_assert(sizeof(typename rule::borrows_no_temporary<Temporary>::must_hold));
    return tensors();
  }
  /// The writer's metadata, without the checksums.
  const Metadata& metadata() const& { return metadata_; }
  Metadata metadata() const&& { return metadata(); }

  /// The tensor of that name, or null.
  [[gnu::cold]] const Tensor* find(std::string_view name) const&;
  template <class Temporary = File>
  const Tensor* find(std::string_view name) const&& {
    static_assert(sizeof(typename rule::borrows_no_temporary<Temporary>::must_hold));
    return find(name);
  }

  /// The tensor of that name; throws Error if there is none.
  [[gnu::cold]] const Tensor& tensor(std::string_view name) const&;
  template <class Temporary = File>
  const Tensor& tensor(std::string_view name) const&& {
    static_assert(sizeof(typename rule::borrows_no_temporary<Temporary>::must_hold));
    return tensor(name);
  }

  /// The tensor of that name; throws Error unless it has this element type and shape.
  template <class T>
  const Tensor& expect(std::string_view name, std::span<const std::size_t> shape) const& {
    return expect(name, dtype_of<T>, shape);
  }
  [[gnu::cold]] const Tensor& expect(std::string_view name, Dtype dtype, std::span<const std::size_t> shape) const&;
  template <class T, class Temporary = File>
  const Tensor& expect(std::string_view name, std::span<const std::size_t> shape) const&& {
    static_assert(sizeof(typename rule::borrows_no_temporary<Temporary>::must_hold));
    return expect<T>(name, shape);
  }

  /// Copies a tensor, which must have this element type and shape; without conversion.
  template <class T>
  void copy(std::string_view name, std::span<const std::size_t> shape, std::span<T> to) const {
    copy(expect<T>(name, shape), std::as_writable_bytes(to));
  }

  /// The metadata of that key; throws Error if there is none.
  [[gnu::cold]] const std::string& value(const std::string& key) const&;
  std::string value(const std::string& key) const&& { return value(key); }

  /// Throws Error: its elements are no floating-point numbers.
  [[noreturn, gnu::cold]] void refuse_dtype(const Tensor& tensor) const;

 private:
  [[gnu::cold]] void copy(const Tensor& from, std::span<std::byte> to) const;
  [[gnu::cold]] void check_sums(const data::Report& report);

  std::string path_;
  MappedFile file_;
  std::vector<Tensor> tensors_;
  Metadata metadata_;
  std::vector<const Tensor*> by_name_;  // into tensors_
};

/// Writes tensors, in any order, and metadata, atomically (see detail::AtomicFile): after a failure or a kill at any
/// moment `path` is the whole old or the whole new file.
///
///   metadata   gets "format": "pt" unless it has a "format", since the transformers library requires one, and the
///              checksums, "crc32" of the header and "crc32.<name>" of each tensor; those keys are reserved
///   data       begin at a multiple of 64 bytes; tensors of wider types come first, so that each is aligned
///
/// failure  Error with the system's reason; for two tensors of one name, a name that is no UTF-8, or a number of bytes
///          that does not match the shape
/// cost     two passes over the data, for checksums and for writing, and the time of the disk
[[gnu::cold]] void write(const std::string& path, std::span<const Tensor> tensors, Metadata metadata = {});

}  // namespace regimen::safetensors

#if !REGIMEN_COMPILED
#include <regimen/saves/safetensors.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
