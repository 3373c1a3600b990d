// regimen/models/vit.hpp — vision transformers as timm builds them: the published sizes, blocks of a program's
// own, and weights by timm's names.
#pragma once

#include <regimen/core/ratio.hpp>
#include <regimen/layer/activation.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/patches.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/models/names.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen {

/// The numbers that make up a vision transformer; these are the numbers of ViT-B/16. A program derives a struct from
/// it, or from a published size, and changes some numbers:
///
///   struct OfFlowers : VitSmall16::Of { static constexpr std::size_t classes = 5; };
///   struct Flowers : VitModel<OfFlowers> {};
///
///   image, channels    a sample is image × image pixels, each with this number of channels
///   patch              side of a patch, in pixels; it divides image
///   width, heads       channels of a position, and heads, which divide them
///   MlpRatio           width of the two-layer network, in widths of a position; rounded down, as in timm
///   Epsilon            of all norms
///   class_token        true: a token before the patches, whose output is classified. false: the mean of all positions'
///                      outputs after the last norm is classified (timm's global_pool="avg", fc_norm=False)
struct VitOf {
  static constexpr std::size_t image = 224, channels = 3, patch = 16, width = 768, heads = 12, depth = 12,
                               classes = 1000;
  using MlpRatio = Ratio<4>;
  using Epsilon = Ratio<1, 1'000'000>;
  static constexpr bool class_token = true;
};

/// Width of the two-layer network of a block.
template <class Of>
inline constexpr std::size_t vit_hidden =
    Of::width * static_cast<std::size_t>(Of::MlpRatio::numerator) / static_cast<std::size_t>(Of::MlpRatio::denominator);

/// timm's Block: norms before attention and before the two-layer network, biases everywhere, GELU by erf.
template <class Of>
using VitBlock =
    Sequential<Residual<LayerNormWith<Epsilon<typename Of::Epsilon>>, SelfAttention<Heads<Of::heads>>>,
               Residual<LayerNormWith<Epsilon<typename Of::Epsilon>>, Linear<vit_hidden<Of>>, Gelu, Linear<Of::width>>>;

namespace detail {

template <class Of, class Block>
struct vit_layers {
  using Input = regimen::Input<Image<Of::image, Of::image, Of::channels>>;
  using Norm = LayerNormWith<Epsilon<typename Of::Epsilon>>;
  using type = std::conditional_t<Of::class_token,
                                  Model<Input, Patches<Of::patch>, Linear<Of::width>, ClassToken, PositionEmbedding,
                                        Repeat<Of::depth, Block>, TakeFirst, Norm, Linear<Of::classes>>,
                                  Model<Input, Patches<Of::patch>, Linear<Of::width>, PositionEmbedding,
                                        Repeat<Of::depth, Block>, Norm, MeanPool, Linear<Of::classes>>>;
};

}  // namespace detail

/// Positions of a vision transformer: patches, and the class token.
template <class Of>
inline constexpr std::size_t vit_positions = (Of::image / Of::patch) * (Of::image / Of::patch) + Of::class_token;

/// Parameters of a vision transformer whose block is VitBlock.
template <class Of>
inline constexpr std::size_t vit_parameters = [] {
  constexpr std::size_t d = Of::width, hidden = vit_hidden<Of>;
  constexpr std::size_t block = 2 * 2 * d + (d + 1) * 3 * d + (d + 1) * d + (d + 1) * hidden + (hidden + 1) * d;
  return (Of::patch * Of::patch * Of::channels + 1) * d + Of::class_token * d + vit_positions<Of> * d +
         Of::depth * block + 2 * d + (d + 1) * Of::classes;
}();

/// A vision transformer: patches and their embedding, a class token or none, learned positions, `depth` blocks, a norm,
/// and a linear classifier. The norm comes after the choice of the class token, so it normalises one position only: the
/// same function of the same parameters as in timm, with less work.
///
///   Of      the numbers: VitOf, or a struct derived from it
///   Block   a template that makes a block of an Of; by default timm's. Your own block may be any layer that keeps the
///           shape of its input:
///
///   template <class Of> using Again = Checkpointed<VitBlock<Of>>;      struct Mine : VitModel<OfFlowers, Again> {};
///
/// The projections of q, k and v have biases, as in timm's VisionTransformer; for projections without biases write a
/// Block with SelfAttention<..., WithoutBias>. Weights begin as each layer's own Init, not as timm's.
/// source   Dosovitskiy et al. 2021, "An image is worth 16x16 words"
template <class What, template <class> class Block = VitBlock>
struct VitModel : detail::vit_layers<What, Block<What>>::type {
  using Of = What;
};

namespace detail {

template <std::size_t Width, std::size_t HeadCount, std::size_t Depth, std::size_t Patch>
struct VitSize : VitOf {
  static constexpr std::size_t patch = Patch, width = Width, heads = HeadCount, depth = Depth;
};
struct VitOf800M : VitSize<2048, 16, 16, 14> {
  static constexpr bool class_token = false;
};

}  // namespace detail

/// The published sizes for images of 224 × 224 and 1000 classes: timm's vit_tiny_patch16_224, vit_small_patch16_224,
/// vit_base_patch16_224, vit_large_patch16_224.
struct VitTiny16 : VitModel<detail::VitSize<192, 3, 12, 16>> {};
struct VitSmall16 : VitModel<detail::VitSize<384, 6, 12, 16>> {};
struct VitBase16 : VitModel<VitOf> {};
struct VitLarge16 : VitModel<detail::VitSize<1024, 16, 24, 16>> {};
/// Two sizes for comparisons of training strategies: 257 positions of 2560 channels in 16 blocks, and 256 positions of
/// 2048 channels in 16 blocks, without a class token.
struct Vit1B : VitModel<detail::VitSize<2560, 16, 16, 14>> {};
struct Vit800M : VitModel<detail::VitOf800M> {};
static_assert(vit_parameters<VitTiny16::Of> == 5'717'416 && vit_parameters<VitSmall16::Of> == 22'050'664 &&
              vit_parameters<VitBase16::Of> == 86'567'656 && vit_parameters<VitLarge16::Of> == 304'326'632 &&
              vit_parameters<Vit1B::Of> == 1'263'558'120 && vit_parameters<Vit800M::Of> == 809'516'008);
static_assert(vit_positions<Vit1B::Of> == 257 && vit_positions<Vit800M::Of> == 256);

namespace timm {

/// The names of a VitBlock.
inline constexpr auto block_names =
    names::list(names::layer("norm1"), names::layer("attn.qkv"), names::layer("attn.proj"), names::layer("norm2"),
                names::layer("mlp.fc1"), names::layer("mlp.fc2"));

/// The names of vit_names without the head's, for EncoderOf<Flowers> (models/layers_of.hpp).
template <class Network, const auto& block = block_names>
inline constexpr auto vit_encoder_names = [] {
  if constexpr (!requires { vit_positions<typename Network::Of>; }) {
    return names::list();  // which names_fit_model refuses
  } else {
    using Of = typename Network::Of;
    constexpr auto patches =
        names::layer("patch_embed.proj").viewed(Of::width, Of::patch, Of::patch, Of::channels).axes(0, 3, 1, 2);
    constexpr auto positions = names::tensor("pos_embed").viewed(1, vit_positions<Of>, Of::width);
    constexpr auto rest = names::list(names::repeat(Of::depth, "blocks.{}.", block), names::layer("norm"));
    if constexpr (Of::class_token)
      return names::list(patches, names::tensor("cls_token").viewed(1, 1, Of::width), positions, rest);
    else return names::list(patches, positions, rest);
  }
}();

/// The names of a VisionTransformer, for a VitModel: cls_token, pos_embed, patch_embed.proj.weight, ...
///
///   names::load<timm::vit_names<Flowers>>(trainer, "flowers.safetensors");      names::save takes the same names
///
/// `block` names the tensors of a Block of your own; a Block with the tensors of VitBlock needs no `block`.
template <class Network, const auto& block = block_names>
inline constexpr auto vit_names = [] {
  if constexpr (vit_encoder_names<Network, block>.entries.empty()) return names::list();
  else return names::list(vit_encoder_names<Network, block>, names::layer("head"));
}();

}  // namespace timm
}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
