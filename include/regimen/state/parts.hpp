// regimen/state/parts.hpp — reads a saved state from one file, or from one part per rank with an index.
#pragma once

#include <regimen/core/atomic_file.hpp>
#include <regimen/core/error.hpp>
#include <regimen/state/convert.hpp>
#include <regimen/state/safetensors.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace regimen::train {

[[gnu::cold]] inline std::uint64_t whole_number(const std::string& path,
                                                const std::map<std::string, std::string>& metadata,
                                                const std::string& key) {
  const auto found = metadata.find(key);
  if (found == metadata.end())
    throw Error(path + ", metadata", "the key " + key, "none", "the file was not written by save");
  const char *const begin = found->second.data(), *const end = begin + found->second.size();
  std::uint64_t value = 0;  // no signs, no spaces, no more than 64 bits
  const auto [stopped, failure] = std::from_chars(begin, end, value);
  if (failure != std::errc{} || stopped != end)
    throw Error(path + ", metadata, " + key, "a whole number below 2^64",
                std::string("\"").append(found->second).append("\""));
  return value;
}

/// The names in the metadata of an index, which has no tensors, and of its parts.
///
///   index   regimen.parts = N; regimen.part.r = the file of part r, beside the index
///   part    a tensor is a run of elements of the whole one, in one dimension; regimen.first.<name> = the first of them
struct PartNames final {
  static constexpr const char* count = "regimen.parts";
  [[gnu::cold]] static std::string part(std::size_t rank) { return "regimen.part." + std::to_string(rank); }
  [[gnu::cold]] static std::string first(const std::string& name) { return "regimen.first." + name; }

  /// <path>.<save>.part-<rank>-of-<ranks>; the name of a save is <step>-<time>
  [[gnu::cold]] static std::string file(const std::string& path, const std::string& save, std::size_t rank,
                                        std::size_t ranks) {
    return path + "." + save + ".part-" + std::to_string(rank) + "-of-" + std::to_string(ranks);
  }
  [[gnu::cold]] static std::uint64_t time_of(std::string_view save) {
    const std::string_view text = save.substr(save.find('-') + 1);
    std::uint64_t time = 0;
    const auto [stopped, failure] = std::from_chars(text.data(), text.data() + text.size(), time);
    return failure == std::errc{} ? time : (std::numeric_limits<std::uint64_t>::max)();
  }
  /// Whether the file is a part, or the temporary of a part, of a state that was saved as `index`, and of which save.
  /// Both names are without their directory.
  struct Found {
    std::string_view save;  // empty: no part
    bool is_temporary = false;
  };
  [[gnu::cold]] static Found find(std::string_view file, std::string_view index) {
    const auto skip = [&](std::string_view text) {
      const bool is = file.starts_with(text);
      file.remove_prefix(is ? text.size() : 0);
      return is;
    };
    const auto skip_number = [&] {
      const std::size_t digits = (std::min)(file.find_first_not_of("0123456789"), file.size());
      file.remove_prefix(digits);
      return digits > 0;
    };
    if (!skip(index) || !skip(".")) return {};
    const char* const begin = file.data();
    if (!skip_number() || !skip("-") || !skip_number()) return {};
    const std::string_view save(begin, static_cast<std::size_t>(file.data() - begin));
    if (!skip(".part-") || !skip_number() || !skip("-of-") || !skip_number()) return {};
    if (file.empty()) return {save, false};
    return regimen::detail::AtomicFile::ends_temporary(file) ? Found{save, true} : Found{};
  }
};

/// A saved state: whole tensors by name, whatever file their elements are in.
///
/// failure  Error for a file or a part that is missing, damaged or of another run; for
///          elements that no part has, or two have
class SavedState final {
 public:
  [[gnu::cold]] explicit SavedState(const std::string& path) : path_(path) {
    files_.emplace_back(path);
    metadata_ = files_.front().metadata();
    if (metadata_.contains(PartNames::count)) read_parts();
    else
      for (const safetensors::Tensor& tensor : files_.front().tensors()) runs_[tensor.name] = {Run{&tensor, 0}};
  }
  SavedState(const SavedState&) = delete;
  SavedState& operator=(const SavedState&) = delete;

  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  bool in_parts() const { return files_.size() > 1; }
  [[gnu::cold]] std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& [name, runs] : runs_) all.push_back(name);
    return all;
  }

  [[gnu::cold]] bool contains(const std::string& name) const { return runs_.find(name) != runs_.end(); }

  /// Throws Error unless there is such a tensor, complete, of this type and shape.
  template <class T>
  [[gnu::cold]] void expect(const std::string& name, const std::vector<std::size_t>& shape) const {
    if (!in_parts()) {
      files_.front().template expect<T>(name, shape);
      return;
    }
    expect_runs(name, shape, [&](const safetensors::Tensor& run) {
      if (run.dtype == safetensors::dtype_of<T>) return;
      throw Error(path_ + ", tensor \"" + name + "\"",
                  std::string("elements of type ") + safetensors::name_of_dtype(safetensors::dtype_of<T>),
                  safetensors::name_of_dtype(run.dtype), "load it with the precision it was saved with");
    });
  }
  /// The same for any floating-point type.
  [[gnu::cold]] void expect_numbers(const std::string& name, const std::vector<std::size_t>& shape) const {
    if (!in_parts()) train::expect_numbers(files_.front(), name, shape);
    else
      expect_runs(name, shape, [&](const safetensors::Tensor& run) { with_dtype(files_.front(), run, [](auto) {}); });
  }

  /// Reads elements [first, first + to.size()) of a tensor that expect has checked.
  template <class T>
  [[gnu::cold]] void copy(const std::string& name, std::size_t first, std::span<T> to) const {
    for_each_overlap(name, first, to.size(),
                     [&](const safetensors::Tensor& run, std::size_t from, std::size_t at, std::size_t count) {
                       std::memcpy(to.data() + at, run.bytes.data() + from * sizeof(T), count * sizeof(T));
                     });
  }
  /// The same with conversion: each number is rounded once to T.
  template <class T>
  [[gnu::cold]] void copy_converted(const std::string& name, std::size_t first, std::span<T> to) const {
    for_each_overlap(name, first, to.size(),
                     [&](const safetensors::Tensor& run, std::size_t from, std::size_t at, std::size_t count) {
                       const std::size_t width = safetensors::bytes_of_dtype(run.dtype);
                       safetensors::Tensor part = run;
                       part.bytes = run.bytes.subspan(from * width, count * width);
                       train::copy_converted(files_.front(), part, to.subspan(at, count));
                     });
  }

  /// The name of the save at `path`: empty if it is one file, or if there is none; nullopt if it cannot be determined.
  [[gnu::cold]] static std::optional<std::string> save_at(const std::string& path) {
    try {
      return regimen::detail::exists(path) ? metadata_of(path)["regimen.save"] : std::string();
    } catch (const Error&) { return std::nullopt; }
  }
  /// What a file says of itself. Reads neither its numbers, nor the parts of an index.
  [[gnu::cold]] static std::map<std::string, std::string> metadata_of(const std::string& path) {
    const MappedFile file(path);
    std::vector<safetensors::Tensor> tensors;
    std::map<std::string, std::string> metadata;
    safetensors::detail::parse_header(path, file.bytes(), tensors, metadata);
    return metadata;
  }

  /// Removes the files beside `path` of saves that began before `time`, except the parts of the save `kept`: parts of a
  /// state that was replaced, and files of ranks that failed or were killed while saving. Files with other names, and
  /// parts of later saves, stay.
  [[gnu::cold]] static void remove_parts_before(const std::string& path, std::uint64_t time,
                                                const std::string& kept = {}) {
    const std::string directory = regimen::detail::directory_of(path), index = regimen::detail::name_of_file(path);
    for (const std::string& name : regimen::detail::names_to_tidy(directory)) {
      const PartNames::Found part = PartNames::find(name, index);
      if (part.save.empty() || part.save == kept || PartNames::time_of(part.save) >= time) continue;
      if (part.is_temporary) regimen::detail::AtomicFile::remove_if_stale(directory + name);
      else std::remove((directory + name).c_str());  // the state is saved, whatever cannot be removed
    }
  }
  /// Moves a state, with its parts, to a folder of the same file system. The index goes first: whoever is killed in
  /// between, or loses power, leaves no index without parts where it was.
  [[gnu::cold]] static void move(const std::string& path, const std::string& folder) {
    const std::string directory = regimen::detail::directory_of(path), index = regimen::detail::name_of_file(path);
    const auto move = [&](const std::string& name) {
      if (std::rename((directory + name).c_str(), (folder + "/" + name).c_str()) != 0)
        throw Error(directory + name, "to move it to " + folder, std::strerror(errno));
    };
    const auto sync = [](const std::string& file) {
      if (!regimen::detail::AtomicFile::sync_directory_of(file))
        throw Error(file, "to sync its directory", std::strerror(errno));
    };
    move(index);
    sync(path);
    for (const std::string& name : regimen::detail::names_in(directory))
      if (!PartNames::find(name, index).save.empty()) move(name);
    sync(folder + "/" + index);
    sync(path);
  }

 private:
  struct Run {
    const safetensors::Tensor* tensor;
    std::size_t first;
  };

  static std::size_t elements_of(const safetensors::Tensor& run) {
    return run.bytes.size() / safetensors::bytes_of_dtype(run.dtype);
  }

  template <class CheckType>
  [[gnu::cold]] void expect_runs(const std::string& name, const std::vector<std::size_t>& shape,
                                 const CheckType& check_type) const {
    std::size_t whole = 1, at = 0;
    for (const std::size_t extent : shape) whole *= extent;
    const auto found = runs_.find(name);
    if (found == runs_.end())
      throw Error(path_, "tensor \"" + name + "\"", "no part of it", "was the file written by another model?");
    for (const Run& run : found->second) {
      check_type(*run.tensor);
      if (run.first != at)
        throw Error(path_ + ", tensor \"" + name + "\"", "a part that begins with element " + std::to_string(at),
                    std::to_string(run.first), "the parts are not of one run");
      at += elements_of(*run.tensor);
    }
    if (at != whole)
      throw Error(path_ + ", tensor \"" + name + "\"", std::to_string(whole) + " elements", std::to_string(at),
                  "was it written by another model?");
  }

  /// Calls f(run, element of the run, element of the request, count) for the pieces of [first,
  /// first + count) that runs have.
  template <class F>
  [[gnu::cold]] void for_each_overlap(const std::string& name, std::size_t first, std::size_t count, const F& f) const {
    for (const Run& run : runs_.at(name)) {
      const std::size_t begin = (std::max)(first, run.first),
                        end = (std::min)(first + count, run.first + elements_of(*run.tensor));
      if (begin < end) f(*run.tensor, begin - run.first, begin - first, end - begin);
    }
  }

  /// Parts are in the folder of their index, even if a malicious index says otherwise.
  [[gnu::cold]] static std::string beside(const std::string& path, const std::string& name) {
    return regimen::detail::directory_of(path) + regimen::detail::name_of_file(name);
  }

  [[gnu::cold]] void read_parts() {
    const std::uint64_t count = whole_number(path_, metadata_, PartNames::count);
    if (count < 1 || count > 65536)
      throw Error(path_ + ", metadata, " + PartNames::count, "1 to 65536 parts", std::to_string(count));
    files_.reserve(static_cast<std::size_t>(count) + 1);  // runs point into them
    for (std::size_t rank = 0; rank < count; ++rank) {
      const std::string part =
          beside(regimen::detail::behind_links(path_), files_.front().value(PartNames::part(rank)));
      files_.emplace_back(part);
      const safetensors::File& file = files_.back();
      const auto same = file.metadata().find("regimen.save");
      if (same == file.metadata().end() || same->second != files_.front().value("regimen.save"))
        throw Error(part, "a part of the state that " + path_ + " is the index of", "one of another",
                    "copy an index and its parts together");
      for (const safetensors::Tensor& tensor : file.tensors())
        runs_[tensor.name].push_back(
            {&tensor, static_cast<std::size_t>(whole_number(part, file.metadata(), PartNames::first(tensor.name)))});
    }
    for (auto& [name, runs] : runs_)
      std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.first < b.first; });
  }

  std::string path_;
  std::vector<safetensors::File> files_;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, std::vector<Run>> runs_;
};

}  // namespace regimen::train
// SPDX-License-Identifier: Apache-2.0
