// regimen/models/lstm.hpp — a language model of LSTM layers, in the sizes of Zaremba et al.
#pragma once

#include <regimen/core/ratio.hpp>
#include <regimen/layer/add_bias.hpp>
#include <regimen/layer/dropout.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/layer/recurrent.hpp>
#include <regimen/models/names.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen {

namespace detail {

template <std::size_t Words, std::size_t Width, std::size_t Depth, class Rate>
struct lstm_layers {
  using Drop = std::conditional_t<Rate::value == 0, Sequential<>, Dropout<Rate>>;
  using Table = Embedding<Vocabulary<Words>, Width>;
  template <std::size_t Length, class... Output>
  using model = Model<Input<Tokens<Length>>, Table, Drop, Repeat<Depth, Sequential<Lstm<Width>, Drop>>, Output...>;
};

}  // namespace detail

/// A language model: an embedding, layers of Lstm, an output layer, with dropout before, between and after the layers,
/// and never from position to position.
///
///   Words, Length, Width, Depth   vocabulary, positions, width of embedding and states, layers
///   Rate                          dropout, a Ratio
///
///   struct Mine : LstmModel<10'000, 35, 200, 2> {};   Trainer<Mine, Batch<20>, ...>
///
/// Every window begins with states of zero; the paper carries the states of a window on to the next one. Embedding,
/// Lstm and Linear initialise their weights in their own way, not as in the paper. Generates text position by position.
///
/// source   Zaremba, Sutskever, Vinyals 2014, "Recurrent neural network regularization"; two biases for each layer, as
///          in PyTorch
template <std::size_t Words, std::size_t Length, std::size_t Width, std::size_t Depth, class Rate = Ratio<0>>
struct LstmModel : detail::lstm_layers<Words, Width, Depth, Rate>::template model<Length, Linear<Words>> {
  static constexpr std::size_t lstm_depth = Depth;
  static constexpr bool is_tied = false;
  static constexpr std::size_t parameter_count = Words * (2 * Width + 1) + Depth * 8 * (Width + 1) * Width;
};

/// LstmModel with one table for the embedding and the output layer, which has a bias.
///   source   Press, Wolf 2017; Inan et al. 2017
template <std::size_t Words, std::size_t Length, std::size_t Width, std::size_t Depth, class Rate = Ratio<0>>
struct TiedLstmModel
    : detail::lstm_layers<Words, Width, Depth, Rate>::template model<
          Length, TiedLinear<typename detail::lstm_layers<Words, Width, Depth, Rate>::Table>, AddBias> {
  static constexpr std::size_t lstm_depth = Depth;
  static constexpr bool is_tied = true;
  static constexpr std::size_t parameter_count = Words * (Width + 1) + Depth * 8 * (Width + 1) * Width;
};

/// The published sizes, for the 10,000 words of the Penn Treebank; in the paper each layer has one bias less.
struct LstmSmall : LstmModel<10'000, 20, 200, 2> {};
struct LstmMedium : LstmModel<10'000, 35, 650, 2, Ratio<1, 2>> {};
struct LstmLarge : LstmModel<10'000, 35, 1500, 2, Ratio<65, 100>> {};
static_assert(LstmSmall::parameter_count == 4'653'200 && LstmMedium::parameter_count == 19'780'400 &&
              LstmLarge::parameter_count == 66'034'000);

/// The names of PyTorch's word_language_model: encoder.weight, rnn.weight_ih_l0, ..., decoder.weight, decoder.bias.
///
///   names::load<pytorch_lstm_names<LstmSmall>>(trainer, "model.safetensors");
///
/// If the model is tied, a decoder.weight in a file must equal encoder.weight. names::save does not write
/// decoder.weight, so PyTorch reads such a file by load_state_dict(..., strict=False) into a model whose weights are
/// tied.
template <class Network>
inline constexpr auto pytorch_lstm_names = [] {
  if constexpr (!requires { Network::lstm_depth; }) {
    return names::list();  // which names_fit_model refuses
  } else {
    const auto layers =
        names::repeat(Network::lstm_depth, "rnn.", names::tensor("weight_ih_l{}"), names::tensor("weight_hh_l{}"),
                      names::tensor("bias_ih_l{}"), names::tensor("bias_hh_l{}"));
    if constexpr (Network::is_tied)
      return names::list(layers, names::layer("decoder"), names::tensor("encoder.weight").also("decoder.weight"));
    else return names::list(names::layer("encoder"), layers, names::layer("decoder"));
  }
}();

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
