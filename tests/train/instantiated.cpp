// tests/train/instantiated.cpp — `template class Trainer<...>` and `template class Inference<...>` compile for every kind of model: members that
// refuse a model speak when they are called; so do those of the bases of Trainer. So a program may compile a Trainer in one file, and name it in others.
#include "support/catch.hpp"

#include <regimen/engine/cpu/device.hpp>
#include <regimen/engine/cpu/kernels.hpp>
#include <regimen/layer/cross_attention.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/join.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/layer/named.hpp>
#include <regimen/layer/part.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/optimizer/averaged.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/trainers/generate.hpp>
#include <regimen/trainers/inference.hpp>
#include <regimen/trainers/trainer.hpp>

#include <cstdint>
#include <vector>

using namespace regimen;

namespace {

struct Classifier : Model<Input<Vector<4>>, Linear<3>> {};
struct Writer
    : Model<Input<Tokens<6>>, Embedding<Vocabulary<7>, 4>, Residual<SelfAttention<Heads<2>, Causal>>, Linear<7>> {};
struct Words;
struct Heard : NamedValue<Shape<5, 4>> {};
using Table = Shared<Words, Embedding<Vocabulary<7>, 4>>;
struct Translator
    : Model<Input<Bundle<Tokens<5>, Tokens<3>>>,
            Fork<Last, Sequential<Part<0>, Table, SelfAttention<Heads<2>>, Keep<Heard>>,
                 Sequential<Part<1>, Table, SelfAttention<Heads<2>, Causal>, CrossAttention<Heard, Heads<2>>>>,
            Linear<7>> {};

}  // namespace

extern template class regimen::Trainer<Writer, Batch<2>, Precision<fp16, fp32>, LossScale<Dynamic>>;

TEST_CASE("a Trainer that is instantiated elsewhere trains here") {
  Trainer<Writer, Batch<2>, Precision<fp16, fp32>, LossScale<Dynamic>> trainer;
  const std::vector<std::int32_t> tokens = {1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 2, 1};
  CHECK(trainer.step(tokens, tokens).loss > 0);
  CHECK(trainer.generate(std::vector<std::int32_t>{1}, 3).size() == 3);
}

namespace {
using Scaling = Trainer<Writer, Batch<2>, Precision<fp16, fp32>, LossScale<Dynamic>>;
using Averaging = Trainer<Classifier, Batch<2>, Shard<ZeRO3>, Communicator<Threads>, Optimizer<Averaged<Sgd>>>;
using Measuring = Trainer<Translator, Batch<2>, Debug<Profile>>;
}  // namespace

template class regimen::Trainer<Writer, Batch<2>, Precision<fp16, fp32>, LossScale<Dynamic>>;
template class regimen::Trainer<Classifier, Batch<2>, Shard<ZeRO3>, Communicator<Threads>, Optimizer<Averaged<Sgd>>>;
template class regimen::Trainer<Translator, Batch<2>, Debug<Profile>>;
template struct regimen::trainers::LoopByHand<Scaling>;
template struct regimen::trainers::LoopByHand<Averaging>;
template struct regimen::trainers::LoopByHand<Measuring>;
template struct regimen::trainers::EvaluationAndPrediction<Scaling>;
template struct regimen::trainers::EvaluationAndPrediction<Averaging>;
template struct regimen::trainers::EvaluationAndPrediction<Measuring>;
template struct regimen::trainers::WeightsAndState<Scaling>;
template struct regimen::trainers::WeightsAndState<Averaging>;
template struct regimen::trainers::WeightsAndState<Measuring>;
template class regimen::Inference<Classifier>;
template class regimen::Inference<Writer, Batch<1>>;
template class regimen::Inference<Translator>;
