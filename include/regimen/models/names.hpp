// regimen/models/names.hpp — a model's tensors by the names of another library: files that both read and write.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/layer/layer.hpp>
#include <regimen/rule/names_fit_model.hpp>
#include <regimen/state/convert.hpp>
#include <regimen/state/load_state.hpp>
#include <regimen/state/safetensors.hpp>
#include <regimen/state/sharded_file.hpp>
#include <regimen/state/trainer_state.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace regimen::names {

namespace detail {

inline constexpr std::size_t most_axes = 6;

struct Extents {
  std::size_t rank = 0;
  std::array<std::size_t, most_axes> of{};

  constexpr std::size_t size() const {
    std::size_t product = 1;
    for (std::size_t i = 0; i < rank; ++i) product *= of[i];
    return product;
  }
  std::vector<std::size_t> list() const { return {of.begin(), of.begin() + rank}; }
};

/// A line of a mapping.
struct Entry {
  enum class Kind : unsigned char { tensor, layer, also, ignore, open };
  Kind kind = Kind::tensor;
  bool repeats = false;      // of open: it has an index of its own
  bool is_optional = false;  // of open: files may have the prefix or not
  bool joins_next = false;   // this entry and the next are rows of one tensor of ours
  const char* text = "";
  std::size_t first = 0, count = 1, length = 0;          // of open: its indices, and the entries inside
  Extents axes{}, view{};                                // rank 0: as they are
  std::size_t share = 1, shares_before = 0, shares = 1;  // the rows of ours that it is
  std::size_t part = 0, part_count = 1, parts = 1;       // the rows of theirs that ours is
};

/// A tensor of a model, as its walker lists it.
///   layer      the same for the tensors of one layer
///   position   in parameters(), where buffers come last
struct ModelTensor {
  Parameter parameter{};
  bool is_buffer = false;
  std::uint64_t layer = 0;
  std::size_t position = 0;
};

/// How one entry and one tensor correspond. Rows are along axis 0 of the view of ours.
struct Correspondence {
  Misfit misfit = Misfit::none;
  Extents ours{};  // as viewed
  std::size_t row = 0, rows = 0, their_row = 0, their_rows = 0;
  std::array<std::size_t, most_axes> axes{0, 1, 2, 3, 4, 5};  // axis i of theirs is axis axes[i] of ours
  Extents theirs{};
};

constexpr Correspondence correspond(const Entry& entry, const Parameter& parameter) {
  Correspondence result;
  Extents& ours = result.ours;
  ours.rank = parameter.rank;
  for (std::size_t i = 0; i < ours.rank; ++i) ours.of[i] = parameter.extents[i];
  const bool alone = entry.kind == Entry::Kind::tensor;
  if (entry.view.rank > 0 && (alone || ours.rank > 1)) {
    Extents view = entry.view;
    std::size_t known = 1, open = most_axes;
    for (std::size_t i = 0; i < view.rank; ++i)
      if (view.of[i] == 0 && open == most_axes) open = i;
      else known *= view.of[i];
    if (open < most_axes) view.of[open] = known == 0 ? 0 : ours.size() / known;
    if (view.size() != ours.size()) result.misfit = Misfit::shape_of_tensor;
    ours = view;
  }
  if (entry.share == 0 || entry.part_count == 0 || entry.part_count > entry.parts ||
      entry.part > entry.parts - entry.part_count) {
    result.misfit = Misfit::rows_of_tensor;
    return result;
  }
  if (ours.of[0] % entry.shares != 0) result.misfit = Misfit::rows_of_tensor;
  result.row = ours.of[0] / entry.shares * entry.shares_before;
  result.rows = ours.of[0] / entry.shares * entry.share;
  if (result.rows % entry.part_count != 0) result.misfit = Misfit::rows_of_tensor;
  result.their_row = result.rows / entry.part_count * entry.part;
  result.their_rows = result.rows / entry.part_count * entry.parts;
  if (entry.axes.rank == ours.rank)
    for (std::size_t i = 0; i < ours.rank; ++i) result.axes[i] = entry.axes.of[i];
  else if (entry.axes.rank > 0 && alone) result.misfit = Misfit::shape_of_tensor;
  result.theirs.rank = ours.rank;
  std::array<bool, most_axes> used{};
  for (std::size_t i = 0; i < ours.rank; ++i) {
    const std::size_t axis = result.axes[i];
    if (axis >= ours.rank || used[axis]) {
      result.misfit = Misfit::shape_of_tensor;
      continue;
    }
    used[axis] = true;
    result.theirs.of[i] = axis == 0 ? result.their_rows : ours.of[axis];
  }
  return result;
}

/// The prefixes around an entry.
struct Scope {
  const Scope* outer = nullptr;
  const Entry* open = nullptr;
  std::size_t index = 0;
};

constexpr bool are_equal(const char* a, const char* b) {
  for (; *a != '\0' && *a == *b; ++a, ++b) {}
  return *a == *b;
}

/// Goes through a mapping and a model side by side.
///   sink   place(entry, tensor, correspondence, scope), also(entry, scope), ignore(entry, scope)
template <class Sink>
struct Walk {
  std::span<const Entry> entries;
  std::span<const ModelTensor> tensors;
  Sink& sink;
  Misfit misfit = Misfit::none;
  std::size_t at = 0;    // where it is
  std::size_t next = 0;  // the tensor that is named next
  bool alone = false;    // whether the last entry was a tensor of one piece

  constexpr bool run() {
    return block(0, entries.size(), nullptr) && (next == tensors.size() || fail(Misfit::tensors_without_name, next));
  }

 private:
  constexpr bool fail(Misfit what, std::size_t where) {
    misfit = what;
    at = where;
    return false;
  }
  static constexpr bool names_tensors(const Entry& entry) {
    return entry.kind == Entry::Kind::tensor || entry.kind == Entry::Kind::layer;
  }
  /// Ours may be a part of theirs: then the parts in one block are all of it.
  constexpr bool has_all_parts(std::size_t begin, std::size_t end, std::size_t which) const {
    std::size_t sum = 0;
    for (std::size_t i = begin; i < end; ++i)
      if (entries[i].kind == Entry::Kind::open) i += entries[i].length;
      else if (entries[i].parts > 1 && are_equal(entries[i].text, entries[which].text)) {
        if (entries[i].part != sum || entries[i].parts != entries[which].parts) return false;
        sum += entries[i].part_count;
      }
    return sum == entries[which].parts;
  }
  constexpr bool block(std::size_t begin, std::size_t end, const Scope* scope) {
    for (std::size_t i = begin; i < end; ++i) {
      const Entry& entry = entries[i];
      if (entry.joins_next && !names_tensors(entry)) return fail(Misfit::rows_of_tensor, next);
      if (entry.kind == Entry::Kind::open) {
        for (std::size_t index = entry.first; entry.length > 0 && index < entry.first + entry.count; ++index) {
          const Scope inner{scope, &entry, entry.repeats || scope == nullptr ? index : scope->index};
          if (!block(i + 1, i + 1 + entry.length, &inner)) return false;
        }
        i += entry.length;
        alone = false;
      } else if (entry.kind == Entry::Kind::ignore) {
        sink.ignore(entry, scope);
      } else if (entry.kind == Entry::Kind::also) {
        if (!alone) return fail(Misfit::copy_of_nothing, i);
        sink.also(entry, scope);
      } else {
        std::size_t last = i;
        while (entries[last].joins_next)
          if (!names_tensors(entries[++last])) return fail(Misfit::rows_of_tensor, next);
        if (next == tensors.size()) return fail(Misfit::names_without_tensor, i);
        const std::uint64_t layer = tensors[next].layer;
        do {
          for (std::size_t piece = i; piece <= last; ++piece) {
            const Correspondence both = correspond(entries[piece], tensors[next].parameter);
            if (both.misfit != Misfit::none) return fail(both.misfit, next);
            if (entries[piece].parts > 1 && !has_all_parts(begin, end, piece))
              return fail(Misfit::parts_of_entry, piece);
            sink.place(entries[piece], next, both, scope);
          }
          ++next;
        } while (entry.kind == Entry::Kind::layer && next < tensors.size() && tensors[next].layer == layer);
        alone = last == i && entry.kind == Entry::Kind::tensor;
        i = last;
      }
    }
    return true;
  }
};

/// The tensors of a bound model, in the order in which a mapping names them.
template <class Bound>
struct TensorsOf {
  struct Counter {
    std::size_t parameters = 0, buffers = 0;
    constexpr void operator()(auto, const Parameter&, bool) { ++parameters; }
    constexpr void operator()(auto, const Parameter&) { ++buffers; }
  };
  static constexpr Counter counts = [] {
    Counter counter;
    Bound::list_tensors(counter);
    return counter;
  }();
  static constexpr std::size_t count = counts.parameters + counts.buffers;
  struct Lister {
    std::array<ModelTensor, count> list{};
    std::size_t here = 0, parameters = 0, buffers = counts.parameters;
    constexpr void operator()(auto path, const Parameter& parameter, bool) {
      list[here++] = {parameter, false, path.layer, parameters++};
    }
    constexpr void operator()(auto path, const Parameter& parameter) {
      list[here++] = {parameter, true, path.layer, buffers++};
    }
  };
  static constexpr std::array<ModelTensor, count> list = [] {
    Lister lister;
    Bound::list_tensors(lister);
    return lister.list;
  }();
};

struct Verdict {
  Misfit misfit = Misfit::none;
  std::size_t at = 0;
};
constexpr Verdict compare(std::span<const Entry> entries, std::span<const ModelTensor> tensors) {
  struct Nothing {
    constexpr void place(const Entry&, std::size_t, const Correspondence&, const Scope*) {}
    constexpr void also(const Entry&, const Scope*) {}
    constexpr void ignore(const Entry&, const Scope*) {}
  } nothing;
  Walk<Nothing> walk{entries, tensors, nothing};
  walk.run();
  return {walk.misfit, walk.at};
}

}  // namespace detail

/// Some lines of a mapping.
template <std::size_t N>
struct Names final {
  std::array<detail::Entry, N> entries{};

  /// Files may have a copy of the last tensor under this name, too, or in place of it: tied weights. Copies must be
  /// equal; none is written.
  constexpr Names<N + 1> also(const char* name) const;
  /// Axis i of their tensor is axis axes[i] of ours, of the view if there is one. In a layer, of its tensors with so
  /// many axes.
  template <class... Axes>
  constexpr Names axes(Axes... axes) const {
    static_assert(N == 1 && sizeof...(Axes) <= detail::most_axes, "regimen: one name at a time has axes, at most 6");
    Names result = *this;
    result.entries[0].axes = {sizeof...(Axes), {static_cast<std::size_t>(axes)...}};
    return result;
  }
  /// Their matrix is the transpose of ours.
  constexpr Names transposed() const { return axes(1, 0); }
  /// Ours has these extents before its axes change; one may be 0: what remains. In a layer, its tensors with several
  /// axes.
  template <class... Of>
  constexpr Names viewed(Of... extents) const {
    static_assert(N == 1 && sizeof...(Of) <= detail::most_axes, "regimen: one name at a time has a view, of at most 6");
    Names result = *this;
    result.entries[0].view = {sizeof...(Of), {static_cast<std::size_t>(extents)...}};
    return result;
  }
  /// Its share of the rows inside of joined(...).
  constexpr Names shares(std::size_t count) const {
    static_assert(N == 1, "regimen: one name at a time has shares");
    Names result = *this;
    result.entries[0].share = count;
    return result;
  }
  /// Ours is rows of theirs: the shares first, ..., first + count - 1 of `of`.
  constexpr Names part(std::size_t first, std::size_t count, std::size_t of) const {
    static_assert(N == 1, "regimen: one name at a time is a part");
    Names result = *this;
    result.entries[0].part = first;
    result.entries[0].part_count = count;
    result.entries[0].parts = of;
    return result;
  }
};

namespace detail {

template <std::size_t... N>
constexpr auto together(const Names<N>&... parts) {
  Names<(N + ... + 0)> all;
  std::size_t at = 0;
  const auto add = [&](const auto& part) {
    for (const Entry& entry : part.entries) all.entries[at++] = entry;
  };
  (add(parts), ...);
  return all;
}
constexpr Names<1> one(Entry::Kind kind, const char* text) {
  Names<1> result;
  result.entries[0].kind = kind;
  result.entries[0].text = text;
  return result;
}
constexpr Names<1> open(const char* text, std::size_t first, std::size_t count, std::size_t length, bool is_optional) {
  Names<1> result = one(Entry::Kind::open, text);
  result.entries[0].first = first;
  result.entries[0].count = count;
  result.entries[0].length = length;
  result.entries[0].is_optional = is_optional;
  return result;
}

}  // namespace detail

template <std::size_t N>
constexpr Names<N + 1> Names<N>::also(const char* name) const {
  return detail::together(*this, detail::one(detail::Entry::Kind::also, name));
}

/// The next tensor of the model.
constexpr Names<1> tensor(const char* name) { return detail::one(detail::Entry::Kind::tensor, name); }
/// All tensors of the next layer: "name.weight", "name.bias", "name.running_mean", ..., as they are called here.
constexpr Names<1> layer(const char* name) { return detail::one(detail::Entry::Kind::layer, name); }
/// The same of a Conv2d, whose weight is (out,h,w,in) here and (out,in,h,w) there.
constexpr Names<1> conv2d(const char* name) { return layer(name).axes(0, 3, 1, 2); }
/// Several of their tensors, or layers, are rows of the next tensor, or layer, of ours, one behind the other, in
/// proportion to their shares.
template <class... Parts>
constexpr auto joined(const Parts&... parts) {
  auto all = detail::together(parts...);
  static_assert(all.entries.size() == sizeof...(Parts), "regimen: joined takes single names; leave out also");
  std::size_t sum = 0;
  for (auto& entry : all.entries) {
    entry.shares_before = sum;
    entry.joins_next = &entry != &all.entries.back();
    sum += entry.share;
  }
  for (auto& entry : all.entries) entry.shares = sum;
  return all;
}
/// These names, with a prefix. In nested ones the outer is in front.
template <std::size_t... N>
constexpr auto inside(const char* prefix, const Names<N>&... parts) {
  return detail::together(detail::open(prefix, 0, 1, (N + ... + 0), false), parts...);
}
/// The same; files may also have it without the prefix.
template <std::size_t... N>
constexpr auto inside_optional(const char* prefix, const Names<N>&... parts) {
  return detail::together(detail::open(prefix, 0, 1, (N + ... + 0), true), parts...);
}
/// These names `count` times, with a prefix whose {} is the index: of a Repeat, or of equal layers in a row. A {} in one of
/// these names is the index, too. Indices begin with `first`.
template <std::size_t... N>
constexpr auto repeat_from(std::size_t first, std::size_t count, const char* prefix, const Names<N>&... parts) {
  auto all = detail::together(detail::open(prefix, first, count, (N + ... + 0), false), parts...);
  all.entries[0].repeats = true;
  return all;
}
/// The same, with indices from 0 on.
template <std::size_t... N>
constexpr auto repeat(std::size_t count, const char* prefix, const Names<N>&... parts) {
  return repeat_from(0, count, prefix, parts...);
}
/// Tensors of files that are no weights, such as masks and counters. A * stands for any text. Not written.
constexpr Names<1> ignore(const char* pattern) { return detail::one(detail::Entry::Kind::ignore, pattern); }
/// A whole mapping, or a piece of one without a prefix.
template <std::size_t... N>
constexpr auto list(const Names<N>&... parts) {
  return detail::together(parts...);
}

namespace detail {

/// A tensor of theirs, or the rows of ours that it is.
struct Piece {
  std::string name, key;  // as it is written; without an optional prefix
  std::size_t tensor = 0;
  Correspondence both{};
  std::vector<std::string> also{};  // keys
};

/// A mapping, written out for a model that it fits.
struct Written {
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
    Piece piece{text_of(scope, entry.text, true), text_of(scope, entry.text, false), tensor, both};
    if (entry.kind == Entry::Kind::layer) {
      for (std::string* name : {&piece.name, &piece.key}) *name += std::string(".") + tensors[tensor].parameter.name;
    }
    pieces.push_back(std::move(piece));
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

[[gnu::noinline]] inline Written write_out(std::span<const Entry> entries, std::span<const ModelTensor> tensors) {
  Written written;
  written.tensors = tensors;
  Walk<Written> walk{entries, tensors, written};
  walk.run();
  std::set<std::pair<std::string_view, std::size_t>> seen;
  for (const Piece& piece : written.pieces)
    if (!seen.emplace(piece.name, piece.both.their_row).second)
      throw Error("names, tensor \"" + piece.name + "\"", "each name once in a mapping", "two",
                  "a tensor that is several of ours is named by part(...)");
  return written;
}

/// Calls f(element of ours, element of theirs) for all elements of a piece, in the order of ours.
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
  /// widest   bytes of an element that the owner takes, and what it calls the type; 0: any
  Reading(const std::string& path, const Written& written, std::size_t widest, const char* widest_name)
      : files_(path), written_(written) {
    for (const Found& found : files_.tensors()) {
      const std::string key(written.key_of(found.tensor->name));
      if (!found_.emplace(key, found).second)
        throw Error(found.file->path(), "one tensor " + key, "two, with and without \"" + prefixes() + "\"");
    }
    std::set<std::string, std::less<>> known;
    for (const Piece& piece : written.pieces) {
      const Found& found = source(piece);
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
        throw Error(found.file->path(), "tensors of this model only", "the tensor " + found.tensor->name,
                    "was the file written by a model of this size?");
  }

  /// Ours, from theirs.
  template <class To>
  void copy(const Piece& piece, std::span<To> to) const {
    const Found& found = source(piece);
    train::with_dtype(*found.file, *found.tensor, [&]<class From>(From) {
      for_each_pair(piece.both, [&](std::size_t ours, std::size_t theirs) {
        From x{};  // tensors in files of other programs may be unaligned
        std::memcpy(&x, found.tensor->bytes.data() + theirs * sizeof(From), sizeof(From));
        to[ours] = train::rounded<To>(x);
      });
    });
  }

 private:
  using Found = safetensors::ShardedFile::Found;

  static std::string place_of(const Found& found) {
    return found.file->path() + ", tensor \"" + found.tensor->name + "\"";
  }
  std::string prefixes() const {
    std::string text;
    for (const std::string& prefix : written_.optional) text += (text.empty() ? "" : "\", \"") + prefix;
    return text;
  }
  const Found& source(const Piece& piece) const {
    if (const auto place = found_.find(piece.key); place != found_.end()) return place->second;
    for (const std::string& copy : piece.also)
      if (const auto place = found_.find(copy); place != found_.end()) return place->second;
    throw Error(files_.path(), "the tensor " + piece.name, "none", "was the file written by a model of this size?");
  }
  void check_shape(const Piece& piece, const Found& found) const {
    train::with_dtype(*found.file, *found.tensor, [](auto) {});
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
  void check_copy(const std::string& key, const Found& of) const {
    const auto place = found_.find(key);
    if (place == found_.end() || place->second.tensor == of.tensor) return;
    const safetensors::Tensor &copy = *place->second.tensor, &tensor = *of.tensor;
    if (copy.dtype != tensor.dtype || copy.shape != tensor.shape ||
        !std::equal(copy.bytes.begin(), copy.bytes.end(), tensor.bytes.begin(), tensor.bytes.end()))
      throw Error(place_of(place->second), "the values of " + tensor.name + ", to which it is tied", "others");
  }

  safetensors::ShardedFile files_;
  const Written& written_;
  std::map<std::string, Found, std::less<>> found_;
};

/// Their tensors, from ours.
template <class Parameters>
void write(const Written& written, const Parameters& parameters, const std::string& path, std::size_t largest) {
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

/// A mapping, written out for the model of a Trainer or an Inference, which it fits.
template <const auto& map, class Owner>
Written written_for() {
  using Model = TensorsOf<typename Owner::Recipe::Bound>;
  constexpr Verdict verdict = compare(map.entries, Model::list);
  static_assert(
      sizeof(typename rule::names_fit_model<typename Owner::Recipe::Network, verdict.misfit, verdict.at>::must_hold));
  return write_out(map.entries, Model::list);
}

}  // namespace detail

/// Reads weights that another library wrote into a Trainer or an Inference.
///
///   struct Mine : Model<...> {};
///   inline constexpr auto their_names = names::list(names::layer("embed"), ...);      names::load<their_names>(trainer, path);
///
///   path       of a file, of an index, or a folder of either: see safetensors::ShardedFile
///   types      F64, F32, F16, BF16. A Trainer takes types no wider than its master weights; an Inference rounds once
///
/// A Trainer then starts at step 0, without optimizer state. All ranks of a Trainer call it.
/// refuses   to compile with a mapping that does not fit the model
/// failure   Error naming the tensor that is missing, unknown, or of another shape or type; then nothing has changed
template <const auto& map, class Owner>
void load(Owner& owner, const std::string& path) {
  constexpr bool trains = requires { typename Owner::Master; };
  const detail::Written written = detail::written_for<map, Owner>();
  std::size_t widest = 0;
  const char* widest_name = "";
  if constexpr (trains) {
    train::StateAccess<typename Owner::Session>::expect_finished_step(train::Inside::session(owner), "names::load");
    widest = sizeof(typename Owner::Master);
    widest_name = name_of<typename Owner::Master>;
  }
  const detail::Reading reading(path, written, widest, widest_name);
  auto parameters = owner.parameters();
  if constexpr (trains) train::StateLoading<typename Owner::Session>::begin_anew(train::Inside::session(owner));
  for (const detail::Piece& piece : written.pieces)
    parameters[written.tensors[piece.tensor].position].visit([&](auto values) { reading.copy(piece, values); });
  owner.parameters_changed();
}

/// How names::save writes.
struct SaveOptions final {
  std::size_t largest_file = 0;  // bytes of tensors; 0: one file. A larger tensor has a file of its own
};

/// Writes the weights of a Trainer or an Inference by the names of another library, in their own element type.
/// All ranks of a Trainer call it; rank 0 writes, to host memory for the tensors of one file that change their axes.
///
///   path   of a file. With largest_file, if they need several: model-00001-of-00003.safetensors, ... and their index,
///          model.safetensors.index.json; the file itself is removed
///
/// failure   as safetensors::write; a kill at any moment leaves the previous file whole. Of several see write_in_parts
template <const auto& map, class Owner>
void save(Owner& owner, const std::string& path, const SaveOptions& options = {}) {
  const detail::Written written = detail::written_for<map, Owner>();
  const auto parameters = owner.parameters();
  const auto write = [&] { detail::write(written, parameters, path, options.largest_file); };
  if constexpr (requires { typename Owner::Master; })
    return train::StateAccess<typename Owner::Session>::do_once(train::Inside::session(owner), write);
  else write();
}

}  // namespace regimen::names
// SPDX-License-Identifier: Apache-2.0
