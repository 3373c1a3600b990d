// regimen/models/two_towers.hpp — two encoders whose outputs are compared: contrastive models, as SimCLR and CLIP.
#pragma once

#include <regimen/layer/join.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/layer/part.hpp>
#include <regimen/models/layers_of.hpp>
#include <regimen/models/names.hpp>

#include <cstddef>

namespace regimen {

/// An encoder: the kind of its input, and layers that make one vector of it.
///
///   Tower<Image<32, 32, 3>, Conv2d<64, 3>, ..., GlobalMaxPool>      Tower<Tokens<64>, Embedding<...>, ..., MeanPool>
///   Tower<Image<224, 224, 3>, EncoderOf<ResNet50<>>>           a ready network without its head (models/layers_of.hpp)
template <class Kind_, class... Layers>
struct Tower final {
  using Kind = Kind_;
  /// The layers of a Tower on part I of an input, then others.
  template <std::size_t I, class... Others>
  using on = Sequential<Part<I>, Layers..., Others...>;
  /// The layers of a Tower on part I of an input, as a Shared set of weights with a name.
  template <std::size_t I, class Name, class... Others>
  using shared_on = Sequential<Part<I>, Shared<Name, Layers..., Others...>>;
};

/// Two towers with weights of their own, and a projection without bias after each: y = (A first(x₀), B second(x₁))
///
///   First, Second   Tower<...>, of the same kind or of others, such as images and texts
///   Width           of the embeddings; y is (B, 2 Width), which NtXent<...> takes
///
///   struct Clip : TwoTowers<Tower<Image<224, 224, 3>, ...>, Tower<Tokens<77>, ...>, 512> {};
///   Trainer<Clip, Loss<NtXent<Ratio<7, 100>>>, Batch<256>>     // samples of Bundle<Image<...>, Tokens<77>>, targets 0
///
/// NtXent takes all other embeddings as negatives, also embeddings of the same tower, and its temperature is a
/// constant. CLIP's loss takes only embeddings of the other tower as negatives, and learns its temperature; Regimen
/// does not have this loss.
///
/// source   Radford et al. 2021, "Learning transferable visual models from natural language supervision"
template <class First, class Second, std::size_t Width>
struct TwoTowers : Model<Input<Bundle<typename First::Kind, typename Second::Kind>>,
                         Fork<ConcatAlong<0>, typename First::template on<0, Linear<Width, NoBias>>,
                              typename Second::template on<1, Linear<Width, NoBias>>>> {};

namespace detail {
template <class Both, class... Head>
struct TwinWeights;
}

/// One tower that reads two views of each sample, and a head after it: y = (head(tower(x₀)), head(tower(x₁)))
///
///   Both   Tower<...>       Head   layers, for which SimCLR takes Linear<2048>, Relu, Linear<128>
///
///   struct SimClr : TwinTowers<Tower<Image<224, 224, 3>, EncoderOf<ResNet50<>>>, Linear<2048>, Relu, Linear<128>> {};
///   Trainer<SimClr, Loss<NtXent<Ratio<1, 10>>>, Batch<512>>    // samples of Bundle<Image<...>, Image<...>>, targets 0
///
/// The set of weights is one: its gradient is the sum over both views (Shared). A BatchNorm in it sees one view at a
/// time, and moves its statistics twice in a step.
/// source   Chen et al. 2020, "A simple framework for contrastive learning of visual representations"
template <class Both, class... Head>
struct TwinTowers
    : Model<Input<Bundle<typename Both::Kind, typename Both::Kind>>,
            Fork<ConcatAlong<0>, typename Both::template shared_on<0, detail::TwinWeights<Both, Head...>, Head...>,
                 typename Both::template shared_on<1, detail::TwinWeights<Both, Head...>, Head...>>> {};

/// The names of a SimCLR of github.com/sthalles/SimCLR, which most PyTorch users have; its head has the name of the
/// classifier. For TwinTowers with the head Linear, Relu, Linear.
///
///   encoder   the names of the tower's tensors
///
///   constexpr auto their_names = simclr_names(ResNet50<>::torchvision_encoder_names);
///   names::load<their_names>(trainer, "simclr.safetensors");
template <std::size_t N>
constexpr auto simclr_names(const names::Names<N>& encoder) {
  return names::inside("backbone.", encoder, names::layer("fc.0"), names::layer("fc.2"));
}

namespace hugging_face {

/// The names of a VisionTextDualEncoderModel, for TwoTowers of images and texts.
///
///   vision, text   the names of the towers' tensors. A table that a TiedLinear shares, or a set of Shared, comes last
///                  in a model: with one in a tower write the list by hand
///   ignored        logit_scale, the temperature, which is a constant of the loss here
template <std::size_t First, std::size_t Second>
constexpr auto two_towers_names(const names::Names<First>& vision, const names::Names<Second>& text) {
  return names::list(names::inside("vision_model.", vision), names::layer("visual_projection"),
                     names::inside("text_model.", text), names::layer("text_projection"), names::ignore("logit_scale"));
}

}  // namespace hugging_face
}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
