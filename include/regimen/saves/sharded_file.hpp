// regimen/saves/sharded_file.hpp — weights in one safetensors file, or in several with an index, as other libraries
// have them.
#pragma once

#include <regimen/saves/safetensors.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace regimen::safetensors {

inline constexpr std::string_view extension = ".safetensors", index_extension = ".index.json";

/// The index that stands for a file in parts, and the name of a part: model-00001-of-00003.safetensors.
std::string index_of(const std::string& path);
std::string part_of(const std::string& path, std::size_t part, std::size_t parts);

/// The tensors of a path, checked completely.
///
///   path      a file; an index, *.index.json; a file that is not there, but its index is; or a folder with
///             model.safetensors or model.safetensors.index.json
///   index     {"metadata": {...}, "weight_map": {"name": "model-00001-of-00002.safetensors", ...}}. Metadata, such as
///             total_size, are not read
///
/// failure   Error as of File; of an index that is no such JSON, that names a file outside of its folder, or another
///           tensor than the files have
class ShardedFile final {
 public:
  struct Source {
    const File* file = nullptr;
    const Tensor* tensor = nullptr;
  };

  explicit ShardedFile(const std::string& path);

  /// Of the file, or of its index.
  const std::string& path() const& { return path_; }
  std::string path() const&& { return path(); }
  const std::vector<Source>& tensors() const& { return tensors_; }
  template <class Temporary = ShardedFile>
  const std::vector<Source>& tensors() const&& {
    static_assert(sizeof(typename rule::borrows_no_temporary<Temporary>::must_hold));
    return tensors_;
  }

 private:
  void add(const std::string& path);

  std::string path_;
  std::vector<std::unique_ptr<File>> files_;
  std::vector<Source> tensors_;
};

/// Which tensors go to the same file: in their order, as many as fit `largest` bytes; 0: all.
std::vector<std::size_t> last_of_parts(const std::vector<std::size_t>& bytes, std::size_t largest);

/// Writes a file, or several and their index.
///
///   names, bytes   of the tensors, in the order of the files
///   part(first, last)   writes tensors first, ..., last - 1 to a file: called with (path, first, last)
///
/// killed    a kill leaves each file whole, but the folder may then have files of two saves: if this matters, write to
///           a new folder. The index comes last; then an older single file, which would be read in its place, is
///           removed, and after a single file an older index
/// older     at the end only parts in the old index, and not in the new one, are removed
[[gnu::cold]] void write_in_parts(
    const std::string& path, const std::vector<std::string>& names, const std::vector<std::size_t>& bytes,
    std::size_t largest, const std::function<void(const std::string& file, std::size_t first, std::size_t last)>& part);

}  // namespace regimen::safetensors

#if !REGIMEN_COMPILED
#include <regimen/saves/sharded_file.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
