// GPT-2 against the transformers library: the same logits from its file, and its naming for ours.
#include "../temporary.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/tiny.hpp"
#include "train/other_names.hpp"

#include <regimen/comm/launch.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/models/gpt2.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/trainers/inference.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>

using namespace regimen;

namespace {

struct Small : Gpt2Model<32, 12, 16, 2, 2> {};
struct Dropped : Gpt2Model<32, 12, 16, 2, 2, Ratio<1, 10>> {};
using Train = Trainer<Small, Batch<3>, Init<Gpt2>>;

static_assert(Train::plan().parameters == Small::parameter_count);
static_assert(programs::InferenceRecipe<Gpt2Small, ConfigurationOf<Precision<bf16>, Batch<1>>>::Bound::layout.count ==
              124'439'808);
static_assert(programs::InferenceRecipe<Gpt2Xl, ConfigurationOf<Precision<bf16>, Batch<1>>>::plan.parameters ==
              1'557'611'200);

std::string model_file() { return support::recorded("gpt2/model.safetensors").string(); }

template <class T>
std::vector<T> recorded(const std::string& name, std::vector<std::size_t> shape) {
  const safetensors::File file(support::recorded("gpt2/logits.safetensors").string());
  std::size_t size = 1;
  for (std::size_t extent : shape) size *= extent;
  std::vector<T> values(size);
  file.copy<T>(name, shape, values);
  return values;
}

/// The largest distance from the truth, in units of the largest logit.
double distance(const std::vector<float>& found) {
  const auto truth = recorded<double>("fp64.logits", {3, 12, 32});
  REQUIRE(found.size() == truth.size());
  double largest = 0, error = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    largest = std::max(largest, std::fabs(truth[i]));
    error = std::max(error, std::fabs(double(found[i]) - truth[i]));  // a NaN would leave 0 here:
    REQUIRE(std::isfinite(found[i]));
  }
  return error / largest;
}
// Sums of at most 64 products in every step, each rounded in fp32, through 2 blocks of 2 branches: (4 · 2 + 1) products
// one behind the other, errors of n · 2^-24 each at worst in a sum of n, sqrt(n) as a rule.
constexpr double tolerance = 9 * 8 * 0x1p-24;

std::vector<safetensors::Tensor> tensors_of(const safetensors::File& file) {
  return {file.tensors().begin(), file.tensors().end()};
}

/// The recorded file, with its tensors changed.
std::string changed(const ::test::Directory& directory,
                    const std::function<void(std::vector<safetensors::Tensor>&)>& change) {
  const safetensors::File file(model_file());
  std::vector<safetensors::Tensor> tensors = tensors_of(file);
  change(tensors);
  safetensors::write(directory / "changed", tensors);
  return directory / "changed";
}

/// The recorded file in another element type.
template <class T>
std::string converted(const ::test::Directory& directory) {
  std::vector<std::vector<T>> values;
  return changed(directory, [&](std::vector<safetensors::Tensor>& tensors) {
    values.resize(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const auto* const from = reinterpret_cast<const float*>(tensors[i].bytes.data());
      for (std::size_t j = 0; j < tensors[i].bytes.size() / 4; ++j) values[i].push_back(static_cast<T>(from[j]));
      tensors[i].dtype = safetensors::dtype_of<T>;
      tensors[i].bytes = std::as_bytes(std::span(values[i]));
    }
  });
}

}  // namespace

TEST_CASE("a GPT-2 that transformers saved gives the same logits here") {
  const auto tokens = recorded<std::int32_t>("tokens", {3, 12});
  Train trainer;
  hugging_face::load(trainer, model_file());
  CHECK(distance(trainer.predict(tokens)) <= tolerance);
  Inference<Small, Batch<2>> model;
  hugging_face::load(model, model_file());
  CHECK(distance(model.predict(tokens)) <= tolerance);
  Trainer<Dropped, Batch<3>> dropped;
  hugging_face::load(dropped, model_file());
  CHECK(distance(dropped.predict(tokens)) <= tolerance);
}

TEST_CASE("and the same loss and gradients of it") {
  using Descent = Trainer<Small, Batch<3>, Precision<fp64>, Optimizer<Sgd>>;
  const regimen::test::Recorded from("gpt2/gradients");
  regimen::test::has_their_gradients<hugging_face::detail::gpt2_names<Small>, Descent>(
      "gpt2", from.values<std::int32_t>("tokens"), from.values<std::int32_t>("targets"));
}

TEST_CASE("what is saved in the naming of Hugging Face comes back with the same bits, and is what was there") {
  ::test::Directory directory;
  Train trainer;
  hugging_face::load(trainer, model_file());
  hugging_face::save(trainer, directory / "model.safetensors");
  const safetensors::File ours(directory / "model.safetensors"), theirs(model_file());
  REQUIRE(ours.tensors().size() == theirs.tensors().size());
  for (const safetensors::Tensor& tensor : theirs.tensors()) {
    const safetensors::Tensor& found = ours.tensor(tensor.name);
    CHECK(found.shape == tensor.shape);
    CHECK(std::equal(found.bytes.begin(), found.bytes.end(), tensor.bytes.begin(), tensor.bytes.end()));
  }
  CHECK(ours.value("format") == "pt");
  trainer.step(recorded<std::int32_t>("tokens", {3, 12}), recorded<std::int32_t>("tokens", {3, 12}));
  hugging_face::save(trainer, directory / "trained.safetensors");
  Train other{{.seed = 5}};
  hugging_face::load(other, directory / "trained.safetensors");
  CHECK(tiny::same_bits(std::span<const float>(tiny::weights(other)), std::span<const float>(tiny::weights(trainer))));
  // A folder for tests/recorded/check_gpt2.py, when somebody wants one.
  if (const char* folder = std::getenv("REGIMEN_GPT2_OUT")) {
    hugging_face::save(trainer, std::string(folder) + "/model.safetensors");
    const auto tokens = recorded<std::int32_t>("tokens", {3, 12});
    const std::vector<float> logits = trainer.predict(tokens);
    const std::vector<safetensors::Tensor> written{
        {"tokens", safetensors::Dtype::I32, {3, 12}, std::as_bytes(std::span(tokens))},
        {"logits", safetensors::Dtype::F32, {3, 12, 32}, std::as_bytes(std::span(logits))}};
    safetensors::write(std::string(folder) + "/logits.safetensors", written);
  }
}

TEST_CASE("loading weights into a trainer begins anew") {
  ::test::Directory directory;
  const auto tokens = recorded<std::int32_t>("tokens", {3, 12});
  Train used, fresh;
  for (int i = 0; i < 3; ++i) used.step(tokens, tokens);
  hugging_face::load(used, model_file());
  hugging_face::load(fresh, model_file());
  CHECK(used.steps_done() == 0);
  for (int i = 0; i < 2; ++i) CHECK(used.step(tokens, tokens).loss == fresh.step(tokens, tokens).loss);
  CHECK(tiny::same_bits(std::span<const float>(tiny::weights(used)), std::span<const float>(tiny::weights(fresh))));
  used.forward(tokens, tokens);
  CHECK(::test::says(::test::error_of([&] { hugging_face::load(used, model_file()); }), "finished step"));
}

TEST_CASE("both prefixes, masks and a tied head are read") {
  ::test::Directory directory;
  Train expected, trainer{{.seed = 9}};
  hugging_face::load(expected, model_file());
  const std::vector<float> ones(12 * 12, 1);
  const std::string path = changed(directory, [&](std::vector<safetensors::Tensor>& tensors) {
    for (auto& tensor : tensors) tensor.name = tensor.name.substr(std::string("transformer.").size());
    tensors.push_back({"h.0.attn.bias", safetensors::Dtype::F32, {1, 1, 12, 12}, std::as_bytes(std::span(ones))});
    tensors.push_back({"h.1.attn.masked_bias", safetensors::Dtype::F32, {}, std::as_bytes(std::span(ones).first(1))});
    for (const auto& tensor : std::vector<safetensors::Tensor>(tensors))
      if (tensor.name == "wte.weight") tensors.push_back({"lm_head.weight", tensor.dtype, tensor.shape, tensor.bytes});
  });
  hugging_face::load(trainer, path);
  CHECK(
      tiny::same_bits(std::span<const float>(tiny::weights(trainer)), std::span<const float>(tiny::weights(expected))));
}

TEST_CASE("16-bit files are widened exactly; wider ones only an Inference narrows") {
  ::test::Directory directory;
  Train reference;
  hugging_face::load(reference, model_file());
  const std::vector<float> exact = tiny::weights(reference);
  const auto check = [&]<class T>(T) {
    Train trainer{{.seed = 9}};
    hugging_face::load(trainer, converted<T>(directory));
    const std::vector<float> found = tiny::weights(trainer);
    REQUIRE(found.size() == exact.size());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < found.size(); ++i) wrong += found[i] != float(T(exact[i]));
    CHECK(wrong == 0);
    Inference<Small, Precision<T>, Batch<3>> half, narrowed;  // held as they lie in the file; rounded from fp32
    hugging_face::load(half, directory / "changed");
    hugging_face::load(narrowed, model_file());
    const auto tokens = recorded<std::int32_t>("tokens", {3, 12});
    CHECK(half.predict(tokens) == narrowed.predict(tokens));
    CHECK(distance(half.predict(tokens)) <= tolerance * epsilon_of<T> / epsilon_of<fp32>);
    hugging_face::save(half, directory / "half");
    const safetensors::File saved(directory / "half");
    CHECK(saved.tensor("transformer.wte.weight").dtype == safetensors::dtype_of<T>);
  };
  check(fp16{});
  check(bf16{});
  const std::string wide = converted<double>(directory);
  CHECK(::test::says(::test::error_of([&] { hugging_face::load(reference, wide); }), "F64"));
  CHECK(tiny::same_bits(std::span<const float>(tiny::weights(reference)), std::span<const float>(exact)));
  Inference<Small, Batch<3>> model;
  hugging_face::load(model, wide);
  CHECK(distance(model.predict(recorded<std::int32_t>("tokens", {3, 12}))) <= tolerance);
}

TEST_CASE("a file of another model is refused by the tensor's name, and nothing changes") {
  ::test::Directory directory;
  Train trainer;
  const std::vector<float> before = tiny::weights(trainer);
  const auto refused = [&](const char* text, const std::function<void(std::vector<safetensors::Tensor>&)>& change) {
    const std::string path = changed(directory, change);
    INFO(text);
    const std::string error = ::test::error_of([&] { hugging_face::load(trainer, path); });
    INFO(error);
    CHECK(::test::says(error, text));
    CHECK(tiny::same_bits(std::span<const float>(tiny::weights(trainer)), std::span<const float>(before)));
  };
  std::vector<float> some(16);
  refused("h.1.mlp.c_fc.bias", [](auto& tensors) {
    std::erase_if(tensors, [](const auto& t) { return t.name.ends_with("h.1.mlp.c_fc.bias"); });
  });
  refused("wte.weight",
          [](auto& tensors) { std::erase_if(tensors, [](const auto& t) { return t.name.ends_with("wte.weight"); }); });
  refused("transformer.h.2.ln_1.bias", [&](auto& tensors) {
    tensors.push_back({"transformer.h.2.ln_1.bias", safetensors::Dtype::F32, {16}, std::as_bytes(std::span(some))});
  });
  refused("h.2.attn.bias", [&](auto& tensors) {
    tensors.push_back({"h.2.attn.bias", safetensors::Dtype::F32, {16}, std::as_bytes(std::span(some))});
  });
  refused("lm_head.weight", [&](auto& tensors) {
    tensors.push_back({"lm_head.weight", safetensors::Dtype::F32, {16}, std::as_bytes(std::span(some))});
  });
  refused("two, with and without", [&](auto& tensors) {
    tensors.push_back({"ln_f.bias", safetensors::Dtype::F32, {16}, std::as_bytes(std::span(some))});
  });
  refused("transformer.h.0.attn.c_attn.weight", [](auto& tensors) {  // not transposed
    for (auto& tensor : tensors)
      if (tensor.name.ends_with("h.0.attn.c_attn.weight")) tensor.shape = {48, 16};
  });
  refused("I32", [](auto& tensors) {
    for (auto& tensor : tensors)
      if (tensor.name.ends_with("ln_f.bias")) tensor.dtype = safetensors::Dtype::I32;
  });
}

TEST_CASE("several ranks write one file for the transformers library, that of one rank, and read it") {
  ::test::Directory directory;
  Train one({.threads = 1});
  hugging_face::save(one, directory / "one");
  launch(3, [&](comm::Threads& communicator) {
    Trainer<Small, Batch<3>, Init<Gpt2>, Communicator<Threads>, Shard<ZeRO3>> trainer(communicator, {.threads = 1});
    hugging_face::save(trainer, directory / "three");
    hugging_face::load(trainer, directory / "one");
    hugging_face::save(trainer, directory / "again");
  });
  CHECK(directory.files() == 3);
  CHECK(::test::get(directory / "three") == ::test::get(directory / "one"));
  CHECK(::test::get(directory / "again") == ::test::get(directory / "one"));
  const std::string error = ::test::error_of([&] {
    launch(2, [&](comm::Threads& communicator) {
      Trainer<Small, Batch<3>, Init<Gpt2>, Communicator<Threads>, Shard<ZeRO3>> trainer(communicator, {.threads = 1});
      hugging_face::save(trainer, directory / "none/three");
    });
  });
  CHECK(::test::says(error, "No such file or directory"));
}
