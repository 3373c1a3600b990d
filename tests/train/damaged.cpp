// Files that no trainer wrote as they are: each is refused, and the Trainer is as it was.
#include "../temporary.hpp"
#include "support/catch.hpp"
#include "support/tiny.hpp"

#include <regimen/optimizer/sgd.hpp>

#include <functional>
#include <string>

using namespace regimen;

namespace {

using Train = Trainer<tiny::Gpt, Batch<4>>;

struct Case {
  ::test::Directory directory;
  Train trainer{{.optimizer = {.learning_rate = 1e-2}, .threads = 1}};
  std::string good = directory / "good", bad = directory / "bad";

  Case() {
    step(3);
    trainer.save(good);
    step(2);
    before = tiny::weights(trainer);
    trainer.save(directory / "before");
  }
  void step(int count) {
    for (int i = 0; i < count; ++i)
      trainer.step(tiny::tokens(4, trainer.steps_done()), tiny::tokens(4, 77 + trainer.steps_done()));
  }
  /// The error of loading `bad`, which must leave the weights alone.
  std::string refuse() {
    const std::string error = ::test::error_of([&] { trainer.load(bad); });
    if (!tiny::same_bits(std::span<const float>(tiny::weights(trainer)), std::span<const float>(before))) return {};
    return error;
  }
  /// Weights, optimizer, step, scale: all that a file holds is as it was.
  void check_untouched() {
    trainer.save(directory / "after");
    CHECK(::test::get(directory / "after") == ::test::get(directory / "before"));
    trainer.load(good);
    CHECK(trainer.steps_done() == 3);
    step(2);
    CHECK(tiny::same_bits(std::span<const float>(tiny::weights(trainer)), std::span<const float>(before)));
  }
  std::vector<float> before;
};

}  // namespace

TEST_CASE("a flipped bit anywhere in a saved state is an error") {
  Case c;
  ::test::Bytes bytes = ::test::get(c.good);
  const std::size_t header = 8 + (std::size_t{bytes[0]} | std::size_t{bytes[1]} << 8 | std::size_t{bytes[2]} << 16);
  std::vector<std::size_t> bits;
  for (std::size_t bit = 0; bit < 64; ++bit) bits.push_back(bit);                                     // the length
  for (std::size_t i = 0; i < 500; ++i) bits.push_back(64 + Philox::mix(1, i) % ((header - 8) * 8));  // the header
  for (std::size_t i = 0; i < 300; ++i)
    bits.push_back(header * 8 + Philox::mix(2, i) % ((bytes.size() - header) * 8));  // the data
  for (const std::size_t bit : bits) {
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
    ::test::put(c.bad, bytes);
    const std::string error = c.refuse();
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
    if (error.empty()) FAIL_CHECK("bit " << bit % 8 << " of byte " << bit / 8 << ", header until " << header);
  }
  c.check_untouched();
}

TEST_CASE("a state that is cut off or continued is an error") {
  Case c;
  const ::test::Bytes bytes = ::test::get(c.good);
  std::vector<std::size_t> lengths;
  for (std::size_t i = 0; i < 20; ++i) lengths.push_back(i);
  for (std::size_t i = 0; i < 200; ++i) lengths.push_back(Philox::mix(3, i) % bytes.size());
  lengths.push_back(bytes.size() - 1);
  for (const std::size_t length : lengths) {
    ::test::put(c.bad, std::span<const std::uint8_t>(bytes).first(length));
    INFO("cut off after " << length << " of " << bytes.size());
    CHECK_FALSE(c.refuse().empty());
  }
  ::test::Bytes longer = bytes;
  longer.push_back(0);
  ::test::put(c.bad, longer);
  CHECK_FALSE(c.refuse().empty());
  c.check_untouched();
}

TEST_CASE("a state of another model or precision is refused by the tensor's name") {
  Case c;
  const auto refused = [&](const char* what, const char* part) {
    const std::string error = c.refuse();
    INFO(what << ": " << error);
    CHECK(::test::says(error, part));
  };
  const auto rewrite =
      [&](const std::function<void(std::vector<safetensors::Tensor>&, std::map<std::string, std::string>&)>& change) {
        const safetensors::File file(c.good);
        std::vector<safetensors::Tensor> tensors(file.tensors().begin(), file.tensors().end());
        auto metadata = file.metadata();
        change(tensors, metadata);
        safetensors::write(c.bad, tensors, metadata);
      };
  const std::string name = c.trainer.parameters()[3].name, quoted = "\"" + name + "\"";
  const auto named = [&](auto& tensors) -> safetensors::Tensor& {
    for (auto& tensor : tensors)
      if (tensor.name == name) return tensor;
    throw std::runtime_error(name);
  };
  using Wide = Trainer<tiny::Gpt, Batch<4>, Precision<fp64>>;
  Wide({.threads = 1}).save(c.bad);
  refused("fp64 into fp32", "elements of type F32, found F64");
  refused("fp64 into fp32, the first tensor", c.trainer.parameters()[0].name.c_str());

  rewrite([&](auto& tensors, auto&) { named(tensors).shape = {1, named(tensors).bytes.size() / 4}; });
  refused("another shape", quoted.c_str());
  rewrite([&](auto& tensors, auto&) { named(tensors).dtype = safetensors::Dtype::I32; });
  refused("integers", quoted.c_str());
  rewrite([&](auto& tensors, auto&) { named(tensors).name = "elsewhere.weight"; });
  refused("another name", quoted.c_str());
  rewrite([&](auto& tensors, auto&) {
    std::erase_if(tensors, [&](const auto& tensor) { return tensor.name.ends_with("." + name); });
  });
  refused("no optimizer state", name.c_str());
  const float one = 1;
  rewrite([&](auto& tensors, auto&) {
    tensors.push_back({"extra", safetensors::Dtype::F32, {1}, std::as_bytes(std::span(&one, 1))});
  });
  refused("one tensor more", "extra");
  for (const char* key : {"regimen.step", "regimen.epoch", "regimen.samples", "regimen.run", "regimen.seed",
                          "regimen.updates", "regimen.skipped", "regimen.finite_streak", "regimen.loss_scale"}) {
    rewrite([&](auto&, auto& metadata) { metadata.erase(key); });
    refused("a key is missing", key);
    rewrite([&](auto&, auto& metadata) { metadata[key] = "12x"; });
    refused("no number", key);
    rewrite([&](auto&, auto& metadata) { metadata[key] = "-3"; });
    refused("a negative number", key);
    rewrite([&](auto&, auto& metadata) { metadata[key] = "99999999999999999999999"; });
    refused("a number that does not fit", key);
  }
  Trainer<tiny::Gpt, Batch<4>, Optimizer<Sgd>>({.threads = 1}).save(c.bad);
  refused("another optimizer", "optimizer.");
  c.check_untouched();
}
