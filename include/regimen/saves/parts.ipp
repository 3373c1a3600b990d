// regimen/saves/parts.ipp — a saved state, found in its files.
#pragma once

#include <regimen/core/atomic_file.hpp>
#include <regimen/core/compiled.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/mapped_file.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/saves/convert.hpp>
#include <regimen/saves/parts.hpp>
#include <regimen/saves/safetensors.ipp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>

namespace regimen::saves {

REGIMEN_INLINE std::uint64_t whole_number(const std::string& path, const safetensors::Metadata& metadata,
                                          const std::string& key) {
  const auto found = metadata.find(key);
  if (found == metadata.end())
    throw Error(path + ", metadata", "the key " + key, "none", "the file was not written by save");
  const auto value = regimen::detail::number_of<std::uint64_t>(found->second);
  if (!value)
    throw Error(path + ", metadata, " + key, "a whole number below 2^64",
                std::string("\"").append(found->second).append("\""));
  return *value;
}

REGIMEN_INLINE std::string PartNames::part(std::size_t rank) { return "regimen.part." + std::to_string(rank); }
REGIMEN_INLINE std::string PartNames::first(const std::string& name) { return "regimen.first." + name; }
REGIMEN_INLINE std::string PartNames::file(const std::string& path, const std::string& save, std::size_t rank,
                                           std::size_t ranks) {
  return path + "." + save + ".part-" + std::to_string(rank) + "-of-" + std::to_string(ranks);
}
REGIMEN_INLINE std::uint64_t PartNames::time_of(std::string_view save) {
  const auto time = regimen::detail::number_of<std::uint64_t>(save.substr(save.find('-') + 1));
  return time.value_or((std::numeric_limits<std::uint64_t>::max)());
}
REGIMEN_INLINE PartNames::PartName PartNames::find(std::string_view file, std::string_view index) {
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
  return regimen::detail::AtomicFile::ends_temporary(file) ? PartName{save, true} : PartName{};
}

REGIMEN_INLINE SavedState::SavedState(const std::string& path) : path_(path) {
  files_.emplace_back(path);
  metadata_ = files_.front().metadata();
  if (metadata_.contains(PartNames::count)) read_parts();
  else
    for (const safetensors::Tensor& tensor : files_.front().tensors()) runs_[tensor.name] = {Run{&tensor, 0}};
}
REGIMEN_INLINE SavedState::~SavedState() {}  // not defaulted: g++ warns of a defaulted function that is not inlined

REGIMEN_INLINE std::vector<std::string> SavedState::names() const {
  std::vector<std::string> all;
  for (const auto& [name, runs] : runs_) all.push_back(name);
  return all;
}

REGIMEN_INLINE bool SavedState::contains(const std::string& name) const { return runs_.find(name) != runs_.end(); }

/// The number of elements of a part.
inline std::size_t elements_of(const safetensors::Tensor& run) {
  return run.bytes.size() / safetensors::bytes_of_dtype(run.dtype);
}

void SavedState::expect_runs(const std::string& name, const std::vector<std::size_t>& shape,
                             const auto& check_type) const {
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
void SavedState::for_each_overlap(const std::string& name, std::size_t first, std::size_t count, const auto& f) const {
  for (const Run& run : runs_.at(name)) {
    const std::size_t begin = (std::max)(first, run.first),
                      end = (std::min)(first + count, run.first + elements_of(*run.tensor));
    if (begin < end) f(*run.tensor, begin - run.first, begin - first, end - begin);
  }
}

REGIMEN_INLINE void SavedState::expect(const std::string& name, safetensors::Dtype dtype,
                                       const std::vector<std::size_t>& shape) const {
  if (!in_parts()) {
    files_.front().expect(name, dtype, shape);
    return;
  }
  expect_runs(name, shape, [&](const safetensors::Tensor& run) {
    if (run.dtype == dtype) return;
    throw Error(path_ + ", tensor \"" + name + "\"",
                std::string("elements of type ") + safetensors::name_of_dtype(dtype),
                safetensors::name_of_dtype(run.dtype), "load it with the precision it was saved with");
  });
}
inline constexpr const char* weights_alone =
    "it was saved under another Optimizer or Freeze; trainer.load_weights(path) takes the weights alone and begins anew";

REGIMEN_INLINE void SavedState::expect_state(const std::string& name, safetensors::Dtype dtype,
                                             const std::vector<std::size_t>& shape) const {
  if (!contains(name))
    throw Error(path_, "the optimizer state \"" + name + "\"", "the weights of this model without it", weights_alone);
  expect(name, dtype, shape);
}
REGIMEN_INLINE void SavedState::expect_only(const std::vector<std::string>& weights,
                                            const std::vector<std::string>* states) const {
  const auto is_in = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const auto& [found, runs] : runs_) {
    if (is_in(weights, found) || (states != nullptr && is_in(*states, found))) continue;
    // "optimizer.<state>.<name>" of a weight of this model, whatever the update rule calls its state
    const std::size_t dot = found.starts_with("optimizer.") ? found.find('.', 10) : std::string::npos;
    const bool is_of_weight = dot != std::string::npos && is_in(weights, found.substr(dot + 1));
    if (is_of_weight && states == nullptr) continue;
    if (is_of_weight)
      throw Error(path_, "optimizer state that this Trainer keeps", "the weights of this model and \"" + found + "\"",
                  weights_alone);
    throw Error(path_, "tensors of this model only", "the tensor " + found,
                "load it into the model that it was saved from");
  }
}
REGIMEN_INLINE void SavedState::expect_numbers(const std::string& name, const std::vector<std::size_t>& shape) const {
  const safetensors::File& file = files_.front();
  const auto check = [&](const safetensors::Tensor& run) { with_dtype(file, run, [](auto) {}); };
  if (in_parts()) return expect_runs(name, shape, check);
  const safetensors::Tensor& found = file.tensor(name);
  check(found);
  file.expect(name, found.dtype, shape);
}

REGIMEN_INLINE void SavedState::copy(const std::string& name, std::size_t first, std::span<std::byte> to,
                                     std::size_t width) const {
  for_each_overlap(name, first, to.size() / width,
                   [&](const safetensors::Tensor& run, std::size_t from, std::size_t at, std::size_t count) {
                     std::memcpy(to.data() + at * width, run.bytes.data() + from * width, count * width);
                   });
}
template <Number To>
void SavedState::copy_converted(const std::string& name, std::size_t first, std::span<To> to) const {
  for_each_overlap(name, first, to.size(),
                   [&](const safetensors::Tensor& run, std::size_t from, std::size_t at, std::size_t count) {
                     with_dtype(files_.front(), run, [&]<class From>(From) {
                       for (std::size_t i = 0; i < count; ++i) {
                         From x{};  // tensors in files of other programs may be unaligned
                         std::memcpy(&x, run.bytes.data() + (from + i) * sizeof(From), sizeof(From));
                         to[at + i] = rounded<To>(x);
                       }
                     });
                   });
}
#if REGIMEN_COMPILED
template void SavedState::copy_converted(const std::string&, std::size_t, std::span<fp64>) const;
template void SavedState::copy_converted(const std::string&, std::size_t, std::span<fp32>) const;
template void SavedState::copy_converted(const std::string&, std::size_t, std::span<bf16>) const;
template void SavedState::copy_converted(const std::string&, std::size_t, std::span<fp16>) const;
#endif

REGIMEN_INLINE std::optional<std::string> SavedState::save_at(const std::string& path) {
  try {
    return regimen::detail::exists(path) ? metadata_of(path)["regimen.save"] : std::string();
  } catch (const Error&) { return std::nullopt; }
}
REGIMEN_INLINE safetensors::Metadata SavedState::metadata_of(const std::string& path) {
  const MappedFile file(path);
  std::vector<safetensors::Tensor> tensors;
  safetensors::Metadata metadata;
  safetensors::detail::parse_header(path, file.bytes(), tensors, metadata);
  return metadata;
}

REGIMEN_INLINE void SavedState::remove_parts_before(const std::string& path, std::uint64_t time,
                                                    const std::string& kept) {
  const std::string directory = regimen::detail::directory_of(path), index = regimen::detail::name_of_file(path);
  for (const std::string& name : regimen::detail::names_to_tidy(directory)) {
    const PartNames::PartName part = PartNames::find(name, index);
    if (part.save.empty() || part.save == kept || PartNames::time_of(part.save) >= time) continue;
    if (part.is_temporary) regimen::detail::AtomicFile::remove_if_stale(directory + name);
    else std::remove((directory + name).c_str());  // the state is saved, whatever cannot be removed
  }
}
REGIMEN_INLINE void SavedState::move(const std::string& path, const std::string& folder) {
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

REGIMEN_INLINE void SavedState::read_parts() {
  const std::uint64_t count = whole_number(path_, metadata_, PartNames::count);
  if (count < 1 || count > 65536)
    throw Error(path_ + ", metadata, " + PartNames::count, "1 to 65536 parts", std::to_string(count));
  files_.reserve(static_cast<std::size_t>(count) + 1);  // runs point into them
  // Parts are in the folder of their index, even if a malicious index says otherwise.
  const std::string folder = regimen::detail::directory_of(regimen::detail::behind_links(path_));
  for (std::size_t rank = 0; rank < count; ++rank) {
    const std::string part = folder + regimen::detail::name_of_file(files_.front().value(PartNames::part(rank)));
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

}  // namespace regimen::saves
// SPDX-License-Identifier: Apache-2.0
