// regimen/layer/model.hpp — the types that a model is written with: inputs, Model, and the containers of layers.
#pragma once

#include <regimen/core/bundled.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace regimen {

namespace detail {
/// A sample of numbers, in the type of statistics.
template <class TensorShape>
struct Numbers {
  template <class Statistic>
  using value = Value<Statistic, TensorShape>;
};
}  // namespace detail

/// A sample is `Length` token ids.
template <std::size_t Length>
struct Tokens final {
  template <class Statistic>
  using value = Value<std::int32_t, Shape<Length>>;
};

/// A sample is `Size` numbers.
template <std::size_t Size>
struct Vector final : detail::Numbers<Shape<Size>> {};

/// A sample is `Length` positions of `Channels` numbers: a time series, a signal.
template <std::size_t Length, std::size_t Channels>
struct Series final : detail::Numbers<Shape<Length, Channels>> {};

/// A sample is an image, channels innermost. Put Flatten before a Linear that reads the whole image.
template <std::size_t Height, std::size_t Width, std::size_t Channels>
struct Image final : detail::Numbers<Shape<Height, Width, Channels>> {};

/// A sample is a volume: frames of a video, or slices of a scan. Channels innermost.
template <std::size_t Depth, std::size_t Height, std::size_t Width, std::size_t Channels>
struct Volume final : detail::Numbers<Shape<Depth, Height, Width, Channels>> {};

/// A sample is several values, of equal or different kinds: `Bundle<Tokens<64>, Vector<8>>`. The model reads value I by
/// `Part<I>` (layer/part.hpp); in memory a sample is a Bundled struct, Trainer::Input: `inputs[s].get<1>()[k]`.
template <class... Kinds>
struct Bundle final {
  template <class Statistic>
  using value = Value<Bundled<typename Kinds::template value<Statistic>...>, Shape<1>>;
};

/// The kind of a sample: `Tokens<T>`, `Vector<N>`, `Series<Length, Channels>`, `Image<Height, Width, Channels>`,
/// `Volume<Depth, Height, Width, Channels>`, or a `Bundle` of them.
template <class Kind>
struct Input final {
  using kind = Kind;
};

/// A network: its input, then its layers. Name it with a struct, not an alias: errors and symbols then stay short.
///
///   struct Mlp : Model<Input<Vector<784>>, Linear<64>, Relu, Linear<10>> {};
template <class Input, class... Layers>
struct Model {};

/// Layers in sequence. A Sequential inside a Sequential equals its layers, written out.
template <class... Layers>
struct Sequential final {
  static constexpr const char* name = "sequential";
};

/// y = Join(branch(x), ...): every branch reads x, and the join makes one value of their outputs. A branch is a layer,
/// or a Sequential; Identity is x itself.
///
///   Fork<Add, Linear<64>, Sequential<Linear<64>, Gelu, Linear<64>>>     a branch and a projection
///   Fork<Multiply, Sequential<Linear<64>, Silu>, Linear<64>>            a gate
///   Fork<Concat, Identity, Sequential<...>>                             a skip
///
/// Joins: Add, Multiply, Concat, ConcatAlong<axis>, Last, at the end of a model Outputs (layer/join.hpp), or your own.
template <class Join, class... Branches>
struct Fork final {
  static constexpr const char* name = "fork";
};

/// y = x + layers(x), the same as Fork<Add, Identity, Sequential<Layers...>>. The layers keep the shape of x.
template <class... Layers>
struct Residual final {
  static constexpr const char* name = "residual";
};

/// Layers in sequence, with the names and the bits of Sequential<Layers...>. Under every Checkpoint forward saves only
/// their input, and backward computes them again from it: their tensors exist only while their backward runs. (No layer
/// outside is fused with one inside.)
///
///   Residual<Checkpointed<LayerNorm, Linear<4096>, Gelu, Linear<1024>>>
template <class... Layers>
struct Checkpointed final {
  static constexpr const char* name = "checkpointed";
};

/// In Frozen, before its layers: the layers normalise by their running statistics instead of the batch, and keep them.
struct KeepStatistics final {};

/// Layers in sequence that keep their weights. It freezes only this place; the policy Freeze<Layers...> freezes all
/// layers of these types. Names and bits are those of the same layers without the Frozen, so load_weights reads a file
/// that was written with or without it. (A saved state also has the optimizer state of the layers that train; load
/// needs all of it.)
///
///   Model<Input<Image<224, 224, 3>>, Frozen<KeepStatistics, EncoderOf<ResNet18<Image<224, 224, 3>>>>, Linear<5>>
///   Fork<Add, Frozen<Linear<64>>, Sequential<Linear<4, NoBias>, Linear<64, NoBias>>>                a low-rank adapter
///
///   options   KeepStatistics. Without it the layers compute as in training: a BatchNorm normalises by the batch, and
///             moves its running statistics. With it a BatchNorm normalises by its running statistics, and keeps them;
///             it then couples no samples, and takes micro-batches of any size. (PyTorch: requires_grad = false,
///             without and with eval().) Dropout drops in both cases
///   cost      no gradients, no optimizer state; backward ends at the first layer that trains. If a layer before
///             trains, backward passes through the frozen layers, and their saved tensors stay
///   refuses   layers without weights; KeepStatistics without a layer with statistics; a table or a Shared with one
///             frozen place and another that trains
template <class... Layers>
struct Frozen final {
  static constexpr const char* name = "frozen";
};

/// `Count` iterations of `Block`, each with its own parameters. The block keeps the shape of its input. The compiler
/// instantiates it once, so compile time and program size do not depend on Count. Write a block of several layers as
/// Sequential<...>.
template <std::size_t Count, class Block, class... More>
struct Repeat final {
  static constexpr const char* name = "repeat";
};

/// Layers with one set of weights in several places: all Shared<Name, Layers...> of a model have one set of parameters,
/// one gradient, one update, and one place in files, under the name of the first. Name is a type of the program.
///
///   struct Tower;
///   using Encode = Shared<Tower, Linear<64>, Relu, Linear<16>>;
///   Fork<ConcatAlong<0>, Sequential<SliceAlong<0, 0, 1>, Encode>, Sequential<SliceAlong<0, 1, 1>, Encode>>   Siamese
///   Repeat<12, Shared<Block, Residual<...>>>                                                                 ALBERT
///
/// A Shared may stand anywhere, also in combinators and in another Shared. Inputs of different places may have
/// different shapes, if the parameters are equal. Random numbers depend on the place. A BatchNorm moves its statistics
/// once for each use. Init<Gpt2> counts a Residual inside the Shared once, and ignores a Residual around it.
///
/// cost     each place saves the tensors of its own backward. With several ranks the set is a unit, like a tied table:
///          it is gathered before forward and kept to the end of backward
/// refuses  one name with two lists of layers, parameters that differ between places, an As<T, ...> around some places
/// source   Bromley et al. 1993, "Signature verification using a Siamese time delay neural network"; Lan et al. 2020,
///          "ALBERT"
template <class Name, class... Layers>
struct Shared final {
  static constexpr const char* name = "shared";
};

/// Layers that compute in their own element type: `As<fp32, Linear<10>>`.
template <class T, class... Layers>
struct As;

namespace detail {
template <class Input, class... Layers>
std::true_type derives_from_model(const Model<Input, Layers...>*);
std::false_type derives_from_model(const void*);

/// Whether T is a Model<...> or a struct that derives from one.
template <class T>
inline constexpr bool is_model =
    std::is_class_v<T> && decltype(derives_from_model(static_cast<std::remove_reference_t<T>*>(nullptr)))::value;
}  // namespace detail

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
