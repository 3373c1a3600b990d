// regimen/saves/parts.hpp — reads a saved state from one file, or from one part per rank with an index.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/saves/safetensors.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace regimen::saves {

/// The number in the metadata of that key; throws Error if there is none.
[[gnu::cold]] std::uint64_t whole_number(const std::string& path, const safetensors::Metadata& metadata,
                                         const std::string& key);

/// The names in the metadata of an index, which has no tensors, and of its parts.
///
///   index   regimen.parts = N, at most 65536; regimen.part.r = the file of part r, beside the index, without a folder
///   both    regimen.save = the name of the save: a part of another save is refused
///   part    a tensor is a run of elements of the whole one, in one dimension; regimen.first.<name> = the first of them
struct PartNames final {
  static constexpr const char* count = "regimen.parts";
  [[gnu::cold]] static std::string part(std::size_t rank);
  [[gnu::cold]] static std::string first(const std::string& name);

  /// <path>.<save>.part-<rank>-of-<ranks>; the name of a save is <step>-<time>
  [[gnu::cold]] static std::string file(const std::string& path, const std::string& save, std::size_t rank,
                                        std::size_t ranks);
  /// The time in the name of a save, as StateFiles has it; 2^64 - 1, later than any, if there is no number.
  [[gnu::cold]] static std::uint64_t time_of(std::string_view save);
  /// Whether the file is a part, or the temporary of a part, of a state saved as `index`, and the name of its save.
  /// Both names are without their directory.
  struct PartName {
    std::string_view save;  // empty: no part
    bool is_temporary = false;
  };
  [[gnu::cold]] static PartName find(std::string_view file, std::string_view index);
};

/// A saved state: whole tensors by name, whatever file their elements are in.
///
/// failure  Error for a file or a part that is missing, damaged or of another run; for
///          elements that no part has, or two have
class SavedState final {
 public:
  [[gnu::cold]] explicit SavedState(const std::string& path);
  [[gnu::cold]] ~SavedState();
  SavedState(const SavedState&) = delete;
  SavedState& operator=(const SavedState&) = delete;

  const safetensors::Metadata& metadata() const& { return metadata_; }
  safetensors::Metadata metadata() const&& { return metadata(); }
  bool in_parts() const { return files_.size() > 1; }
  [[gnu::cold]] std::vector<std::string> names() const;
  [[gnu::cold]] bool contains(const std::string& name) const;

  /// Throws Error unless there is such a tensor, complete, of this type and shape.
  template <class T>
  void expect(const std::string& name, const std::vector<std::size_t>& shape) const {
    expect(name, safetensors::dtype_of<T>, shape);
  }
  [[gnu::cold]] void expect(const std::string& name, safetensors::Dtype dtype,
                            const std::vector<std::size_t>& shape) const;
  /// As expect; optimizer state may be absent.
  [[gnu::cold]] void expect_state(const std::string& name, safetensors::Dtype dtype,
                                  const std::vector<std::size_t>& shape) const;
  /// Throws Error for a tensor that is neither one of these weights nor of this optimizer state.
  ///   states   null: any optimizer state of these weights is allowed, and not read
  [[gnu::cold]] void expect_only(const std::vector<std::string>& weights, const std::vector<std::string>* states) const;
  /// As expect, for any floating-point type.
  [[gnu::cold]] void expect_numbers(const std::string& name, const std::vector<std::size_t>& shape) const;

  /// Reads elements [first, first + to.size()) of a tensor that expect has checked.
  template <class T>
  void copy(const std::string& name, std::size_t first, std::span<T> to) const {
    copy(name, first, std::as_writable_bytes(to), sizeof(T));
  }
  /// As copy, with conversion: each number is rounded once to To.
  template <Number To>
  [[gnu::cold]] void copy_converted(const std::string& name, std::size_t first, std::span<To> to) const;

  /// The name of the save at `path`: empty if it is one file, or if there is none; nullopt if it cannot be determined.
  [[gnu::cold]] static std::optional<std::string> save_at(const std::string& path);
  /// The metadata of a file. Reads neither its numbers, nor the parts of an index.
  [[gnu::cold]] static safetensors::Metadata metadata_of(const std::string& path);

  /// Removes the files beside `path` of saves that began before `time`, except the parts of the save `kept`: parts of a
  /// state that was replaced, and files of ranks that failed or were killed while saving. Files with other names, and
  /// parts of later saves, stay.
  [[gnu::cold]] static void remove_parts_before(const std::string& path, std::uint64_t time,
                                                const std::string& kept = {});
  /// Moves a state, with its parts, to a folder of the same file system. The index goes first: a kill or power cut in
  /// between leaves no index without parts at the old place.
  [[gnu::cold]] static void move(const std::string& path, const std::string& folder);

 private:
  struct Run {
    const safetensors::Tensor* tensor;
    std::size_t first;
  };

  [[gnu::cold]] void copy(const std::string& name, std::size_t first, std::span<std::byte> to, std::size_t width) const;
  [[gnu::cold]] void expect_runs(const std::string& name, const std::vector<std::size_t>& shape,
                                 const auto& check_type) const;
  [[gnu::cold]] void for_each_overlap(const std::string& name, std::size_t first, std::size_t count,
                                      const auto& f) const;
  [[gnu::cold]] void read_parts();

  std::string path_;
  std::vector<safetensors::File> files_;
  safetensors::Metadata metadata_;
  std::map<std::string, std::vector<Run>> runs_;
};

}  // namespace regimen::saves

#if !REGIMEN_COMPILED
#include <regimen/saves/parts.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
