// Inference: what it holds, what it reads, what it predicts.
#include "../temporary.hpp"
#include "support/catch.hpp"
#include "support/tiny.hpp"

#include <regimen/comm/launch.hpp>
#include <regimen/trainers/inference.hpp>

#include <cmath>
#include <map>
#include <string>

using namespace regimen;

namespace {

constexpr std::size_t kind(const MemoryPlan& plan, MemoryKind which) { return plan.bytes(which); }

using Full = Inference<tiny::Gpt, Batch<4>>;
using Half = Inference<tiny::Gpt, Batch<4>, Precision<bf16>>;
using Train = Trainer<tiny::Gpt, Batch<4>>;
using MixedTrain = Trainer<tiny::Gpt, Batch<4>, Precision<bf16, fp32>>;

static_assert(kind(Full::plan(), MemoryKind::gradient) == 0 && kind(Full::plan(), MemoryKind::optimizer) == 0 &&
              kind(Full::plan(), MemoryKind::saved) == 0);
static_assert(kind(Half::plan(), MemoryKind::gradient) == 0 && kind(Half::plan(), MemoryKind::optimizer) == 0 &&
              kind(Half::plan(), MemoryKind::saved) == 0);
static_assert(kind(Full::plan(), MemoryKind::parameter) == kind(Train::plan(), MemoryKind::parameter));
// Held once, in the compute type; each of the 6 units is rounded up to the arena's alignment.
static_assert(kind(Half::plan(), MemoryKind::parameter) >= Half::plan().parameters * 2);
static_assert(kind(Half::plan(), MemoryKind::parameter) < Half::plan().parameters * 2 + 6 * TensorArena::align(1));
static_assert(Half::plan().parameters == Train::plan().parameters && Half::plan().trained == 0);
static_assert(Full::plan().forward.flops > 0 && Full::plan().backward.flops == 0 &&
              Full::plan().update.operations == 0);
static_assert(Full::plan().peak < Train::plan().peak);

// The policies that a forward pass reads, in any order; the others are refused.
static_assert(Inferable<tiny::Gpt> &&
              Inferable<tiny::Gpt, Fusion<Unfused>, Batch<1>, Target<targets::h200>, Device<Cpu>, Precision<fp16>>);
struct HalfInside : Model<Input<Vector<4>>, As<fp16, Linear<3>>, Linear<2>> {};
static_assert(Inferable<HalfInside, Precision<fp16>> &&
              !Composable<HalfInside, Precision<fp32>>);  // what trains nothing scales no loss
static_assert(Inferable<tiny::Gpt, Precision<bf16, fp32>> &&
              Inferable<tiny::Gpt, Batch<Largest>, Target<targets::h200>>);
static_assert(!Inferable<tiny::Gpt, Optimizer<AdamW>> && !Inferable<tiny::Gpt, Checkpoint<Every<2>>> &&
              !Inferable<tiny::Gpt, Seed<2>>);
static_assert(!Inferable<tiny::Gpt, Loss<CrossEntropy>> && !Inferable<tiny::Gpt, Accumulate<2>> &&
              !Inferable<tiny::Gpt, Debug<Anomaly>>);
static_assert(!Inferable<tiny::Gpt, Batch<0>> && !Inferable<tiny::Gpt, Batch<1>, Batch<2>> &&
              !Inferable<tiny::Gpt, Batch<Largest>>);
static_assert(!Inferable<tiny::Gpt, Attention<Composed>> && !Inferable<tiny::Gpt, Precision<bf16>, Attention<Cudnn>> &&
              Inferable<tiny::Gpt, Attention<Tiled>>);
static_assert(!Inferable<tiny::Gpt, Convolution<Cudnn>> && Inferable<tiny::Gpt, Convolution<>>);
static_assert(!Inferable<tiny::Gpt, Device<Cuda>> && !Inferable<tiny::Gpt, int> && !Inferable<Batch<1>>);
static_assert(std::is_same_v<Inference<tiny::Gpt, Precision<bf16>, Batch<2>>::Configuration,
                             Inference<tiny::Gpt, Batch<2>, Precision<bf16>>::Configuration>);

// No batch fits: the rule about memory says so, for both.
struct Nutshell {
  static constexpr const char* name = "nutshell";
  static constexpr std::size_t memory = 10'000;
  template <class T>
  static constexpr bool supports = true;
};
static_assert(!Composable<tiny::Gpt, Batch<Largest>, Target<Nutshell>> &&
              !Inferable<tiny::Gpt, Batch<1>, Target<Nutshell>>);
static_assert(Inferable<tiny::Gpt, Batch<Largest>, Target<Nutshell>, Precision<bf16>>);
using Fitting = Inference<tiny::Gpt, Batch<Largest>, Target<Nutshell>, Precision<bf16>>;
static_assert(Fitting::plan().peak <= Nutshell::memory &&
              Fitting::Recipe::make_plan(Fitting::batch + 1).peak > Nutshell::memory);

struct Narrow : Model<Input<Vector<4>>, Linear<6>, Relu, As<fp32, Linear<3>>> {};

template <class Trained>
void run(Trained& trainer, std::size_t steps) {
  for (std::size_t i = 0; i < steps; ++i) trainer.step(tiny::tokens(4, i), tiny::tokens(4, 100 + i));
}

}  // namespace

TEST_CASE("inference predicts what the trainer that saved predicts, bit for bit") {
  ::test::Directory directory;
  const std::vector<std::int32_t> inputs = tiny::tokens(11, 5);  // two batches and a short one
  SECTION("fp32") {
    Train trainer;
    run(trainer, 5);
    trainer.save(directory / "state");
    Full model(directory / "state");
    model.poison_dead_memory();
    CHECK(tiny::same_bits(std::span<const float>(model.predict(inputs)),
                          std::span<const float>(trainer.predict(inputs))));
    CHECK(model.used().peak == Full::plan().peak);
    CHECK(model.used().operations == 3 * Full::plan().operations());
  }
  SECTION("bf16: masters are rounded once, as the trainer's copies are") {
    MixedTrain trainer;
    run(trainer, 5);
    trainer.save(directory / "state");
    Half model(directory / "state");
    model.poison_dead_memory();
    CHECK(tiny::same_bits(std::span<const float>(model.predict(inputs)),
                          std::span<const float>(trainer.predict(inputs))));
    CHECK(model.used().peak == Half::plan().peak);
  }
}

TEST_CASE("inference reads what several ranks saved, and the same in one file") {
  ::test::Directory directory;
  const std::vector<std::int32_t> inputs = tiny::tokens(3, 5);
  std::vector<float> expected;
  launch(2, [&](comm::Threads& communicator) {
    Trainer<tiny::Gpt, Batch<4>, Communicator<Threads>, Shard<ZeRO3>> trainer(communicator, {.threads = 1});
    run(trainer, 3);
    trainer.save(directory / "state");
    trainer.save_whole(directory / "whole");
    const std::vector<float> predicted = trainer.predict(inputs);
    if (communicator.rank() == 0) expected = predicted;
  });
  REQUIRE(directory.files() == 4);
  for (const char* name : {"state", "whole"}) {
    Full model(directory / name);
    CHECK(tiny::same_bits(std::span<const float>(model.predict(inputs)), std::span<const float>(expected)));
  }
}

TEST_CASE("the constant plan is the plan at run time and the full plan") {
  CHECK(Full::plan(4).peak == Full::plan().peak);
  CHECK(Full::Recipe::make_plan(4, true).peak == Full::plan().peak);
  CHECK(Full::Recipe::make_plan(4, true).forward.flops == Full::plan().forward.flops);
  std::size_t sum = 0;
  for (std::size_t bytes : Half::plan().kinds) sum += bytes;
  CHECK(sum == Half::plan().peak);
}

TEST_CASE("parameters have the trainer's names, shapes and rounded values, each layer in its own type") {
  using Trained = Trainer<Narrow, Batch<2>, Precision<bf16, fp32>>;
  using Model = Inference<Narrow, Batch<2>, Precision<bf16>>;
  static_assert(kind(Model::plan(), MemoryKind::parameter) <
                30 * 2 + 21 * 4 + 4 * TensorArena::align(1));  // and no masters
  ::test::Directory directory;
  Trained trainer;
  trainer.save(directory / "state");
  Model model(directory / "state");
  const auto ours = model.parameters();
  const auto theirs = trainer.parameters();
  REQUIRE(ours.size() == theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    CHECK(ours[i].name == theirs[i].name);
    CHECK(ours[i].shape == theirs[i].shape);
    CHECK(ours[i].element == (i < 2 ? ElementType::bfloat16 : ElementType::float32));
    ours[i].visit([&]<class T>(std::span<T> values) {
      REQUIRE(values.size() == theirs[i].values.size());
      for (std::size_t j = 0; j < values.size(); ++j) CHECK(float(values[j]) == float(T(theirs[i].values[j])));
    });
  }
  CHECK(ours[2].values<fp32>().size() == 18);
  CHECK(::test::says(::test::error_of([&] { (void)ours[2].values<bf16>(); }), ours[2].name));
  const std::vector<float> inputs{1, 2, 3, 4, -1, 0, 0.5f, 2};
  CHECK(
      tiny::same_bits(std::span<const float>(model.predict(inputs)), std::span<const float>(trainer.predict(inputs))));
}

TEST_CASE("inference without weights refuses to predict; a file that does not fit changes nothing") {
  ::test::Directory directory;
  Full model;
  const std::vector<std::int32_t> inputs = tiny::tokens(4, 5);
  CHECK(::test::says(::test::error_of([&] { model.predict(inputs); }), "expected weights"));
  Train trainer;
  trainer.save(directory / "state");
  model.load(directory / "state");
  const std::vector<float> before = model.predict(inputs);
  CHECK(::test::says(::test::error_of([&] { model.predict(std::span<const std::int32_t>(inputs).first(5)); }),
                     "multiple of 6"));

  Trainer<Narrow, Batch<2>> other;
  other.save(directory / "other");
  CHECK_FALSE(::test::error_of([&] { model.load(directory / "other"); }).empty());
  CHECK_FALSE(::test::error_of([&] { model.load(directory / "nowhere"); }).empty());
  const auto parameters = trainer.parameters();
  std::vector<safetensors::Tensor> tensors;
  for (const auto& parameter : parameters)
    tensors.push_back({parameter.name, safetensors::Dtype::F32, parameter.shape, std::as_bytes(parameter.values)});
  const std::string last = tensors.back().name;
  std::vector<std::int32_t> integers(tensors.back().bytes.size() / 4);
  tensors.back() = {last, safetensors::Dtype::I32, tensors.back().shape, std::as_bytes(std::span(integers))};
  safetensors::write(directory / "integers", tensors);
  CHECK(::test::says(::test::error_of([&] { model.load(directory / "integers"); }), last));
  tensors.pop_back();
  safetensors::write(directory / "missing", tensors);
  CHECK(::test::says(::test::error_of([&] { model.load(directory / "missing"); }), last));
  CHECK(tiny::same_bits(std::span<const float>(model.predict(inputs)), std::span<const float>(before)));
}

TEST_CASE("a weight is rounded once, also from fp64 to 16 bits") {
  CHECK(float(saves::rounded<bf16>(1.0 + 0x1p-8)) == 1.0f);  // a tie, to even
  CHECK(float(saves::rounded<bf16>(1.0 + 0x1p-8 + 0x1p-40)) ==
        1.0f + 0x1p-7f);  // by way of fp32 to nearest it would be that tie
  CHECK(float(saves::rounded<bf16>(1.0 + 0x3p-8 - 0x1p-40)) == 1.0f + 0x1p-7f);
  CHECK(float(saves::rounded<fp16>(-1.0 - 0x1p-11 - 0x1p-50)) == -1.0f - 0x1p-10f);
  CHECK(float(saves::rounded<fp16>(65519.999999999)) == 65504.0f);
  CHECK(std::isinf(float(saves::rounded<fp16>(65520.0))));
  CHECK(std::isinf(float(saves::rounded<bf16>(1e300))));
  CHECK(std::isnan(float(saves::rounded<bf16>(std::nan("")))));
  CHECK(float(saves::rounded<bf16>(-0.0)) == 0.0f);
  CHECK(float(saves::rounded<fp16>(0x1p-25 + 0x1p-70)) == 0x1p-24f);
  CHECK(float(saves::rounded<fp16>(0x1p-25)) == 0.0f);
  CHECK(saves::rounded<float>(0.1) == 0.1f);
  CHECK(saves::rounded<double>(bf16(1.5f)) == 1.5);
}
