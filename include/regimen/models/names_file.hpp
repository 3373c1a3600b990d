// regimen/models/names_file.hpp — the files that a mapping reads and writes.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/models/names_walk.hpp>
#include <regimen/models/rules.hpp>
#include <regimen/saves/convert.hpp>
#include <regimen/saves/load_state.hpp>
#include <regimen/saves/safetensors.hpp>
#include <regimen/saves/sharded_file.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace regimen::names::detail {

/// A file's tensor: a tensor of the model, or its rows.
struct Piece {
  std::string name, key;  // as it is written; without an optional prefix
  std::size_t tensor = 0;
  Correspondence both{};
  bool is_absent = false;
  std::vector<std::string> also{};  // keys
};

/// A mapping's tensors, for a model that it fits.
struct TensorMap {
  std::vector<Piece> pieces;
  std::vector<std::string> ignored;  // patterns of keys
  std::vector<std::string> optional;

  std::span<const ModelTensor> tensors;

  static void append(std::string& text, const Scope* scope, bool with_optional) {
    if (scope == nullptr) return;
    append(text, scope->outer, with_optional);
    if (!scope->open->is_optional || with_optional) append_filled(text, scope->open->text, scope);
  }
  static void append_filled(std::string& text, std::string_view part, const Scope* scope) {
    const std::size_t hole = scope == nullptr ? std::string_view::npos : part.find("{}");
    text += part.substr(0, hole);
    if (hole == std::string_view::npos) return;
    text += std::to_string(scope->index);
    text += part.substr(hole + 2);
  }
  static std::string text_of(const Scope* scope, const char* text, bool with_optional) {
    std::string name;
    append(name, scope, with_optional);
    append_filled(name, text, scope);
    return name;
  }
  void place(const Entry& entry, std::size_t tensor, const Correspondence& both, const Scope* scope) {
    for (const Scope* at = scope; at != nullptr; at = at->outer)
      if (at->open->is_optional && std::find(optional.begin(), optional.end(), at->open->text) == optional.end())
        optional.push_back(at->open->text);
    std::string of_layer;
    if (entry.kind == Entry::Kind::layer) of_layer = std::string(".") + tensors[tensor].parameter.name;
    pieces.push_back({.name = text_of(scope, entry.text, true) + of_layer,
                      .key = text_of(scope, entry.text, false) + of_layer,
                      .tensor = tensor,
                      .both = both,
                      .is_absent = entry.is_absent});
  }
  void also(const Entry& entry, const Scope* scope) { pieces.back().also.push_back(text_of(scope, entry.text, false)); }
  void ignore(const Entry& entry, const Scope* scope) { ignored.push_back(text_of(scope, entry.text, false)); }

  std::string_view key_of(std::string_view name) const {
    for (const std::string& prefix : optional)
      if (name.starts_with(prefix)) return name.substr(prefix.size());
    return name;
  }
  static bool matches(std::string_view pattern, std::string_view name) {
    std::size_t p = 0, n = 0, star = std::string_view::npos, from = 0;
    while (n < name.size()) {
      if (p < pattern.size() && pattern[p] == '*') star = p++, from = n;
      else if (p < pattern.size() && pattern[p] == name[n]) ++p, ++n;
      else if (star != std::string_view::npos) p = star + 1, n = ++from;
      else return false;
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
  }
  bool ignores(std::string_view key) const {
    return std::any_of(ignored.begin(), ignored.end(), [&](const auto& pattern) { return matches(pattern, key); });
  }
};

[[gnu::noinline]] inline TensorMap write_out(std::span<const Entry> entries, std::span<const ModelTensor> tensors) {
  TensorMap written;
  written.tensors = tensors;
  Walk<TensorMap> walk{entries, tensors, written};
  walk.run();
  std::set<std::pair<std::string_view, std::size_t>> seen;
  for (const Piece& piece : written.pieces)
    if (!seen.emplace(piece.name, piece.both.their_row).second)
      throw Error("names, tensor \"" + piece.name + "\"", "each name once in a mapping", "two",
                  "a tensor that is several of ours is named by part(...)");
  return written;
}

/// Calls f(element of the model, of the file) for all elements of a piece, in the model's order.
template <class F>
void for_each_pair(const Correspondence& both, F&& f) {
  const std::size_t rank = both.ours.rank;
  std::array<std::size_t, most_axes> stride{}, extent{}, index{};  // along the axes of ours
  std::size_t step = 1;
  for (std::size_t i = rank; i-- > 0;) {
    stride[both.axes[i]] = step;
    step *= both.theirs.of[i];
  }
  std::size_t row_size = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    extent[i] = i == 0 ? both.rows : both.ours.of[i];
    if (i > 0) row_size *= extent[i];
  }
  std::size_t ours = both.row * row_size, theirs = both.their_row * stride[0];
  const std::size_t last = rank - 1, end = ours + both.rows * row_size;
  while (ours < end) {
    for (std::size_t i = 0; i < extent[last]; ++i) f(ours + i, theirs + i * stride[last]);
    ours += extent[last];
    for (std::size_t axis = last; axis-- > 0;) {
      theirs += stride[axis];
      if (++index[axis] < extent[axis]) break;
      theirs -= extent[axis] * stride[axis];
      index[axis] = 0;
    }
  }
}

/// The tensors of a file by the keys of a mapping, checked against it.
class Reading final {
 public:
  /// widest   the most bytes of an element that the owner takes, and the type's name; 0: any
  Reading(const std::string& path, const TensorMap& written, std::size_t widest, const char* widest_name)
      : files_(path), written_(written) {
    for (const Source& found : files_.tensors()) {
      const std::string key(written.key_of(found.tensor->name));
      if (!found_.emplace(key, found).second)
        throw Error(found.file->path(), "one tensor " + key, "two, with and without \"" + prefixes() + "\"");
    }
    std::set<std::string, std::less<>> known;
    for (const Piece& piece : written.pieces) {
      if (piece.is_absent) {
        check_absent(piece);
        continue;
      }
      const Source& found = source(piece);
      check_shape(piece, found);
      if (widest > 0 && safetensors::bytes_of_dtype(found.tensor->dtype) > widest)
        throw Error(place_of(found), std::string("elements no wider than ") + widest_name,
                    safetensors::name_of_dtype(found.tensor->dtype), "convert the file, or train with Precision<fp64>");
      known.insert(piece.key);
      for (const std::string& copy : piece.also) {
        known.insert(copy);
        check_copy(copy, found);
      }
    }
    for (const auto& [key, found] : found_)
      if (!known.contains(key) && !written.ignores(key))
        throw Error(found.file->path(), "tensors of this model only",
                    "the tensor " + found.tensor->name + " of shape " + safetensors::shape_text(found.tensor->shape),
                    "was the file written by a model of this size? Name what the model leaves unread in ignore(...)");
  }

  /// To the model.
  template <class To>
  void copy(const Piece& piece, std::span<To> to) const {
    const Source& found = source(piece);
    saves::with_dtype(*found.file, *found.tensor, [&]<class From>(From) {
      for_each_pair(piece.both, [&](std::size_t ours, std::size_t theirs) {
        From x{};  // tensors in files of other programs may be unaligned
        std::memcpy(&x, found.tensor->bytes.data() + theirs * sizeof(From), sizeof(From));
        to[ours] = saves::rounded<To>(x);
      });
    });
  }

 private:
  using Source = safetensors::ShardedFile::Source;

  static std::string place_of(const Source& found) {
    return found.file->path() + ", tensor \"" + found.tensor->name + "\"";
  }
  std::string prefixes() const {
    std::string text;
    for (const std::string& prefix : written_.optional) text += (text.empty() ? "" : "\", \"") + prefix;
    return text;
  }
  const Source& source(const Piece& piece) const {
    if (const auto place = found_.find(piece.key); place != found_.end()) return place->second;
    for (const std::string& copy : piece.also)
      if (const auto place = found_.find(copy); place != found_.end()) return place->second;
    throw Error(files_.path(),
                "the tensor " + piece.name + " of shape " + safetensors::shape_text(piece.both.theirs.list()), "none",
                "was the file written by a model of this size? Name what files lack in absent(...)");
  }
  void check_absent(const Piece& piece) const {
    std::vector<std::string> keys = piece.also;
    keys.push_back(piece.key);
    for (const std::string& key : keys)
      if (const auto place = found_.find(key); place != found_.end() && !written_.ignores(key))
        throw Error(place_of(place->second), "no such tensor, which the mapping says is absent",
                    "one of shape " + safetensors::shape_text(place->second.tensor->shape),
                    "read it by a line outside of absent(...), or leave it unread by ignore(\"" + key + "\")");
  }
  void check_shape(const Piece& piece, const Source& found) const {
    saves::with_dtype(*found.file, *found.tensor, [](auto) {});
    const std::vector<std::size_t>& shape = found.tensor->shape;
    const std::vector<std::size_t> expected = piece.both.theirs.list();
    if (shape == expected) return;
    std::string cure = "was the file written by a model of this size?";
    std::vector<std::size_t> sorted = shape, right = expected;
    std::sort(sorted.begin(), sorted.end());
    std::sort(right.begin(), right.end());
    if (sorted == right) cure = "its axes have another order: the mapping says which axis of ours each of theirs is";
    throw Error(place_of(found), "shape " + safetensors::shape_text(expected), safetensors::shape_text(shape), cure);
  }
  void check_copy(const std::string& key, const Source& of) const {
    const auto place = found_.find(key);
    if (place == found_.end() || place->second.tensor == of.tensor) return;
    const safetensors::Tensor &copy = *place->second.tensor, &tensor = *of.tensor;
    if (copy.dtype != tensor.dtype || copy.shape != tensor.shape ||
        !std::equal(copy.bytes.begin(), copy.bytes.end(), tensor.bytes.begin(), tensor.bytes.end()))
      throw Error(place_of(place->second), "the values of " + tensor.name + ", to which it is tied", "others");
  }

  safetensors::ShardedFile files_;
  const TensorMap& written_;
  std::map<std::string, Source, std::less<>> found_;
};

/// From model to file.
template <class Parameters>
void write(const TensorMap& written, const Parameters& parameters, const std::string& path, std::size_t largest) {
  struct Theirs {
    safetensors::Dtype dtype{};
    std::vector<const Piece*> pieces{};  // several: they are its parts
  };
  std::vector<std::string> list;
  std::vector<std::size_t> bytes;
  std::vector<Theirs> theirs;
  std::map<std::string_view, std::size_t> places;
  for (const Piece& piece : written.pieces)
    parameters[written.tensors[piece.tensor].position].visit([&]<class T>(std::span<T>) {
      constexpr safetensors::Dtype dtype = safetensors::dtype_of<std::remove_const_t<T>>;
      const auto [place, is_new] = places.emplace(piece.name, theirs.size());
      if (is_new) {
        list.push_back(piece.name);
        bytes.push_back(piece.both.theirs.size() * sizeof(T));
        theirs.push_back({dtype});
      } else if (theirs[place->second].dtype != dtype ||
                 theirs[place->second].pieces[0]->both.theirs.list() != piece.both.theirs.list()) {
        throw Error("names::save, tensor \"" + piece.name + "\"", "parts of one shape and type", "others");
      }
      theirs[place->second].pieces.push_back(&piece);
    });
  safetensors::write_in_parts(
      path, list, bytes, largest, [&](const std::string& file, std::size_t first, std::size_t last) {
        std::vector<safetensors::Tensor> tensors;
        std::vector<std::vector<std::byte>> copies(last - first);
        for (std::size_t i = first; i < last; ++i) {
          std::vector<std::byte>& copy = copies[i - first];
          std::span<const std::byte> as_it_is;
          for (const Piece* piece : theirs[i].pieces)
            parameters[written.tensors[piece->tensor].position].visit([&]<class T>(std::span<T> values) {
              const Correspondence& both = piece->both;
              bool moves = both.rows != both.their_rows;
              for (std::size_t axis = 0; axis < both.ours.rank; ++axis) moves = moves || both.axes[axis] != axis;
              if (!moves) {
                const std::size_t row_size = values.size() / both.ours.of[0];
                as_it_is = std::as_bytes(values.subspan(both.row * row_size, both.rows * row_size));
                return;
              }
              copy.resize(bytes[i]);
              for_each_pair(both, [&](std::size_t from, std::size_t to) {
                std::memcpy(copy.data() + to * sizeof(T), &values[from], sizeof(T));
              });
            });
          tensors.push_back({list[i], theirs[i].dtype, theirs[i].pieces[0]->both.theirs.list(),
                             copy.empty() ? as_it_is : std::span<const std::byte>(copy)});
        }
        safetensors::write(file, tensors);
      });
}

}  // namespace regimen::names::detail
// SPDX-License-Identifier: Apache-2.0
