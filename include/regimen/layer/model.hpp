// regimen/layer/model.hpp — the types that a model is written with: inputs, Model, and the containers of layers.
#pragma once

#include <regimen/core/bundled.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/shape.hpp>

#include <cstddef>
#include <cstdint>

namespace regimen {

/// A sample is `Length` token ids.
template <std::size_t Length>
struct Tokens final {
  template <class Statistic>
  using value = Value<std::int32_t, Shape<Length>>;
};

/// A sample is `Size` numbers.
template <std::size_t Size>
struct Vector final {
  template <class Statistic>
  using value = Value<Statistic, Shape<Size>>;
};

/// A sample is so many positions of so many numbers: a time series, a signal.
template <std::size_t Length, std::size_t Channels>
struct Series final {
  template <class Statistic>
  using value = Value<Statistic, Shape<Length, Channels>>;
};

/// A sample is an image, channels innermost. Put Flatten before a Linear that should read the whole image.
template <std::size_t Height, std::size_t Width, std::size_t Channels>
struct Image final {
  template <class Statistic>
  using value = Value<Statistic, Shape<Height, Width, Channels>>;
};

/// A sample is a volume: frames of a video, or slices of a scan. Channels innermost.
template <std::size_t Depth, std::size_t Height, std::size_t Width, std::size_t Channels>
struct Volume final {
  template <class Statistic>
  using value = Value<Statistic, Shape<Depth, Height, Width, Channels>>;
};

/// A sample is several values, of the same kinds or others: `Bundle<Tokens<64>, Vector<8>>`. The model reads value I of
/// it by `Part<I>` (layer/part.hpp); in memory a sample is a Bundled struct, Trainer::Input: `inputs[s].get<1>()[k]`.
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

/// A network: its input, then its layers. Name it with a struct, not an alias, so that errors and symbols stay short:
///
///   struct Mlp : Model<Input<Vector<784>>, Linear<64>, Relu, Linear<10>> {};
template <class Input, class... Layers>
struct Model {};

/// Layers in sequence. A Sequential inside a Sequential is the same as its layers written out.
template <class... Layers>
struct Sequential final {
  static constexpr const char* name = "sequential";
};

/// y = Join(branch(x), ...): every branch reads x, and the join makes one of their outputs. A branch is a layer, or a
/// Sequential; Identity is x itself.
///
///   Fork<Add, Linear<64>, Sequential<Linear<64>, Gelu, Linear<64>>>     a projection beside a branch
///   Fork<Multiply, Sequential<Linear<64>, Silu>, Linear<64>>            a gate
///   Fork<Concat, Identity, Sequential<...>>                             a skip
///
/// Joins: Add, Multiply, Concat, ConcatAlong<axis>, Last, at the end of a model Outputs (layer/join.hpp), or a program's
/// own.
template <class Join, class... Branches>
struct Fork final {
  static constexpr const char* name = "fork";
};

/// y = x + layers(x), as Fork<Add, Identity, Sequential<Layers...>>. The layers keep the shape of x.
template <class... Layers>
struct Residual final {
  static constexpr const char* name = "residual";
};

/// Layers in sequence, with the names and the bits of Sequential<Layers...>, which backward computes again from their
/// input, whatever Checkpoint says: it saves the input alone, and while their backward runs, their tensors. (No layer
/// outside is fused with one inside.)
///
///   Residual<Checkpointed<LayerNorm, Linear<4096>, Gelu, Linear<1024>>>
template <class... Layers>
struct Checkpointed final {
  static constexpr const char* name = "checkpointed";
};

/// In Frozen, before its layers: their running statistics stay, and normalise in place of the batch's.
struct KeepStatistics final {};

/// Layers in sequence that keep their weights: of this place, where the policy Freeze<Layers...> names types, which may
/// stand elsewhere, too. Names and bits are those of the same layers written out in the list in which the Frozen stands, so
/// that a saved model loads with a Frozen and without.
///
///   Model<Input<Image<224, 224, 3>>, Frozen<KeepStatistics, EncoderOf<ResNet18<Image<224, 224, 3>>>>, Linear<5>>
///   Fork<Add, Frozen<Linear<64>>, Sequential<Linear<4, NoBias>, Linear<64, NoBias>>>                a low-rank adapter
///
///   options   KeepStatistics. Without it the layers do what they do in training but for their weights: a BatchNorm
///             normalises by the batch, and its running statistics move. With it a BatchNorm normalises by its running
///             statistics, which stay; then it couples no samples, and takes micro-batches of any size. (PyTorch's
///             requires_grad = false, without and with eval().) Dropout drops in both
///   cost      no gradients, no optimizer state; backward ends at the first layer that trains. Where a layer before
///             trains, backward passes through, and saves what it reads
///   refuses   no layer with weights; KeepStatistics where no layer has statistics; a table or a Shared of which one place
///             is frozen and another is not
template <class... Layers>
struct Frozen final {
  static constexpr const char* name = "frozen";
};

/// `Count` iterations of `Block`, each with its own parameters. The block keeps the shape of its input. It
/// is instantiated once, so neither compile time nor program size depends on Count. Write a block of
/// several layers as Sequential<...>.
template <std::size_t Count, class Block, class... More>
struct Repeat final {
  static constexpr const char* name = "repeat";
};

/// Layers with one set of weights, used in several places: all Shared<Name, Layers...> of a model are the same layers,
/// and have one set of parameters, with one gradient, one update, and one place in files, under the name of the first.
/// Name is a type of the program.
///
///   struct Tower;
///   using Encode = Shared<Tower, Linear<64>, Relu, Linear<16>>;
///   Fork<ConcatAlong<0>, Sequential<SliceAlong<0, 0, 1>, Encode>, Sequential<SliceAlong<0, 1, 1>, Encode>>   Siamese
///   Repeat<12, Shared<Block, Residual<...>>>                                                                 ALBERT
///
/// It stands anywhere, in combinators and in another Shared, too. Its inputs may have other shapes elsewhere, if the
/// parameters stay the same. Random numbers depend on the place. A BatchNorm moves its statistics once for each use.
/// Init<Gpt2> counts a Residual inside once, and sees none around it.
///
/// cost     each place saves what its backward reads. With several ranks the set is a unit, as a tied table is: it is
///          gathered before forward and kept to the end of backward
/// refuses  one name with two lists of layers, parameters that differ between places, an As<T, ...> around some places
/// source   Bromley et al. 1993, "Signature verification using a Siamese time delay neural network"; Lan et al. 2020,
///          "ALBERT"
template <class Name, class... Layers>
struct Shared final {
  static constexpr const char* name = "shared";
};

/// Layers that compute in another element type than the rest of the model: `As<fp32, Linear<10>>`.
template <class T, class... Layers>
struct As;

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
