// regimen/models/gpt2.hpp — GPT-2, exactly: the published sizes, and weights in the naming of Hugging Face.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/layer/activation.hpp>
#include <regimen/layer/dropout.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/rule/model_is_gpt2.hpp>
#include <regimen/state/convert.hpp>
#include <regimen/state/load_state.hpp>
#include <regimen/state/safetensors.hpp>
#include <regimen/state/trainer_state.hpp>

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace regimen {

namespace detail {

template <std::size_t Words, std::size_t Channels, std::size_t HeadCount, std::size_t Depth, class Rate>
struct gpt2_layers {
  using Table = Embedding<Vocabulary<Words>, Channels>;
  using Block = Sequential<Residual<LayerNorm, SelfAttention<Heads<HeadCount>, Causal, Dropout<Rate>>, Dropout<Rate>>,
                           Residual<LayerNorm, Linear<4 * Channels>, GeluTanh, Linear<Channels>, Dropout<Rate>>>;
  template <std::size_t Length>
  using model = Model<Input<Tokens<Length>>, Table, PositionEmbedding, Dropout<Rate>, Repeat<Depth, Block>, LayerNorm,
                      TiedLinear<Table>>;
};
template <std::size_t Words, std::size_t Channels, std::size_t HeadCount, std::size_t Depth>
struct gpt2_layers<Words, Channels, HeadCount, Depth, Ratio<0>> {
  using Table = Embedding<Vocabulary<Words>, Channels>;
  using Block = Sequential<Residual<LayerNorm, SelfAttention<Heads<HeadCount>, Causal>>,
                           Residual<LayerNorm, Linear<4 * Channels>, GeluTanh, Linear<Channels>>>;
  template <std::size_t Length>
  using model =
      Model<Input<Tokens<Length>>, Table, PositionEmbedding, Repeat<Depth, Block>, LayerNorm, TiedLinear<Table>>;
};

}  // namespace detail

/// GPT-2: learned positions, norms before attention and before the two-layer network, GELU by tanh, epsilon 1e-5,
/// biases everywhere but in the output layer, which shares the token table.
///
///   Words, Length, Channels, HeadCount, Depth   vocabulary, positions, width, heads, blocks
///   Rate    dropout after the embedding, on attention, and at the end of each branch;
///           GPT-2 was trained with Ratio<1, 10>
///
///   struct Mine : Gpt2Model<50257, 256, 384, 6, 6> {};   Trainer<Mine, Init<Gpt2>, ...>
///
/// source   Radford et al. 2019
template <std::size_t Words, std::size_t Length, std::size_t Channels, std::size_t HeadCount, std::size_t Depth,
          class Rate = Ratio<0>>
struct Gpt2Model : detail::gpt2_layers<Words, Channels, HeadCount, Depth, Rate>::template model<Length> {
  static constexpr std::size_t gpt2_depth = Depth;
  static constexpr std::size_t parameter_count =
      (Words + Length) * Channels + Depth * (12 * Channels + 13) * Channels + 2 * Channels;
};

/// The published sizes. Parameters are counted once, the tied table too.
struct Gpt2Small : Gpt2Model<50257, 1024, 768, 12, 12> {};
struct Gpt2Medium : Gpt2Model<50257, 1024, 1024, 16, 24> {};
struct Gpt2Large : Gpt2Model<50257, 1024, 1280, 20, 36> {};
struct Gpt2Xl : Gpt2Model<50257, 1024, 1600, 25, 48> {};
static_assert(Gpt2Small::parameter_count == 124'439'808 && Gpt2Medium::parameter_count == 354'823'168 &&
              Gpt2Large::parameter_count == 774'030'080 && Gpt2Xl::parameter_count == 1'557'611'200);

namespace hugging_face {

namespace detail {

/// Blocks of a Gpt2Model; 0 for another network, so that only the rule reports an error.
template <class Network>
inline constexpr std::size_t depth_of = [] {
  if constexpr (rule::model_is_gpt2<Network>::holds) return Network::gpt2_depth;
  else return std::size_t{0};
}();

/// One parameter and its name in the Hugging Face format.
struct Name {
  std::string text;
  bool transposed = false;  // stored (in,out), the transpose of Regimen's layout
};

/// The names of all parameters of a Gpt2Model, in the order of the model: a tied table comes last.
inline std::vector<Name> names_of(std::size_t depth) {
  std::vector<Name> names{{"wpe.weight"}};
  for (std::size_t i = 0; i < depth; ++i) {
    const auto add = [&](const char* part, bool transposed = false) {
      std::string name = "h.";
      name += std::to_string(i);
      name += '.';
      names.push_back({name + part + ".weight", transposed});
      names.push_back({name + part + ".bias"});
    };
    add("ln_1");
    add("attn.c_attn", true);
    add("attn.c_proj", true);
    add("ln_2");
    add("mlp.c_fc", true);
    add("mlp.c_proj", true);
  }
  names.push_back({"ln_f.weight"});
  names.push_back({"ln_f.bias"});
  names.push_back({"wte.weight"});
  return names;
}

inline constexpr std::string_view prefix = "transformer.";

/// The attention masks in older files: constants, not weights.
inline bool is_mask(std::string_view name, std::size_t depth) {
  for (std::size_t i = 0; i < depth; ++i) {
    std::string block = "h.";
    block += std::to_string(i);
    if (name == block + ".attn.bias" || name == block + ".attn.masked_bias") return true;
  }
  return false;
}

inline std::vector<std::size_t> reversed(const std::vector<std::size_t>& shape) {
  return {shape.rbegin(), shape.rend()};
}

template <class Parameters>
void write(const std::vector<Name>& names, const Parameters& parameters, const std::string& path) {
  std::vector<safetensors::Tensor> tensors;
  std::vector<std::vector<std::byte>> copies(names.size());
  for (std::size_t i = 0; i < names.size(); ++i)
    parameters[i].visit([&]<class T>(std::span<T> values) {
      std::span<const std::byte> bytes = std::as_bytes(values);
      std::vector<std::size_t> shape = parameters[i].shape;
      if (names[i].transposed) {
        const std::size_t out = shape[0], in = shape[1];
        copies[i].resize(values.size_bytes());
        T* const to = reinterpret_cast<T*>(copies[i].data());
        for (std::size_t row = 0; row < out; ++row)
          for (std::size_t column = 0; column < in; ++column) to[column * out + row] = values[row * in + column];
        bytes = copies[i];
        shape = {in, out};
      }
      tensors.push_back(
          {std::string(prefix) + names[i].text, safetensors::dtype_of<std::remove_const_t<T>>, shape, bytes});
    });
  safetensors::write(path, tensors);
}

}  // namespace detail

/// Reads GPT-2 weights as the transformers library writes them into a Trainer or an Inference of the same shape.
///
///   names      wte.weight, h.0.attn.c_attn.weight, ..., with or without "transformer." in front
///   types      F64, F32, F16, BF16. A Trainer takes types no wider than its master weights; an Inference rounds once
///   ignored    the masks attn.bias and attn.masked_bias; lm_head.weight, which must equal wte.weight
///
/// A Trainer then starts at step 0, without optimizer state.
/// failure    Error naming the tensor that is missing, unknown, or of another shape or type; then nothing has changed
template <class Owner>
void load(Owner& owner, const std::string& path) {
  static_assert(sizeof(typename rule::model_is_gpt2<typename Owner::Recipe::Network>::must_hold));
  constexpr bool trains = requires { typename Owner::Master; };
  if constexpr (trains)
    train::StateAccess<typename Owner::Session>::expect_finished_step(train::Inside::session(owner),
                                                                      "hugging_face::load");
  const safetensors::File file(path);
  constexpr std::size_t depth = detail::depth_of<typename Owner::Recipe::Network>;
  const std::vector<detail::Name> names = detail::names_of(depth);
  std::map<std::string, const safetensors::Tensor*, std::less<>> found;  // by name without prefix
  for (const safetensors::Tensor& tensor : file.tensors()) {
    std::string_view name = tensor.name;
    if (name.starts_with(detail::prefix)) name.remove_prefix(detail::prefix.size());
    if (!found.emplace(name, &tensor).second)
      throw Error(path, "one tensor " + std::string(name), "two, with and without \"transformer.\"");
  }
  auto parameters = owner.parameters();
  std::set<std::string, std::less<>> known;
  for (std::size_t i = 0; i < names.size(); ++i) {
    known.insert(names[i].text);
    const auto place = found.find(names[i].text);
    if (place == found.end()) throw Error(path, "the tensor " + names[i].text, "none", "is it a GPT-2 of this depth?");
    const safetensors::Tensor& tensor = *place->second;
    train::expect_numbers(file, tensor.name,
                          names[i].transposed ? detail::reversed(parameters[i].shape) : parameters[i].shape);
    if constexpr (trains)
      if (safetensors::bytes_of_dtype(tensor.dtype) > sizeof(typename Owner::Master))
        throw Error(path + ", tensor \"" + tensor.name + "\"",
                    std::string("elements no wider than ") + name_of<typename Owner::Master>,
                    safetensors::name_of_dtype(tensor.dtype), "convert the file, or train with Precision<fp64>");
  }
  for (const auto& [name, tensor] : found) {
    if (known.contains(name) || detail::is_mask(name, depth)) continue;
    if (name != "lm_head.weight")
      throw Error(path, "tensors of this GPT-2 only", "the tensor " + tensor->name, "is it a GPT-2 of this depth?");
    const safetensors::Tensor& table = *found.find("wte.weight")->second;
    if (tensor->dtype != table.dtype ||
        !std::equal(tensor->bytes.begin(), tensor->bytes.end(), table.bytes.begin(), table.bytes.end()))
      throw Error(path + ", tensor \"" + tensor->name + "\"", "the values of wte.weight, to which it is tied",
                  "others");
  }
  if constexpr (trains) train::StateLoading<typename Owner::Session>::begin_anew(train::Inside::session(owner));
  for (std::size_t i = 0; i < names.size(); ++i)
    parameters[i].visit([&]<class T>(std::span<T> values) {
      train::copy_converted(file, *found.find(names[i].text)->second, values,
                            names[i].transposed ? parameters[i].shape[0] : 0);
    });
  owner.parameters_changed();
}

/// Writes the weights of a Trainer or an Inference as the transformers library reads them, in their own element type.
/// All ranks of a Trainer call it; rank 0 writes.
/// failure   as safetensors::write; a kill at any moment leaves the previous file whole
template <class Owner>
void save(Owner& owner, const std::string& path) {
  static_assert(sizeof(typename rule::model_is_gpt2<typename Owner::Recipe::Network>::must_hold));
  const std::vector<detail::Name> names = detail::names_of(detail::depth_of<typename Owner::Recipe::Network>);
  const auto parameters = owner.parameters();
  if constexpr (requires { typename Owner::Master; })
    return train::StateAccess<typename Owner::Session>::do_once(train::Inside::session(owner),
                                                                [&] { detail::write(names, parameters, path); });
  else detail::write(names, parameters, path);
}

}  // namespace hugging_face
}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
