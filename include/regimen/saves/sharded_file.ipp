// regimen/saves/sharded_file.ipp — a file in parts, found, read and written.
#pragma once

#include <regimen/core/atomic_file.hpp>
#include <regimen/core/compiled.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/mapped_file.hpp>
#include <regimen/saves/safetensors.ipp>
#include <regimen/saves/sharded_file.hpp>

#include <cstdio>
#include <map>
#include <set>

namespace regimen::safetensors {

REGIMEN_INLINE std::string index_of(const std::string& path) { return path + std::string(index_extension); }
REGIMEN_INLINE std::string part_of(const std::string& path, std::size_t part, std::size_t parts) {
  const auto digits = [](std::size_t number) {
    const std::string text = std::to_string(number);
    return std::string(text.size() < 5 ? 5 - text.size() : 0, '0') + text;
  };
  return path.substr(0, path.size() - extension.size()) + "-" + digits(part + 1) + "-of-" + digits(parts) +
         std::string(extension);
}
namespace detail {
/// The file that stands for a path.
inline std::string chosen(const std::string& path) {
  using regimen::detail::exists;
  const bool is_folder = exists(path + "/.");
  const std::string file = is_folder ? path + (path.ends_with('/') ? "" : "/") + "model.safetensors" : path;
  return !exists(file) && exists(index_of(file)) ? index_of(file) : file;
}
}  // namespace detail

REGIMEN_INLINE ShardedFile::ShardedFile(const std::string& path) : path_(detail::chosen(path)) {
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
  for (const Source& found : tensors_) {
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
REGIMEN_INLINE void ShardedFile::add(const std::string& path) {
  files_.push_back(std::make_unique<File>(path));
  for (const Tensor& tensor : files_.back()->tensors()) tensors_.push_back({files_.back().get(), &tensor});
}
REGIMEN_INLINE std::vector<std::size_t> last_of_parts(const std::vector<std::size_t>& bytes, std::size_t largest) {
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
  const std::string name = regimen::detail::name_of_file(path);
  const std::size_t stem = name.size() - extension.size(), of = file.rfind("-of-");
  if (!path.ends_with(extension) || of == std::string::npos || !file.starts_with(name.substr(0, stem) + "-") ||
      !file.ends_with(extension))
    return false;
  const auto is_number = [&](std::size_t from, std::size_t to) {  // others write more digits than part_of
    return to >= from + 5 &&
           std::string_view(file).substr(from, to - from).find_first_not_of("0123456789") == std::string_view::npos;
  };
  return is_number(stem + 1, of) && is_number(of + 4, file.size() - extension.size());
}

/// The parts that the index of a path names; none if the index cannot be read.
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

REGIMEN_INLINE void write_in_parts(
    const std::string& path, const std::vector<std::string>& names, const std::vector<std::size_t>& bytes,
    std::size_t largest,
    const std::function<void(const std::string& file, std::size_t first, std::size_t last)>& part) {
  const std::vector<std::size_t> ends = last_of_parts(bytes, largest);
  std::set<std::string> older = detail::parts_in_index(path);
  const auto remove_older = [&] {
    for (const std::string& file : older) std::remove((regimen::detail::directory_of(path) + file).c_str());
  };
  if (ends.size() == 1) {
    part(path, 0, names.size());
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
  regimen::detail::write_text(index_of(path), detail::write_index(index_of(path), places, sum));
  std::remove(path.c_str());
  remove_older();
}

}  // namespace regimen::safetensors
// SPDX-License-Identifier: Apache-2.0
