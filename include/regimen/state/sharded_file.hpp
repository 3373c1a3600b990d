// regimen/state/sharded_file.hpp — weights in one safetensors file, or in several with an index, as other libraries have them.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/mapped_file.hpp>
#include <regimen/state/safetensors.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace regimen::safetensors {

inline constexpr std::string_view extension = ".safetensors", index_extension = ".index.json";

/// The index that stands for a file in parts, and the name of a part: model-00001-of-00003.safetensors.
inline std::string index_of(const std::string& path) { return path + std::string(index_extension); }
inline std::string part_of(const std::string& path, std::size_t part, std::size_t parts) {
  const auto digits = [](std::size_t number) {
    const std::string text = std::to_string(number);
    return std::string(text.size() < 5 ? 5 - text.size() : 0, '0') + text;
  };
  return path.substr(0, path.size() - extension.size()) + "-" + digits(part + 1) + "-of-" + digits(parts) +
         std::string(extension);
}

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
  struct Found {
    const File* file = nullptr;
    const Tensor* tensor = nullptr;
  };

  explicit ShardedFile(const std::string& path) : path_(chosen(path)) {
    if (!path_.ends_with(index_extension)) {
      add(path_);
      return;
    }
    const MappedFile text(path_);
    const std::map<std::string, std::string> places = detail::parse_index(path_, text.bytes());
    std::map<std::string, const File*> files;
    for (const auto& [name, file] : places) {
      const File*& place = files[file];
      if (place != nullptr) continue;
      if (file.find('/') != std::string::npos || file.find('\\') != std::string::npos ||
          file.find('\0') != std::string::npos || !file.ends_with(extension))
        throw Error(path_ + ", weight_map, \"" + name + "\"", "the name of a .safetensors file beside the index",
                    "\"" + file + "\"", "was the index written by another program?");
      add(regimen::detail::directory_of(path_) + file);
      place = files_.back().get();
    }
    for (const Found& found : tensors_) {
      const auto place = places.find(found.tensor->name);
      if (place == places.end() || files[place->second] != found.file)
        throw Error(found.file->path() + ", tensor \"" + found.tensor->name + "\"", "that the index says so",
                    place == places.end() ? "nothing of it there" : "another file",
                    "do index and files belong together?");
    }
    for (const auto& [name, file] : places)
      if (files[file]->find(name) == nullptr)
        throw Error(path_ + ", weight_map, \"" + name + "\"", "a file with this tensor", file + " without it",
                    "do index and files belong together?");
  }

  /// Of the file, or of its index.
  const std::string& path() const { return path_; }
  const std::vector<Found>& tensors() const { return tensors_; }

 private:
  static std::string chosen(const std::string& path) {
    using regimen::detail::exists;
    const bool is_folder = exists(path + "/.");
    const std::string file = is_folder ? path + (path.ends_with('/') ? "" : "/") + "model.safetensors" : path;
    return !exists(file) && exists(index_of(file)) ? index_of(file) : file;
  }
  void add(const std::string& path) {
    files_.push_back(std::make_unique<File>(path));
    for (const Tensor& tensor : files_.back()->tensors()) tensors_.push_back({files_.back().get(), &tensor});
  }

  std::string path_;
  std::vector<std::unique_ptr<File>> files_;
  std::vector<Found> tensors_;
};

/// Which tensors go to the same file: in their order, as many as fit `largest` bytes; 0: all.
inline std::vector<std::size_t> last_of_parts(const std::vector<std::size_t>& bytes, std::size_t largest) {
  std::vector<std::size_t> ends;
  std::size_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (largest > 0 && i > 0 && sum > 0 && bytes[i] > largest - (sum < largest ? sum : largest)) {
      ends.push_back(i);
      sum = 0;
    }
    sum += bytes[i];
  }
  ends.push_back(bytes.size());
  return ends;
}

namespace detail {

/// Whether a file beside `path` has the name of one of its parts.
inline bool is_part_of(const std::string& path, const std::string& file) {
  if (!path.ends_with(extension)) return false;
  const std::string name = regimen::detail::name_of_file(path),
                    stem = name.substr(0, name.size() - extension.size()) + "-";
  if (!file.starts_with(stem) || !file.ends_with(extension) || file.size() < stem.size() + extension.size())
    return false;
  std::string_view rest(file);
  rest = rest.substr(stem.size(), file.size() - stem.size() - extension.size());
  const auto takes_number = [&] {
    const std::size_t digits = (std::min)(rest.find_first_not_of("0123456789"), rest.size());
    rest.remove_prefix(digits);
    return digits >= 5;
  };
  if (!takes_number() || !rest.starts_with("-of-")) return false;
  rest.remove_prefix(4);
  return takes_number() && rest.empty();
}

/// The parts that the index of a path names. Of an index that cannot be read: none.
inline std::set<std::string> parts_in_index(const std::string& path) {
  std::set<std::string> parts;
  if (!regimen::detail::exists(index_of(path))) return parts;
  try {
    const MappedFile text(index_of(path));
    for (const auto& [name, file] : parse_index(index_of(path), text.bytes()))
      if (is_part_of(path, file)) parts.insert(file);
  } catch (const Error&) { parts.clear(); }
  return parts;
}

}  // namespace detail

/// Writes a file, or several and their index.
///
///   names, bytes   of the tensors, in the order of the files
///   part(first, last)   writes tensors first, ..., last - 1 to a file: called with (path, first, last)
///
/// killed    a kill leaves each file whole, but files of two saves may stand beside each other: where that matters,
///           write to a new folder. The index comes last; then an older single file, which would be read in its place,
///           is removed, and beside a single file an older index
/// older     parts that the index named before and does not name now are removed in the end, nothing else
template <class Part>
void write_in_parts(const std::string& path, const std::vector<std::string>& names,
                    const std::vector<std::size_t>& bytes, std::size_t largest, const Part& part) {
  const std::vector<std::size_t> ends = last_of_parts(bytes, largest);
  std::set<std::string> older = detail::parts_in_index(path);
  const auto remove_older = [&] {
    for (const std::string& file : older) std::remove((regimen::detail::directory_of(path) + file).c_str());
  };
  if (ends.size() == 1) {
    part(path, std::size_t{0}, names.size());
    std::remove(index_of(path).c_str());
    remove_older();
    return;
  }
  if (!path.ends_with(extension))
    throw Error(path, "a path that ends in .safetensors, for several files and an index", "another ending");
  std::map<std::string, std::string> places;
  std::size_t first = 0, sum = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const std::string file = part_of(path, i, ends.size());
    part(file, first, ends[i]);
    older.erase(regimen::detail::name_of_file(file));
    for (; first < ends[i]; ++first) {
      places.emplace(names[first], regimen::detail::name_of_file(file));
      sum += bytes[first];
    }
  }
  regimen::detail::AtomicFile index(index_of(path));
  const std::string text = detail::write_index(index_of(path), places, sum);
  index.write(std::as_bytes(std::span(text)));
  index.commit();
  std::remove(path.c_str());
  remove_older();
}

}  // namespace regimen::safetensors
// SPDX-License-Identifier: Apache-2.0
