// 16-bit training: it learns, an overflow skips a step and nothing else, and a hand-written loop is fit's.
#include <regimen/data/fake.hpp>

#include "support/catch.hpp"
#include "temporary.hpp"
#include "train/same_work.hpp"

using namespace regimen;
using namespace regimen::test;

namespace {

using Half = Precision<fp16, fp32>;

struct Learned {
  double first = 0, last = 0;
};

template <class Train>
Learned learn() {
  Train trainer{{.optimizer = {.learning_rate = 1e-2}}};
  trainer.poison_dead_memory();
  Learned learned;
  learned.last = trainer
                     .fit(Fake({.samples = 64, .classes = 5}), {.steps = 60, .progress = false},
                          [&](Train&, const StepResult& result) {
                            if (result.step == 1) learned.first = result.loss;
                          })
                     .loss;
  return learned;
}

}  // namespace

// A first loss near log 11 or log 5 is the same to the roundings of a forward pass: 16 of 2^-8 for bf16, a few of 2^-11
// for fp16.
TEST_CASE("a GPT learns in bf16 and in fp16, an MLP in all of them") {
  const Learned exact = learn<Trainer<Gpt<2>, Batch<8>>>(),
                brain = learn<Trainer<Gpt<2>, Batch<8>, Precision<bf16, fp32>>>(),
                tensor = learn<Trainer<Gpt<2>, Batch<8>, Precision<tf32>>>(),
                half = learn<Trainer<Gpt<2>, Batch<8>, Half, LossScale<Dynamic>>>(),
                mlp = learn<Trainer<Mlp, Batch<8>, Half, LossScale<Static<1024>>>>();
  for (const Learned& run : {exact, brain, tensor, half, mlp}) CHECK(run.last < 0.75 * run.first);
  CHECK(std::abs(brain.first - exact.first) < 16 * 0x1p-8);
  CHECK(std::abs(half.first - exact.first) < 16 * 0x1p-11);
  CHECK(std::abs(tensor.first - exact.first) < 16 * 0x1p-11);
  CHECK(tensor.first != exact.first);
}

TEST_CASE("tf32 is stored as fp32: its files load in fp32 and back, with the same bits, and the first step from them") {
  using Exact = Trainer<Gpt<2>, Batch<8>>;
  using Tensor = Trainer<Gpt<2>, Batch<8>, Precision<tf32>>;
  static_assert(std::is_same_v<Tensor, Trainer<Gpt<2>, Batch<8>, Precision<tf32, fp32, fp32>>>);
  const ::test::Directory folder;
  Tensor first, again;
  Exact exact;
  const Work<Tensor> work(8);
  for (int step = 0; step < 3; ++step) first.step(work.inputs, work.targets);
  first.save(folder / "tf32");
  exact.load(folder / "tf32");
  CHECK(flat(exact.parameters()) == flat(first.parameters()));
  exact.save(folder / "fp32");
  again.load(folder / "fp32");
  const StepResult expected = first.step(work.inputs, work.targets), found = again.step(work.inputs, work.targets);
  CHECK(expected.loss == found.loss);
  CHECK(flat(again.parameters()) == flat(first.parameters()));
  CHECK(exact.step(work.inputs, work.targets).loss != expected.loss);
}

TEST_CASE("As<tf32, ...> rounds the factors of its layers alone, without a cast") {
  struct Plain : Model<Input<Tokens<4>>, Embedding<Vocabulary<11>, 8>, Linear<8>, Linear<5>> {};
  struct One : Model<Input<Tokens<4>>, Embedding<Vocabulary<11>, 8>, As<tf32, Linear<8>>, Linear<5>> {};
  struct All : Model<Input<Tokens<4>>, Embedding<Vocabulary<11>, 8>, As<tf32, Linear<8>, Linear<5>>> {};
  using Whole = Trainer<Plain, Batch<4>, Precision<tf32>>;
  using Given = Trainer<All, Batch<4>>;
  Trainer<Plain, Batch<4>> plain;
  Trainer<One, Batch<4>> one;
  Given all;
  Whole whole;
  const Work<Given> work(4);
  const double loss = whole.step(work.inputs, work.targets).loss;
  CHECK(all.step(work.inputs, work.targets).loss == loss);
  CHECK(one.step(work.inputs, work.targets).loss != loss);
  CHECK(one.step(work.inputs, work.targets).loss != plain.step(work.inputs, work.targets).loss);
  static_assert(Given::plan().operations() == Whole::plan().operations() && Given::plan().peak == Whole::plan().peak);
}

TEST_CASE("an overflow skips the step: weights, moments and Adam's t stay, data and schedule go on") {
  using Train = Trainer<Mlp, Batch<8>, Half, LossScale<DynamicScale<(std::size_t{1} << 36), 3>>>;
  Train trainer{{.schedule = Schedule::warmup_linear(1000, 2000)}};
  const Work<Train> work(8);
  const ::test::Directory folder;
  const auto before = flat(trainer.parameters());
  double scale = 0x1p36, rate = 0;
  std::uint64_t skipped = 0, applied = 0;
  for (int i = 0; i < 40; ++i) {
    const StepResult result = trainer.step(work.inputs, work.targets);
    CHECK(result.learning_rate > rate);
    rate = result.learning_rate;
    CHECK(std::isfinite(result.loss));
    (result.applied ? applied : skipped) += 1;
    if (applied == 0) {
      scale /= 2;
      CHECK(result.loss_scale == scale);
      CHECK(flat(trainer.parameters()) == before);
      CHECK_FALSE(std::isfinite(result.gradient_norm));
      if (i == 3) {
        trainer.save(folder / "skipped.safetensors");
        const safetensors::File file(folder / "skipped.safetensors");
        CHECK(file.value("regimen.updates") == "0");
        CHECK(file.value("regimen.skipped") == "4");
        CHECK(file.value("regimen.step") == "4");
        for (const safetensors::Tensor& tensor : file.tensors())
          if (tensor.name.starts_with("optimizer."))
            for (const std::byte byte : tensor.bytes) REQUIRE(byte == std::byte{0});
      }
    }
  }
  CHECK(skipped >= 8);
  CHECK(applied >= 8);
  CHECK(flat(trainer.parameters()) != before);
  trainer.save(folder / "end.safetensors");
  const safetensors::File file(folder / "end.safetensors");
  CHECK(file.value("regimen.updates") == std::to_string(applied));
  CHECK(file.value("regimen.skipped") == std::to_string(skipped));
}

TEST_CASE("forward, scale, backward, unscale, apply is a step, bit for bit, skipped ones too") {
  using Train = Trainer<Mlp, Batch<8>, Half, LossScale<DynamicScale<(std::size_t{1} << 36), 2>>>;
  Train by_step, by_hand;
  const Work<Train> work(8);
  std::size_t skipped = 0;
  for (int i = 0; i < 30; ++i) {
    const StepResult a = by_step.step(work.inputs, work.targets);
    const StepResult b =
        by_hand.apply(by_hand.unscale(by_hand.backward(by_hand.scale(by_hand.forward(work.inputs, work.targets)))));
    CHECK(a.loss == b.loss);
    CHECK(a.loss_scale == b.loss_scale);
    CHECK(a.applied == b.applied);
    skipped += !a.applied;
  }
  CHECK(skipped > 0);
  CHECK(skipped < 30);
  CHECK(flat(by_step.parameters()) == flat(by_hand.parameters()));
}

TEST_CASE("a step that has begun cannot be taken apart in another order") {
  using Train = Trainer<Mlp, Batch<8>>;
  Train trainer;
  const Work<Train> work(8);
  const auto loss = trainer.forward(work.inputs, work.targets);
  const auto says = [](const auto& call, const char* found) {
    CHECK(::test::error_of(call).find(found) != std::string::npos);
  };
  says([&] { trainer.forward(work.inputs, work.targets); },
       "Trainer::forward: expected the order forward, backward, apply, found forward where backward is due");
  CHECK_THROWS_AS(trainer.step(work.inputs, work.targets), Error);
  CHECK_THROWS_AS(trainer.predict(work.inputs), Error);
  const auto gradients = trainer.backward(loss);
  says([&] { trainer.backward(loss); }, "found backward where apply, or another forward, is due");
  CHECK(trainer.apply(gradients).applied);
  says([&] { trainer.apply(gradients); }, "found apply where forward is due");
  says([&] { trainer.forward(work.inputs, std::span(work.targets).first(7)); },
       "Trainer::forward: expected 1 to 8 samples of");
  CHECK(trainer.step(work.inputs, work.targets).applied);
}

namespace {
using Words = Embedding<Vocabulary<11>, 8>;
struct SharedWords : Model<Input<Tokens<4>>, As<fp32, Words>, As<fp32, TiedLinear<Words>>> {};
}  // namespace

TEST_CASE("a tied table inside As is kept in its type: such a model is fp32, whatever the rest would be") {
  using InBf16 = Trainer<SharedWords, Batch<4>, Precision<bf16, fp32>>;
  using InFp32 = Trainer<SharedWords, Batch<4>, Precision<fp32>>;
  InBf16 half;
  InFp32 whole;
  const Work<InBf16> work(4);
  for (int step = 0; step < 3; ++step)
    CHECK(half.step(work.inputs, work.targets).loss == whole.step(work.inputs, work.targets).loss);
  CHECK(half.predict(work.inputs) == whole.predict(work.inputs));
  CHECK(flat(half.parameters()) == flat(whole.parameters()));
}
