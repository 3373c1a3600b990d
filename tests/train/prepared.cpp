// All that a step needs of the libraries is made when its Trainer is; its second run is a graph.
#include "support/on_runtime.hpp"
#include "train/deferred.hpp"

#include <regimen/train/inference.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace regimen;
using namespace regimen::test;

namespace {

/// Counts what it is asked for. Ranks have one each, in threads of their own.
struct Counting : emulated::Runtime {
  static inline std::atomic<std::size_t> made = 0, loaded = 0, captures = 0;
  static inline std::atomic<bool> has_algorithms = true;

  Product make_product(const cuda::ProductDescriptor& descriptor) {
    if (!has_algorithms) throw Error("a product", "an algorithm", "none for its types and extents");
    ++made;
    return Runtime::make_product(descriptor);
  }
  Attention make_attention(const cuda::FusedAttention& attention) {
    if (!has_algorithms) throw Error("attention", "a kernel", "none");
    ++made;
    return Runtime::make_attention(attention);
  }
  template <class Kernel>
  void prepare(const Kernel& kernel, cuda::Grid grid) {
    ++loaded;
    Runtime::prepare(kernel, grid);
  }
  void begin_capture(Stream stream) {
    ++captures;
    Runtime::begin_capture(stream);
  }
};
using Counted = Device<OnRuntime<Counting>>;

const Fake& whole_batches() {
  static const Fake fake({.samples = 24, .classes = 5, .seed = 3});
  return fake;
}

template <class Train>
void step_by_hand(Train& trainer) {
  for (auto batches = trainer.batches(whole_batches(), {}); auto next = batches.next();) {
    trainer.apply(trainer.unscale(trainer.backward(trainer.scale(trainer.forward(next.input, next.target)))));
    return;
  }
}

/// A whole run on full batches: of fit, of a loop by hand, of evaluation and prediction.
template <class Network, class... Policies>
void is_prepared(const char* what, std::size_t captures) {
  INFO(what);
  using Train = Trainer<Network, Policies..., Counted>;
  Counting::made = Counting::loaded = Counting::captures = 0;
  Train trainer;
  const std::size_t made = Counting::made;
  CHECK(made > 0);
  CHECK(Counting::loaded > made);
  CHECK(Counting::captures == 0);
  CHECK(trainer.used().peak < Train::plan().peak);  // no memory was used so far
  trainer.fit(whole_batches(), {.steps = 8, .progress = false});
  trainer.evaluate(whole_batches());
  CHECK(Counting::captures == captures);
  std::vector<typename Train::Input> inputs(2 * Train::batch * Train::input_size);
  trainer.predict(inputs);
  step_by_hand(trainer);
  CHECK(Counting::made == made);
  CHECK(trainer.used().peak == Train::plan().peak);
}

}  // namespace

TEST_CASE("no product is made after a Trainer is constructed, and each piece of a step is captured once") {
  is_prepared<Gpt<3>, Batch<4>>("a GPT", 2);  // the step and an evaluation
  is_prepared<Gpt<3>, Batch<4>, Graph<Off>>("without graphs", 0);
  is_prepared<Gpt<3>, Batch<4>, Debug<Synchronous, Anomaly>>("with a wait after each operation", 0);
  is_prepared<Gpt<3>, Batch<2>, Accumulate<3>, Clip<Norm<Ratio<1>>>>("accumulated", 4);
  is_prepared<Gpt<3>, Batch<4>, Steps<3>, Checkpoint<Every<2>>>("three steps a launch", 3);  // and one
  is_prepared<Tied<2>, Batch<4>, Precision<bf16, fp32>, Checkpoint<Selective<LayerNorm>>>("tied, bf16", 2);
  is_prepared<Gpt<2>, Batch<4>, Attention<Tiled>, Epilogue<Separate>>("in tiles", 2);
  is_prepared<Mlp, Batch<4>, Precision<fp16, fp32>, LossScale<Dynamic>>("fp16", 2);
}

using PlainBlock = Residual<LayerNorm, SelfAttention<Heads<2>, Causal>>;
struct PlainGpt final : Model<Input<Tokens<8>>, Table, Repeat<3, PlainBlock>, LayerNorm, Linear<11>> {};

TEST_CASE("cuDNN compiles its kernels when a Trainer is constructed") {
  is_prepared<PlainGpt, Batch<4>, Precision<bf16, fp32>, Attention<Cudnn>>("cuDNN", 2);
}

TEST_CASE("products of a shorter batch are made when it first comes, and not again") {
  Counting::made = Counting::captures = 0;
  Trainer<Gpt<3>, Batch<4>, Counted> trainer;
  const std::size_t made = Counting::made;
  trainer.fit(data(), {.steps = 6, .progress = false});  // 22 samples: the sixth step has two
  const std::size_t with_short = Counting::made;
  CHECK(with_short > made);
  CHECK(Counting::captures == 1);  // the short batch ran by calls
  trainer.fit(data(), {.steps = 12, .progress = false});
  CHECK(Counting::made == with_short);
  CHECK(Counting::captures == 2);
}

TEST_CASE("ranks prepare, too, and tell nobody of it") {
  Counting::made = 0;
  std::atomic<std::size_t> made = 0;
  launch(2, [&](comm::Threads& communicator) {
    Trainer<Gpt<3>, Batch<2>, Accumulate<2, ReduceEach>, Communicator<Threads>, Shard<ZeRO3>, Counted> trainer(
        communicator);
    trainer.on_all_ranks(true);
    made = Counting::made.load();
    trainer.on_all_ranks(true);
    trainer.fit(whole_batches(), {.steps = 6, .progress = false});
    trainer.evaluate(whole_batches());
  });
  CHECK(made > 0);
  CHECK(Counting::made == made);
}

TEST_CASE("an Inference is prepared for batches, for a text and for a token") {
  const ::test::Directory folder;
  Trainer<Gpt<2>, Batch<4>> trainer;
  trainer.save(folder / "state");
  Counting::made = 0;
  Inference<Gpt<2>, Batch<4>, Counted> model(folder / "state");
  const std::size_t made = Counting::made;
  CHECK(made > 0);
  const std::vector<std::int32_t> tokens(4 * 8, 3);
  model.predict(tokens);
  model.start(std::span(tokens).first(5));
  model.next(2);
  CHECK(Counting::made == made);
}

TEST_CASE("a product that the device lacks is an error of the constructor, which names its layer") {
  Counting::has_algorithms = false;
  const auto error = []<class... Policies>(std::type_identity<Policies>...) {
    return ::test::error_of([] { Trainer<PlainGpt, Policies..., Counted> trainer; });
  };
  const std::string first = error(std::type_identity<Batch<4>>{}),
                    attention =
                        error(std::type_identity<Precision<bf16, fp32>>{}, std::type_identity<Attention<Cudnn>>{});
  Counting::has_algorithms = true;
  INFO(first);
  CHECK(::test::says(first, "the operation product_bias"));
  CHECK(::test::says(first, "at or after layer 1.0.1 (linear), iteration 0"));
  CHECK(::test::says(first, "none for its types and extents"));
  CHECK_FALSE(attention.empty());
}
// SPDX-License-Identifier: Apache-2.0
