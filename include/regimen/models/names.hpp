// regimen/models/names.hpp — a model's tensors by the names of another library: files that both read and write.
#pragma once

#include <regimen/models/rules.hpp>  // first: compilers print the way to a rule

#include <regimen/core/error.hpp>
#include <regimen/core/refused.hpp>
#include <regimen/models/names_file.hpp>
#include <regimen/models/names_walk.hpp>
#include <regimen/saves/load_state.hpp>
#include <regimen/saves/trainer_state.hpp>

#include <array>
#include <cstddef>
#include <string>

namespace regimen::names {

/// Some lines of a mapping.
template <std::size_t N>
struct Names final {
  std::array<detail::Entry, N> entries{};

  /// Files may have a copy of the last tensor under this name, too, or in place of it: tied weights. Copies must be
  /// equal; none is written.
  constexpr Names<N + 1> also(const char* name) const;
  /// Axis i of the file's tensor is axis axes[i] of the model's tensor, or of its view if there is one. For a layer: of
  /// its tensors with this number of axes.
  template <class... Axes>
  constexpr Names axes(Axes... axes) const {
    static_assert(N == 1 && sizeof...(Axes) <= detail::most_axes, "regimen: one name at a time has axes, at most 6");
    Names result = *this;
    result.entries[0].axes = {sizeof...(Axes), {static_cast<std::size_t>(axes)...}};
    return result;
  }
  /// The file's matrix is the transpose of the model's.
  constexpr Names transposed() const { return axes(1, 0); }
  /// The model's tensor gets these extents before its axes change; one may be 0, which stands for the remaining extent.
  /// For a layer: its tensors with several axes.
  template <class... Of>
  constexpr Names viewed(Of... extents) const {
    static_assert(N == 1 && sizeof...(Of) <= detail::most_axes, "regimen: one name at a time has a view, of at most 6");
    Names result = *this;
    result.entries[0].view = {sizeof...(Of), {static_cast<std::size_t>(extents)...}};
    return result;
  }
  /// The share of the rows that this line has inside joined(...).
  constexpr Names shares(std::size_t count) const {
    static_assert(N == 1, "regimen: one name at a time has shares");
    Names result = *this;
    result.entries[0].share = count;
    return result;
  }
  /// The model's tensor is a part of the rows of the file's tensor: the shares first, ..., first + count - 1 of `of`
  /// equal shares.
  constexpr Names part(std::size_t first, std::size_t count, std::size_t of) const {
    static_assert(N == 1, "regimen: one name at a time is a part");
    Names result = *this;
    result.entries[0].part = first;
    result.entries[0].part_count = count;
    result.entries[0].parts = of;
    return result;
  }
};

/// A whole mapping, or a piece of one without a prefix.
template <std::size_t... N>
constexpr auto list(const Names<N>&... parts) {
  Names<(N + ... + 0)> all;
  std::size_t at = 0;
  [[maybe_unused]] const auto add = [&](const auto& part) {  // unused of no parts
    for (const detail::Entry& entry : part.entries) all.entries[at++] = entry;
  };
  (add(parts), ...);
  return all;
}

template <std::size_t N>
constexpr Names<N + 1> Names<N>::also(const char* name) const {
  return list(*this, Names<1>{{detail::Entry{.kind = detail::Entry::Kind::also, .text = name}}});
}

/// The next tensor of the model.
constexpr Names<1> tensor(const char* name) { return {{detail::Entry{.text = name}}}; }
/// All tensors of the next layer: "name.weight", "name.bias", "name.running_mean", ..., as they are called in the
/// model.
constexpr Names<1> layer(const char* name) {
  return {{detail::Entry{.kind = detail::Entry::Kind::layer, .text = name}}};
}
/// All tensors of the next layer, a Conv2d: its weight is (out,h,w,in) in the model, and (out,in,h,w) in the file.
constexpr Names<1> conv2d(const char* name) { return layer(name).axes(0, 3, 1, 2); }
/// Several tensors, or layers, of the file are rows of the model's next tensor, or layer, one after the other, in
/// proportion to their shares.
template <class... Parts>
constexpr auto joined(const Parts&... parts) {
  auto all = list(parts...);
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
/// These names, with a prefix. Of nested prefixes the outer one comes first.
template <std::size_t... N>
constexpr auto inside(const char* prefix, const Names<N>&... parts) {
  return list(Names<1>{{detail::Entry{.kind = detail::Entry::Kind::open, .text = prefix, .length = (N + ... + 0)}}},
              parts...);
}
/// These names, with a prefix that a file may leave out.
template <std::size_t... N>
constexpr auto inside_optional(const char* prefix, const Names<N>&... parts) {
  auto all = inside(prefix, parts...);
  all.entries[0].is_optional = true;
  return all;
}
/// These names `count` times, with a prefix whose {} is the index: of a Repeat, or of equal layers in a row. A {} in
/// one of these names is the index, too. Indices begin with `first`.
template <std::size_t... N>
constexpr auto repeat_from(std::size_t first, std::size_t count, const char* prefix, const Names<N>&... parts) {
  auto all = inside(prefix, parts...);
  all.entries[0].repeats = true;
  all.entries[0].first = first;
  all.entries[0].count = count;
  return all;
}
/// These names `count` times, with indices from 0 on.
template <std::size_t... N>
constexpr auto repeat(std::size_t count, const char* prefix, const Names<N>&... parts) {
  return repeat_from(0, count, prefix, parts...);
}
/// Tensors of files that the model does not have: masks, counters, the head of another task. A * stands for any text.
/// They are not written.
constexpr Names<1> ignore(const char* pattern) {
  return {{detail::Entry{.kind = detail::Entry::Kind::ignore, .text = pattern}}};
}
/// Tensors of the model that files do not have, such as the tensors of a new head: reading leaves them unchanged,
/// writing writes them. A file that has such a tensor is refused, unless an ignore(...) names it (the head for other
/// classes).
template <std::size_t... N>
constexpr auto absent(const Names<N>&... parts) {
  auto all = list(parts...);
  for (detail::Entry& entry : all.entries) entry.is_absent = true;
  return all;
}

namespace detail {

/// The tensors of a mapping, for the model of a Trainer or an Inference.
template <const auto& map, class Owner>
TensorMap written_for() {
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
///   inline constexpr auto their_names = names::list(names::layer("embed"), ...);
///   names::load<their_names>(trainer, path);
///
///   path       of a file, of an index, or a folder of either: see safetensors::ShardedFile
///   types      F64, F32, F16, BF16. A Trainer takes types no wider than its master weights; an Inference rounds once
///
/// A pretrained network with a new head: the new head is absent from the file, and the file's head is ignored:
///
///   struct Mine : Model<Input<Image<224, 224, 3>>, Frozen<KeepStatistics, EncoderOf<ResNet18<>>>, Linear<5>> {};
///   inline constexpr auto pretrained = names::list(ResNet18<>::torchvision_encoder_names,
///                                                  names::absent(names::layer("fc")), names::ignore("fc.*"));
///
/// A Trainer then starts at step 0, without optimizer state. All ranks of a Trainer call it; not in a callback of fit.
/// refuses   to compile with a mapping that does not fit the model
/// failure   Error naming the tensor that is missing, unknown, or of another shape or type, or absent for an Inference
///           that has no weights yet; then nothing has changed
template <const auto& map, class Owner>
void load(Owner& owner, const std::string& path) {
  constexpr bool trains = requires { typename Owner::Master; };
  const detail::TensorMap written = detail::written_for<map, Owner>();
  const auto inside = saves::Inside::writing(owner, "names::load");
  std::size_t widest = 0;
  const char* widest_name = "";
  if constexpr (trains) {
    using Saved = saves::StateAccess<typename Owner::Session>;
    auto& session = saves::Inside::session(owner);
    session.expect_no_fit("names::load");
    Saved::finish_saving(session);
    Saved::expect_finished_step(session, "names::load");
    widest = sizeof(typename Owner::Master);
    widest_name = name_of<typename Owner::Master>;
  } else if (!inside.of.weights->loaded) {
    for (const detail::Piece& piece : written.pieces)
      if (piece.is_absent)
        throw Error("names::load, " + piece.name, "weights that names::absent(...) leaves as they are",
                    "none: this Inference has not loaded any", "load a whole state first, or train the new layers");
  }
  const detail::Reading reading(path, written, widest, widest_name);
  auto parameters = owner.parameters();
  if constexpr (trains) saves::StateLoading<typename Owner::Session>::begin_anew(saves::Inside::session(owner));
  for (const detail::Piece& piece : written.pieces)
    if (!piece.is_absent)
      parameters[written.tensors[piece.tensor].position].visit([&](auto values) { reading.copy(piece, values); });
  owner.parameters_changed();
}
template <const auto& map, regimen::detail::Refused Owner>
void load(Owner&, const std::string&) {}
template <const auto& map, class Owner>
  requires(!regimen::detail::Refused<Owner>)
void load(const Owner&, const std::string&) {
  static_assert(sizeof(typename rule::names_take_a_variable<Owner>::must_hold));
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
/// failure   as safetensors::write; a kill at any moment leaves the previous file whole. For several files see
///           write_in_parts
template <const auto& map, class Owner>
void save(Owner& owner, const std::string& path, const SaveOptions& options = {}) {
  const detail::TensorMap written = detail::written_for<map, Owner>();
  const auto held = saves::Inside::holding(owner, "names::save");
  const auto parameters = owner.parameters();
  const auto write = [&] { detail::write(written, parameters, path, options.largest_file); };
  if constexpr (requires { typename Owner::Master; })
    return saves::StateAccess<typename Owner::Session>::do_once(saves::Inside::session(owner), write);
  else write();
}
template <const auto& map, regimen::detail::Refused Owner>
void save(Owner&, const std::string&, const SaveOptions& = {}) {}
template <const auto& map, class Owner>
  requires(!regimen::detail::Refused<Owner>)
void save(const Owner&, const std::string&, const SaveOptions& = {}) {
  static_assert(sizeof(typename rule::names_take_a_variable<Owner>::must_hold));
}

}  // namespace regimen::names
// SPDX-License-Identifier: Apache-2.0
