// What weight decay reaches: published recipes against PyTorch, groups, and options that would reach nothing.
#include "train/recorded.hpp"

#include <regimen/engine/cpu/kernels.hpp>
#include <regimen/layer/batch_norm.hpp>
#include <regimen/optimizer/averaged.hpp>
#include <regimen/optimizer/lamb.hpp>
#include <regimen/optimizer/muon.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/optimizer/split.hpp>
#include <regimen/watch/run_text.hpp>

#include "support/captured.hpp"
#include "temporary.hpp"

#include <cstdint>
#include <filesystem>

using namespace regimen;
using namespace regimen::test;

namespace {

using Words = Embedding<Vocabulary<11>, 8>;
using Block = Sequential<Residual<LayerNorm, SelfAttention<Heads<2>, Causal>>,
                         Residual<LayerNorm, Linear<32>, GeluTanh, Linear<8>>>;
struct Gpt final : Model<Input<Tokens<8>>, Words, PositionEmbedding, Block, LayerNorm, Linear<11>> {};
struct TiedGpt final : Model<Input<Tokens<8>>, Words, PositionEmbedding, Block, LayerNorm, TiedLinear<Words>> {};
struct Normed final : Model<Input<Vector<6>>, Linear<9, NoBias>, BatchNorm<>, Relu, Linear<5>> {};
struct Tables final : Model<Input<Tokens<4>>, Embedding<Vocabulary<7>, 8>, PositionEmbedding, LayerNorm, Linear<7>> {};

/// What is 0.5 · 0.1 smaller after one step from 1, where the gradient is 0: which tensors decay, in the model's order.
template <class Optimizer_, class... Policies>
std::string reached(const typename Optimizer_::rule::Options& options) {
  Trainer<Tables, Batch<1>, Precision<fp64>, Optimizer_, Policies...> trainer({.optimizer = options});
  for (const auto& parameter : trainer.parameters()) std::fill(parameter.values.begin(), parameter.values.end(), 1.0);
  trainer.parameters_changed();
  const auto loss = trainer.forward(std::vector<std::int32_t>{0, 1, 2, 3}, std::vector<std::int32_t>{1, 2, 3, 4});
  auto found = trainer.backward(loss);
  for (const auto& gradient : trainer.gradients()) std::fill(gradient.values.begin(), gradient.values.end(), 0.0);
  trainer.apply(found);
  std::string all;
  for (const auto& parameter : trainer.parameters()) {
    const bool decayed = parameter.values[0] != 1;
    if (decayed) CHECK(parameter.decays);  // whose rule has a decay of 0 decays by nothing
    for (const double value : parameter.values)
      if (std::abs(value - (decayed ? 0.95 : 1)) > 0x1p-53) FAIL_CHECK(parameter.name << ": " << value);
    all += decayed ? '1' : '0';
  }
  return all;
}
/// Norms' gains alone.
struct DecayGains final {
  template <class Layer>
  static constexpr bool decays(const Parameter& parameter) {
    return std::is_same_v<Layer, LayerNorm> && parameter.role == ParameterRole::gain;
  }
};

}  // namespace

TEST_CASE("recipes whose decay reaches other parameters than products train as PyTorch's do") {
  const AdamW::Options usual{};  // those of torch.optim.AdamW, too
  check_curve<Gpt, 4, AdamW, fp64, DecayAll>("decay_torch", "tokens", usual);
  check_curve<Gpt, 4, AdamW, fp32, DecayAll>("decay_torch", "tokens", usual);
  check_curve<Gpt, 4, AdamW, fp64, DecayProductsAndTables>("decay_transformers", "tokens", {.weight_decay = 0.1});
  check_curve<TiedGpt, 4, AdamW, fp64, DecayProductsAndTables>(
      "decay_nanogpt", "tokens", {.learning_rate = 6e-4, .beta2 = 0.95, .weight_decay = 0.1});
  const Sgd::Options sgd{.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 1e-4};
  check_curve<Normed, 8, Sgd, fp64, DecayAll>("decay_torchvision", "inputs", sgd);
  using Groups = Split<OfLayer<BatchNorm<>, Sgd>, Rest<Sgd>>;
  check_curve<Normed, 8, Groups, fp64, DecayAll>("decay_torchvision_norms", "inputs",
                                                 {.first = {.learning_rate = 0.1, .momentum = 0.9}, .rest = sgd});
}

/// The tensors: the table, positions, gain and bias of the norm, weight and bias of the product.
TEST_CASE("decay reaches what the Optimizer says, by one rule or by those of groups") {
  const AdamW::Options half{.learning_rate = 0.1, .weight_decay = 0.5}, none{.learning_rate = 0.1, .weight_decay = 0};
  CHECK(reached<Optimizer<AdamW>>(half) == "000010");
  CHECK(reached<Optimizer<AdamW, DecayProducts>>(half) == "000010");
  CHECK(reached<Optimizer<AdamW, DecayProductsAndTables>>(half) == "110010");
  CHECK(reached<Optimizer<AdamW, DecayAll>>(half) == "111111");
  CHECK(reached<Optimizer<AdamW, DecayAll>>(none) == "000000");
  CHECK(reached<Optimizer<AdamW, DecayGains>>(half) == "001000");
  CHECK(reached<Optimizer<Averaged<AdamW>, DecayProductsAndTables>>(half) == "110010");
  CHECK(reached<Optimizer<AdamW, DecayAll>, Freeze<LayerNorm>>(half) == "110011");
  using Two = Split<Matrices<AdamW>, Rest<AdamW>>;
  CHECK(reached<Optimizer<Two>>({.first = half, .rest = none}) == "000010");
  CHECK(reached<Optimizer<Two, DecayAll>>({.first = half, .rest = none}) == "000010");
  CHECK(reached<Optimizer<Two, DecayAll>>({.first = none, .rest = half}) == "111101");
  CHECK(reached<Optimizer<Two, DecayProductsAndTables>>({.first = half, .rest = half}) == "110010");
}

TEST_CASE("a decay that reaches no parameter is refused when the Trainer is made") {
  const auto said = [](auto&& act) { return ::test::error_of(act); };
  using Two = Split<Matrices<AdamW>, Rest<AdamW>>;
  const std::string cure = "; leave it out, or say what decays: Optimizer<..., DecayAll> or DecayProductsAndTables";
  CHECK(said([] { Trainer<Tables, Optimizer<Two>>{{.optimizer = {.rest = {.weight_decay = 0.5}}}}; }) ==
        "options.optimizer.rest.weight_decay: expected 0, as no parameter that it would reach decays, found 0.5" +
            cure);
  CHECK(said([] { Trainer<Tables, Freeze<Linear<7>>>{{.optimizer = {.weight_decay = 0.5}}}; }) ==
        "options.optimizer.weight_decay: expected 0, as no parameter that it would reach decays, found 0.5" + cure);
  CHECK(said([] {
          Trainer<Tables, Optimizer<Split<OfLayer<LayerNorm, Sgd>, Rest<AdamW>>>>{
              {.optimizer = {.first = {.weight_decay = 1e-4}}}};
        }).starts_with("options.optimizer.first.weight_decay: "));
  // The number that the rule has by default is written, too: at once, or later.
  CHECK(said([] { Trainer<Tables, Optimizer<Two>>{{.optimizer = {.rest = {.weight_decay = 0.01}}}}; }) ==
        "options.optimizer.rest.weight_decay: expected 0, as no parameter that it would reach decays, found 0.01" +
            cure);
  CHECK(said([] {
          AdamW::Options own;
          CHECK(own.weight_decay == 0.01);
          own.weight_decay += 0;
          Trainer<Tables, Freeze<Linear<7>>>{{.optimizer = own}};
        }).starts_with("options.optimizer.weight_decay: "));
  CHECK(said([] {
          Trainer<Tables, Freeze<Linear<7>>, Optimizer<Averaged<Lamb>>>{{.optimizer = {.weight_decay = 0.01}}};
        }).starts_with("options.optimizer.weight_decay: "));
  CHECK(said([] {
          Trainer<Tables, Freeze<Linear<7>>, Optimizer<Muon>>{{.optimizer = {.weight_decay = 0.1}}};
        }).starts_with("options.optimizer.weight_decay: "));
  // What nobody wrote is no mistake; and what reaches something is none.
  CHECK(said([] { Trainer<Tables, Freeze<Linear<7>>, Optimizer<Muon>>{}; }).empty());
  CHECK(said([] { Trainer<Tables, Optimizer<Two>>{{.optimizer = {.rest = {.learning_rate = 1e-3}}}}; }).empty());
  CHECK(said([] { Trainer<Tables, Optimizer<Two>>{}; }).empty());
  CHECK(said([] { Trainer<Tables, Freeze<Linear<7>>>{}; }).empty());
  CHECK(said([] { Trainer<Tables, Optimizer<Two>>{{.optimizer = {.rest = {.weight_decay = 0}}}}; }).empty());
  CHECK(
      said([] { Trainer<Tables, Optimizer<Two, DecayAll>>{{.optimizer = {.rest = {.weight_decay = 0.5}}}}; }).empty());
}

TEST_CASE("a saved state says what decayed, and who loads it under another choice is told") {
  const ::test::Directory folder;
  const std::string path = folder / "state";
  using Mine = Trainer<Tables, Batch<1>, Optimizer<AdamW, DecayProductsAndTables>>;
  Mine first;
  first.save(path);
  CHECK(safetensors::File(path).value("regimen.decays") == "110010");
  CHECK(run_text(first).find("DecayProductsAndTables") != std::string::npos);
  Mine second;
  CHECK(support::captured_error([&] { second.load(path); }).empty());
  Trainer<Tables, Batch<1>, Optimizer<AdamW, DecayAll>> all;
  CHECK(support::captured_error([&] { all.load(path); }) ==
        "regimen: " + path +
            " was written by a run in which weight decay did not reach 2.weight, and in this run it does: "
            "training continues as Optimizer<...> says now\n");
  Trainer<Tables, Batch<1>> products;
  CHECK(support::captured_error([&] { products.load(path); }).find("reached 0.weight, and in this run it does not") !=
        std::string::npos);
}
// SPDX-License-Identifier: Apache-2.0
