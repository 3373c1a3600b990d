// Inferences for several threads: one set of weights, an arena each, the bits of one alone. docs/inference.md quotes this file.
#include "../temporary.hpp"
#include "support/catch.hpp"
#include "support/tiny.hpp"

#include <regimen/trainers/inference.hpp>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

using namespace regimen;

namespace {

struct Net : Model<Input<Vector<24>>, Linear<128>, Relu, Linear<128>, Relu, Linear<6>> {};
using Controller = Inference<Net, Batch<1>>;
// Every kind of parameter: a tied table, buffers of running statistics, 16 bits beside 32.
struct Statistics : Model<Input<Vector<8>>, Linear<16, NoBias>, BatchNorm<>, Relu, As<fp32, Linear<5>>> {};

/// Writes numbers that depend on `key` alone.
template <class Model>
void write_weights(Model& model, std::uint64_t key) {
  std::uint64_t index = 0;
  for (const HeldParameter& parameter : model.parameters())
    parameter.visit([&]<class T>(std::span<T> values) {
      for (T& value : values) value = T(0.02f + 0.3f * float(Philox::mix(key, index++) % 1000) / 1000);
    });
  model.parameters_changed();
}
template <class Model>
std::vector<typename Model::Input> inputs_of(std::size_t samples, std::uint64_t key) {
  std::vector<typename Model::Input> inputs(samples * Model::input_size);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    inputs[i] = static_cast<typename Model::Input>(float(Philox::mix(key, i) % 11) /
                                                   (std::is_integral_v<typename Model::Input> ? 1 : 5));
  return inputs;
}
template <class T>
bool equal(const std::vector<T>& a, const std::vector<T>& b) {
  return tiny::same_bits(std::span<const T>(a), std::span<const T>(b));
}
/// Repeats `attempt` until it says so, or gives up after a time that no machine needs.
template <class Attempt>
bool in_time(const Attempt& attempt) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < end)
    if (attempt()) return true;
  return false;
}

struct Writer : Model<Input<Tokens<32>>, Embedding<Vocabulary<512>, 8>, PositionEmbedding,
                      Residual<SelfAttention<Heads<1>, Causal>>, Linear<512>> {};

static_assert(std::is_nothrow_move_constructible_v<Controller> && std::is_nothrow_move_assignable_v<Controller>);
static_assert(!std::is_copy_constructible_v<Controller> && !std::is_copy_assignable_v<Controller>);
static_assert(Controller::plan().bytes(MemoryKind::parameter) > 0 &&
              Controller::shared_plan().bytes(MemoryKind::parameter) == 0);
static_assert(Controller::shared_plan().peak ==
              Controller::plan().peak - Controller::plan().bytes(MemoryKind::parameter));
using Normed = Inference<Statistics, Batch<2>, Precision<bf16>>;
static_assert(Normed::plan().bytes(MemoryKind::buffer) > 0 &&
              Normed::shared_plan().peak == Normed::plan().peak - Normed::plan().bytes(MemoryKind::parameter) -
                                                Normed::plan().bytes(MemoryKind::buffer));

/// Threads that share weights give the bits of one Inference alone, with 1 thread within a call and with 2.
template <class Model>
void share_and_compare() {
  Model model(1);
  write_weights(model, 7);
  const auto inputs = inputs_of<Model>(3 * Model::batch + (Model::batch + 1) / 2, 3);
  const auto expected = model.predict(inputs);
  std::vector<Model> sharers;
  sharers.push_back(model.share());
  sharers.push_back(sharers[0].share(2));  // of one that shares
  sharers.push_back(model.share(1));
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (Model& sharer : sharers)
    threads.emplace_back([&] {
      sharer.poison_dead_memory();
      bool same = true;
      for (int i = 0; i < 40; ++i) same = same && equal(sharer.predict(inputs), expected);
      if (same) ++right;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 3);
  for (const Model& sharer : sharers) {
    CHECK(&sharer.planned() == &Model::shared_plan());
    CHECK(sharer.used().peak == Model::shared_plan().peak);
    CHECK(sharer.used().operations > 0);
  }
  CHECK(&model.planned() == &Model::plan());
  CHECK(model.used().peak == Model::plan().peak);
}

}  // namespace

TEST_CASE("a second thread in an Inference gets an Error that says what to do; the first one's answers are right") {
  Controller model(1);
  write_weights(model, 1);
  const std::vector<float> inputs = inputs_of<Controller>(1, 2), expected = model.predict(inputs);
  std::atomic<bool> refused{false}, stop{false}, wrong{false};
  std::string words;
  const auto call = [&](bool notes) {
    try {
      if (!equal(model.predict(inputs), expected)) wrong = true;
    } catch (const Error& error) {
      if (notes) words = error.what();
      refused = true;
    }
  };
  std::thread other([&] {
    while (!stop) call(false);
  });
  in_time([&] {
    if (words.empty()) call(true);
    return !words.empty();
  });
  stop = true;
  other.join();
  CHECK(refused);
  CHECK(!wrong);
  CHECK(words ==
        "Inference::predict: expected one thread at a time, found a second one, while the first is in a call of this "
        "Inference; give each thread an Inference of its own, which share() makes");
  CHECK(equal(model.predict(inputs), expected));
}

TEST_CASE("Inferences that share weights predict at once, with the bits of one alone") {
  share_and_compare<Controller>();
  share_and_compare<Inference<Net, Batch<3>, Precision<bf16>>>();
  share_and_compare<Normed>();
  share_and_compare<Inference<tiny::Gpt, Batch<2>>>();
}

TEST_CASE("sharers decode texts of their own") {
  using Model = Inference<tiny::Gpt, Batch<1>>;
  Model model(1), other = model.share();
  write_weights(model, 5);
  const std::vector<std::int32_t> prompt{1, 2}, second{7};
  const auto expected = generate(model, prompt, 9, {.seed = 4}),
             other_expected = generate(model, second, 9, {.seed = 6});
  std::vector<std::int32_t> found, other_found;
  std::thread thread([&] {
    for (int i = 0; i < 20; ++i) other_found = generate(other, second, 9, {.seed = 6});
  });
  for (int i = 0; i < 20; ++i) found = generate(model, prompt, 9, {.seed = 4});
  thread.join();
  CHECK(found == expected);
  CHECK(other_found == other_expected);
  model.start(prompt);
  other.start(second);
  write_weights(other, 6);  // for both: what the caches hold is of other weights
  CHECK(::test::says(::test::error_of([&] { model.next(3); }), "new weights since"));
  CHECK(::test::says(::test::error_of([&] { other.next(3); }), "new weights since"));
}

TEST_CASE("weights that one Inference loads are those of all; while another thread predicts they are refused") {
  ::test::Directory directory;
  std::vector<safetensors::Tensor> tensors;
  Controller source(1);
  write_weights(source, 8);
  const auto held = source.parameters();
  for (const HeldParameter& parameter : held)
    tensors.push_back({parameter.name, safetensors::Dtype::F32, parameter.shape, parameter.bytes});
  safetensors::write(directory / "weights", tensors);
  const std::vector<float> inputs = inputs_of<Controller>(1, 2), expected = source.predict(inputs);

  Controller model(1);
  Controller sharer = model.share();
  CHECK(::test::says(::test::error_of([&] { sharer.predict(inputs); }), "expected weights"));
  write_weights(model, 1);
  const std::vector<float> before = model.predict(inputs);
  CHECK(equal(sharer.predict(inputs), before));

  std::atomic<bool> stop{false}, wrong{false};
  std::atomic<int> calls{0};
  std::thread thread([&] {
    while (!stop) try {
        const std::vector<float> found = sharer.predict(inputs);
        if (!equal(found, before) && !equal(found, expected)) wrong = true;
        ++calls;
      } catch (const Error& error) {
        if (!::test::says(error.what(), "another thread that writes them")) wrong = true;
      }
  });
  std::string words;
  CHECK(in_time([&] {
    words = ::test::error_of([&] { model.load(directory / "weights"); });
    return !words.empty();
  }));
  CHECK(::test::says(
      words,
      "Inference::load: expected no call of an Inference that reads these weights, found one in another thread"));
  CHECK(in_time(
      [&] { return ::test::says(::test::error_of([&] { model.parameters_changed(); }), "one in another thread"); }));
  stop = true;
  thread.join();
  CHECK(calls > 0);
  CHECK(!wrong);
  sharer.load(directory / "weights");
  CHECK(equal(model.predict(inputs), expected));
  CHECK(equal(sharer.predict(inputs), expected));
}

TEST_CASE("Inferences move, in a std::vector, too; weights live as long as one that reads them") {
  std::vector<Controller> models;
  models.emplace_back(1);
  write_weights(models[0], 1);
  const std::vector<float> inputs = inputs_of<Controller>(2, 2), expected = models[0].predict(inputs);
  for (int i = 0; i < 5; ++i) models.push_back(models[0].share());
  models.erase(models.begin());  // the one that owns the memory
  CHECK(models.size() == 5);
  for (Controller& model : models) CHECK(equal(model.predict(inputs), expected));
  Controller taken = std::move(models.back());
  CHECK(equal(taken.predict(inputs), expected));
  CHECK(::test::says(::test::error_of([&] { models.back().predict(inputs); }), "one that was moved away"));
  CHECK(::test::says(::test::error_of([&] { (void)models.back().share(); }), "one that was moved away"));
  models.back() = taken.share();
}

TEST_CASE("nobody comes between the tokens of a text") {
  Inference<Writer, Batch<1>> model(1);
  write_weights(model, 3);
  const std::vector<std::int32_t> prompt{1, 2, 3}, other{9, 8};
  const auto write = [&] {
    return generate(model, std::span<const std::int32_t>(prompt), 29, {.temperature = 1, .top_k = 200, .seed = 5});
  };
  const std::vector<std::int32_t> right = write();
  std::atomic<bool> ends{false};
  std::size_t wrong = 0, interrupted = 0;
  std::thread writer([&] {
    while (!ends) {
      std::vector<std::int32_t> text;
      const std::string words = ::test::error_of([&] { text = write(); });
      // Refused at its beginning, not at a later token.
      if (!words.empty()) interrupted += words.rfind("generate: ", 0) == 0 ? 0 : 1;
      else wrong += text == right ? 0 : 1;
    }
  });
  std::size_t begun = 0, refused = 0;
  CHECK(in_time([&] {
    (::test::error_of([&] { model.start(other); }).empty() ? begun : refused) += 1;
    return begun >= 100 && refused >= 1000;
  }));
  ends = true;
  writer.join();
  CHECK(wrong == 0);
  CHECK(interrupted == 0);
}
// SPDX-License-Identifier: Apache-2.0
