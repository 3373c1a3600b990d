// A model's tensors by the names of another library: axes, joined rows, parts, buffers, ties, files in parts; and what
// does not fit, when it is compiled and when a file is read.
#include "../temporary.hpp"
#include "support/catch.hpp"

#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/layer/activation.hpp>
#include <regimen/layer/batch_norm.hpp>
#include <regimen/layer/conv.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/join.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/patches.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/models/names.hpp>
#include <regimen/trainers/inference.hpp>
#include <regimen/trainers/trainer.hpp>

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace regimen;

namespace {

struct Pictures final
    : Model<Input<Image<6, 5, 3>>, Conv2d<4, 3, Padding<1>, NoBias>, BatchNorm<>, Relu,
            Repeat<2, Residual<Conv2d<4, 3, Padding<1>>, BatchNorm<AfterBias>>>, GlobalAveragePool, Linear<5>> {};
constexpr auto of_pictures = names::list(
    names::conv2d("stem.conv"), names::layer("stem.norm"),
    names::repeat_from(1, 2, "stage.{}.", names::inside("body.", names::conv2d("conv"), names::layer("norm"))),
    names::layer("head"), names::ignore("*.num_batches_tracked"));

using Table = Embedding<Vocabulary<7>, 6>;
using Gate = Fork<Multiply, Sequential<Linear<8, NoBias>, Silu>, Linear<8, NoBias>>;
struct Sentences final
    : Model<Input<Tokens<5>>, Table, PositionEmbedding,
            Repeat<2, Sequential<Residual<RmsNorm, SelfAttention<Heads<4>, KeyHeads<2>, HeadWidth<3>, Causal>>,
                                 Residual<RmsNorm, Gate, Linear<6, NoBias>>>>,
            TiedLinear<Table>> {};
constexpr auto of_text = names::list(
    names::inside_optional(
        "model.", names::tensor("positions").viewed(1, 0, 6).axes(0, 2, 1),
        names::repeat(
            2, "blocks.{}.", names::layer("norm1"),
            names::joined(names::layer("q").shares(4), names::layer("k").shares(2), names::layer("v").shares(2)),
            names::layer("o"), names::layer("norm2"), names::tensor("gate_up.weight").part(0, 1, 2),
            names::tensor("gate_up.weight").part(1, 1, 2), names::layer("down").transposed(),
            names::ignore("rotary.*"))),
    names::tensor("embed.weight").also("head.weight"));

/// Element j of parameter p is 4096 p + j.
float number(std::size_t parameter, std::size_t element) { return static_cast<float>(4096 * parameter + element); }
template <class Model>
void fill(Model& model) {
  auto parameters = model.parameters();
  for (std::size_t p = 0; p < parameters.size(); ++p)
    parameters[p].visit([&](auto values) {
      for (std::size_t j = 0; j < values.size(); ++j)
        values[j] = static_cast<std::remove_reference_t<decltype(values[j])>>(number(p, j));
    });
  model.parameters_changed();
}
template <class Model>
bool is_filled(Model& model) {
  bool all = true;
  auto parameters = model.parameters();
  for (std::size_t p = 0; p < parameters.size(); ++p)
    parameters[p].visit([&](auto values) {
      for (std::size_t j = 0; j < values.size(); ++j) all = all && float(values[j]) == number(p, j);
    });
  return all;
}
template <class Model>
std::size_t place_of(Model& model, const std::string& name) {
  const auto parameters = model.parameters();
  for (std::size_t p = 0; p < parameters.size(); ++p)
    if (parameters[p].name == name) return p;
  std::string all;
  for (const auto& parameter : parameters) all += " " + parameter.name;
  FAIL("no parameter " << name << " among" << all);
  return 0;
}

/// Compares each element of a tensor of rank 2 to 4 in a file with a parameter's, of which it is element at(i,j,k,l).
using Index = std::function<std::size_t(std::size_t, std::size_t, std::size_t, std::size_t)>;
template <class Model>
void check(const safetensors::File& file, const std::string& theirs, std::vector<std::size_t> shape, Model& model,
           const std::string& ours, const Index& at) {
  INFO(theirs);
  const safetensors::Tensor& tensor = file.tensor(theirs);
  REQUIRE(tensor.shape == shape);
  REQUIRE(tensor.dtype == safetensors::Dtype::F32);
  const std::size_t parameter = place_of(model, ours);
  shape.resize(4, 1);
  const float* values = reinterpret_cast<const float*>(tensor.bytes.data());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < shape[0]; ++i)
    for (std::size_t j = 0; j < shape[1]; ++j)
      for (std::size_t k = 0; k < shape[2]; ++k)
        for (std::size_t l = 0; l < shape[3]; ++l) wrong += *values++ != number(parameter, at(i, j, k, l));
  CHECK(wrong == 0);
}

using TensorList = std::vector<safetensors::Tensor>;
/// A file with its tensors changed.
std::string changed(const ::test::Directory& directory, const std::string& from,
                    const std::function<void(TensorList&)>& change) {
  const safetensors::File file(from);
  TensorList tensors(file.tensors().begin(), file.tensors().end());
  change(tensors);
  safetensors::write(directory / "changed", tensors);
  return directory / "changed";
}
safetensors::Tensor& named(TensorList& tensors, const std::string& name) {
  for (auto& tensor : tensors)
    if (tensor.name == name) return tensor;
  throw std::runtime_error("no tensor " + name);
}

// ---- when it is compiled

template <class Network, class Map>
constexpr names::detail::Verdict verdict(const Map& map) {
  return names::detail::compare(map.entries,
                                names::detail::TensorsOf<typename Inference<Network, Batch<1>>::Recipe::Bound>::list);
}
template <class Network, class Map>
constexpr bool misfits(const Map& map, names::Misfit misfit, std::size_t at) {
  const auto found = verdict<Network>(map);
  return found.misfit == misfit && found.at == at;
}
constexpr auto twice = names::list(names::layer("a"), names::layer("a"));
/// Two pairs of tensors are the same halves of one of theirs.
constexpr auto halves = names::inside("", names::tensor("a").part(0, 1, 2), names::tensor("a").part(1, 1, 2));
constexpr auto halves_twice = names::list(halves, halves);
template <class Layer>
struct Four final : Model<Input<Vector<4>>, Layer, Layer, Layer, Layer> {};
struct Two final : Model<Input<Vector<4>>, Linear<6>, Linear<3>> {};
using names::Misfit, names::layer, names::tensor, names::joined, names::list;
static_assert(misfits<Two>(list(layer("a"), layer("b")), Misfit::none, 0));
static_assert(misfits<Two>(list(layer("a").transposed(), layer("b")), Misfit::none, 0));
static_assert(misfits<Two>(list(layer("a"), tensor("b.weight")), Misfit::tensors_without_name, 3));
static_assert(misfits<Two>(list(), Misfit::tensors_without_name, 0));
static_assert(misfits<Two>(list(layer("a"), layer("b"), layer("c")), Misfit::names_without_tensor, 2));
static_assert(misfits<Two>(list(layer("a"), tensor("b").axes(0, 2, 1), tensor("c")), Misfit::shape_of_tensor, 2));
static_assert(misfits<Two>(list(layer("a"), tensor("b").axes(1, 1), tensor("c")), Misfit::shape_of_tensor, 2));
static_assert(misfits<Two>(list(tensor("a").viewed(5, 0), tensor("b"), layer("c")), Misfit::shape_of_tensor, 0));
static_assert(misfits<Two>(list(tensor("a").viewed(0, 2, 3), tensor("b"), layer("c")), Misfit::none, 0));
static_assert(misfits<Two>(list(layer("a"), joined(layer("b"), layer("c"))), Misfit::rows_of_tensor, 2));
static_assert(misfits<Two>(list(joined(layer("b"), layer("c").shares(2)), layer("d")), Misfit::none, 0));
static_assert(misfits<Two>(list(layer("a"), tensor("b").part(0, 1, 2), tensor("c")), Misfit::parts_of_entry, 1));
static_assert(misfits<Two>(list(layer("a"), layer("b").also("c")), Misfit::copy_of_nothing, 2));
// Shares and parts of nothing, or beyond the tensor; pieces that are no tensors.
static_assert(misfits<Two>(list(joined(layer("a").shares(0), layer("b")), layer("c")), Misfit::rows_of_tensor, 0));
static_assert(misfits<Two>(list(joined(layer("a").shares(0)), layer("c")), Misfit::rows_of_tensor, 0));
static_assert(misfits<Two>(list(layer("a").part(0, 0, 2), layer("c")), Misfit::rows_of_tensor, 0));
static_assert(misfits<Two>(list(layer("a").part(0, 1, 0), layer("c")), Misfit::rows_of_tensor, 0));
static_assert(misfits<Two>(list(layer("a"), layer("c").part(1, 1, 1)), Misfit::rows_of_tensor, 2));
static_assert(misfits<Two>(list(layer("a"), layer("c").part(0, 2, 1)), Misfit::rows_of_tensor, 2));
static_assert(misfits<Two>(list(joined(tensor("a"), names::ignore("b")), layer("a")), Misfit::rows_of_tensor, 0));
static_assert(misfits<Two>(list(joined(names::ignore("b"), tensor("a")), layer("a")), Misfit::rows_of_tensor, 0));

}  // namespace

TEST_CASE("convolutions and running statistics have the names and axes of PyTorch, both ways") {
  ::test::Directory directory;
  Inference<Pictures, Batch<1>> model, other;
  fill(model);
  names::save<of_pictures>(model, directory / "a");
  const safetensors::File file(directory / "a");
  REQUIRE(file.tensors().size() == model.parameters().size());
  check(file, "stem.conv.weight", {4, 3, 3, 3}, model, "0.weight",
        [](auto o, auto i, auto y, auto x) { return ((o * 3 + y) * 3 + x) * 3 + i; });
  check(file, "stage.2.body.conv.weight", {4, 4, 3, 3}, model, "3.1.0.0.weight",
        [](auto o, auto i, auto y, auto x) { return ((o * 3 + y) * 3 + x) * 4 + i; });
  for (const char* name : {"weight", "bias", "running_mean", "running_var"}) {
    const auto as_it_is = [](auto i, auto...) { return i; };
    check(file, std::string("stem.norm.") + name, {4}, model, std::string("1.") + name, as_it_is);
    check(file, std::string("stage.1.body.norm.") + name, {4}, model, std::string("3.0.0.1.") + name, as_it_is);
  }
  const std::int64_t batches = 7;
  names::load<of_pictures>(other, changed(directory, directory / "a", [&](TensorList& tensors) {
                             tensors.push_back({"stage.2.body.norm.num_batches_tracked",
                                                safetensors::Dtype::I64,
                                                {},
                                                std::as_bytes(std::span(&batches, 1))});
                           }));
  CHECK(is_filled(other));
}

TEST_CASE("rows of several tensors are joined, parts of one are taken apart, ties are copies") {
  ::test::Directory directory;
  Inference<Sentences, Batch<1>> model, other;
  fill(model);
  names::save<of_text>(model, directory / "a");
  const safetensors::File file(directory / "a");
  CHECK(file.find("head.weight") == nullptr);
  check(file, "model.positions", {1, 6, 5}, model, "1.weight", [](auto, auto c, auto t, auto) { return t * 6 + c; });
  for (const std::string block : {"0", "1"}) {
    const std::string theirs = "model.blocks." + block + ".", ours = "2." + block + ".";
    std::size_t row = 0;  // q: 4 heads of 3 channels; k and v: 2
    for (const auto& [name, rows] : {std::pair{"q", 12u}, {"k", 6u}, {"v", 6u}}) {
      check(file, theirs + name + ".weight", {rows, 6}, model, ours + "0.1.qkv.weight",
            [&](auto i, auto j, auto, auto) { return (row + i) * 6 + j; });
      check(file, theirs + name + ".bias", {rows}, model, ours + "0.1.qkv.bias",
            [&](auto i, auto...) { return row + i; });
      row += rows;
    }
    const float* gate = reinterpret_cast<const float*>(file.tensor(theirs + "gate_up.weight").bytes.data());
    CHECK(file.tensor(theirs + "gate_up.weight").shape == std::vector<std::size_t>{16, 6});
    CHECK(gate[0] == number(place_of(model, ours + "1.1.0.0.weight"), 0));
    CHECK(gate[8 * 6 + 5] == number(place_of(model, ours + "1.1.1.0.weight"), 5));
    check(file, theirs + "down.weight", {8, 6}, model, ours + "1.2.weight",
          [](auto i, auto j, auto, auto) { return j * 8 + i; });
  }
  names::load<of_text>(other, directory / "a");
  CHECK(is_filled(other));
  // A copy beside the table, a copy in place of it, no prefix, and constants.
  const auto reads = [&](const std::function<void(TensorList&)>& change) {
    Inference<Sentences, Batch<1>> reader;
    names::load<of_text>(reader, changed(directory, directory / "a", change));
    CHECK(is_filled(reader));
  };
  reads([&](TensorList& tensors) {
    tensors.push_back(named(tensors, "embed.weight"));
    tensors.back().name = "head.weight";
  });
  reads([&](TensorList& tensors) { named(tensors, "embed.weight").name = "head.weight"; });
  reads([&](TensorList& tensors) {
    for (auto& tensor : tensors)
      if (tensor.name.starts_with("model.")) tensor.name = tensor.name.substr(6);
    tensors.push_back(named(tensors, "embed.weight"));
    tensors.back().name = "blocks.1.rotary.inv_freq";
  });
}

TEST_CASE("a file that does not fit is refused by the tensor's name, with both shapes, and nothing changes") {
  ::test::Directory directory;
  Inference<Sentences, Batch<1>> model;
  fill(model);
  names::save<of_text>(model, directory / "a");
  const std::vector<float> other(42, 1);
  const auto refused = [&](std::initializer_list<const char*> texts, const std::function<void(TensorList&)>& change) {
    const std::string path = changed(directory, directory / "a", change);
    const std::string error = ::test::error_of([&] { names::load<of_text>(model, path); });
    INFO(error);
    for (const char* text : texts) {
      INFO(text);
      CHECK(::test::says(error, text));
    }
    CHECK(is_filled(model));
  };
  refused({"the tensor model.blocks.1.k.weight of shape [6, 6]", "none"}, [](TensorList& tensors) {
    std::erase_if(tensors, [](const auto& tensor) { return tensor.name == "model.blocks.1.k.weight"; });
  });
  refused({"the tensor model.blocks.2.norm1.weight of shape [6]"}, [&](TensorList& tensors) {
    tensors.push_back(named(tensors, "model.blocks.1.norm1.weight"));
    tensors.back().name = "model.blocks.2.norm1.weight";
  });
  refused({"model.blocks.0.down.weight", "[8, 6]", "[6, 8]", "another order"},
          [](TensorList& tensors) { named(tensors, "model.blocks.0.down.weight").shape = {6, 8}; });
  refused({"model.blocks.0.k.weight", "[6, 6]", "[36]"},
          [](TensorList& tensors) { named(tensors, "model.blocks.0.k.weight").shape = {36}; });
  refused({"head.weight", "embed.weight", "tied"}, [&](TensorList& tensors) {
    tensors.push_back(named(tensors, "embed.weight"));
    tensors.back().name = "head.weight";
    tensors.back().bytes = std::as_bytes(std::span(other));
  });
  refused({"two, with and without", "model."}, [](TensorList& tensors) {
    tensors.push_back(named(tensors, "model.blocks.0.norm1.weight"));
    tensors.back().name = "blocks.0.norm1.weight";
  });
}

namespace {
constexpr auto body_of_pictures = names::list(
    names::conv2d("stem.conv"), names::layer("stem.norm"),
    names::repeat_from(1, 2, "stage.{}.", names::inside("body.", names::conv2d("conv"), names::layer("norm"))));
constexpr auto of_new_head = names::list(body_of_pictures, names::absent(names::layer("head")));
constexpr auto of_other_head = names::list(of_new_head, names::ignore("head.*"));
static_assert(misfits<Pictures>(body_of_pictures, Misfit::tensors_without_name, 17));
static_assert(misfits<Pictures>(of_new_head, Misfit::none, 0));
}  // namespace

TEST_CASE("what a mapping says is absent keeps its values, is written, and is refused in a file unless it is ignored") {
  ::test::Directory directory;
  Trainer<Pictures, Batch<2>, Precision<fp64>> trainer;
  Inference<Pictures, Batch<1>> model;
  const std::size_t head = place_of(trainer, "5.weight");
  const auto values_of = [](auto& of, std::size_t which) {
    std::vector<double> values;
    auto parameters = of.parameters();
    parameters[which].visit([&](auto span) { values.assign(span.begin(), span.end()); });
    return values;
  };
  fill(model);
  names::save<of_pictures>(model, directory / "whole");
  const std::string without = changed(directory, directory / "whole", [](TensorList& tensors) {
    std::erase_if(tensors, [](const auto& tensor) { return tensor.name.starts_with("head."); });
  });
  const auto begun = values_of(trainer, head), bias = values_of(trainer, head + 1);
  REQUIRE(begun.size() == 20);

  const std::string refused = ::test::error_of([&] { names::load<of_pictures>(trainer, without); });
  CHECK(::test::says(refused, "the tensor head.weight of shape [5, 4]"));
  CHECK(::test::says(refused, "absent(...)"));
  CHECK(values_of(trainer, 0) != values_of(model, 0));  // nothing has changed
  names::load<of_new_head>(trainer, without);
  for (std::size_t p = 0; p < head; ++p) CHECK(values_of(trainer, p) == values_of(model, p));
  CHECK(values_of(trainer, head) == begun);
  CHECK(values_of(trainer, head + 1) == bias);
  CHECK(values_of(trainer, head + 2) == values_of(model, head + 2));  // running statistics

  const std::string there = ::test::error_of([&] { names::load<of_new_head>(trainer, directory / "whole"); });
  CHECK(::test::says(there, "tensor \"head."));
  CHECK(::test::says(there, "expected no such tensor"));
  CHECK(::test::says(there, "ignore(\"head."));
  names::load<of_other_head>(trainer, directory / "whole");
  CHECK(values_of(trainer, head) == begun);
  const std::string other_shape = changed(directory, directory / "whole", [&](TensorList& tensors) {
    named(tensors, "head.weight").shape = {4, 5};
    named(tensors, "head.bias").name = "head.scale";
  });
  names::load<of_other_head>(trainer, other_shape);
  CHECK(values_of(trainer, head) == begun);
  const std::string spare = changed(directory, directory / "whole",
                                    [](TensorList& tensors) { named(tensors, "head.bias").name = "top.bias"; });
  CHECK(::test::says(::test::error_of([&] { names::load<of_other_head>(trainer, spare); }), "ignore(...)"));

  // An Inference has no values to keep before it has loaded some.
  Inference<Pictures, Batch<1>> fresh;
  const std::string none = ::test::error_of([&] { names::load<of_new_head>(fresh, without); });
  CHECK(::test::says(none, "names::load, head.weight"));
  CHECK(::test::says(none, "names::absent(...)"));
  names::load<of_pictures>(fresh, directory / "whole");
  CHECK_NOTHROW(names::load<of_other_head>(fresh, directory / "whole"));
  CHECK(values_of(fresh, head) == values_of(model, head));

  names::save<of_new_head>(trainer, directory / "mine");
  const safetensors::File mine(directory / "mine");
  const safetensors::File whole(directory / "whole");
  CHECK(mine.tensors().size() == whole.tensors().size());
  std::vector<double> saved(20);
  mine.copy<double>("head.weight", std::vector<std::size_t>{5, 4}, saved);
  CHECK(saved == begun);
}

TEST_CASE("a mapping with one name for two tensors is refused") {
  ::test::Directory directory;
  Inference<Two, Batch<1>> model;
  CHECK(::test::says(::test::error_of([&] { names::save<twice>(model, directory / "a"); }), "a.weight"));
  Inference<Four<Linear<4, NoBias>>, Batch<1>> four;
  fill(four);
  CHECK(::test::says(::test::error_of([&] { names::save<halves_twice>(four, directory / "a"); }), "\"a\""));
  CHECK(directory.files() == 0);
}

constexpr auto of_two = names::list(names::layer("a"), names::layer("b"));
TEST_CASE("weights are not read in a callback of fit, which counts its steps") {
  ::test::Directory directory;
  Trainer<Two, Batch<2>> trainer;
  names::save<of_two>(trainer, directory / "a");
  const auto reads = [&](auto& of, const StepResult&) { names::load<of_two>(of, directory / "a"); };
  const std::string error = ::test::error_of(
      [&] { trainer.fit(Fake({.samples = 8, .classes = 3}), {.steps = 2, .progress = false}, reads); });
  CHECK(::test::says(error, "outside of fit"));
  CHECK(trainer.steps_done() == 1);
}

TEST_CASE("files in parts have an index, and one that leads elsewhere is refused") {
  ::test::Directory directory;
  Inference<Sentences, Batch<1>> model;
  fill(model);
  const std::string path = directory / "model.safetensors", index = path + ".index.json";
  names::save<of_text>(model, path);
  names::save<of_text>(model, path, {.largest_file = 800});
  CHECK_FALSE(std::filesystem::exists(path));
  const safetensors::ShardedFile parts(index);
  std::map<const safetensors::File*, std::size_t> bytes;
  std::size_t tensors = 0;
  for (const auto& found : parts.tensors()) bytes[found.file] += found.tensor->bytes.size(), ++tensors;
  CHECK(bytes.size() == directory.files() - 1);
  CHECK(bytes.size() > 3);
  for (const auto& [file, size] : bytes) CHECK(size <= 800);
  for (const std::string& from : {index, path, directory.path()}) {
    Inference<Sentences, Batch<1>> reader;
    names::load<of_text>(reader, from);
    CHECK(is_filled(reader));
  }
  const auto bytes_of_index = ::test::get(index);
  const std::string text(bytes_of_index.begin(), bytes_of_index.end());
  const auto refused = [&](const std::string& says, const std::string& now) {
    ::test::put(index, std::string_view(now));
    const std::string error = ::test::error_of([&] { names::load<of_text>(model, index); });
    INFO(error);
    CHECK(::test::says(error, says.c_str()));
    CHECK(is_filled(model));
  };
  const auto with = [&](std::string from, std::string to) {
    std::string now = text;
    now.replace(now.find(from), from.size(), to);
    return now;
  };
  const std::string part = "\"model-00001-of-0000" + std::to_string(bytes.size()) + ".safetensors\"";
  REQUIRE(text.find(part) != std::string::npos);
  refused("beside the index", with(part, "\"../model.safetensors\""));
  refused("beside the index", with(part, "\"/etc/passwd\""));
  refused("beside the index", with(part, "\"\""));
  refused("No such file", with(part, "\"other.safetensors\""));
  refused("belong together", with("\"embed.weight\"", "\"embed.width\""));
  refused("weight_map", "{\"metadata\":{\"total_size\":1}}");
  refused("the name of a file", with(part, "7"));
  refused("each tensor once", with("\"weight_map\":{", "\"weight_map\":{\"embed.weight\":" + part + ","));
  refused("another object", with(part, "{}"));
  refused("an array", with(part, "[]"));
  refused("well-formed", text.substr(0, text.size() / 2));
  refused("weight_map", "{}");
  ::test::put(index, std::string_view(text));
  const std::string gone = directory / part.substr(1, part.size() - 2);
  std::filesystem::remove(gone);
  CHECK(::test::says(::test::error_of([&] { names::load<of_text>(model, path); }), gone.c_str()));
  names::save<of_text>(model, path);  // one file again: its index is gone
  CHECK_FALSE(std::filesystem::exists(index));
}

TEST_CASE("a model that is saved again in other parts leaves none of the older ones, and all other files") {
  ::test::Directory directory;
  Inference<Sentences, Batch<1>> model;
  fill(model);
  const std::string path = directory / "model.safetensors";
  const auto parts = [&] {
    std::set<std::string> all;
    const safetensors::ShardedFile saved(path + ".index.json");
    for (const auto& found : saved.tensors()) all.insert(found.file->path());
    return all;
  };
  const std::vector<const char*> others{"model-00001-of-00999.safetensors", "model-extra.safetensors",
                                        "other-00001-of-00002.safetensors", "model-00001-of-00002.txt"};
  for (const char* other : others) ::test::put(directory / other, std::string_view("mine"));
  names::save<of_text>(model, path, {.largest_file = 300});
  const std::set<std::string> small = parts();
  names::save<of_text>(model, path, {.largest_file = 1500});
  const std::set<std::string> large = parts();
  REQUIRE(small.size() > large.size());
  REQUIRE(large.size() > 1);
  CHECK(directory.files() == large.size() + 1 + others.size());
  names::save<of_text>(model, path, {.largest_file = 1500});  // the same names: all are kept
  CHECK(directory.files() == large.size() + 1 + others.size());
  names::save<of_text>(model, path, {.largest_file = 300});  // more than before
  CHECK(parts() == small);
  CHECK(directory.files() == small.size() + 1 + others.size());
  Inference<Sentences, Batch<1>> reader;
  names::load<of_text>(reader, path);
  CHECK(is_filled(reader));

  // Others write more digits in a part's name; such parts are removed, too.
  const auto text_of_index = [&] {
    const ::test::Bytes bytes = ::test::get(path + ".index.json");
    return std::string(bytes.begin(), bytes.end());
  };
  const std::string longer = "model-00001-of-000163.safetensors", shorter = small.begin()->substr(directory.path().size() + 1);
  std::filesystem::rename(directory / shorter, directory / longer);
  std::string index = text_of_index();
  for (std::size_t at = 0; (at = index.find(shorter, at)) != std::string::npos;) index.replace(at, shorter.size(), longer);
  ::test::put(path + ".index.json", std::string_view(index));
  names::save<of_text>(model, path, {.largest_file = 300});
  CHECK(parts() == small);
  CHECK(directory.files() == small.size() + 1 + others.size());

  // An index names what it likes: only names of parts are removed, and only here.
  index = text_of_index();
  const std::string victim = directory.path().substr(directory.path().rfind('/') + 1);
  for (const std::string& name :
       {std::string("model-extra.safetensors"), "../" + victim + "/model-00001-of-00999.safetensors"}) {
    const std::size_t at = index.find("model-0000");
    index.replace(at, index.find('"', at) - at, name);
  }
  ::test::put(path + ".index.json", std::string_view(index));
  names::save<of_text>(model, path);  // one file: no parts are left
  CHECK_FALSE(std::filesystem::exists(path + ".index.json"));
  CHECK(std::filesystem::exists(path));
  for (const char* other : others) CHECK(std::filesystem::exists(directory / other));

  names::save<of_text>(model, path, {.largest_file = 1500});
  ::test::put(path + ".index.json", std::string_view("no index"));  // then nobody knows which are older
  names::save<of_text>(model, path, {.largest_file = 300});
  CHECK(parts() == small);
}
// SPDX-License-Identifier: Apache-2.0
